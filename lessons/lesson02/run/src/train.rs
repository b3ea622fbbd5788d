//! Trees of the forest as clouds that the exercises prepare, and a small network of canopy's that is trained on them, with
//! the orthogonality term of exercise 2.5.

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy::{
    kernels::{Pass, loss_by_candle},
    loader::random_sample,
    model::{Kind, PointNet, PointNetConfig},
    optim::OptimConfig,
    schedule::cosine_with_warmup,
    train::{Loss, MicroBatch, Objective, Step, short::Forest},
};
use canopy_data::Philox;
use lesson02::Lesson02;

const EPOCHS: usize = 24;
const BATCH: usize = 32;

/// Points of a cloud as the network sees it.
pub const POINTS: usize = 512;

pub type Cloud = Vec<[f32; 3]>;

/// A tree with all its points.
pub struct Tree {
    pub species: u32,
    pub points: Cloud,
}

pub fn trees(forest: &Forest, records: &[usize]) -> Result<Vec<Tree>> {
    let tree = |&record: &usize| {
        let (species, points) = (
            forest.data.records[record].species as u32,
            forest.data.cloud(record)?.xyz,
        );
        Ok(Tree { species, points })
    };
    records.iter().map(tree).collect()
}

/// [`POINTS`] of a tree's points, normalised by exercise 2.1.
pub fn sampled(answer: &Lesson02, tree: &Tree, random: &mut Philox) -> Cloud {
    let mut cloud = random_sample(&tree.points, POINTS, random);
    (answer.normalise)(&mut cloud);
    cloud
}

/// Clouds of equally many points in one tensor, `[clouds, points, 3]`.
pub fn batch(clouds: &[Cloud]) -> candle_core::Result<Tensor> {
    let numbers: Vec<f32> = clouds.iter().flatten().flatten().copied().collect();
    Tensor::from_vec(numbers, (clouds.len(), clouds[0].len(), 3), &Device::Cpu)
}

/// Cross-entropy with the orthogonality term of exercise 2.5.
#[derive(Debug)]
struct WithTerm {
    loss: Loss,
    term: fn(&Tensor) -> candle_core::Result<Tensor>,
}

impl Objective for WithTerm {
    fn of_outputs(&self, outputs: &Tensor, labels: &Tensor, pass: &Pass) -> Result<(Tensor, Tensor)> {
        self.loss.of_outputs(outputs, labels, pass)
    }

    fn orthogonality(&self) -> f64 {
        self.loss.orthogonality
    }

    fn orthogonality_term(&self, transform: &Tensor) -> Result<Tensor> {
        Ok(loss_by_candle(transform, self.term)?)
    }
}

/// The full network with a quarter of its channels, trained on `trees`, with a bar on a terminal.
pub fn trained(answer: &Lesson02, forest: &Forest, trees: &[Tree], seed: u64) -> Result<PointNet> {
    let config = PointNetConfig {
        kind: Kind::Full,
        classes: forest.data.species.len(),
        width: 4,
        ..PointNetConfig::default()
    };
    let model = PointNet::new(&config, &forest.device, DType::F32, seed)?;
    let mut optimizer = OptimConfig::adamw().build(model.params())?;
    let objective = WithTerm {
        loss: Loss {
            smoothing: 0.1,
            orthogonality: 1e-3,
            ..Loss::CROSS_ENTROPY
        },
        term: answer.orthogonality,
    };
    let mut training = Step {
        clip: 1.0,
        ..Step::new(&model, &mut *optimizer, &objective)
    };
    let total = (trees.len().div_ceil(BATCH) * EPOCHS) as u64;
    let bar = canopy::train::bar(total, "steps");
    let mut step = 0;
    for epoch in 0..EPOCHS {
        let mut random = Philox::new(seed, 1 + epoch as u64);
        let mut order: Vec<&Tree> = trees.iter().collect();
        random.shuffle(&mut order);
        for trees in order.chunks(BATCH) {
            let mut cloud = |&tree: &&Tree| {
                let mut cloud = sampled(answer, tree, &mut random);
                (answer.turn)(&mut cloud, random.uniform_f64() * std::f64::consts::TAU);
                (answer.jitter)(&mut cloud, 0.005, &mut random);
                cloud
            };
            let clouds: Vec<Cloud> = trees.iter().map(&mut cloud).collect();
            let labels: Vec<u32> = trees.iter().map(|tree| tree.species).collect();
            let labels = Tensor::new(labels, &forest.device)?;
            let points = batch(&clouds)?.to_device(&forest.device)?;
            let micro = MicroBatch::new((points, labels), Pass::train(seed, step));
            let rate = cosine_with_warmup(step, (0.1 * total as f64).round() as u64, total, 2e-3, 0.0);
            training.take(&[micro], rate)?;
            step += 1;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(model)
}
