//! Multi-tensor steps: bit-identical to the CPU's. And unscaling, overflow and norm of all gradients.

use std::sync::Arc;

use candle_core::{Device as Cpu, Result, Tensor, Var};
use canopy::kernels::device::{MultiTensor, TENSORS};
use canopy::kernels::multi_tensor::{self, AdamStep, LarsStep, SgdStep};
use canopy::optim::{LarsConfig, lars_step};

use crate::cases::*;
use crate::emulated::{EmulatedGrid, device};

/// Values of a piece, as in multi_tensor.cuh.
const PIECE: usize = 16_384;

/// Weights, gradients and both states of tensors of these sizes. The second state, of squares, is not negative.
fn lists(sizes: &[usize], device: &Cpu) -> [Vec<Tensor>; 4] {
    [0, 1000, 2000, 3000].map(|seed| {
        let tensor = |(seed, &n): (u64, &usize)| {
            let t = Tensor::new(random(seed, n), device).unwrap();
            if seed < 3000 { t } else { t.abs().unwrap() }
        };
        (seed..).zip(sizes).map(tensor).collect()
    })
}

/// One tensor shorter than a piece, one of a piece exactly, one longer.
const SIZES: [usize; 4] = [5, PIECE, PIECE + 33, 1];

/// More tensors than a launch takes, some of several pieces, and more pieces than a block has threads.
fn many() -> Vec<usize> {
    let size = |i: usize| if i % 40 == 39 { PIECE + 5 } else { 1 + i % 5 };
    (0..3 * TENSORS + 7).map(size).collect()
}

fn values(tensors: &[Tensor]) -> Vec<Vec<f64>> {
    tensors.iter().map(flat).collect()
}

/// Norm of the gradients and whether one overflows, then the gradients unscaled and clipped.
fn unscaled(grid: &Arc<EmulatedGrid>, grads: &[Tensor], scale: f64, max_norm: f64) -> Values {
    let kernels = MultiTensor::new(grid.clone());
    let grads: Vec<&Tensor> = grads.iter().collect();
    let norm = kernels.norm(&grads, scale, max_norm)?;
    let overflow = f64::from(u8::from(norm.found_inf()?));
    let gradients = values(&kernels.scaled(&grads, &norm)?);
    Ok([vec![vec![flat(&norm.value()?)[0], overflow]], gradients].concat())
}

/// The gradients, one of them `bad`.
fn with_overflow(bad: f32) -> Vec<Tensor> {
    let [_, mut grads, ..] = lists(&SIZES, device());
    let mut values = grads[2].to_vec1::<f32>().unwrap();
    values[PIECE + 32] = bad;
    grads[2] = Tensor::new(values, device()).unwrap();
    grads
}

/// The norm of all gradients, divided by `scale`.
fn norm_of(grads: &[Vec<f64>], scale: f64) -> f64 {
    let squares = grads.iter().flatten().map(|g| (g / scale).powi(2));
    squares.sum::<f64>().sqrt()
}

#[test]
fn unscaling_finds_norm_and_overflow() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let [_, tensors, ..] = lists(&SIZES, device());
    let grads = values(&tensors);
    for (max_norm, scale) in [(0.0, 1.0), (2.5, 65_536.0), (1e9, 2.0)] {
        let found = unscaled(&grid, &tensors, scale, max_norm).unwrap();
        let norm = norm_of(&grads, scale);
        close("norm, overflow", &found[0], &[norm, 0.0], 1e-6);
        let clip = if max_norm > 0.0 {
            (max_norm / (norm + 1e-6)).min(1.0)
        } else {
            1.0
        };
        for (found, g) in found[1..].iter().zip(&grads) {
            let expected: Vec<f64> = g.iter().map(|g| g * clip / scale).collect();
            close("unscaled and clipped", found, &expected, 1e-6);
        }
    }
    for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let found = unscaled(&grid, &with_overflow(bad), 1.0, 1.0).unwrap();
        assert!(found[0][1] == 1.0 && found[3][PIECE + 32].is_nan(), "{bad}");
    }
}

/// Norm and clipped gradients, and whether an infinite one is found.
pub fn norms(grid: &Arc<EmulatedGrid>) -> Values {
    let mut found = unscaled(grid, &lists(&SIZES, device())[1], 4.0, 2.5)?;
    let overflow = unscaled(grid, &with_overflow(f32::INFINITY), 1.0, 1.0)?[0][1];
    // A value of its own: an error is a fraction of the greatest one of its tensor.
    found.push(vec![overflow]);
    Ok(found)
}

