//! The fused form: several layers of linear+BN+ReLU, applied to the rows of a matrix, are one operator. It may end with
//! the maximum over the points of each cloud.
//!
//! Between two layers only the product before batch norm is stored. Whenever a block of rows is read, batch norm and
//! ReLU are applied to it again in the cache: this costs less than reading a stored copy. The output of the last layer
//! before a maximum is not stored at all (see `widest`).

mod backward;
mod backward_max;
mod covariance;
mod eval;
mod forward;
mod greatest;
mod layer;
mod stored;
mod tiles;
mod widest;

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use candle_core::{Device, Result, Tensor};

use super::ranks::{SumOverRanks, total};
use super::values::Values;
use super::{BatchNorm, Bf16Unit, MlpLayer, Pass};
use layer::Layer;

/// The numbers of rows in a training pass: `rows` on this rank, and `all_rows` over all ranks, which batch norm
/// averages over.
struct Batch {
    rows: usize,
    all_rows: f64,
    sums: Option<std::sync::Arc<dyn SumOverRanks>>,
}

/// Applies `layers` to the rows of x. `inputs` is x, then each layer's weight, γ and β; the caller has checked their
/// shapes.
pub(super) fn layers(
    inputs: &[&Tensor],
    layers: &[MlpLayer],
    clouds: Option<Vec<Range<usize>>>,
    pass: &Pass,
) -> Result<Tensor> {
    let new = |l: &MlpLayer| {
        let norm = [l.bn.gamma.as_tensor(), l.bn.beta.as_tensor()];
        Layer::new(Some(l.weight), norm, l.bn, l.relu, pass.bf16_unit())
    };
    let steps = layers.iter().map(new).collect::<Result<Vec<_>>>()?;
    if pass.train {
        let norms: Vec<&BatchNorm> = layers.iter().map(|l| l.bn).collect();
        return train(inputs, steps, &norms, clouds, pass);
    }
    let x = inputs[0].contiguous()?;
    let (output, shape) = eval::forward(&Values::of(&x)?, x.dim(0)?, &steps, clouds.as_deref());
    Tensor::from_vec(output, shape, &Device::Cpu)
}

/// Batch norm alone, in training. `inputs` is y `[rows, channels]`, then γ and β `[channels]`; the output has the shape
/// of y.
pub(super) fn batch_norm(inputs: [&Tensor; 3], bn: &BatchNorm, pass: &Pass) -> Result<Tensor> {
    let layer = Layer::new(None, [inputs[1], inputs[2]], bn, false, Bf16Unit::Off)?;
    train(&inputs, vec![layer], &[bn], None, pass)
}

fn train(
    inputs: &[&Tensor],
    mut layers: Vec<Layer>,
    norms: &[&BatchNorm],
    clouds: Option<Vec<Range<usize>>>,
    pass: &Pass,
) -> Result<Tensor> {
    let x = inputs[0].contiguous()?;
    let rows = x.dim(0)?;
    let mut all_rows = [rows as f64];
    total(pass.sums(), &mut all_rows)?;
    let batch = Batch {
        rows,
        all_rows: all_rows[0],
        sums: pass.sums().cloned(),
    };
    let (output, shape, widest) = forward::forward(&Values::of(&x)?, &batch, &mut layers, clouds)?;
    for (layer, bn) in layers.iter().zip(norms) {
        layer.update_running(bn, batch.all_rows)?;
    }
    pass.record(inputs, output, &shape, || {
        let saved = backward::Saved {
            x: x.detach(),
            rows,
            batch,
            layers,
            widest,
        };
        match pass.releases {
            false => Box::new(move |gradient, wanted| saved.backward(gradient, wanted)),
            true => released(saved, inputs),
        }
    })
}

/// The backward pass of an operator whose weights are released in the meantime, and are there again when it runs.
fn released(mut saved: backward::Saved, inputs: &[&Tensor]) -> super::tape::Backward {
    let weights: Vec<Tensor> = inputs[1..].iter().step_by(3).map(|w| w.detach()).collect();
    saved.release();
    let saved = Mutex::new(saved);
    Box::new(move |gradient, wanted| {
        let mut saved = saved.lock().unwrap_or_else(PoisonError::into_inner);
        saved.load(&weights)?;
        let gradients = saved.backward(gradient, wanted);
        saved.release();
        gradients
    })
}
