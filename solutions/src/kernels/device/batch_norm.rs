//! Batch norm and ReLU over the rows of a matrix.

use candle_core::{DType, Result, Tensor};

use super::launch::{Grid, Kernels, args, plain};
use super::target::Target;
use crate::kernels::ranks::sum_tensor;
use crate::kernels::{BatchNorm, SumOverRanks};

const SOURCE: &str = "shared_mlp/batch_norm.cu";

/// The rows of a matrix in groups, one for each block.
#[derive(Clone, Copy)]
pub(super) struct Groups {
    n: usize,
    /// Rows of a group.
    pub size: usize,
    pub count: usize,
}

impl Groups {
    /// At most 256, which one thread adds afterwards.
    pub fn of(rows: usize, n: usize) -> Self {
        let size = rows.div_ceil(256).max(64);
        let count = rows.div_ceil(size);
        Self { n, size, count }
    }

    /// Blocks of 32 channels × 8 rows.
    fn grid(self) -> Grid {
        Grid::new([self.n.div_ceil(32), self.count, 1], [32, 8, 1])
    }
}

/// Mean and biased variance of each column of y `[rows, n]`, both f64 `[n]`.
pub(super) fn statistics(kernels: &Kernels, y: &Tensor) -> Result<[Tensor; 2]> {
    let (rows, n) = y.dims2()?;
    let groups = Groups::of(rows, n);
    let partial = kernels.output(&[groups.count, 3, n], DType::F32)?;
    let arguments = args![y, &partial, rows, n, groups.size];
    kernels.launch_for(y.dtype(), SOURCE, "moments", groups.grid(), &arguments)?;
    let mean = kernels.output(&[n], DType::F64)?;
    let var = kernels.output(&[n], DType::F64)?;
    let arguments = args![&partial, &mean, &var, rows, n, groups.size];
    kernels.launch(SOURCE, "combine_moments", Grid::each(n), &arguments)?;
    Ok([mean, var])
}

/// The factors of a layer `[4, n]` from the statistics of its product over `rows` rows, which move the running ones.
pub(super) fn fold(
    kernels: &Kernels,
    statistics: [&Tensor; 2],
    rows: usize,
    bn: &BatchNorm,
) -> Result<Tensor> {
    let ([mean, var], n, rows) = (statistics, statistics[0].elem_count(), rows as f64);
    let factors = kernels.output(&[4, n], DType::F32)?;
    let numbers = args![mean, var, &bn.gamma, &bn.beta, rows, bn.eps, bn.momentum];
    let written = args![&factors, &bn.mean, &bn.var, n];
    let arguments = [&numbers[..], &written].concat();
    kernels.launch(SOURCE, "fold_statistics", Grid::each(n), &arguments)?;
    Ok(factors)
}

/// The factors of a layer in evaluation, from the running statistics.
pub(super) fn running_factors(kernels: &Kernels, bn: &BatchNorm) -> Result<Tensor> {
    let n = bn.mean.elem_count();
    let factors = kernels.output(&[4, n], DType::F32)?;
    let arguments = args![&bn.mean, &bn.var, &bn.gamma, &bn.beta, bn.eps, &factors, n];
    kernels.launch(SOURCE, "running_factors", Grid::each(n), &arguments)?;
    Ok(factors)
}

/// Batch norm of y by `factors`, then ReLU if `relu`.
pub(super) fn normalise(kernels: &Kernels, y: &Tensor, factors: &Tensor, relu: bool) -> Result<Tensor> {
    let ((rows, n), out) = (y.dims2()?, kernels.output_like(y)?);
    let groups = Groups::of(rows, n);
    let arguments = args![y, factors, &out, rows, n, groups.size, relu];
    kernels.launch_for(y.dtype(), SOURCE, "normalise", groups.grid(), &arguments)?;
    Ok(out)
}

/// The statistics of the rows of all ranks, from those of this rank's `rows`, and how many rows they are. The moments are those about
/// 0: f64 has the digits that a large mean costs.
fn of_all_ranks(
    sums: &dyn SumOverRanks,
    [mean, var]: &[Tensor; 2],
    rows: usize,
) -> Result<([Tensor; 2], usize)> {
    let mut all = [rows as f64];
    sums.sum(&mut all)?;
    let own = Tensor::stack(&[mean, &(var + mean.sqr()?)?], 0)?;
    let moments = sum_tensor(sums, &(own * (rows as f64 / all[0]))?)?;
    let mean = moments.get(0)?;
    let var = (moments.get(1)? - mean.sqr()?)?.maximum(0.0)?;
    Ok(([mean, var], all[0] as usize))
}

impl Target {
    /// Batch norm of y `[rows, n]` by the statistics of its rows, of all ranks if they are synchronised, then ReLU if `relu`.
    pub(super) fn batch_norm(&self, y: &Tensor, bn: &BatchNorm, relu: bool) -> Result<Tensor> {
        let (kernels, yp, sums) = (self.kernels.clone(), plain(y)?, self.sums.clone());
        let (mut moments, mut rows) = (statistics(&kernels, &yp)?, y.dim(0)?);
        if let Some(sums) = &sums {
            (moments, rows) = of_all_ranks(&**sums, &moments, rows)?;
        }
        let factors = fold(&kernels, moments.each_ref(), rows, bn)?;
        let out = normalise(&kernels, &yp, &factors, relu)?;
        let inputs = [y, bn.gamma.as_tensor(), bn.beta.as_tensor()];
        Ok(self.record(&inputs, out, move |g, _| {
            gradients(&kernels, g, &yp, &factors, relu, rows, sums.as_deref())
        }))
    }
}

/// The gradients of y, γ and β. `all_rows` counts the rows of all ranks, if they are synchronised.
fn gradients(
    kernels: &Kernels,
    g: &Tensor,
    y: &Tensor,
    factors: &Tensor,
    relu: bool,
    all_rows: usize,
    ranks: Option<&dyn SumOverRanks>,
) -> Result<Vec<Option<Tensor>>> {
    let (rows, n) = y.dims2()?;
    let groups = Groups::of(rows, n);
    let partial = kernels.output(&[groups.count, 2, n], DType::F32)?;
    let arguments = args![g, y, factors, &partial, rows, n, groups.size, relu];
    kernels.launch_for(y.dtype(), SOURCE, "backward_sums", groups.grid(), &arguments)?;
    let sums = kernels.output(&[2, n], DType::F32)?;
    let arguments = args![&partial, &sums, groups.count, n];
    kernels.launch(SOURCE, "combine_sums", Grid::each(2 * n), &arguments)?;
    // Those of γ and β are this rank's, as every weight's.
    let of_all = match ranks {
        Some(ranks) => sum_tensor(ranks, &sums)?,
        None => sums.clone(),
    };
    let (share, dy) = (1.0 / all_rows as f32, kernels.output_like(y)?);
    let arguments = args![g, y, factors, &of_all, share, &dy, rows, n, groups.size, relu];
    kernels.launch_for(y.dtype(), SOURCE, "backward", groups.grid(), &arguments)?;
    Ok(vec![Some(dy), Some(sums.get(1)?), Some(sums.get(0)?)])
}
