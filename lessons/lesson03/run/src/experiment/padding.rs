//! What padding costs: trees with one point per voxel have very different numbers of points.

use anyhow::Result;
use canopy::{
    kernels::Pass,
    loader::{batches, normalise},
    train::short::Forest,
};
use canopy_data::sample::Subsample;
use kit::table::{Table, count, fixed, json, left, percent};
use lesson03::Lesson03;

const TREES: usize = 96;
const BATCH: usize = 8;
/// Metres.
const EDGE: f32 = 0.5;

/// The padding of an epoch over the trees as they come and in length buckets, and by how much a network's logits change.
pub fn table(forest: &Forest, answer: &Lesson03) -> Result<Table> {
    let seed = forest.config.seed;
    let records = (answer.epoch_order)(forest.data.len(), seed, 0);
    let mut clouds = Vec::new();
    for &r in &records[..TREES] {
        let points = forest.data.cloud(r)?.xyz;
        let kept = (answer.subsample)(&points, Subsample::Voxel(EDGE), seed);
        let mut cloud: Vec<[f32; 3]> = kept.into_iter().map(|i| points[i]).collect();
        normalise(&mut cloud);
        clouds.push(cloud);
    }
    let lengths: Vec<usize> = clouds.iter().map(Vec::len).collect();
    let mut sorted = lengths.clone();
    sorted.sort_unstable();
    let bounds: Vec<usize> = (1..8).map(|share| sorted[(TREES - 1) * share / 8]).collect();
    let order = (answer.epoch_order)(TREES, seed, 1);
    let in_buckets = (answer.length_buckets)(&lengths, &order, &bounds, BATCH);
    let model = forest.model()?;
    let mut table = Table::new([
        left("batches of 8"),
        count("batches"),
        percent("padding", 1),
        fixed("logits change by", 4),
    ]);
    let mut before: Option<Vec<f32>> = None;
    for (name, cut) in [
        ("as they come", batches(&order, BATCH, false)),
        ("length buckets", in_buckets),
    ] {
        let (mut points_in_all, mut logits) = (0, vec![Vec::new(); TREES]);
        for batch in &cut {
            let of: Vec<Vec<[f32; 3]>> = batch.iter().map(|&i| clouds[i].clone()).collect();
            let (points, mask) = (answer.collate_ragged)(&of, &forest.device)?;
            let rows = model.forward_masked(&points, &mask, &Pass::eval())?.logits;
            for (&i, row) in batch.iter().zip(rows.to_vec2()?) {
                logits[i] = row;
            }
            points_in_all += mask.elem_count();
        }
        let padding = 1.0 - lengths.iter().sum::<usize>() as f64 / points_in_all as f64;
        let logits: Vec<f32> = logits.concat();
        let change = before.map(|before| {
            let changes = before.iter().zip(&logits).map(|(a, b)| f64::from((a - b).abs()));
            changes.fold(0.0, f64::max)
        });
        table.row(json!([name, cut.len(), padding, change]));
        before = Some(logits);
    }
    Ok(table)
}
