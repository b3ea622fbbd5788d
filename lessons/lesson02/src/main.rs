//! The experiment of lesson 02: your pieces prepare trees, train a small PointNet and run it; then the trees are shuffled,
//! turned, tilted and thinned, and the logits are watched.
//!
//! `cargo run -p lesson02` prints tables and writes two plots to `runs/lesson02`. `-- --reference` takes canopy's functions
//! in the place of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

mod experiment;

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use canopy::{kernels::Pass, report::svg::LinePlot};
use experiment::{
    draw::{self, Curve},
    forest::{self, Cloud, POINTS, Tree, batch},
    found::{Found, Watched},
    net::Net,
    train,
    trials::{self, Stand, named, tilt},
};
use grader::experiment::{Options, program};
use lesson02::{LESSON, Lesson02, STUDENT};

/// Trees that are moved about.
const TRIED: usize = 70;

fn main() -> ExitCode {
    program("lesson02", run)
}

fn run() -> Result<()> {
    let options = Options::of("lesson02")?;
    let (answer, pieces) = LESSON.pieces(STUDENT, options.reference)?;
    options.say_pieces(&pieces);
    let forest = forest::forest()?;
    options.say(&format!(
        "\nThe full PointNet, a quarter as wide, learns {} trees of {POINTS} points.\n",
        forest.train.len()
    ));
    let began = Instant::now();
    let (model, losses) = train::trained(&answer, &forest, options.seed, |epoch, loss| {
        if epoch % 8 == 0 {
            options.say(&format!("  epoch {epoch:>2}: loss {loss:.3}"));
        }
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let net = Net::new(&model, answer);
    let tried = chosen(forest.test);
    let stand = Stand::new(&net, &answer, &tried, options.seed)?;
    let clouds = batch(&stand.clouds)?.to_device(&model.device())?;
    let own = model.forward(&clouds, &Pass::eval())?.logits;
    let counts: Vec<usize> = stand.critical.iter().map(Vec::len).collect();
    let found = Found {
        seed: options.seed,
        seconds,
        losses,
        trees: tried.len(),
        right: stand.right(&stand.logits),
        off: trials::off_canopy(&stand, &own)?,
        rows: trials::rows(&stand, &net, &answer, options.seed)?,
        watched: watch(&stand, &net, &answer, &forest.species)?,
        critical: (
            counts.iter().sum::<usize>() as f64 / counts.len().max(1) as f64,
            counts.iter().copied().min().unwrap_or(0),
            counts.iter().copied().max().unwrap_or(0),
        ),
        species: forest.species,
        pieces,
    };
    let tree = found.watched.tree;
    let side = draw::critical(&stand.clouds[tree], &stand.critical[tree], &found.watched.species);
    let plots = vec![
        ("02-turning.svg", turning(&stand, &net, &answer)?.svg()),
        ("02-critical.svg", side.svg()),
    ];
    let (json, tables) = (format!("{:#}", found.json()?), found.tables()?);
    options.finish(plots, || json, || tables)
}

/// [`TRIED`] of the trees, as many of each species as there are.
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

/// The first spruce that is named rightly, or else the first tree that is; and its logits after some changes.
fn watch(stand: &Stand, net: &Net, answer: &Lesson02, species: &[String]) -> Result<Watched> {
    let right = |i: &usize| named(&stand.logits[*i]) == stand.species[*i] as usize;
    let spruce = |i: &usize| species[stand.species[*i] as usize].contains("spruce");
    let trees = 0..stand.clouds.len();
    let tree = trees
        .clone()
        .filter(right)
        .find(spruce)
        .or(trees.clone().find(right))
        .unwrap_or(0);
    let after = |change: &dyn Fn(&mut Cloud)| -> Result<Vec<f32>> {
        let mut cloud = stand.clouds[tree].clone();
        change(&mut cloud);
        Ok(net.see(&batch(&[cloud])?)?.logits.squeeze(0)?.to_vec1()?)
    };
    let angle = |degrees: f64| degrees.to_radians();
    Ok(Watched {
        tree,
        species: species[stand.species[tree] as usize].clone(),
        logits: vec![
            ("as it is", after(&|_| ())?),
            ("in another order", after(&|c| c.reverse())?),
            ("turned by 90°", after(&|c| (answer.turn)(c, angle(90.0)))?),
            ("tilted by 45°", after(&|c| tilt(c, angle(45.0)))?),
        ],
    })
}

/// How many trees are named rightly, by the angle that all of them are turned or tilted by.
fn turning(stand: &Stand, net: &Net, answer: &Lesson02) -> Result<LinePlot> {
    let curve = |change: &dyn Fn(&mut Cloud, f64)| -> Result<Curve> {
        let angles = (0..=9).map(|i| f64::from(i) * 20.0);
        angles
            .map(|degrees| {
                let logits = stand.after(net, |_, c| change(c, degrees.to_radians()))?;
                Ok((degrees, stand.right(&logits)))
            })
            .collect()
    };
    Ok(draw::turning(curve(&|c, a| (answer.turn)(c, a))?, curve(&tilt)?))
}
