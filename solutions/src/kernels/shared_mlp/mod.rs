//! Layers of linear+BN+ReLU that every point goes through by itself, fused into one operator, with or
//! without the greatest value over the points of each cloud at its end.
//!
//! Between two layers only the product before batch norm is kept; normalising and the ReLU are done again
//! wherever a block of rows is read, in the cache, which costs less than reading a stored copy. The last
//! layer before a max is never stored at all (`widest`).

mod backward;
mod backward_max;
mod eval;
mod forward;
mod layer;
mod widest;

use candle_core::{Device, Result, Tensor, bail};

use super::ranks::{SumOverRanks, total};
use super::values::Values;
use super::{BatchNorm, Operator, Pass, plain, separate, values};
use layer::Layer;

/// One layer of a shared MLP: `relu(bn(x·wᵀ))`, or without the ReLU.
#[derive(Clone, Copy, Debug)]
pub struct MlpLayer<'a> {
    /// `[out, in]`.
    pub weight: &'a Tensor,
    /// Over the `out` channels.
    pub bn: &'a BatchNorm,
    /// Whether a ReLU ends the layer.
    pub relu: bool,
}

/// The rows of a training pass: this rank's, and all that batch norm averages over.
struct Batch {
    rows: usize,
    all_rows: f64,
    sums: Option<std::sync::Arc<dyn SumOverRanks>>,
}

/// Layer after layer over each row. x `[rows, in]` → `[rows, out of the last layer]`.
///
/// # Errors
/// Shapes that do not fit, with what was expected; no rows; no layers.
pub fn shared_mlp(x: &Tensor, layers: &[MlpLayer], pass: &Pass) -> Result<Tensor> {
    run(x, layers, None, pass)
}

/// Layer after layer over each row, then the greatest value over the points of each cloud.
/// x `[clouds × points, in]` → `[clouds, out]`; of equal points the first takes the gradient.
///
/// # Errors
/// As `shared_mlp`; rows that are not a multiple of `clouds`.
pub fn shared_mlp_max(x: &Tensor, layers: &[MlpLayer], clouds: usize, pass: &Pass) -> Result<Tensor> {
    run(x, layers, Some(clouds), pass)
}

fn run(x: &Tensor, layers: &[MlpLayer], clouds: Option<usize>, pass: &Pass) -> Result<Tensor> {
    check(x, layers, clouds)?;
    let mut inputs = vec![x];
    for l in layers {
        inputs.extend([l.weight, l.bn.gamma.as_tensor(), l.bn.beta.as_tensor()]);
    }
    if values::fused(pass, &inputs) && pass.is_lowered() && pass.train {
        return separate::layers(x, layers, clouds, pass);
    }
    if !values::fused(pass, &inputs) || pass.is_lowered() {
        return by_candle(x, layers, clouds, pass);
    }
    let source = x.contiguous()?;
    let rows = source.dim(0)?;
    let mut steps = layers.iter().map(Layer::new).collect::<Result<Vec<_>>>()?;
    if !pass.train {
        let (output, shape) = eval::forward(&Values::of(&source)?, rows, &steps, clouds);
        return Tensor::from_vec(output, shape, &Device::Cpu);
    }
    // Of all ranks, if they make the pass together.
    let mut all_rows = [rows as f64];
    total(pass.sums(), &mut all_rows)?;
    let batch = Batch {
        rows,
        all_rows: all_rows[0],
        sums: pass.sums().cloned(),
    };
    let (output, shape, widest) = forward::forward(&Values::of(&source)?, &batch, &mut steps, clouds)?;
    for (step, l) in steps.iter().zip(layers) {
        step.update_running(l.bn, batch.all_rows)?;
    }
    pass.record(&inputs, output, &shape, || {
        let saved = backward::Saved {
            x: source.detach(),
            rows,
            batch,
            layers: steps,
            widest,
        };
        Box::new(move |gradient, wanted| saved.backward(gradient, wanted))
    })
}

fn by_candle(x: &Tensor, layers: &[MlpLayer], clouds: Option<usize>, pass: &Pass) -> Result<Tensor> {
    let mut y = x.clone();
    for l in layers {
        y = plain::linear_bn(&y, l.weight, l.bn, l.relu, pass)?;
    }
    match clouds {
        None => Ok(y),
        Some(clouds) => {
            let (rows, channels) = y.dims2()?;
            let y = y.reshape((clouds, rows / clouds, channels))?;
            pass.operate(Operator::Max, [&y], |[y]| plain::max_points(&y))
        }
    }
}

fn check(x: &Tensor, layers: &[MlpLayer], clouds: Option<usize>) -> Result<()> {
    let [rows, mut width] = *x.dims() else {
        bail!("expected x of shape [rows, channels], got {:?}", x.dims());
    };
    if rows == 0 || width == 0 || layers.is_empty() {
        bail!(
            "expected at least one row, one channel and one layer, got x {:?} and {} layers",
            x.dims(),
            layers.len()
        );
    }
    if clouds.is_some_and(|c| c == 0 || !rows.is_multiple_of(c)) {
        bail!(
            "expected rows to be a multiple of the clouds, got {rows} rows and {} clouds",
            clouds.unwrap_or(0)
        );
    }
    for (i, l) in layers.iter().enumerate() {
        let [out, input] = *l.weight.dims() else {
            bail!(
                "layer {i}: expected a weight of shape [out, in], got {:?}",
                l.weight.dims()
            );
        };
        if input != width || out == 0 {
            bail!(
                "layer {i}: expected a weight of shape [out, {width}], got {:?}",
                l.weight.dims()
            );
        }
        let bn = [
            ("gamma", &l.bn.gamma),
            ("beta", &l.bn.beta),
            ("mean", &l.bn.mean),
            ("var", &l.bn.var),
        ];
        for (name, v) in bn {
            if v.dims() != [out] {
                bail!(
                    "layer {i}: expected batch norm's {name} of shape [{out}], got {:?}",
                    v.dims()
                );
            }
        }
        width = out;
    }
    Ok(())
}
