//! Layers of linear+BN+ReLU one operator at a time. By candle's operators this is the plain form, the specification of the
//! fused one. A pass with a [`super::Lowering`] runs here as well, because it rounds between the operators; on the CPU
//! in f32 its operators are on the pass's tape.

use std::ops::Range;

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::values::{fused, read};
use super::{MlpLayer, Operator, Pass, linear, plain, shared_mlp, with_backward};

/// Applies layer after layer to the rows, then takes the maximum over the points of each cloud if there are `clouds`.
pub(super) fn layers(
    x: &Tensor,
    layers: &[MlpLayer],
    clouds: Option<Vec<Range<usize>>>,
    pass: &Pass,
) -> Result<Tensor> {
    let mut y = x.clone();
    for l in layers {
        y = layer(&y, l, pass)?;
    }
    match clouds {
        None => Ok(y),
        Some(clouds) => pass.operate(Operator::Max, [&y], |[y]| max(&y, &clouds, pass)),
    }
}

fn layer(x: &Tensor, l: &MlpLayer, pass: &Pass) -> Result<Tensor> {
    let w = l.weight;
    // Under a lowering the two cannot be one operator: only the product is in low precision.
    if l.relu && !pass.train && !pass.is_lowered() {
        let (w, b) = l.bn.folded(w)?;
        // candle keeps the graph of variables, and with it every layer's output. An evaluation does not need it.
        return Ok(plain::shared_layer(x, &w, &b)?.detach());
    }
    let y = pass.operate(Operator::Linear, [x, w], |[x, w]| match on_tape(&x, pass) {
        true => linear::product(&x, &w, pass),
        false => x.matmul(&w.t()?),
    })?;
    let inputs = [&y, l.bn.gamma.as_tensor(), l.bn.beta.as_tensor()];
    let y = pass.operate(Operator::BatchNorm, inputs, |[y, gamma, beta]| {
        match on_tape(&y, pass) {
            true => shared_mlp::batch_norm([&y, &gamma, &beta], l.bn, pass),
            false => plain::batch_norm(&y, (&gamma, &beta), l.bn, pass),
        }
    })?;
    if !l.relu {
        return Ok(y);
    }
    pass.operate(Operator::Relu, [&y], |[y]| {
        let values = y.detach();
        with_backward(
            [&y],
            pass,
            |[y]| plain::relu(y),
            move |g| Ok([values.le(0.0)?.where_cond(&g.zeros_like()?, g)?]),
        )
    })
}

/// Whether the backward pass of an operator over `x` is ours. An evaluation has none.
fn on_tape(x: &Tensor, pass: &Pass) -> bool {
    pass.train && fused(pass, &[x])
}

/// Applies `forward` to the values of `x`, and `backward` to the gradients that come back. In a plain training pass the
/// operator is on candle's graph.
///
/// # Errors
/// Returns an error if `x` is not f32 on the CPU.
pub fn each(
    x: &Tensor,
    pass: &Pass,
    forward: impl Fn(&mut [f32]) + Send + Sync + 'static,
    backward: impl Fn(&mut [f32]) + Send + Sync + 'static,
) -> Result<Tensor> {
    if pass.train && pass.is_plain() {
        return x.contiguous()?.apply_op1(Each { forward, backward });
    }
    let mut y = read(x)?;
    forward(&mut y);
    pass.record(&[x], y, x.dims(), || {
        Box::new(move |mut g, _| {
            backward(&mut g);
            Ok(vec![Some(g)])
        })
    })
}

/// [`each`] on candle's graph.
struct Each<F, B> {
    forward: F,
    backward: B,
}

impl<F, B> CustomOp1 for Each<F, B>
where
    F: Fn(&mut [f32]) + Send + Sync,
    B: Fn(&mut [f32]) + Send + Sync,
{
    fn name(&self) -> &'static str {
        "each"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (CpuStorage::F32(x), Some((from, to))) = (x, layout.contiguous_offsets()) else {
            bail!("each: expected contiguous f32, got strides {:?}", layout.stride());
        };
        let mut y = x[from..to].to_vec();
        (self.forward)(&mut y);
        Ok((CpuStorage::F32(y), layout.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let mut g = read(gradient)?;
        (self.backward)(&mut g);
        Ok(Some(Tensor::from_vec(g, x.shape(), x.device())?))
    }
}

/// The maximum of each channel over each cloud's points, the first of equals; NaN is the greatest.
/// `[points of all clouds, channels]` → `[clouds, channels]`.
fn max(x: &Tensor, clouds: &[Range<usize>], pass: &Pass) -> Result<Tensor> {
    if !on_tape(x, pass) {
        return plain::max_of_clouds(x, clouds);
    }
    let ((rows, n), values) = (x.dims2()?, read(x)?);
    let of_cloud = |cloud: &Range<usize>| {
        let mut best: Vec<(usize, f32)> = vec![(cloud.start, f32::NEG_INFINITY); n];
        for (row, values) in cloud.clone().zip(values[cloud.start * n..].chunks_exact(n)) {
            for (best, &v) in best.iter_mut().zip(values) {
                if v > best.1 || (v.is_nan() && !best.1.is_nan()) {
                    *best = (row, v);
                }
            }
        }
        best
    };
    let best: Vec<(usize, f32)> = clouds.par_iter().flat_map_iter(of_cloud).collect();
    let y = best.iter().map(|b| b.1).collect();
    pass.record(&[x], y, &[clouds.len(), n], || {
        Box::new(move |g, _| {
            let mut dx = vec![0.0; rows * n];
            for (i, (g, (row, _))) in g.iter().zip(&best).enumerate() {
                dx[row * n + i % n] = *g;
            }
            Ok(vec![Some(dx)])
        })
    })
}
