//! A pass that several ranks make together, each over its share of the batch's clouds.
//!
//! Rank r of p has the clouds r, r + p, r + 2p, … of the batch. With [`Share::sums`] batch norm normalises by the
//! statistics of the whole batch, as PyTorch's `SyncBatchNorm` does: its sums over rows are summed over the ranks, forward
//! and backward, and everything else of the operators is as ever. What each rank then has of a weight's gradient is its
//! own rows' part, and the parts add up to the gradient over the whole batch.

use std::fmt::Debug;
use std::sync::Arc;

use candle_core::backend::{BackendDevice, BackendStorage};
use candle_core::{CpuStorage, CudaStorage, CustomOp1, DType, Layout, Result, Shape, Tensor, bail};

/// Sums over all ranks. Every rank calls it in the same order with as many numbers, and gets the same bits.
pub trait SumOverRanks: Debug + Send + Sync {
    /// Replaces `values` by their sums over all ranks.
    ///
    /// # Errors
    /// Another rank ended or did not come in time.
    fn sum(&self, values: &mut [f64]) -> Result<()>;
}

/// Which part of a batch a pass sees.
#[derive(Clone, Debug)]
pub struct Share {
    /// This rank, from 0.
    pub rank: usize,
    /// How many ranks there are.
    pub world_size: usize,
    /// Synchronises batch norm; without, each rank normalises by its own rows.
    pub sums: Option<Arc<dyn SumOverRanks>>,
}

/// Sums over all ranks where there are any; else as they are.
pub(super) fn total(sums: Option<&Arc<dyn SumOverRanks>>, values: &mut [f64]) -> Result<()> {
    sums.map_or(Ok(()), |sums| sums.sum(values))
}

/// The sum of `x` over all ranks, on candle's graph: a rank's part has a say in every rank's loss, so its gradient is the
/// sum of theirs.
pub(super) fn sum_over_ranks(x: &Tensor, sums: &Arc<dyn SumOverRanks>) -> Result<Tensor> {
    x.contiguous()?.apply_op1(Sum(sums.clone()))
}

struct Sum(Arc<dyn SumOverRanks>);

impl Sum {
    fn of(&self, x: &Tensor) -> Result<Tensor> {
        let mut values: Vec<f64> = x.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
        self.0.sum(&mut values)?;
        Tensor::from_vec(values, x.shape(), x.device())?.to_dtype(x.dtype())
    }
}

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

    /// By way of the host: few numbers, and the ranks of one machine meet there.
    fn cuda_fwd(&self, storage: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let (out, shape) = self.cpu_fwd(&storage.to_cpu_storage()?, layout)?;
        Ok((storage.device().storage_from_cpu_storage_owned(out)?, shape))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(self.of(&gradient.detach())?))
    }
}
