//! An embedding of sites, most of which are rare: sparse Adam on the rows of a batch, and dense Adam on all rows.

use anyhow::Result;
use candle_core::{Device, Tensor, Var};
use canopy::optim::{AdamConfig, AdamState, adam_step};
use canopy_data::Philox;
use lesson12::Lesson12;

use super::sparse_adam::sparse_adam_step;

/// Sites, trees in all, and trees of a batch.
pub const SITES: usize = 1000;
const TREES: usize = 60_000;
const BATCH: usize = 30;
/// What a tree differs from its site by, in the unit in which sites differ by 1.
const NOISE: f64 = 1.0;

/// Which rows an optimizer changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Update {
    /// All, with gradients of 0 for those that the batch does not have, as after a one-hot product.
    Dense,
    /// Those of the batch.
    Sparse,
}

impl Update {
    pub fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Sparse => "sparse",
        }
    }
}

/// What a training found.
pub struct Learned {
    /// Root mean square error of the rows, of sites with fewer than 30 trees and of the others.
    pub rare: f64,
    pub common: f64,
    /// The share of all movement that rows made in steps whose batch did not have them.
    pub unseen: f64,
    /// Rows that a step changed, on average.
    pub changed: f64,
    /// Of the site with the most trees below 30: its true effect, its row after each step, and the steps that had it.
    pub effect: f64,
    pub trace: Vec<f64>,
    pub seen_at: Vec<usize>,
}

/// Sites and trees of a seed: site i has a share of the trees that is proportional to 1/(i + 1).
struct Trees {
    effects: Vec<f64>,
    sites: Vec<u32>,
    targets: Vec<f32>,
    counts: Vec<usize>,
}

impl Trees {
    fn draw(seed: u64) -> Self {
        let mut random = Philox::new(seed, 11);
        let effects: Vec<f64> = (0..SITES).map(|_| random.normal()).collect();
        let mut sums = Vec::with_capacity(SITES);
        let mut sum = 0.0;
        for i in 0..SITES {
            sum += 1.0 / (i + 1) as f64;
            sums.push(sum);
        }
        let (mut sites, mut targets, mut counts) = (Vec::new(), Vec::new(), vec![0; SITES]);
        for _ in 0..TREES {
            let at = random.uniform_f64() * sum;
            let site = sums.partition_point(|s| *s < at).min(SITES - 1);
            sites.push(site as u32);
            targets.push((effects[site] + NOISE * random.normal()) as f32);
            counts[site] += 1;
        }
        Self {
            effects,
            sites,
            targets,
            counts,
        }
    }
}

/// One pass over the trees: a row of width 1 for each site, and half the squared error.
pub fn train(answer: &Lesson12, update: Update, lr: f64, seed: u64) -> Result<Learned> {
    let trees = Trees::draw(seed);
    let rare = |site: usize| trees.counts[site] < 30;
    let traced = (0..SITES).find(|&s| rare(s)).unwrap_or(SITES - 1);
    let table = Var::zeros((SITES, 1), candle_core::DType::F32, &Device::Cpu)?;
    let mut state = AdamState::zeros_like([&table])?;
    let (mut before, mut learned) = (
        vec![0f32; SITES],
        Learned {
            rare: 0.0,
            common: 0.0,
            unseen: 0.0,
            changed: 0.0,
            effect: trees.effects[traced],
            trace: Vec::new(),
            seen_at: Vec::new(),
        },
    );
    let (mut moved, mut unseen) = (0.0, 0.0);
    let batches = trees.sites.chunks(BATCH).zip(trees.targets.chunks(BATCH));
    for (step, (ids, targets)) in batches.enumerate() {
        let rows = (answer.embed)(&table, ids)?;
        let targets = Tensor::new(targets, &Device::Cpu)?.unsqueeze(1)?;
        let grad = ((rows - targets)?.detach() / ids.len() as f64)?;
        let sparse = (answer.embedding_gradient)(ids, &grad)?;
        let config = AdamConfig::default();
        match update {
            Update::Sparse => {
                sparse_adam_step(&table, (&sparse.rows, &sparse.values), &mut state, lr, &config)?;
            }
            Update::Dense => {
                let dense = sparse.dense(SITES)?;
                adam_step(std::slice::from_ref(&table), &[dense], &mut state, lr, &config)?;
            }
        }
        let after: Vec<f32> = table.as_detached_tensor().flatten_all()?.to_vec1()?;
        for (site, (a, b)) in before.iter().zip(&after).enumerate() {
            let by = f64::from((a - b).abs());
            moved += by;
            learned.changed += f64::from(u8::from(by > 0.0));
            if sparse.rows.binary_search(&(site as u32)).is_err() {
                unseen += by;
            }
        }
        learned.trace.push(f64::from(after[traced]));
        if ids.contains(&(traced as u32)) {
            learned.seen_at.push(step);
        }
        before = after;
    }
    let error = |of_rare: bool| {
        let sites = (0..SITES).filter(|&s| rare(s) == of_rare && trees.counts[s] > 0);
        let squares: Vec<f64> = sites
            .map(|s| (f64::from(before[s]) - trees.effects[s]).powi(2))
            .collect();
        (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
    };
    (learned.rare, learned.common) = (error(true), error(false));
    learned.unseen = unseen / moved;
    learned.changed /= learned.trace.len() as f64;
    Ok(learned)
}