/// The norm of [`many`] gradients.
pub fn norm_of_many(grid: &Arc<EmulatedGrid>) -> Values {
    unscaled(grid, &lists(&many(), device())[1], 2.0, 0.0)
}

const ADAM: AdamStep = AdamStep {
    lr: 0.01,
    beta1: 0.9,
    beta2: 0.99,
    eps: 1e-6,
    weight_decay: 0.1,
    decoupled: false,
    step: 3,
};

const ADAMW: AdamStep = AdamStep {
    decoupled: true,
    ..ADAM
};

const SGD: SgdStep = SgdStep {
    lr: 0.01,
    momentum: 0.9,
    weight_decay: 0.1,
    nesterov: false,
};

const NESTEROV: SgdStep = SgdStep {
    nesterov: true,
    ..SGD
};

const LARS: LarsStep = LarsStep {
    lr: 0.1,
    momentum: 0.9,
    weight_decay: 0.01,
    trust: 0.02,
    adapted: true,
};

const KINDS: [&str; 7] = ["adamw", "adam", "lamb", "sgd", "nesterov", "lars", "plain lars"];

/// A step of the optimizer `kind`: by the kernels, or on the CPU.
fn step(kernels: Option<&MultiTensor>, kind: &str, lists: &[Vec<Tensor>; 4]) -> Result<()> {
    let all @ [w, g, m, v] = &lists.each_ref().map(|list| list.iter().collect::<Vec<_>>());
    let (all, three) = (all.each_ref().map(|list| &list[..]), [&w[..], g, m]);
    let adapted = kind == "lars";
    let Some(kernels) = kernels else {
        return match kind {
            "adamw" => multi_tensor::adam(w, g, m, v, &ADAMW),
            "adam" => multi_tensor::adam(w, g, m, v, &ADAM),
            "lamb" => multi_tensor::lamb(w, g, m, v, &ADAM),
            "sgd" => multi_tensor::sgd(w, g, m, &SGD),
            "nesterov" => multi_tensor::sgd(w, g, m, &NESTEROV),
            _ => {
                let vars = |list: &[Tensor]| list.iter().map(Var::from_tensor).collect::<Result<Vec<_>>>();
                let (w, m) = (vars(&lists[0])?, vars(&lists[2])?);
                let config = LarsConfig {
                    momentum: LARS.momentum,
                    weight_decay: LARS.weight_decay,
                    trust: LARS.trust,
                    vectors: adapted,
                };
                lars_step(&w, &lists[1], &m, LARS.lr, &config)?;
                let pairs = lists[0].iter().zip(&w).chain(lists[2].iter().zip(&m));
                pairs.into_iter().try_for_each(|(t, v)| t.slice_set(v, 0, 0))
            }
        };
    };
    match kind {
        "adamw" => kernels.adam(all, &ADAMW),
        "adam" => kernels.adam(all, &ADAM),
        "lamb" => kernels.lamb(all, &ADAM),
        "sgd" => kernels.sgd(three, &SGD),
        "nesterov" => kernels.sgd(three, &NESTEROV),
        _ => kernels.lars(three, &LarsStep { adapted, ..LARS }),
    }
}

/// What a step of each optimizer leaves.
pub fn stepped(grid: &Arc<EmulatedGrid>) -> Values {
    let mut left = Vec::new();
    for kind in KINDS {
        let lists = lists(&SIZES, device());
        step(Some(&MultiTensor::new(grid.clone())), kind, &lists)?;
        left.extend(values(&lists.concat()));
    }
    Ok(left)
}

#[test]
fn steps_are_bit_identical_to_the_cpu() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let kernels = MultiTensor::new(grid.clone());
    let sizes = KINDS.map(|kind| (kind, SIZES.to_vec()));
    // The last one takes several launches.
    for (kind, sizes) in sizes.into_iter().chain([("lamb", many())]) {
        let [host, device] = [&Cpu::Cpu, device()].map(|device| lists(&sizes, device));
        // The trust ratio of weights of 0 is 1.
        for lists in [&host, &device] {
            lists[0][3].zero_set().unwrap();
        }
        for _ in 0..2 {
            step(None, kind, &host).unwrap();
            step(Some(&kernels), kind, &device).unwrap();
        }
        assert!(values(&device.concat()) == values(&host.concat()), "{kind}");
    }
}

#[test]
fn the_norm_of_many_tensors_takes_several_launches() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let norm = norm_of(&values(&lists(&many(), device())[1]), 2.0);
    close("norm", &norm_of_many(&grid).unwrap()[0], &[norm, 0.0], 1e-6);
}
