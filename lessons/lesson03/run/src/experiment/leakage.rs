//! The same scans and the same network, split in three ways: by scan, by tree, and by the groups of exercise 3.6.

use std::collections::HashSet;

use anyhow::Result;
use candle_core::{DType, Tensor};
use canopy::{
    kernels::Pass,
    loader::{batches, epoch_order},
    train::short::Forest,
};
use kit::table::{Table, count, json, left, percent};
use lesson03::Lesson03;

use super::learner;

pub const POINTS: usize = 128;
/// Trees, and scans of each: random samples of its cloud, as if it had been scanned several times.
const TREES: usize = 140;
const SCANS: u64 = 6;
const EPOCHS: u64 = 12;
const BATCH: usize = 16;
const REPEATS: u64 = 4;

/// A cloud as the network sees it, and its label.
type Scan = (Tensor, Tensor);

/// Six scans each of 140 trees, and the record of each.
fn scans(forest: &Forest) -> Result<(Vec<Scan>, Vec<usize>)> {
    let collate = forest.collate();
    let mut trees = epoch_order(forest.data.len(), forest.config.seed, 0);
    let mut seen = HashSet::new();
    trees.retain(|&r| seen.insert(&forest.data.records[r].tree));
    trees.truncate(TREES);
    let of: Vec<usize> = trees.iter().flat_map(|&r| vec![r; SCANS as usize]).collect();
    let scan = |(i, &r): (usize, &usize)| collate.batch(&[r], i as u64 % SCANS)?.to_device(&forest.device);
    Ok((of.iter().enumerate().map(scan).collect::<Result<_>>()?, of))
}

/// The accuracy on the test scans of each split.
pub fn table(forest: &Forest, answer: &Lesson03) -> Result<Table> {
    let (scans, of) = scans(forest)?;
    let record = |&r: &usize| &forest.data.records[r];
    let trees: Vec<&str> = of.iter().map(|r| record(r).tree.as_str()).collect();
    let plots: Vec<&str> = of.iter().map(|r| record(r).plot.as_str()).collect();
    let ways = [
        ("by scan", (0..of.len()).collect::<Vec<usize>>()),
        ("by tree", (answer.together)(&trees, &vec![""; of.len()])),
        ("by plot", (answer.together)(&trees, &plots)),
    ];
    let mut table = Table::new([
        left("split"),
        count("groups"),
        percent("accuracy", 1),
        left("of each repetition"),
    ]);
    for (name, group) in ways {
        let groups = group.iter().max().map_or(0, |&g| g + 1);
        let mut accuracy = Vec::new();
        for repeat in 0..REPEATS {
            let (train, test) = hold_out(&group, groups, forest.config.seed + 100 * repeat);
            accuracy.push(trained(forest, answer, &scans, (&train, &test), repeat)?);
        }
        let mean = accuracy.iter().sum::<f64>() / REPEATS as f64;
        let each: Vec<String> = accuracy.iter().map(|a| format!("{:.1}", 100.0 * a)).collect();
        table.row(json!([name, groups, mean, each.join(" ")]));
    }
    Ok(table)
}

/// Holds out whole groups in random order until the test set has enough scans.
fn hold_out(group: &[usize], groups: usize, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let wanted = group.len() * 3 / 10;
    let (mut held, mut count) = (vec![false; groups], 0);
    for g in epoch_order(groups, seed, 77) {
        if count < wanted {
            held[g] = true;
            count += group.iter().filter(|&&of| of == g).count();
        }
    }
    (0..group.len()).partition(|&r| !held[group[r]])
}

/// A batch of the scans `which`.
fn batch(scans: &[Scan], which: &[usize]) -> Result<Scan> {
    let of = which.iter().map(|&i| (&scans[i].0, &scans[i].1));
    let (points, labels): (Vec<&Tensor>, Vec<&Tensor>) = of.unzip();
    Ok((Tensor::cat(&points, 0)?, Tensor::cat(&labels, 0)?))
}

/// Trains a new network, and returns its accuracy on the test scans.
fn trained(
    forest: &Forest,
    answer: &Lesson03,
    scans: &[Scan],
    (train, test): (&[usize], &[usize]),
    repeat: u64,
) -> Result<f64> {
    let seed = forest.config.seed + repeat;
    let network = forest.config.network(forest.data.species.len());
    let mut learner = learner(&network, &forest.device, seed)?;
    for e in 0..EPOCHS {
        let order = (answer.epoch_order)(train.len(), seed, e);
        let order: Vec<usize> = order.into_iter().map(|i| train[i]).collect();
        let rate = if e < EPOCHS * 2 / 3 { 2e-3 } else { 4e-4 };
        let all = batches(&order, BATCH, true);
        let mut all = all.iter().map(|which| batch(scans, which));
        learner.epoch(&mut all, &mut |_| rate)?;
    }
    let (points, labels) = batch(scans, test)?;
    let logits = learner.model.forward(&points, &Pass::eval())?.logits;
    let correct = logits.argmax(1)?.eq(&labels)?.to_dtype(DType::F64)?;
    Ok(correct.mean_all()?.to_scalar()?)
}
