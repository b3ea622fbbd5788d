//! The experiment of lesson 02: your functions prepare trees, train a small PointNet and run it. Then the trees are
//! shuffled, turned, tilted and thinned, and the table shows how the logits change.
//!
//! `cargo run -p lesson02` prints a table and writes a plot to `runs/lesson02`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

#[macro_use]
extern crate lesson02;

mod changes;
mod net;
mod train;

use std::process::ExitCode;

use anyhow::Result;
use candle_core::{Device, Tensor};
use canopy::{
    kernels::Pass,
    report::svg::{LinePlot, Series, tick_label},
    train::{Config, short::Forest},
};
use changes::Baseline;
use kit::experiment::Report;
use lesson02::{LESSON, Lesson02};
use net::Net;
use train::{Cloud, POINTS, Tree, batch, trees};

/// Trees that are changed.
const TRIED: usize = 70;

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson02, report: &mut Report) -> Result<()> {
    let forest = Forest::open(Config::default())?;
    let known = trees(&forest, &forest.split.train)?;
    report.say(format!(
        "\nThe full PointNet, at a quarter of its width, is trained on {} trees of {POINTS} points.\n",
        known.len()
    ));
    let model = train::trained(answer, &forest, &known, report.seed())?;
    let net = Net::new(&model, *answer);
    let tried = chosen(trees(&forest, &forest.split.test)?);
    let baseline = Baseline::new(&net, answer, &tried, report.seed())?;
    let clouds = batch(&baseline.clouds)?.to_device(&model.device())?;
    let own = model.forward(&clouds, &Pass::eval())?.logits;
    let logits = Tensor::new(baseline.logits.clone(), &Device::Cpu)?;
    let off = (own.to_device(&Device::Cpu)? - logits)?.abs()?.max_all()?;
    let off = off.to_scalar::<f32>()?;
    let accuracy = baseline.accuracy(&baseline.logits);
    report.say(format!(
        "{:.0} % of {} other trees are classified correctly\n\
         the logits of these functions differ from canopy's forward pass by at most {off:.0e}",
        100.0 * accuracy,
        tried.len(),
    ));
    report.json("trees", tried.len());
    report.json("accuracy", accuracy);
    report.json("difference_from_canopy", off);
    let table = changes::table(&baseline, &net, answer, report.seed())?;
    report.table("changes", "", &table);
    let counts: Vec<usize> = baseline.critical.iter().map(Vec::len).collect();
    let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    let (least, most) = (
        counts.iter().min().unwrap_or(&0),
        counts.iter().max().unwrap_or(&0),
    );
    report.say(format!(
        "\ncritical points of a tree: {mean:.0} on average, from {least} to {most}, of {POINTS}"
    ));
    report.json("critical_points_mean", mean);
    report.json("critical_points_range", vec![*least, *most]);
    let name = |i: usize| forest.data.species[baseline.species[i] as usize].as_str();
    let spruce = |&i: &usize| baseline.correct(i, &baseline.logits[i]) && name(i).contains("spruce");
    let tree = (0..tried.len()).find(spruce).unwrap_or(0);
    let plot = critical(&baseline.clouds[tree], &baseline.critical[tree], name(tree));
    report.file("02-critical.svg", plot.svg())?;
    Ok(())
}

/// [`TRIED`] of the trees, in equal numbers of each species as far as there are enough.
fn chosen(trees: Vec<Tree>) -> Vec<Tree> {
    let mut of_species = [0; 64];
    let count = |tree: Tree| {
        let nth = &mut of_species[tree.species as usize % 64];
        *nth += 1;
        (*nth, tree)
    };
    let mut left: Vec<(usize, Tree)> = trees.into_iter().map(count).collect();
    left.sort_by_key(|(nth, _)| *nth);
    left.into_iter().take(TRIED).map(|(_, tree)| tree).collect()
}

/// A tree from the side, with its critical points beside it.
fn critical(cloud: &Cloud, critical: &[usize], species: &str) -> LinePlot {
    let side = |p: &[f32; 3]| (f64::from(p[0]), f64::from(p[2]));
    let all: Vec<(f64, f64)> = cloud.iter().map(side).collect();
    // Each copy has an x axis of its own, from −edge to edge, and the second one is shifted.
    let wide = all.iter().map(|p| p.0.abs()).fold(0.0, f64::max);
    let edge = (10.0 * wide).ceil() / 10.0;
    let aside = 2.5 * edge;
    let survive = critical.iter().map(|&i| (all[i].0 + aside, all[i].1)).collect();
    let (first, second) = (
        format!("all {} points", all.len()),
        format!("{} critical", critical.len()),
    );
    let mut plot = LinePlot::new(format!("Critical points of a {species}"), "x", "z")
        .with(Series::new(first, all).dots())
        .with(Series::new(second, survive).dots());
    let ticks = [-edge, 0.0, edge].map(|x| (x, tick_label(x)));
    let second = ticks.clone().map(|(x, label)| (x + aside, label));
    plot.x_ticks = [ticks, second].concat();
    // A tree as high as 2.5 times its axis is wide has the same scale in both directions.
    plot.size = (370.0, 470.0);
    plot
}
