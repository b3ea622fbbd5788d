//! The experiment of lesson 02: your functions prepare trees, train a small PointNet and run it. Then the trees are
//! shuffled, turned, tilted and thinned, and the table shows how the logits change.
//!
//! `cargo run -p lesson02` prints tables and writes two plots to `runs/lesson02`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

#[macro_use]
extern crate lesson02;

mod experiment;

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use canopy::{
    kernels::Pass,
    report::svg::LinePlot,
    train::{Config, metrics::argmax, short::Forest},
};
use experiment::{
    changes::{self, Baseline, tilt},
    clouds::{Cloud, POINTS, Tree, batch, trees},
    net::Net,
    plots::{self, Curve},
    size, train,
};
use grader::{
    cells,
    experiment::Report,
    table::{Table, fixed, left},
};
use lesson02::{LESSON, Lesson02};

/// Trees that are changed.
const TRIED: usize = 70;

fn main() -> ExitCode {
    grader::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson02, report: &mut Report) -> Result<()> {
    let forest = Forest::open(Config::default())?;
    let known = trees(&forest, &forest.split.train)?;
    report.say(format!(
        "\nThe full PointNet, at a quarter of its width, is trained on {} trees of {POINTS} points.\n",
        known.len()
    ));
    let began = Instant::now();
    let (model, losses) = train::trained(answer, &forest, &known, report.seed(), |epoch, loss| {
        if epoch % 8 == 0 {
            report.say(format!("  epoch {epoch:>2}: loss {loss:.3}"));
        }
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let net = Net::new(&model, *answer);
    let tried = chosen(trees(&forest, &forest.split.test)?);
    let baseline = Baseline::new(&net, answer, &tried, report.seed())?;
    let clouds = batch(&baseline.clouds)?.to_device(&model.device())?;
    let own = model.forward(&clouds, &Pass::eval())?.logits;
    let off = changes::difference(&baseline, &own)?;
    let right = baseline.accuracy(&baseline.logits);
    report.say(format!(
        "\ntrained in {seconds:.0} s; {:.0} % of {} other trees are classified correctly\n\
         the logits of these functions differ from those of canopy's forward pass by at most {off:.0e}",
        100.0 * right,
        tried.len(),
    ));
    report.json("losses", losses);
    report.json("training_seconds", seconds);
    report.json("trees", tried.len());
    report.json("accuracy", right);
    report.json("difference_from_canopy", off);
    let species = &forest.data.species;
    let tree = watched(&baseline, species);
    let name = &species[baseline.species[tree] as usize];
    let title = format!("Logits of one tree, {name}");
    report.table(
        "one_tree",
        &title,
        &logits(&baseline, tree, &net, answer, species)?,
    );
    report.table(
        "changes",
        &format!("All {} trees", tried.len()),
        &changes::table(&baseline, &net, answer, report.seed())?,
    );
    let counts: Vec<usize> = baseline.critical.iter().map(Vec::len).collect();
    let mean = counts.iter().sum::<usize>() as f64 / counts.len().max(1) as f64;
    let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
    let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
    report.say(format!(
        "\ncritical points of a tree: {mean:.0} on average, from {least} to {most}, of {POINTS}"
    ));
    report.json("critical_points_mean", mean);
    report.json("critical_points_range", vec![least, most]);
    report.table("sizes", "", &size::table()?);
    let critical = plots::critical(&baseline.clouds[tree], &baseline.critical[tree], name);
    report.file("02-turning.svg", turning(&baseline, &net, answer)?.svg());
    report.file("02-critical.svg", critical.svg());
    Ok(())
}

/// [`TRIED`] of the trees, in equal numbers of each species as far as there are enough.
fn chosen(trees: Vec<Tree>) -> Vec<Tree> {
    let mut of_species = [0; 64];
    let mut left: Vec<(usize, Tree)> = trees
        .into_iter()
        .map(|tree| {
            let nth = &mut of_species[tree.species as usize % 64];
            *nth += 1;
            (*nth, tree)
        })
        .collect();
    left.sort_by_key(|(nth, _)| *nth);
    left.into_iter().take(TRIED).map(|(_, tree)| tree).collect()
}

/// The first spruce that is classified correctly, or else the first tree that is.
fn watched(baseline: &Baseline, species: &[String]) -> usize {
    let right = |i: &usize| argmax(&baseline.logits[*i]) == baseline.species[*i] as usize;
    let spruce = |i: &usize| species[baseline.species[*i] as usize].contains("spruce");
    let trees = 0..baseline.clouds.len();
    let first = trees.clone().filter(right).find(spruce);
    first.or(trees.clone().find(right)).unwrap_or(0)
}

/// The logits of one tree after some changes, a column for each species.
fn logits(
    baseline: &Baseline,
    tree: usize,
    net: &Net,
    answer: &Lesson02,
    species: &[String],
) -> Result<Table> {
    let columns = species.iter().map(|name| {
        // The last word of a long name, but an oak and a red oak must not look the same.
        let fits = name.chars().count() <= 7;
        let word = if fits { None } else { name.split(' ').next_back() };
        fixed(word.unwrap_or(name).chars().take(7).collect::<String>(), 3)
    });
    let mut table = Table::new([left("change")].into_iter().chain(columns));
    let mut row = |name: &str, change: &dyn Fn(&mut Cloud)| -> Result<()> {
        let mut cloud = baseline.clouds[tree].clone();
        change(&mut cloud);
        let logits: Vec<f32> = net.forward(&batch(&[cloud])?)?.logits.squeeze(0)?.to_vec1()?;
        let mut cells = cells![name];
        cells.extend(logits.into_iter().map(Into::into));
        table.row(cells);
        Ok(())
    };
    row("as it is", &|_| ())?;
    row("in another order", &|c| c.reverse())?;
    row("turned by 90°", &|c| (answer.turn)(c, 90f64.to_radians()))?;
    row("tilted by 45°", &|c| tilt(c, 45f64.to_radians()))?;
    Ok(table)
}

/// The accuracy, by the angle that all trees are turned or tilted by.
fn turning(baseline: &Baseline, net: &Net, answer: &Lesson02) -> Result<LinePlot> {
    let curve = |change: &dyn Fn(&mut Cloud, f64)| -> Result<Curve> {
        let angles = (0..=9).map(|i| f64::from(i) * 20.0);
        angles
            .map(|degrees| {
                let logits = baseline.after(net, |_, c| change(c, degrees.to_radians()))?;
                Ok((degrees, baseline.accuracy(&logits)))
            })
            .collect()
    };
    Ok(plots::turning(curve(&|c, a| (answer.turn)(c, a))?, curve(&tilt)?))
}
