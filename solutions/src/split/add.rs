//! Adding gradients in place: the widest gradient is a large part of what a rank keeps, and a sum of its own would be as large.

use candle_core::{CpuStorage, InplaceOp2, Layout, Result, Tensor, bail};

/// `sum += more`, f32 on the CPU. Every tensor that shares its storage with `sum` changes too.
///
/// # Errors
/// Returns an error if the shapes differ, or if a tensor is not contiguous f32 on the CPU.
pub fn add_in_place(sum: &Tensor, more: &Tensor) -> Result<()> {
    if sum.dims() != more.dims() {
        bail!("cannot add {:?} to {:?}", more.dims(), sum.dims());
    }
    sum.inplace_op2(&more.contiguous()?, &Add)
}

struct Add;

impl InplaceOp2 for Add {
    fn name(&self) -> &'static str {
        "add-in-place"
    }

    fn cpu_fwd(&self, sum: &mut CpuStorage, at: &Layout, more: &CpuStorage, from: &Layout) -> Result<()> {
        let (Some((a, b)), Some((c, d))) = (at.contiguous_offsets(), from.contiguous_offsets()) else {
            bail!("add-in-place takes contiguous tensors");
        };
        let (CpuStorage::F32(sum), CpuStorage::F32(more)) = (sum, more) else {
            bail!("add-in-place takes f32");
        };
        for (sum, more) in sum[a..b].iter_mut().zip(&more[c..d]) {
            *sum += more;
        }
        Ok(())
    }
}
