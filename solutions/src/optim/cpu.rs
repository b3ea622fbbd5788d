//! One pass over f32 numbers on the CPU, threaded, in chunks whose size does not depend on the threads:
//! the results have the same bits whatever their number. candle's operators, which serve everywhere else,
//! take some twelve passes for a step of AdamW, on one thread.

use std::cell::Cell;

use candle_core::{CpuStorage, DType, InplaceOp1, Layout, Result, Storage, Tensor, bail};
use rayon::prelude::*;

/// Numbers a task takes at once.
pub(super) const CHUNK: usize = 1 << 14;

/// Whether these passes can serve: contiguous f32 in main memory.
pub(super) fn serves(tensor: &Tensor) -> bool {
    tensor.device().is_cpu() && tensor.dtype() == DType::F32 && tensor.is_contiguous()
}

/// Calls `f` on the numbers of a tensor that [`serves`].
pub(super) fn with<R>(tensor: &Tensor, f: impl FnOnce(&[f32]) -> R) -> Result<R> {
    let (storage, layout) = tensor.storage_and_layout();
    match (&*storage, layout.contiguous_offsets()) {
        (Storage::Cpu(CpuStorage::F32(values)), Some((from, to))) => Ok(f(&values[from..to])),
        _ => bail!("expected contiguous f32 in main memory"),
    }
}

/// Calls `f` on the numbers of a tensor that [`serves`], to change them in place.
pub(super) fn with_mut<R, F: FnOnce(&mut [f32]) -> R>(tensor: &Tensor, f: F) -> Result<R> {
    let call = Call {
        f: Cell::new(Some(f)),
        result: Cell::new(None),
    };
    tensor.inplace_op1(&call)?;
    match call.result.take() {
        Some(result) => Ok(result),
        None => bail!("expected contiguous f32 in main memory"),
    }
}

/// candle lends a tensor's numbers for writing only to an operator; this one runs a closure.
struct Call<R, F> {
    f: Cell<Option<F>>,
    result: Cell<Option<R>>,
}

impl<R, F: FnOnce(&mut [f32]) -> R> InplaceOp1 for Call<R, F> {
    fn name(&self) -> &'static str {
        "in place"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        if let (CpuStorage::F32(values), Some((from, to)), Some(f)) =
            (storage, layout.contiguous_offsets(), self.f.take())
        {
            self.result.set(Some(f(&mut values[from..to])));
        }
        Ok(())
    }
}

/// Sum of squares: in f32 over short runs, in f64 over those.
pub(super) fn sum_of_squares(values: &[f32]) -> f64 {
    const LANES: usize = 32;
    let of_run = |run: &[f32]| {
        let mut lanes = [0f32; LANES];
        for part in run.chunks(LANES) {
            for (lane, &x) in lanes.iter_mut().zip(part) {
                *lane += x * x;
            }
        }
        lanes.iter().map(|&x| f64::from(x)).sum::<f64>()
    };
    let of_chunk = |chunk: &[f32]| chunk.chunks(8 * LANES).map(of_run).sum::<f64>();
    let of_chunks: Vec<f64> = values.par_chunks(CHUNK).map(of_chunk).collect();
    of_chunks.iter().sum()
}

/// Every number times `factor`.
pub(super) fn scaled(values: &[f32], factor: f32) -> Vec<f32> {
    let mut scaled = vec![0f32; values.len()];
    let chunks = scaled.par_chunks_mut(CHUNK).zip(values.par_chunks(CHUNK));
    chunks.for_each(|(to, from)| to.iter_mut().zip(from).for_each(|(to, from)| *to = from * factor));
    scaled
}
