//! The same scans and the same network, split in three ways: by scan, by tree, and by the groups of exercise 3.6.

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy::{
    kernels::Pass,
    loader::{Augment, Batch, Collate, batches, epoch_order},
    model::PointNet,
    optim::OptimConfig,
    train::{
        Loss, metrics,
        short::{Forest, Learner},
    },
};
use grader::{
    cells,
    table::{Table, count, left, percent},
};
use lesson03::Lesson03;

pub const POINTS: usize = 128;
/// Trees, and scans of each: random samples of its cloud, as if it had been scanned several times.
const TREES: usize = 140;
const SCANS: u64 = 6;
const EPOCHS: u64 = 12;
const BATCH: usize = 16;
const REPEATS: u64 = 4;
/// Share of the scans in the test set.
const HELD_OUT: f64 = 0.3;

/// Six scans each of 140 trees: the clouds as the network sees them, and the record of each.
fn scans(forest: &Forest) -> Result<(Vec<Batch>, Vec<usize>)> {
    let collate = Collate {
        augment: Augment {
            turn: false,
            ..forest.config.augment()
        },
        ..forest.collate()
    };
    let mut trees: Vec<usize> = Vec::new();
    for r in epoch_order(forest.data.len(), forest.config.seed, 0) {
        let name = &forest.data.records[r].tree;
        let new = trees
            .iter()
            .all(|&other| forest.data.records[other].tree != *name);
        if new && trees.len() < TREES {
            trees.push(r);
        }
    }
    let of: Vec<usize> = trees.iter().flat_map(|&r| vec![r; SCANS as usize]).collect();
    let scans = of
        .iter()
        .enumerate()
        .map(|(i, &r)| collate.batch(&[r], i as u64 % SCANS));
    Ok((scans.collect::<Result<_>>()?, of))
}

/// Test scans whose tree or plot is also in the training set, as shares, and the accuracy on the test scans.
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
        percent("trees seen", 0),
        percent("plots seen", 0),
        percent("accuracy", 1),
        left("of each repetition"),
    ]);
    for (name, group) in ways {
        let groups = group.iter().max().map_or(0, |&g| g + 1);
        let (mut trees_seen, mut plots_seen, mut accuracy) = (0.0, 0.0, Vec::new());
        for repeat in 0..REPEATS {
            let (train, test) = hold_out(&group, groups, forest.config.seed + 100 * repeat);
            let seen = |of: &[&str]| {
                let known = |&&r: &&usize| train.iter().any(|&t| of[t] == of[r]);
                test.iter().filter(known).count() as f64 / test.len() as f64 / REPEATS as f64
            };
            trees_seen += seen(&trees);
            plots_seen += seen(&plots);
            accuracy.push(trained(forest, answer, &scans, (&train, &test), repeat)?);
        }
        let mean = accuracy.iter().sum::<f64>() / REPEATS as f64;
        let each: Vec<String> = accuracy.iter().map(|a| format!("{:.1}", 100.0 * a)).collect();
        table.row(cells![name, groups, trees_seen, plots_seen, mean, each.join(" ")]);
        table.only_json("accuracies", accuracy);
    }
    Ok(table)
}

/// Holds out whole groups in random order until the test set has enough scans.
fn hold_out(group: &[usize], groups: usize, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let wanted = (HELD_OUT * group.len() as f64) as usize;
    let (mut held, mut count) = (vec![false; groups], 0);
    for g in epoch_order(groups, seed, 77) {
        if count < wanted {
            held[g] = true;
            count += group.iter().filter(|&&of| of == g).count();
        }
    }
    (0..group.len()).partition(|&r| !held[group[r]])
}

/// Scans in one batch.
fn batch(scans: &[Batch], which: &[usize], device: &Device) -> Result<(Tensor, Tensor)> {
    let joined = Batch {
        points: which.iter().flat_map(|&i| scans[i].points.clone()).collect(),
        channels: 3,
        labels: which.iter().flat_map(|&i| scans[i].labels.clone()).collect(),
        records: which.to_vec(),
    };
    joined.to_device(device)
}

fn trained(
    forest: &Forest,
    answer: &Lesson03,
    scans: &[Batch],
    (train, test): (&[usize], &[usize]),
    repeat: u64,
) -> Result<f64> {
    let seed = forest.config.seed + repeat;
    let network = forest.config.network(forest.data.species.len());
    let model = PointNet::new(&network, &forest.device, DType::F32, seed)?;
    let optimizer = OptimConfig::adamw().build(model.params())?;
    let mut learner = Learner {
        seed,
        clip: 1.0,
        ..Learner::new(model, optimizer, Loss::CROSS_ENTROPY)
    };
    for epoch in 0..EPOCHS {
        let order: Vec<usize> = (answer.epoch_order)(train.len(), seed, epoch)
            .into_iter()
            .map(|i| train[i])
            .collect();
        for which in batches(&order, BATCH, true) {
            let (points, labels) = batch(scans, &which, &forest.device)?;
            let rate = if epoch < EPOCHS * 2 / 3 { 2e-3 } else { 4e-4 };
            learner.step((&points, &labels), rate)?;
        }
    }
    let mut right = 0;
    for which in batches(test, 64, false) {
        let (points, labels) = batch(scans, &which, &forest.device)?;
        let logits = learner
            .model
            .forward(&points, &Pass::eval())?
            .logits
            .to_vec2::<f32>()?;
        let truth = labels.to_vec1::<u32>()?;
        right += logits
            .iter()
            .zip(truth)
            .filter(|(row, truth)| metrics::argmax(row) as u32 == *truth)
            .count();
    }
    Ok(right as f64 / test.len() as f64)
}
