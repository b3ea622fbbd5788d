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
mod widest;

use std::ops::Range;

use candle_core::{Device, Result, Tensor};

use super::ranks::{SumOverRanks, total};
use super::tile::padded;
use super::values::Values;
use super::{BatchNorm, MlpLayer, Pass};
use backward::Saved;
use layer::{Layer, pad};

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
        Layer::new(Some(l.weight), norm, l.bn, l.relu)
    };
    let steps = layers.iter().map(new).collect::<Result<Vec<_>>>()?;
    if pass.train {
        return train(inputs, steps, clouds, pass);
    }
    let x = padded_rows(inputs[0])?;
    let shape = shape(&x, &steps, clouds.as_deref())?;
    let output = eval::forward(&Values::of(&x)?, x.dim(0)?, &steps, clouds.as_deref())?;
    Tensor::from_vec(output, &shape, &Device::Cpu)
}

/// Batch norm alone, in training. `inputs` is y `[rows, channels]`, then γ and β `[channels]`; the output has the shape
/// of y.
pub(super) fn batch_norm(inputs: [&Tensor; 3], bn: &BatchNorm, pass: &Pass) -> Result<Tensor> {
    let layer = Layer::new(None, [inputs[1], inputs[2]], bn, false)?;
    train(&inputs, vec![layer], None, pass)
}

fn train(
    inputs: &[&Tensor],
    mut layers: Vec<Layer>,
    clouds: Option<Vec<Range<usize>>>,
    pass: &Pass,
) -> Result<Tensor> {
    let x = padded_rows(inputs[0])?;
    let shape = shape(&x, &layers, clouds.as_deref())?;
    let rows = x.dim(0)?;
    let mut all_rows = [rows as f64];
    total(pass.sums(), &mut all_rows)?;
    let batch = Batch {
        rows,
        all_rows: all_rows[0],
        sums: pass.sums().cloned(),
    };
    let (output, widest) = forward::forward(&Values::of(&x)?, &batch, &mut layers, clouds)?;
    layers
        .iter()
        .try_for_each(|layer| layer.update_running(batch.all_rows))?;
    pass.record(inputs, output, &shape, || {
        let saved = Saved {
            x,
            batch,
            layers,
            widest,
        };
        Box::new(move |gradient, wanted| saved.backward(gradient, wanted))
    })
}

/// The rows of x, padded to whole SIMD vectors.
fn padded_rows(x: &Tensor) -> Result<Tensor> {
    let ((rows, k), x) = (x.dims2()?, x.contiguous()?.detach());
    if k == padded(k) {
        return Ok(x);
    }
    Tensor::from_vec(pad(&Values::of(&x)?, k), (rows, padded(k)), &Device::Cpu)
}

/// The shape of the output.
fn shape(x: &Tensor, layers: &[Layer], clouds: Option<&[Range<usize>]>) -> Result<[usize; 2]> {
    let height = clouds.map_or(x.dim(0)?, <[_]>::len);
    Ok([height, layers[layers.len() - 1].n])
}
