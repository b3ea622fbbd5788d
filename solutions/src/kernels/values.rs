//! Reading and writing tensors' values in place.

use std::cell::Cell;
use std::ops::{Deref, Range};

use candle_core::{CpuStorage, DType, InplaceOp1, Layout, Result, Storage, StorageRef, Tensor, bail};

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

/// The memory of a contiguous f32 tensor on the CPU, and where its values are in it.
pub(super) type Memory<'a> = (&'a mut Vec<f32>, Range<usize>);

/// Calls `then` with the memory of all `tensors`, of which no two may share theirs.
pub(super) fn write(tensors: &[&Tensor], then: &dyn Fn(Vec<Memory>)) -> Result<()> {
    open(tensors, Vec::new(), then)
}

/// candle gives write access to a tensor's values only to an operator, to one tensor at a time. So each operator calls
/// the next, and the last one has access to all.
struct Open<'a> {
    rest: &'a [&'a Tensor],
    opened: Cell<Vec<Memory<'a>>>,
    then: &'a dyn Fn(Vec<Memory>),
}

fn open<'a>(tensors: &'a [&'a Tensor], opened: Vec<Memory<'a>>, then: &'a dyn Fn(Vec<Memory>)) -> Result<()> {
    let Some((first, rest)) = tensors.split_first() else {
        then(opened);
        return Ok(());
    };
    let opened = Cell::new(opened);
    first.inplace_op1(&Open { rest, opened, then })
}

impl InplaceOp1 for Open<'_> {
    fn name(&self) -> &'static str {
        "write"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let (CpuStorage::F32(values), Some((from, to))) = (storage, layout.contiguous_offsets()) else {
            bail!("only contiguous f32 on the CPU is changed in place");
        };
        let mut opened: Vec<Memory> = self.opened.take();
        opened.push((values, from..to));
        open(self.rest, opened, self.then)
    }
}

/// Whether the fused form runs: f32 on the CPU, and not switched off. Otherwise the plain form runs.
pub(super) fn fused(pass: &Pass, tensors: &[&Tensor]) -> bool {
    !pass.is_plain() && tensors.iter().all(|t| is_fused(t))
}

/// Whether the fused operators accept a tensor.
pub(super) fn is_fused(tensor: &Tensor) -> bool {
    tensor.device().is_cpu() && tensor.dtype() == DType::F32
}
