//! Runs that predict the species.

use anyhow::Result;
use candle_core::Tensor;
use canopy_data::Dataset;

use super::{
    EpochRow, Evaluation, MicroBatch, evaluate, metrics,
    task::{Part, Task},
};
use crate::model::PointNet;

/// The task to predict one of these species, in the order of the labels. A prediction has the probability of each.
#[derive(Clone, Copy, Debug)]
pub struct Species<'a>(pub &'a [String]);

impl Task for Species<'_> {
    type Prediction = Vec<f32>;
    type Scores = Evaluation;

    fn outputs(&self, model: &PointNet, clouds: &MicroBatch) -> Result<Tensor> {
        evaluate::probabilities(model, &clouds.points, &clouds.pass)
    }

    fn prediction(&self, samples: &[Vec<f32>]) -> Result<Vec<f32>> {
        let mut mean = vec![0.0; self.0.len()];
        for sample in samples {
            let sums = mean.iter_mut().zip(sample);
            sums.for_each(|(sum, p)| *sum += p / samples.len() as f32);
        }
        Ok(mean)
    }

    fn scores(&self, part: &Part, predictions: &[Vec<f32>]) -> Evaluation {
        let truth = part.records.iter().map(|&r| part.data.records[r].species as u32);
        let truth: Vec<u32> = truth.collect();
        let named = predictions.iter().map(|row| metrics::argmax(row) as u32);
        let named: Vec<u32> = named.collect();
        let scores = metrics::scores(&truth, &named, self.0.len());
        // Probabilities below 1e-12 count as 1e-12.
        let cross_entropy = |(&t, row): (&u32, &Vec<f32>)| -f64::from(row[t as usize]).max(1e-12).ln();
        let sum: f64 = truth.iter().zip(predictions).map(cross_entropy).sum();
        let loss = sum / truth.len().max(1) as f64;
        Evaluation::new(part.name, scores, loss, self.0)
    }

    fn row(&self, data: &Dataset, record: usize, prediction: &Vec<f32>) -> Vec<(String, String)> {
        let record = &data.records[record];
        let scan = format!("{:?}", record.scan).to_lowercase();
        let first = [
            ("tree", &record.tree),
            ("plot", &record.plot),
            ("scan", &scan),
            ("source", &record.source),
            ("truth", &self.0[record.species]),
            ("predicted", &self.0[metrics::argmax(prediction)]),
        ];
        let first = first.map(|(title, cell)| (title.to_owned(), cell.clone()));
        let pairs = self.0.iter().zip(prediction);
        let probabilities = pairs.map(|(species, p)| (format!("p({species})"), format!("{p:.4}")));
        first.into_iter().chain(probabilities).collect()
    }

    fn log(&self, scores: &Evaluation, row: &mut EpochRow) {
        row.val_loss = Some(scores.loss);
        row.val_accuracy = Some(scores.accuracy);
        row.val_balanced = Some(scores.balanced_accuracy);
    }
}
