//! What padding costs: trees with one point per voxel have very different numbers of points.

use std::time::Instant;

use anyhow::Result;
use candle_core::{DType, Tensor};
use canopy::{
    kernels::{Pass, cross_entropy},
    loader::{batches, normalise},
    model::{PointNet, PointNetConfig},
    train::short::Forest,
};
use canopy_data::sample::Subsample;
use grader::{
    cells,
    experiment::Report,
    table::{Table, count, fixed, left, percent},
};
use lesson03::Lesson03;

const TREES: usize = 96;
const BATCH: usize = 8;
/// Metres.
const EDGE: f32 = 0.5;

/// Reports an epoch over the trees as they come, and in length buckets.
pub fn report(report: &mut Report, forest: &Forest, answer: &Lesson03) -> Result<()> {
    let seed = forest.config.seed;
    let records = (answer.epoch_order)(forest.data.len(), seed, 0);
    let (mut clouds, mut labels) = (Vec::new(), Vec::new());
    for &r in &records[..TREES] {
        let points = forest.data.cloud(r)?.xyz;
        let kept = (answer.subsample)(&points, Subsample::Voxel(EDGE), seed);
        let mut cloud: Vec<[f32; 3]> = kept.into_iter().map(|i| points[i]).collect();
        normalise(&mut cloud);
        clouds.push(cloud);
        labels.push(forest.data.records[r].species as u32);
    }
    let lengths: Vec<usize> = clouds.iter().map(Vec::len).collect();
    let mut sorted = lengths.clone();
    sorted.sort_unstable();
    let at = |share: usize| sorted[(sorted.len() - 1) * share / 8];
    let bounds: Vec<usize> = (1..8).map(at).collect();
    let order = (answer.epoch_order)(TREES, seed, 1);
    let ways = [
        ("as they come", batches(&order, BATCH, false)),
        (
            "length buckets",
            (answer.length_buckets)(&lengths, &order, &bounds, BATCH),
        ),
    ];
    let mut table = Table::new([
        left("batches of 8"),
        count("batches"),
        percent("padding", 1),
        fixed("an epoch", 2).unit("s"),
        fixed("loss", 3),
    ]);
    for (name, mut cut) in ways {
        // Batch norm in the head needs at least two clouds.
        cut.retain(|batch| batch.len() > 1);
        let start = Instant::now();
        let (padding, loss) = epoch(forest, answer, &cut, &clouds, &labels)?;
        let seconds = start.elapsed().as_secs_f64();
        table.row(cells![name, cut.len(), padding, seconds, loss]);
    }
    let (least, middle, most) = (at(0), at(4), at(8));
    let title = format!(
        "Trees with one point in each half metre: {least} to {most} points, half of them below {middle}."
    );
    report.table("padding", &title, &table);
    Ok(())
}

/// One epoch of plain gradient descent with masked batches. Returns the fraction of the points that is padding, and the mean
/// loss.
fn epoch(
    forest: &Forest,
    answer: &Lesson03,
    cut: &[Vec<usize>],
    clouds: &[Vec<[f32; 3]>],
    labels: &[u32],
) -> Result<(f64, f64)> {
    let config = PointNetConfig {
        width: 8,
        ..forest.config.network(forest.data.species.len())
    };
    let model = PointNet::new(&config, &forest.device, DType::F32, forest.config.seed)?;
    let (mut sum, mut seen, mut real, mut all) = (0.0, 0, 0, 0);
    for (step, batch) in cut.iter().enumerate() {
        let of: Vec<Vec<[f32; 3]>> = batch.iter().map(|&i| clouds[i].clone()).collect();
        let truth: Vec<u32> = batch.iter().map(|&i| labels[i]).collect();
        let (points, mask) = (answer.collate_ragged)(&of, &forest.device)?;
        let pass = Pass::train(forest.config.seed, step as u64).plain(true);
        let logits = model.forward_masked(&points, &mask, &pass)?.logits;
        let truth = Tensor::new(truth, &forest.device)?;
        let loss = cross_entropy(&logits, &truth, 0.0, None)?;
        for ((_, var), grad) in model.params().iter().zip(model.gradients(&loss, &pass)?) {
            var.set(&(var.as_detached_tensor() - (grad * 0.05)?)?)?;
        }
        sum += f64::from(loss.to_scalar::<f32>()?) * batch.len() as f64;
        seen += batch.len();
        real += of.iter().map(Vec::len).sum::<usize>();
        all += mask.elem_count();
    }
    Ok((1.0 - real as f64 / all as f64, sum / seen as f64))
}
