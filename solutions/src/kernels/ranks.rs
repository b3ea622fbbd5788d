//! A pass that several ranks run together, each over its share of the batch's clouds.
//!
//! Rank r of p has the clouds r, r + p, r + 2p, … of the batch. With [`Share::sums`] batch norm normalises by the
//! statistics of the whole batch, as PyTorch's `SyncBatchNorm` does: its sums over rows are summed over the ranks, forward
//! and backward, and the operators are otherwise unchanged. Each rank then computes its own rows' part of a weight's
//! gradient, and the parts add up to the gradient over the whole batch.

use std::fmt::Debug;
use std::sync::Arc;

use candle_core::backend::{BackendDevice, BackendStorage};
use candle_core::{CpuStorage, CudaStorage, CustomOp1, DType, Layout, Result, Shape, Tensor, bail};

/// Sums over all ranks. Every rank calls it in the same order with equally many values, and gets bit-identical results.
pub trait SumOverRanks: Debug + Send + Sync {
    /// Replaces `values` by their sums over all ranks.
    ///
    /// # Errors
    /// Returns an error if another rank exited or did not arrive in time.
    fn sum(&self, values: &mut [f64]) -> Result<()>;

    /// Returns the sum of x over all ranks on the device of x, without waiting for it; None if these ranks sum on the host. x is
    /// contiguous, f32 or f64.
    ///
    /// # Errors
    /// As [`Self::sum`], perhaps only from a later call.
    fn sum_on_device(&self, _x: &Tensor) -> Result<Option<Tensor>> {
        Ok(None)
    }
}

/// Which part of a batch a pass runs on.
#[derive(Clone, Debug)]
pub struct Share {
    /// This rank, from 0.
    pub rank: usize,
    /// How many ranks there are.
    pub world_size: usize,
    /// Synchronises batch norm; without it, each rank normalises by its own rows.
    pub sums: Option<Arc<dyn SumOverRanks>>,
}

/// Sums `values` over all ranks, if there are several.
pub(super) fn total(sums: Option<&Arc<dyn SumOverRanks>>, values: &mut [f64]) -> Result<()> {
    sums.map_or(Ok(()), |sums| sums.sum(values))
}

/// The sum of x, which is f32 or f64 and on no graph, over all ranks.
pub(super) fn sum_tensor(sums: &dyn SumOverRanks, x: &Tensor) -> Result<Tensor> {
    if let Some(sum) = sums.sum_on_device(&x.contiguous()?)? {
        return Ok(sum);
    }
    let mut values: Vec<f64> = x.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    sums.sum(&mut values)?;
    Tensor::from_vec(values, x.shape(), x.device())?.to_dtype(x.dtype())
}

/// The sum of `x` over all ranks, on candle's graph. Every rank's loss depends on every rank's part, so the gradient is the
/// sum over the ranks as well.
pub(super) fn sum_over_ranks(x: &Tensor, sums: &Arc<dyn SumOverRanks>) -> Result<Tensor> {
    x.contiguous()?.apply_op1(Sum(sums.clone()))
}

struct Sum(Arc<dyn SumOverRanks>);

impl CustomOp1 for Sum {
    fn name(&self) -> &'static str {
        "sum-over-ranks"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let Some((from, to)) = layout.contiguous_offsets() else {
            bail!("a sum over ranks needs contiguous values");
        };
        let summed = |mut values: Vec<f64>| self.0.sum(&mut values).map(|()| values);
        let out = match storage {
            CpuStorage::F32(v) => {
                let sum = summed(v[from..to].iter().map(|&v| f64::from(v)).collect())?;
                CpuStorage::F32(sum.into_iter().map(|v| v as f32).collect())
            }
            CpuStorage::F64(v) => CpuStorage::F64(summed(v[from..to].to_vec())?),
            other => bail!("a sum over ranks takes f32 and f64, not {:?}", other.dtype()),
        };
        Ok((out, layout.shape().clone()))
    }

    /// On the host: the values are few, and the ranks of one machine exchange them there.
    fn cuda_fwd(&self, storage: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let (out, shape) = self.cpu_fwd(&storage.to_cpu_storage()?, layout)?;
        Ok((storage.device().storage_from_cpu_storage_owned(out)?, shape))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(sum_tensor(&*self.0, &gradient.detach())?))
    }
}
