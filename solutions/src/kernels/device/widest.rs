//! The widest layer and its maximum, without storing the layer's output: forward, and the backward pass in closed form.

use std::ops::Range;

use candle_core::{DType, Result, Tensor};

use super::batch_norm::{Groups, fold, running_factors, statistics};
use super::launch::{Argument, Grid, Kernels, args, longest, plain, starts};
use super::search::Operands;
use super::target::Target;
use crate::kernels::{MlpLayer, Pass};

const COVARIANCE: &str = "shared_mlp/covariance.cu";
const BACKWARD: &str = "shared_mlp/widest_backward.cu";

impl Target {
    /// `max(relu(bn(x·wᵀ)))` over the rows of each cloud.
    pub(super) fn widest(
        &self,
        x: &Tensor,
        layer: &MlpLayer,
        clouds: &[Range<usize>],
        pass: &Pass,
    ) -> Result<Tensor> {
        let (bn, relu, kernels) = (layer.bn, layer.relu, &self.kernels);
        let of = Operands {
            kernels: kernels.clone(),
            a: plain(x)?,
            w: plain(layer.weight)?,
            gamma: bn.gamma.as_detached_tensor(),
            starts: starts(clouds, x.device())?,
            longest: longest(clouds),
        };
        let (a, w, gamma, beta) = (&of.a, &of.w, &of.gamma, bn.beta.as_detached_tensor());
        let statistics = pass.train.then(|| covariance(kernels, a, w)).transpose()?;
        let factors = match &statistics {
            Some([_, _, mean, var]) => fold(kernels, [mean, var], a.dim(0)?, bn)?,
            None => running_factors(kernels, bn)?,
        };
        let ((n, k), count, keys) = (w.dims2()?, clouds.len(), of.keys()?);
        let output = |dtype| kernels.output(&[count, n], dtype);
        let (out, xhat, at) = (output(a.dtype())?, output(DType::F32)?, output(DType::I32)?);
        let arguments = args![
            &keys, a, w, &factors, gamma, &beta, &out, &xhat, &at, count, n, k, relu
        ];
        let (source, grid) = ("shared_mlp/widest_output.cu", Grid::over(n * count));
        kernels.launch_for(a.dtype(), source, "widest_output", grid, &arguments)?;
        let Some([mean, ws, ..]) = statistics else {
            return Ok(out);
        };
        let saved = [beta, mean, ws, factors, xhat, at];
        let inputs = [x, layer.weight, bn.gamma.as_tensor(), bn.beta.as_tensor()];
        Ok(self.record(&inputs, out, move |g, wanted| {
            gradients(&of, relu, saved.each_ref(), g, wanted)
        }))
    }
}

/// The mean of A's channels, W·S, and mean and variance of the channels of A·Wᵀ; S is the covariance of A's channels times
/// its rows.
fn covariance(kernels: &Kernels, a: &Tensor, w: &Tensor) -> Result<[Tensor; 4]> {
    let ((rows, k), n) = (a.dims2()?, w.dim(0)?);
    let ([a_mean, _], groups) = (statistics(kernels, a)?, Groups::of(rows, k));
    let partial = kernels.output(&[groups.count, k, k], DType::F32)?;
    let arguments = args![a, &a_mean, &partial, rows, k, groups.size];
    let tiles = k.div_ceil(64);
    let grid = Grid::new([tiles, tiles, groups.count], [256, 1, 1]);
    kernels.launch_for(a.dtype(), COVARIANCE, "covariance_products", grid, &arguments)?;
    let s = kernels.output(&[k, k], DType::F32)?;
    let arguments = args![&partial, &s, k, groups.count];
    kernels.launch(COVARIANCE, "covariance", Grid::each(k * k), &arguments)?;
    let ws = kernels.output(&[n, k], DType::F32)?;
    let [mean, var] = [(); 2].map(|()| kernels.output(&[n], DType::F64));
    let (mean, var, grid) = (mean?, var?, Grid::of(n, 64));
    let arguments = args![w, &s, &a_mean, rows as f64, &ws, &mean, &var, k];
    kernels.launch_for(w.dtype(), COVARIANCE, "channel_statistics", grid, &arguments)?;
    Ok([a_mean, ws, mean, var])
}

/// The gradients of x, w, γ and β. They need β, the mean of each input channel in f64, W·S, the factors, and the normalised value at
/// the arg-max and its row.
fn gradients(
    of: &Operands,
    relu: bool,
    [beta, mean, ws, factors, xhat, at]: [&Tensor; 6],
    g: &Tensor,
    wanted: &[bool],
) -> Result<Vec<Option<Tensor>>> {
    let (kernels, a, w, gamma) = (&of.kernels, &of.a, &of.w, &of.gamma);
    let (clouds, (n, k), inverse_rows) = (g.dim(0)?, w.dims2()?, 1.0 / a.dims()[0] as f32);
    let launch = |kernel: &str, grid: Grid, arguments: &[Argument]| {
        kernels.launch_for(a.dtype(), BACKWARD, kernel, grid, arguments)
    };
    // u·g behind the ReLU `[clouds, n]`, and dβ and dγ `[2, n]`.
    let ug = kernels.output(&[clouds, n], DType::F32)?;
    let sums = kernels.output(&[2, n], DType::F32)?;
    let arguments = args![g, xhat, factors, gamma, beta, &ug, &sums, clouds, n, relu];
    launch("widest_masked", Grid::each(n), &arguments)?;
    let mut gradients = vec![None, None, Some(sums.get(1)?), Some(sums.get(0)?)];
    if wanted[0] {
        let quadratic = kernels.output(&[k, k], DType::F32)?;
        let pw = kernels.output(&[k], DType::F32)?;
        let arguments = args![w, factors, &sums, inverse_rows, &quadratic, &pw, n, k];
        let tiles = k.div_ceil(16);
        let grid = Grid::new([tiles, tiles, 1], [16, 16, 1]);
        launch("widest_quadratic", grid, &arguments)?;
        let dx = kernels.output_like(a)?;
        let arguments = args![a, mean, &quadratic, &pw, w, &ug, at, &of.starts, &dx, n, k];
        let blocks = [of.longest.div_ceil(32), clouds, k.div_ceil(64)];
        launch("widest_dx", Grid::new(blocks, [256, 1, 1]), &arguments)?;
        gradients[0] = Some(dx);
    }
    if wanted[1] {
        let dw = kernels.output(&[n, k], DType::F32)?;
        let arguments = args![
            &ug,
            at,
            a,
            mean,
            ws,
            factors,
            &sums,
            inverse_rows,
            &dw,
            clouds,
            n,
            k
        ];
        launch("widest_dw", Grid::of(n, 64), &arguments)?;
        gradients[1] = Some(dw);
    }
    Ok(gradients)
}
