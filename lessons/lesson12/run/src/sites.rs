//! An embedding of sites, most of which are rare: sparse Adam on the rows of a batch, and dense Adam on all rows.

use std::ops::Range;

use anyhow::Result;
use candle_core::{Device, Tensor};
use canopy::optim::AdamConfig;
use canopy_data::Philox;
use lesson12::Lesson12;

/// Sites, trees in all, and trees of a batch.
const SITES: usize = 1000;
const TREES: usize = 60_000;
const BATCH: usize = 30;

/// The effects of the sites, and trees: site and target. Site i has a share of the trees that is proportional to
/// 1/(i + 1). Sites differ by 1, and the trees of a site by 1.
fn draw(seed: u64) -> (Vec<f64>, Vec<(u32, f32)>) {
    let mut random = Philox::new(seed, 11);
    let effects: Vec<f64> = (0..SITES).map(|_| random.normal()).collect();
    let mut sums = vec![0.0];
    for i in 0..SITES {
        sums.push(sums[i] + 1.0 / (i + 1) as f64);
    }
    let mut tree = || {
        let at = random.uniform_f64() * sums[SITES];
        let site = sums[1..].partition_point(|s| *s < at).min(SITES - 1);
        (site as u32, (effects[site] + random.normal()) as f32)
    };
    let trees = (0..TREES).map(|_| tree()).collect();
    (effects, trees)
}

/// Trains a row of width 1 for each site with half the squared error, in one pass over the trees. `sparse`: Adam updates
/// the rows of the batch, like PyTorch's `SparseAdam`. Otherwise it updates all, with gradients of 0 for those that the
/// batch does not have, as after a one-hot product.
///
/// Returns the root mean square error of the rows of sites with fewer than 30 trees, that of the others, the share of all
/// movement in steps whose batch did not have the row, and how many rows a step changes.
pub fn train(answer: &Lesson12, (sparse, rate): (bool, f64), seed: u64) -> Result<[f64; 4]> {
    let (effects, trees) = draw(seed);
    let AdamConfig {
        beta1, beta2, eps, ..
    } = AdamConfig::default();
    let mut table = vec![0f32; SITES];
    let (mut mean, mut square) = (vec![0.0; SITES], vec![0.0; SITES]);
    let (mut moved, mut unseen, mut changed) = (0.0, 0.0, 0);
    for (step, batch) in (1..).zip(trees.chunks(BATCH)) {
        let (ids, targets): (Vec<u32>, Vec<f32>) = batch.iter().copied().unzip();
        let weights = Tensor::new(&table[..], &Device::Cpu)?.unsqueeze(1)?;
        let targets = Tensor::new(targets, &Device::Cpu)?.unsqueeze(1)?;
        let grad = (((answer.embed)(&weights, &ids)? - targets)? / BATCH as f64)?;
        let gradient = (answer.embedding_gradient)(&ids, &grad)?;
        let values: Vec<f32> = gradient.values.flatten_all()?.to_vec1()?;
        let mut gradients = vec![None; SITES];
        for (&row, g) in gradient.rows.iter().zip(values) {
            gradients[row as usize] = Some(f64::from(g));
        }
        for (site, gradient) in gradients.into_iter().enumerate() {
            // The only difference between the two optimizers.
            if sparse && gradient.is_none() {
                continue;
            }
            let g = gradient.unwrap_or(0.0);
            mean[site] += (1.0 - beta1) * (g - mean[site]);
            square[site] += (1.0 - beta2) * (g * g - square[site]);
            let m = mean[site] / (1.0 - beta1.powi(step));
            let v = square[site] / (1.0 - beta2.powi(step));
            let before = table[site];
            table[site] -= (rate * m / (v.sqrt() + eps)) as f32;
            let by = f64::from((table[site] - before).abs());
            moved += by;
            unseen += if gradient.is_none() { by } else { 0.0 };
            changed += usize::from(by > 0.0);
        }
    }
    let mut counts = vec![0; SITES];
    trees.iter().for_each(|tree| counts[tree.0 as usize] += 1);
    let error = |trees: Range<usize>| {
        let sites: Vec<usize> = (0..SITES).filter(|&site| trees.contains(&counts[site])).collect();
        let square = |&site: &usize| (f64::from(table[site]) - effects[site]).powi(2);
        (sites.iter().map(square).sum::<f64>() / sites.len() as f64).sqrt()
    };
    let rows_a_step = changed as f64 / (TREES / BATCH) as f64;
    Ok([error(1..30), error(30..TREES), unseen / moved, rows_a_step])
}
