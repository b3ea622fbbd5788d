//! Trains a small PointNet twice: once without interruption, once stopped in the middle of an epoch and resumed.

use std::collections::HashMap;

use anyhow::Result;
use candle_core::{DType, Error, Tensor};
use canopy::{
    kernels::Pass,
    loader::{Augment, Collate, batches},
    model::PointNet,
    optim::{OptimConfig, Optimizer},
    train::{
        Config, Loss, OnDevice, Saved,
        metrics::Scores,
        short::{self, Forest},
    },
};
use kit::{
    experiment::Report,
    table::{Table, count, fixed, json},
};
use lesson04::Lesson04;

/// Points of a cloud.
const POINTS: usize = 128;
/// Passes over the trees.
const EPOCHS: usize = 8;
const BATCH: usize = 16;
const RATE: f64 = 2e-3;
/// Where the second training is stopped: the epoch, and the number of its batches that are done.
const BREAK: (usize, usize) = (2, 11);

/// A training by exercises 4.2 and 4.5.
struct Run<'a> {
    answer: &'a Lesson04,
    forest: &'a Forest,
    model: PointNet,
    optimizer: Box<dyn Optimizer>,
    step: u64,
}

/// Reports the epochs of a training, and whether another that is resumed ends with the same tensors.
pub fn report(answer: &Lesson04, report: &mut Report) -> Result<()> {
    let forest = Forest::open(Config {
        dropout: 0.3,
        ..short::small(POINTS, report.seed())
    })?;
    let mut whole = Run::begin(answer, &forest)?;
    let mut table = Table::new([
        count("epoch"),
        count("steps"),
        count("waits"),
        fixed("mean loss", 3),
        fixed("accuracy", 3),
        fixed("balanced", 3),
        fixed("macro F1", 3),
    ]);
    let mut saved = None;
    for epoch in 0..EPOCHS {
        let todo = batches(&forest.order(epoch as u64), BATCH, true);
        let before = OnDevice::waits();
        // In the epoch of the interruption, the content of a checkpoint is copied, and training continues.
        let (first, rest) = todo.split_at(if epoch == BREAK.0 { BREAK.1 } else { 0 });
        let mut loss = whole.train(epoch, first)? * first.len() as f64;
        if epoch == BREAK.0 {
            saved = Some((whole.saved()?, whole.step));
        }
        loss += whole.train(epoch, rest)? * rest.len() as f64;
        let waits = OnDevice::waits() - before;
        let s = whole.scores()?;
        let (mean, accuracy, balanced) = (loss / todo.len() as f64, s.accuracy, s.balanced_accuracy);
        table.row(json!([
            epoch + 1,
            todo.len(),
            waits,
            mean,
            accuracy,
            balanced,
            s.macro_f1
        ]));
    }
    let title = format!(
        "Training at a quarter of the width, {} trees of {POINTS} points;\nscores on {} trees of other plots",
        forest.split.train.len(),
        forest.unseen().len()
    );
    report.table("training", &title, &table);
    let Some((saved, step)) = saved else { return Ok(()) };
    // Another run, resumed by exercise 4.7 and trained to the end.
    let mut other = Run::begin(answer, &forest)?;
    let (model, optimizer) = (&other.model, &mut *other.optimizer);
    let rest = (answer.resume_batches)(&saved, model, optimizer, &forest.split.train, BATCH)?;
    other.step = step;
    other.train(saved.epoch, &rest)?;
    for epoch in saved.epoch + 1..EPOCHS {
        other.train(epoch, &batches(&forest.order(epoch as u64), BATCH, true))?;
    }
    let (whole, other) = (whole.bits()?, other.bits()?);
    let differ = whole
        .iter()
        .filter(|(name, bits)| other.get(*name) != Some(bits))
        .count();
    report.say(format!(
        "\nStopped in epoch 3, resumed, and trained to the end: of {} tensors of network and \
         optimizer, {differ} differ from the run that was not stopped.",
        whole.len()
    ));
    report.json("resumed_tensors", whole.len());
    report.json("resumed_tensors_that_differ", differ);
    Ok(())
}

impl<'a> Run<'a> {
    fn begin(answer: &'a Lesson04, forest: &'a Forest) -> Result<Self> {
        let model = forest.model()?;
        Ok(Self {
            answer,
            forest,
            optimizer: OptimConfig::adamw().build(model.params())?,
            model,
            step: 0,
        })
    }

    /// Takes the steps of the batches `todo`. Returns their mean loss.
    fn train(&mut self, epoch: usize, todo: &[Vec<usize>]) -> Result<f64> {
        let (answer, forest) = (self.answer, self.forest);
        let mut one = |records: &Vec<usize>| -> Result<(OnDevice, u64)> {
            let (points, labels) = forest.batch(records, epoch as u64)?.to_device(&forest.device)?;
            let pass = Pass::train(forest.config.seed, self.step);
            self.step += 1;
            let (model, optimizer) = (&self.model, &mut *self.optimizer);
            let data = (&points, &labels);
            let (loss, _) =
                (answer.train_step)(model, optimizer, data, &Loss::CROSS_ENTROPY, &pass, RATE, 1.0)?;
            Ok((OnDevice::new(&loss)?, records.len() as u64))
        };
        let mut steps = todo
            .iter()
            .map(|records| one(records).map_err(|e| Error::Msg(format!("{e:#}"))));
        Ok((answer.mean_loss)(&mut steps)?)
    }

    /// The scores on trees of other plots, by exercises 4.3 and 4.4.
    fn scores(&self) -> Result<Scores> {
        let forest = self.forest;
        let collate = Collate {
            augment: Augment::NONE,
            ..forest.collate()
        };
        let (mut truth, mut named) = (Vec::new(), Vec::new());
        for records in batches(&forest.unseen(), 64, false) {
            let batch = collate.batch(&records, 0)?;
            let (points, _) = batch.to_device(&forest.device)?;
            let said = (self.answer.probabilities)(&self.model, &points)?.argmax(1)?;
            named.extend(said.to_vec1::<u32>()?);
            truth.extend(batch.labels);
        }
        Ok((self.answer.scores)(&truth, &named, forest.data.species.len()))
    }

    fn saved(&self) -> Result<Saved> {
        Ok(Saved {
            model: self.model.to_map()?.into_iter().collect(),
            optimizer: self.optimizer.state()?.into_iter().collect(),
            seed: self.forest.config.seed,
            epoch: BREAK.0,
            batch: BREAK.1,
        })
    }

    /// The bits of all tensors of network and optimizer.
    fn bits(&self) -> Result<HashMap<(bool, String), Vec<u64>>> {
        let saved = self.saved()?;
        let bits = |t: Tensor| -> Result<Vec<u64>> {
            let numbers: Vec<f64> = t.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
            Ok(numbers.into_iter().map(f64::to_bits).collect())
        };
        let model = saved.model.into_iter().map(|(name, t)| ((true, name), t));
        let optimizer = saved.optimizer.into_iter().map(|(name, t)| ((false, name), t));
        model
            .chain(optimizer)
            .map(|(name, t)| Ok((name, bits(t)?)))
            .collect()
    }
}
