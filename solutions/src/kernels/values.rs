//! Reading a tensor's values in place.

use std::ops::{Deref, Range};

use candle_core::{CpuStorage, DType, Result, Storage, StorageRef, Tensor, bail};

use super::Pass;

/// A contiguous f32 tensor on the CPU, as a slice.
pub(super) struct Values<'a> {
    storage: StorageRef<'a>,
    range: Range<usize>,
}

impl<'a> Values<'a> {
    /// # Errors
    /// Returns an error for another dtype, another device, or a tensor that is not contiguous.
    pub fn of(tensor: &'a Tensor) -> Result<Self> {
        let (storage, layout) = tensor.storage_and_layout();
        let Some((from, to)) = layout.contiguous_offsets() else {
            bail!("expected a contiguous tensor, got strides {:?}", layout.stride());
        };
        if !matches!(&*storage, Storage::Cpu(CpuStorage::F32(v)) if v.len() >= to) {
            bail!(
                "expected f32 on the CPU, got {:?} on {:?}",
                tensor.dtype(),
                tensor.device()
            );
        }
        Ok(Self {
            storage,
            range: from..to,
        })
    }

    /// The address of the storage: two tensors that share their storage have the same.
    pub fn home(&self) -> usize {
        std::ptr::from_ref(&*self.storage).addr()
    }
}

impl Deref for Values<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match &*self.storage {
            Storage::Cpu(CpuStorage::F32(v)) => &v[self.range.clone()],
            _ => &[],
        }
    }
}

/// A tensor's values, copied.
pub(super) fn read(t: &Tensor) -> Result<Vec<f32>> {
    let t = t.contiguous()?;
    Ok(Values::of(&t)?.to_vec())
}

/// Whether the fused form runs: f32 on the CPU, and not switched off. Otherwise the plain form runs.
pub(super) fn fused(pass: &Pass, tensors: &[&Tensor]) -> bool {
    !pass.is_plain() && tensors.iter().all(|t| is_fused(t))
}

/// Whether the fused operators accept a tensor.
pub(super) fn is_fused(tensor: &Tensor) -> bool {
    tensor.device().is_cpu() && tensor.dtype() == DType::F32
}
