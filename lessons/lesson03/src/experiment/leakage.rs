//! The same scans, the same network, three ways to split: by scan, by tree, and by what exercise 3.6 keeps together.

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy::{
    kernels::Pass,
    loader::{Augment, Batch, Collate, Features, Frame, batches, epoch_order},
    model::{Kind, PointNet, PointNetConfig},
    optim::OptimConfig,
    train::{Loss, metrics, train_step},
};
use canopy_data::{Dataset, builtin, cache_folder};
use lesson03::Lesson03;

const POINTS: usize = 128;
/// Trees, and scans of each: so many random samples of its cloud, as if it had been scanned as often.
const TREES: usize = 140;
const SCANS: u64 = 6;
const EPOCHS: u64 = 12;
const BATCH: usize = 16;
const REPEATS: u64 = 4;
/// Share of the scans that test.
const HELD_OUT: f64 = 0.3;

/// The built-in forest.
pub struct Forest {
    pub data: Dataset,
    pub seed: u64,
}

impl Forest {
    pub fn open(seed: u64) -> Result<Self> {
        let loaded = builtin::load(&builtin::Config::default(), &cache_folder(), &|done, total| {
            if done == 0 {
                eprintln!("growing the forest, {total} scans (once; it is kept)");
            }
        })?;
        Ok(Self {
            data: loaded.dataset,
            seed,
        })
    }

    /// Six scans each of 140 trees: the clouds as the network sees them, and the record that each is of.
    fn scans(&self) -> Result<(Vec<Batch>, Vec<usize>)> {
        let collate = Collate {
            data: self.data.clone(),
            points: POINTS,
            frame: Frame::Sphere,
            features: Features::Xyz,
            augment: Augment {
                jitter: 0.005,
                ..Augment::NONE
            },
            seed: self.seed,
        };
        let mut trees: Vec<usize> = Vec::new();
        for r in epoch_order(self.data.len(), self.seed, 0) {
            let name = &self.data.records[r].tree;
            let new = trees.iter().all(|&other| self.data.records[other].tree != *name);
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
}

/// A way to split, and what it says.
pub struct Split {
    pub name: &'static str,
    pub groups: usize,
    /// Test scans whose tree, and whose plot, was trained on: shares.
    pub trees_seen: f64,
    pub plots_seen: f64,
    /// Of each repetition, on the test scans.
    pub accuracy: Vec<f64>,
}

pub fn splits(forest: &Forest, answer: &Lesson03) -> Result<Vec<Split>> {
    let (scans, of) = forest.scans()?;
    let record = |&r: &usize| &forest.data.records[r];
    let trees: Vec<&str> = of.iter().map(|r| record(r).tree.as_str()).collect();
    let plots: Vec<&str> = of.iter().map(|r| record(r).plot.as_str()).collect();
    let ways = [
        ("by scan", (0..of.len()).collect::<Vec<usize>>()),
        ("by tree", (answer.together)(&trees, &vec![""; of.len()])),
        ("by plot", (answer.together)(&trees, &plots)),
    ];
    let mut rows = Vec::new();
    for (name, group) in ways {
        let groups = group.iter().max().map_or(0, |&g| g + 1);
        let mut row = Split {
            name,
            groups,
            trees_seen: 0.0,
            plots_seen: 0.0,
            accuracy: Vec::new(),
        };
        for repeat in 0..REPEATS {
            let (train, test) = hold_out(&group, groups, forest.seed + 100 * repeat);
            let seen = |of: &[&str]| {
                let known = |&&r: &&usize| train.iter().any(|&t| of[t] == of[r]);
                test.iter().filter(known).count() as f64 / test.len() as f64 / REPEATS as f64
            };
            row.trees_seen += seen(&trees);
            row.plots_seen += seen(&plots);
            row.accuracy
                .push(forest.trained(answer, &scans, &train, &test, repeat)?);
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Whole groups in random order, until enough scans are held out.
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

/// Scans side by side.
fn batch(scans: &[Batch], which: &[usize]) -> Result<(Tensor, Tensor)> {
    let joined = Batch {
        points: which.iter().flat_map(|&i| scans[i].points.clone()).collect(),
        channels: 3,
        labels: which.iter().flat_map(|&i| scans[i].labels.clone()).collect(),
        records: which.to_vec(),
    };
    joined.to_device(&Device::Cpu)
}

impl Forest {
    fn trained(
        &self,
        answer: &Lesson03,
        scans: &[Batch],
        train: &[usize],
        test: &[usize],
        repeat: u64,
    ) -> Result<f64> {
        let config = PointNetConfig {
            kind: Kind::Vanilla,
            classes: self.data.species.len(),
            width: 4,
            dropout: 0.0,
            ..PointNetConfig::default()
        };
        let seed = self.seed + repeat;
        let model = PointNet::new(&config, &Device::Cpu, DType::F32, seed)?;
        let mut optimizer = OptimConfig::adamw().build(model.params())?;
        let loss = Loss {
            smoothing: 0.0,
            class_weights: None,
            orthogonality: 0.0,
        };
        let mut step = 0;
        for epoch in 0..EPOCHS {
            let order: Vec<usize> = (answer.epoch_order)(train.len(), seed, epoch)
                .into_iter()
                .map(|i| train[i])
                .collect();
            for which in batches(&order, BATCH, true) {
                let (points, labels) = batch(scans, &which)?;
                let pass = Pass::train(seed, step);
                let rate = if epoch < EPOCHS * 2 / 3 { 2e-3 } else { 4e-4 };
                train_step(
                    &model,
                    optimizer.as_mut(),
                    (&points, &labels),
                    &loss,
                    &pass,
                    rate,
                    1.0,
                )?;
                step += 1;
            }
        }
        let mut right = 0;
        for which in batches(test, 64, false) {
            let (points, labels) = batch(scans, &which)?;
            let logits = model.forward(&points, &Pass::eval())?.logits.to_vec2::<f32>()?;
            let truth = labels.to_vec1::<u32>()?;
            right += logits
                .iter()
                .zip(truth)
                .filter(|(row, truth)| metrics::argmax(row) as u32 == *truth)
                .count();
        }
        Ok(right as f64 / test.len() as f64)
    }
}
