//! Optimizer steps over all parameters at once: one threaded pass over the values, divided into pieces independently of the
//! number of threads. For contiguous f32 tensors on the CPU; on a GPU, the kernels of `device` take the steps.

use std::cell::RefCell;
use std::collections::HashSet;

use candle_core::{DType, Result, Tensor, bail};
use rayon::prelude::*;

use super::device::MultiTensor;
use super::steps::AdamFactors;
use super::values::{Values, write};
use super::vector;

pub use super::device::Norm;
pub use super::steps::{AdamStep, LarsStep, SgdStep};

/// A tensor of each parameter.
pub type List<'a> = &'a [&'a Tensor];

/// Values per piece.
const PIECE: usize = 1 << 15;

/// Adam (Kingma and Ba 2015) or AdamW (Loshchilov and Hutter 2019): one step of all `params`.
///
/// # Errors
/// Returns an error if lists differ in length or shapes, if two tensors to change share memory, or if a tensor is not
/// contiguous f32 on the CPU.
pub fn adam(params: List, grads: List, mean: List, square: List, s: &AdamStep) -> Result<()> {
    if let Some(device) = on_gpu([params, grads, mean, square]) {
        return device.adam([params, grads, mean, square], s);
    }
    let f = AdamFactors::new(s);
    over(params, grads, [mean, square], |w, g, [m, v], _| {
        vector::adam(w, g, m, v, &f);
    })?;
    Ok(())
}

/// SGD with momentum (Sutskever et al. 2013), as PyTorch's without dampening: one step of all `params`.
///
/// # Errors
/// As `adam`.
pub fn sgd(params: List, grads: List, buffer: List, s: &SgdStep) -> Result<()> {
    if let Some(device) = on_gpu([params, grads, buffer]) {
        return device.sgd([params, grads, buffer], s);
    }
    let [lr, momentum, decay] = [s.lr, s.momentum, s.weight_decay].map(|v| v as f32);
    over(params, grads, [buffer], |w, g, [kept], _| {
        vector::sgd(w, g, kept, [lr, momentum, decay], s.nesterov);
    })?;
    Ok(())
}

/// LAMB (You et al. 2020): Adam's direction with decay, each tensor's step scaled by ‖w‖/‖direction‖, or by 1
/// if either is 0.
///
/// # Errors
/// As `adam`.
pub fn lamb(params: List, grads: List, mean: List, square: List, s: &AdamStep) -> Result<()> {
    if let Some(device) = on_gpu([params, grads, mean, square]) {
        return device.lamb([params, grads, mean, square], s);
    }
    let f = AdamFactors::new(s);
    let sums = over(params, grads, [mean, square], |w, g, [m, v], tensor| {
        let mut sum = [0.0; 2];
        vector::lamb_moments(w, g, m, v, &f, &mut sum);
        (tensor, sum)
    })?;
    let mut norms = vec![[0.0_f64; 2]; params.len()];
    for (tensor, [weights, direction]) in sums {
        norms[tensor][0] += weights;
        norms[tensor][1] += direction;
    }
    let ratio_of = |&[w, r]: &[f64; 2]| match w > 0.0 && r > 0.0 {
        true => (w / r).sqrt() as f32,
        false => 1.0,
    };
    let ratio: Vec<f32> = norms.iter().map(ratio_of).collect();
    over(params, grads, [mean, square], |w, _, [m, v], tensor| {
        vector::lamb_apply(w, m, v, &f, f.lr * ratio[tensor]);
    })?;
    Ok(())
}

/// One step of LARS, if the tensors are on a GPU that this binary has kernels for. Returns whether it was taken.
///
/// # Errors
/// Returns an error if lists differ in length or shapes.
pub fn lars_on_gpu(params: List, grads: List, velocity: List, s: &LarsStep) -> Result<bool> {
    let Some(device) = on_gpu([params, grads, velocity]) else {
        return Ok(false);
    };
    device.lars([params, grads, velocity], s)?;
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

/// `f(weights, gradients, states, tensor)` on each piece of each tensor. Returns the results in the order of the pieces.
fn over<R: Send, const N: usize>(
    params: List,
    grads: List,
    states: [List; N],
    f: impl Fn(&mut [f32], &[f32], [&mut [f32]; N], usize) -> R + Sync,
) -> Result<Vec<R>> {
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
    let (n, results) = (params.len(), RefCell::new(Vec::new()));
    write(&changed, &|tensors| {
        let pieces = tensors.into_iter();
        let mut values: Vec<_> = pieces.map(|(v, range)| v[range].chunks_mut(PIECE)).collect();
        let mut pieces = Vec::new();
        for (t, g) in read.iter().enumerate() {
            for g in g.chunks(PIECE) {
                let mut next = |list: usize| values[list * n + t].next().unwrap_or_default();
                let w = next(0);
                pieces.push((w, g, std::array::from_fn(|state| next(1 + state)), t));
            }
        }
        let of_piece = |(w, g, states, t)| f(w, g, states, t);
        pieces
            .into_par_iter()
            .map(of_piece)
            .collect_into_vec(&mut results.borrow_mut());
    })?;
    Ok(results.into_inner())
}
