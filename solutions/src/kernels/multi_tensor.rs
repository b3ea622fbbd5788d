//! Optimizer steps over all parameters at once: one threaded pass over the values, divided into pieces independently of the
//! number of threads. For contiguous f32 tensors on the CPU; on a GPU, the kernels of `device` take the steps.

use std::cell::RefCell;
use std::collections::HashSet;

use candle_core::{CpuStorage, DType, InplaceOp1, Layout, Result, Tensor, bail};
use rayon::prelude::*;

use super::device::MultiTensor;
use super::steps::AdamFactors;
use super::values::Values;
use super::vector;

pub use super::device::Norm;
pub use super::steps::{AdamStep, LarsStep, SgdStep};

/// Values per piece.
const PIECE: usize = 1 << 15;

/// Adam (Kingma and Ba 2015) or AdamW (Loshchilov and Hutter 2019): one step of all `params`.
///
/// # Errors
/// Returns an error if lists differ in length or shapes, if two tensors to change share memory, or if a tensor is not
/// contiguous f32 on the CPU.
pub fn adam(
    params: &[&Tensor],
    grads: &[&Tensor],
    mean: &[&Tensor],
    square: &[&Tensor],
    s: &AdamStep,
) -> Result<()> {
    if let Some(device) = on_gpu([params, grads, mean, square]) {
        return device.adam(params, grads, [mean, square], s);
    }
    let f = AdamFactors::new(s);
    over(params, grads, [mean, square], |w, g, [m, v], _| {
        vector::adam(w, g, m, v, &f)
    })
}

/// SGD with momentum (Sutskever et al. 2013), as PyTorch's without dampening: one step of all `params`.
///
/// # Errors
/// As `adam`.
pub fn sgd(params: &[&Tensor], grads: &[&Tensor], buffer: &[&Tensor], s: &SgdStep) -> Result<()> {
    if let Some(device) = on_gpu([params, grads, buffer]) {
        return device.sgd(params, grads, buffer, s);
    }
    let f = [
        s.lr as f32,
        s.momentum as f32,
        s.weight_decay as f32,
        s.gradient_factor,
    ];
    over(params, grads, [buffer], |w, g, [kept], _| {
        vector::sgd(w, g, kept, &f, s.nesterov)
    })
}

/// LAMB (You et al. 2020): Adam's direction with decay, each tensor's step scaled by ‖w‖/‖direction‖, or by 1
/// if either is 0.
///
/// # Errors
/// As `adam`.
pub fn lamb(
    params: &[&Tensor],
    grads: &[&Tensor],
    mean: &[&Tensor],
    square: &[&Tensor],
    s: &AdamStep,
) -> Result<()> {
    if let Some(device) = on_gpu([params, grads, mean, square]) {
        return device.lamb(params, grads, [mean, square], s);
    }
    let f = AdamFactors::new(s);
    let sums = std::sync::Mutex::new(Vec::new());
    over(params, grads, [mean, square], |w, g, [m, v], place| {
        let mut sum = [0.0; 2];
        vector::lamb_moments(w, g, m, v, &f, &mut sum);
        sums.lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push((place, sum));
    })?;
    let mut sums = sums
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    sums.sort_by_key(|&(place, _)| place);
    let mut norms = vec![[0.0_f64; 2]; params.len()];
    for ((tensor, _), sum) in sums {
        norms[tensor][0] += sum[0];
        norms[tensor][1] += sum[1];
    }
    let ratio: Vec<f32> = norms
        .iter()
        .map(|&[w, r]| {
            if w > 0.0 && r > 0.0 {
                (w / r).sqrt() as f32
            } else {
                1.0
            }
        })
        .collect();
    over(params, grads, [mean, square], |w, _, [m, v], (tensor, _)| {
        vector::lamb_apply(w, m, v, &f, f.lr * ratio[tensor]);
    })
}

/// One step of LARS, if the tensors are on a GPU that this binary has kernels for. Returns whether it was taken.
///
/// # Errors
/// Returns an error if lists differ in length or shapes.
pub fn lars_on_gpu(
    params: &[&Tensor],
    grads: &[&Tensor],
    velocity: &[&Tensor],
    s: &LarsStep,
) -> Result<bool> {
    let Some(device) = on_gpu([params, grads, velocity]) else {
        return Ok(false);
    };
    device.lars(params, grads, velocity, s)?;
    Ok(true)
}

/// The 2-norm of all tensors together, summed in f64.
///
/// # Errors
/// As [`sum_of_squares`].
pub fn global_norm(tensors: &[&Tensor]) -> Result<f64> {
    Ok(sum_of_squares(tensors)?.sqrt())
}

/// The sum of the squares of all numbers of all tensors, in f64.
///
/// # Errors
/// Returns an error for a tensor that is not contiguous f32 on the CPU.
pub fn sum_of_squares(tensors: &[&Tensor]) -> Result<f64> {
    let values = tensors
        .iter()
        .map(|&t| Values::of(t))
        .collect::<Result<Vec<_>>>()?;
    let slices: Vec<&[f32]> = values.iter().map(|v| &**v).collect();
    let sums: Vec<f64> = slices
        .par_iter()
        .flat_map(|v| v.par_chunks(PIECE))
        .map(|piece| {
            let mut sum = 0.0;
            vector::sum_of_squares(piece, &mut sum);
            sum
        })
        .collect();
    Ok(sums.iter().sum())
}

