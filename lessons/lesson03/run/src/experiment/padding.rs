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
    let records: Vec<usize> = (answer.epoch_order)(forest.data.len(), forest.config.seed, 0)
        .into_iter()
        .take(TREES)
        .collect();
    let (mut clouds, mut labels) = (Vec::new(), Vec::new());
    for &r in &records {
        let points = forest.data.cloud(r)?.xyz;
        let kept = (answer.subsample)(&points, Subsample::Voxel(EDGE), forest.config.seed);
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
    let order = (answer.epoch_order)(TREES, forest.config.seed, 1);
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
        let loss = epoch(forest, answer, &cut, &clouds, &labels)?;
        let seconds = start.elapsed().as_secs_f64();
        table.row(cells![
            name,
            cut.len(),
            padded_share(&lengths, &cut),
            seconds,
            loss
        ]);
    }
    let (least, middle, most) = (at(0), at(4), at(8));
    let title = format!(
        "Trees with one point in each half metre: {least} to {most} points, half of them below {middle}."
    );
    report.table("padding", &title, &table);
    report.json("lengths", vec![least, middle, most]);
    Ok(())
}

/// The fraction of the points of `batches` that is padding if each batch is padded to its longest record.
fn padded_share(lengths: &[usize], batches: &[Vec<usize>]) -> f64 {
    let (mut real, mut all) = (0, 0);
    for batch in batches {
        let longest = batch.iter().map(|&r| lengths[r]).max().unwrap_or(0);
        real += batch.iter().map(|&r| lengths[r]).sum::<usize>();
        all += longest * batch.len();
    }
    (all - real) as f64 / all.max(1) as f64
}

/// One epoch of plain gradient descent with masked batches; returns the mean loss.
fn epoch(
    forest: &Forest,
    answer: &Lesson03,
    cut: &[Vec<usize>],
    clouds: &[Vec<[f32; 3]>],
    labels: &[u32],
) -> Result<f64> {
    let config = PointNetConfig {
        width: 8,
        ..forest.config.network(forest.data.species.len())
    };
    let model = PointNet::new(&config, &forest.device, DType::F32, forest.config.seed)?;
    let (mut sum, mut seen) = (0.0, 0);
    for (step, batch) in cut.iter().enumerate() {
        let of: Vec<Vec<[f32; 3]>> = batch.iter().map(|&i| clouds[i].clone()).collect();
        let (points, mask) = (answer.collate_ragged)(&of, &forest.device)?;
        let truth: Vec<u32> = batch.iter().map(|&i| labels[i]).collect();
        let pass = Pass::train(forest.config.seed, step as u64).plain(true);
        let logits = model.forward_masked(&points, &mask, &pass)?.logits;
        let loss = cross_entropy(
            &logits,
            &Tensor::from_vec(truth, batch.len(), &forest.device)?,
            0.0,
            None,
        )?;
        for ((_, var), grad) in model.params().iter().zip(model.gradients(&loss, &pass)?) {
            var.set(&(var.as_detached_tensor() - (grad * 0.05)?)?)?;
        }
        sum += f64::from(loss.to_scalar::<f32>()?) * batch.len() as f64;
        seen += batch.len();
    }
    Ok(sum / seen.max(1) as f64)
}
