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

/// What the backward pass reads.
struct Saved {
    of: Operands,
    beta: Tensor,
    relu: bool,
    /// The mean of each input channel, f64.
    mean: Tensor,
    /// W·S.
    ws: Tensor,
    factors: Tensor,
    /// The normalised value at the arg-max, and its row.
    xhat: Tensor,
    at: Tensor,
}

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
            starts: starts(kernels, clouds, x.device())?,
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
        let saved = Saved {
            of,
            beta,
            relu,
            mean,
            ws,
            factors,
            xhat,
            at,
        };
        let inputs = [x, layer.weight, bn.gamma.as_tensor(), bn.beta.as_tensor()];
        Ok(self.record(&inputs, out, move |g, wanted| saved.gradients(g, wanted)))
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

impl Saved {
    /// The gradients of x, w, γ and β.
    fn gradients(&self, g: &Tensor, wanted: &[bool]) -> Result<Vec<Option<Tensor>>> {
        let [ug, sums] = self.masked(g)?;
        let dx = wanted[0].then(|| self.of_input(&ug, &sums)).transpose()?;
        let dw = wanted[1].then(|| self.of_weight(&ug, &sums)).transpose()?;
        Ok(vec![dx, dw, Some(sums.get(1)?), Some(sums.get(0)?)])
    }

    /// u·g behind the ReLU `[clouds, n]`, and dβ and dγ `[2, n]`.
    fn masked(&self, g: &Tensor) -> Result<[Tensor; 2]> {
        let ((clouds, n), kernels) = (g.dims2()?, &self.of.kernels);
        let ug = kernels.output(&[clouds, n], DType::F32)?;
        let sums = kernels.output(&[2, n], DType::F32)?;
        let (xhat, factors, relu) = (&self.xhat, &self.factors, self.relu);
        let (gamma, beta) = (&self.of.gamma, &self.beta);
        let arguments = args![g, xhat, factors, gamma, beta, &ug, &sums, clouds, n, relu];
        self.launch("widest_masked", Grid::each(n), &arguments)?;
        Ok([ug, sums])
    }

    fn of_weight(&self, ug: &Tensor, sums: &Tensor) -> Result<Tensor> {
        let (clouds, (n, k)) = (ug.dim(0)?, self.of.w.dims2()?);
        let dw = self.of.kernels.output(&[n, k], DType::F32)?;
        let (at, a, mean, ws, factors) = (&self.at, &self.of.a, &self.mean, &self.ws, &self.factors);
        let inverse = self.inverse_rows();
        let arguments = args![ug, at, a, mean, ws, factors, sums, inverse, &dw, clouds, n, k];
        self.launch("widest_dw", Grid::of(n, 64), &arguments)?;
        Ok(dw)
    }

    fn of_input(&self, ug: &Tensor, sums: &Tensor) -> Result<Tensor> {
        let Operands {
            kernels,
            a,
            w,
            starts,
            ..
        } = &self.of;
        let (clouds, (n, k)) = (ug.dim(0)?, w.dims2()?);
        let (at, mean, factors) = (&self.at, &self.mean, &self.factors);
        let quadratic = kernels.output(&[k, k], DType::F32)?;
        let pw = kernels.output(&[k], DType::F32)?;
        let arguments = args![w, factors, sums, self.inverse_rows(), &quadratic, &pw, n, k];
        let tiles = k.div_ceil(16);
        let grid = Grid::new([tiles, tiles, 1], [16, 16, 1]);
        self.launch("widest_quadratic", grid, &arguments)?;
        let dx = kernels.output_like(a)?;
        let arguments = args![a, mean, &quadratic, &pw, w, ug, at, starts, &dx, n, k];
        let blocks = [self.of.longest.div_ceil(32), clouds, k.div_ceil(64)];
        self.launch("widest_dx", Grid::new(blocks, [256, 1, 1]), &arguments)?;
        Ok(dx)
    }

    fn inverse_rows(&self) -> f32 {
        1.0 / self.of.a.dims()[0] as f32
    }

    fn launch(&self, kernel: &str, grid: Grid, arguments: &[Argument]) -> Result<()> {
        let Operands { kernels, a, .. } = &self.of;
        kernels.launch_for(a.dtype(), BACKWARD, kernel, grid, arguments)
    }
}