/// New tensors: each of `tensors` times `factor`.
///
/// # Errors
/// As [`sum_of_squares`].
pub fn scaled(tensors: &[&Tensor], factor: f32) -> Result<Vec<Tensor>> {
    let one = |&tensor: &&Tensor| {
        let values = Values::of(tensor)?;
        let scaled: Vec<f32> = values
            .par_iter()
            .with_min_len(PIECE)
            .map(|x| x * factor)
            .collect();
        Tensor::from_vec(scaled, tensor.shape(), tensor.device())
    };
    tensors.iter().map(one).collect()
}

/// Whether the steps accept a tensor: contiguous f32, on the CPU or on a GPU that this binary has kernels for.
pub fn serves(tensor: &Tensor) -> bool {
    on_cpu(tensor) || on_gpu([&[tensor]]).is_some()
}

/// Whether all functions accept a tensor: contiguous f32 on the CPU.
pub fn on_cpu(tensor: &Tensor) -> bool {
    tensor.device().is_cpu() && tensor.dtype() == DType::F32 && tensor.is_contiguous()
}

fn on_gpu<const N: usize>(lists: [&[&Tensor]; N]) -> Option<MultiTensor> {
    MultiTensor::of(lists.into_iter().flatten().copied())
}

/// New tensors: gradients on a GPU, divided by `scale` and clipped to `max_norm` (0: not clipped), and their norm. None for
/// others.
///
/// # Errors
/// Returns candle's errors.
pub fn unscaled_and_clipped(
    grads: &[Tensor],
    scale: f64,
    max_norm: f64,
) -> Result<Option<(Vec<Tensor>, Norm)>> {
    let Some(device) = MultiTensor::of(grads) else {
        return Ok(None);
    };
    let grads: Vec<&Tensor> = grads.iter().collect();
    let norm = device.norm(&grads, scale, max_norm)?;
    Ok(Some((device.scaled(&grads, &norm)?, norm)))
}

/// `f(weights, gradients, states, (tensor, piece))` on each piece of each tensor.
fn over<const N: usize>(
    params: &[&Tensor],
    grads: &[&Tensor],
    states: [&[&Tensor]; N],
    f: impl Fn(&mut [f32], &[f32], [&mut [f32]; N], (usize, usize)) + Sync,
) -> Result<()> {
    let fit = |list: &[&Tensor]| {
        list.len() == params.len() && list.iter().zip(params).all(|(t, p)| t.dims() == p.dims())
    };
    if !fit(grads) || !states.iter().all(|s| fit(s)) {
        bail!(
            "multi-tensor step: expected gradients and states of the {} parameters' shapes",
            params.len()
        );
    }
    let changed: Vec<&Tensor> = params
        .iter()
        .chain(states.iter().copied().flatten())
        .copied()
        .collect();
    let mut own = HashSet::new();
    for tensor in &changed {
        if !own.insert(Values::of(tensor)?.home()) {
            bail!("multi-tensor step: two of the tensors to change share memory");
        }
    }
    let read = grads.iter().map(|&g| Values::of(g)).collect::<Result<Vec<_>>>()?;
    // The lock is per storage: to write to a storage that is locked for reading would deadlock.
    if read.iter().any(|g| own.contains(&g.home())) {
        bail!(
            "multi-tensor step: a gradient shares memory with a tensor that the step changes: copy it first"
        );
    }
    let read: Vec<&[f32]> = read.iter().map(|v| &**v).collect();
    borrow(&changed, &RefCell::new(Vec::new()), &|spans| {
        let n = params.len();
        let pieces: Vec<(usize, usize)> = (0..n)
            .flat_map(|t| (0..spans[t].len.div_ceil(PIECE)).map(move |p| (t, p)))
            .collect();
        pieces.into_par_iter().for_each(|(t, p)| {
            let range = p * PIECE..spans[t].len.min((p + 1) * PIECE);
            // SAFETY: no two pieces share a (tensor, range), no memory is listed twice, and `borrow` has locked
            // every tensor for writing.
            unsafe {
                let w = spans[t].slice(range.clone());
                let states = std::array::from_fn(|s| spans[(s + 1) * n + t].slice(range.clone()));
                f(w, &read[t][range], states, (t, p));
            }
        });
    })
}

/// The values of one tensor that is locked for writing.
struct Span {
    start: *mut f32,
    len: usize,
}

// SAFETY: a span is only an address; the caller of `slice` guarantees that slices do not overlap.
unsafe impl Sync for Span {}

impl Span {
    #[allow(clippy::mut_from_ref)]
    unsafe fn slice(&self, range: std::ops::Range<usize>) -> &mut [f32] {
        debug_assert!(range.end <= self.len);
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}

/// candle gives write access to a tensor's values only to an operator, to one tensor at a time. So each operator calls
/// the next, and the last one has access to all.
struct Borrow<'a> {
    rest: &'a [&'a Tensor],
    spans: &'a RefCell<Vec<Span>>,
    then: &'a dyn Fn(&[Span]),
}

fn borrow(tensors: &[&Tensor], spans: &RefCell<Vec<Span>>, then: &dyn Fn(&[Span])) -> Result<()> {
    match tensors.split_first() {
        None => {
            then(&spans.borrow());
            Ok(())
        }
        Some((first, rest)) => first.inplace_op1(&Borrow { rest, spans, then }),
    }
}

impl InplaceOp1 for Borrow<'_> {
    fn name(&self) -> &'static str {
        "multi-tensor step"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let (CpuStorage::F32(values), Some((from, to))) = (storage, layout.contiguous_offsets()) else {
            bail!("multi-tensor step: expected contiguous f32 on the CPU");
        };
        let values = &mut values[from..to];
        let (start, len) = (values.as_mut_ptr(), values.len());
        self.spans.borrow_mut().push(Span { start, len });
        borrow(self.rest, self.spans, self.then)
    }
}
