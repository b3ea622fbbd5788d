//! How much accumulated gradients differ from those of the large batch, with batch norm and without.

use anyhow::Result;
use candle_core::{DType, Tensor, Var};
use canopy::kernels::{Pass, cross_entropy};

use crate::train::{Trees, random_directions, said};

/// Clouds of the large batch.
pub const LARGE: usize = 128;
/// Clouds of its micro-batches; the last one is smaller.
pub const MICRO: usize = 48;

/// ‖accumulated − large‖/‖large‖ of a network without batch norm, and of the PointNet of the experiment.
pub fn differences(trees: &Trees) -> Result<(f64, f64)> {
    let forest = &trees.forest;
    let records = forest.split.train.iter().step_by(4).copied().take(LARGE);
    let batch = forest.batch(&records.collect::<Vec<_>>(), 0)?;
    let (points, labels) = batch.to_device(&forest.device)?;
    let mut weights = Vec::new();
    for (seed, shape) in [(1, (3, 64)), (2, (64, forest.data.species.len()))] {
        let zeros = Var::zeros(shape, DType::F32, &forest.device)?;
        let drawn = random_directions(std::slice::from_ref(&zeros), seed)?;
        weights.push(Var::from_tensor(&(&drawn[0] * 0.3)?)?);
    }
    // A PointNet of two layers: the first on each point, the second on the maximum.
    let plain = |x: &Tensor, y: &Tensor| -> candle_core::Result<Vec<Tensor>> {
        let hidden = x.broadcast_matmul(weights[0].as_tensor())?.relu()?;
        let logits = hidden.max(1)?.matmul(weights[1].as_tensor())?;
        let grads = cross_entropy(&logits, y, 0.0, None)?.backward()?;
        let of = |w: &Var| grads.get(w).cloned().map_or_else(|| w.zeros_like(), Ok);
        weights.iter().map(of).collect()
    };
    let model = forest.model()?;
    let normed = |x: &Tensor, y: &Tensor| -> candle_core::Result<Vec<Tensor>> {
        let pass = Pass::train(1, 0);
        let logits = model.forward(x, &pass).map_err(said)?.logits;
        let loss = cross_entropy(&logits, y, 0.0, None)?;
        model.gradients(&loss, &pass).map_err(said)
    };
    let data = (&points, &labels);
    Ok((difference(trees, data, plain)?, difference(trees, data, normed)?))
}

fn difference(
    trees: &Trees,
    (points, labels): (&Tensor, &Tensor),
    gradients: impl Fn(&Tensor, &Tensor) -> candle_core::Result<Vec<Tensor>>,
) -> Result<f64> {
    let large = gradients(points, labels)?;
    let starts: Vec<usize> = (0..LARGE).step_by(MICRO).collect();
    let size = |i: usize| MICRO.min(LARGE - starts[i]);
    let weights: Vec<f64> = (0..starts.len()).map(|i| size(i) as f64).collect();
    let sum = (trees.answer.accumulated)(&weights, &mut |i| {
        let part = |t: &Tensor| t.narrow(0, starts[i], size(i))?.contiguous();
        gradients(&part(points)?, &part(labels)?)
    })?;
    let (mut off, mut all) = (0.0, 0.0);
    for (a, b) in sum.iter().zip(&large) {
        let square = |t: Tensor| t.to_dtype(DType::F64)?.sqr()?.sum_all()?.to_scalar::<f64>();
        off += square((a - b)?)?;
        all += square(b.clone())?;
    }
    Ok((off / all).sqrt())
}
