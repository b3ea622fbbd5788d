//! Multi-tensor steps: bit-identical to the CPU's. And unscaling, overflow and norm of all gradients.

use std::sync::Arc;

use candle_core::{Device as Cpu, Result, Tensor, Var};
use canopy::kernels::device::{MultiTensor, TENSORS};
use canopy::kernels::multi_tensor::{self, AdamStep, LarsStep, SgdStep};
use canopy::optim::{LarsConfig, lars_step};

use crate::common::*;
use crate::emulated::{EmulatedGrid, device};

/// Values of a piece, as in multi_tensor.cuh.
const PIECE: usize = 16_384;

/// Weights, gradients and both states of each tensor, as values.
type Lists = [Vec<Vec<f32>>; 4];

/// Random values of tensors of these sizes. The second state, of squares, is not negative.
fn lists(sizes: &[usize]) -> Lists {
    let of = |seed: u64| {
        let tensors = (seed..).zip(sizes).map(|(seed, &n)| random(seed, n));
        tensors.collect::<Vec<_>>()
    };
    let mut lists = [0, 1000, 2000, 3000].map(of);
    lists[3].iter_mut().flatten().for_each(|v| *v = v.abs());
    lists
}

/// One tensor shorter than a piece, one of a piece exactly, one longer.
fn inputs() -> Lists {
    lists(&[5, PIECE, PIECE + 33, 1])
}

/// Copies of lists as tensors.
struct Tensors([Vec<Tensor>; 4]);

impl Tensors {
    fn on(device: &Cpu, values: &Lists) -> Self {
        let tensor = |v: &Vec<f32>| Tensor::new(v.as_slice(), device).unwrap();
        Self(values.each_ref().map(|list| list.iter().map(tensor).collect()))
    }

    fn lists(&self) -> [Vec<&Tensor>; 4] {
        self.0.each_ref().map(|list| list.iter().collect())
    }

    fn values(&self) -> Lists {
        let values = |list: &Vec<Tensor>| list.iter().map(|t| t.to_vec1().unwrap()).collect();
        self.0.each_ref().map(values)
    }
}

fn kernels() -> Option<MultiTensor> {
    Some(MultiTensor::new(EmulatedGrid::new()?))
}

/// Norm of the gradients, whether one overflows, and the gradients unscaled and clipped.
fn unscaled(
    kernels: &MultiTensor,
    grads: &[Vec<f32>],
    scale: f64,
    max_norm: f64,
) -> Result<(Vec<f64>, bool, Vec<Vec<f64>>)> {
    let tensors = grads.iter().map(|g| Tensor::new(g.as_slice(), device()));
    let tensors = tensors.collect::<Result<Vec<_>>>()?;
    let grads: Vec<&Tensor> = tensors.iter().collect();
    let norm = kernels.norm(&grads, scale, max_norm)?;
    let gradients = kernels.scaled(&grads, &norm)?.iter().map(flat).collect();
    Ok((flat(&norm.value()?), norm.found_inf()?, gradients))
}

/// The gradients, one of them `bad`.
fn with_overflow(bad: f32) -> Vec<Vec<f32>> {
    let [_, mut grads, ..] = inputs();
    grads[2][PIECE + 32] = bad;
    grads
}

/// The norm of all gradients, divided by `scale`.
fn norm_of(grads: &[Vec<f32>], scale: f64) -> f64 {
    let squares = grads.iter().flatten().map(|&g| (f64::from(g) / scale).powi(2));
    squares.sum::<f64>().sqrt()
}

#[test]
fn unscaling_finds_norm_and_overflow() {
    let Some(kernels) = kernels() else { return };
    let [_, grads, ..] = inputs();
    for (max_norm, scale) in [(0.0, 1.0), (2.5, 65_536.0), (1e9, 2.0)] {
        let (found, overflow, gradients) = unscaled(&kernels, &grads, scale, max_norm).unwrap();
        let norm = norm_of(&grads, scale);
        close("norm", &found, &[norm], 1e-6);
        assert!(!overflow);
        let clip = if max_norm > 0.0 {
            (max_norm / (norm + 1e-6)).min(1.0)
        } else {
            1.0
        };
        for (found, g) in gradients.iter().zip(&grads) {
            let expected: Vec<f64> = g.iter().map(|&g| f64::from(g) * clip / scale).collect();
            close("unscaled and clipped", found, &expected, 1e-6);
        }
    }
    for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let (_, overflow, gradients) = unscaled(&kernels, &with_overflow(bad), 1.0, 1.0).unwrap();
        assert!(overflow, "{bad}");
        assert!(gradients[2][PIECE + 32].is_nan(), "{bad}");
    }
}

/// Norm and clipped gradients, and whether an infinite one is found.
pub fn norms(grid: &Arc<EmulatedGrid>) -> Values {
    let kernels = MultiTensor::new(grid.clone());
    let [_, grads, ..] = inputs();
    let (norm, _, mut values) = unscaled(&kernels, &grads, 4.0, 2.5)?;
    let (_, overflow, _) = unscaled(&kernels, &with_overflow(f32::INFINITY), 1.0, 1.0)?;
    values.extend([norm, vec![f64::from(u8::from(overflow))]]);
    Ok(values)
}

fn adam(kind: &str, gradient_factor: f32) -> AdamStep {
    AdamStep {
        lr: 0.01,
        beta1: 0.9,
        beta2: 0.99,
        eps: 1e-6,
        weight_decay: 0.1,
        decoupled: kind == "adamw",
        step: 3,
        gradient_factor,
    }
}

fn sgd(kind: &str, gradient_factor: f32) -> SgdStep {
    SgdStep {
        lr: 0.01,
        momentum: 0.9,
        weight_decay: 0.1,
        nesterov: kind == "nesterov",
        gradient_factor,
    }
}

const LARS: LarsStep = LarsStep {
    lr: 0.1,
    momentum: 0.9,
    weight_decay: 0.01,
    trust: 0.02,
    adapted: true,
    gradient_factor: 1.0,
};

/// A step by the kernels.
fn step(kernels: &MultiTensor, kind: &str, tensors: &Tensors, factor: f32) -> Result<()> {
    let [w, g, m, v] = tensors.lists();
    match kind {
        "lars" => kernels.lars(&w, &g, &m, &LARS),
        "lamb" => kernels.lamb(&w, &g, [&m, &v], &adam(kind, factor)),
        "sgd" | "nesterov" => kernels.sgd(&w, &g, &m, &sgd(kind, factor)),
        _ => kernels.adam(&w, &g, [&m, &v], &adam(kind, factor)),
    }
}

/// A step on the CPU.
fn step_on_cpu(kind: &str, tensors: &Tensors, factor: f32) {
    let [w, g, m, v] = tensors.lists();
    let stepped = match kind {
        "lamb" => multi_tensor::lamb(&w, &g, &m, &v, &adam(kind, factor)),
        "sgd" | "nesterov" => multi_tensor::sgd(&w, &g, &m, &sgd(kind, factor)),
        _ => multi_tensor::adam(&w, &g, &m, &v, &adam(kind, factor)),
    };
    stepped.unwrap();
}

/// What a step of each optimizer leaves.
pub fn stepped(grid: &Arc<EmulatedGrid>) -> Values {
    let kernels = MultiTensor::new(grid.clone());
    let mut left = Vec::new();
    for kind in ["adamw", "adam", "lamb", "sgd", "nesterov", "lars"] {
        let tensors = Tensors::on(device(), &inputs());
        step(&kernels, kind, &tensors, 0.25)?;
        left.extend(tensors.0.iter().flatten().map(flat));
    }
    Ok(left)
}

#[test]
fn steps_are_bit_identical_to_the_cpu() {
    let Some(kernels) = kernels() else { return };
    for kind in ["adamw", "adam", "lamb", "sgd", "nesterov"] {
        let [host, device] = [&Cpu::Cpu, device()].map(|device| Tensors::on(device, &inputs()));
        step(&kernels, kind, &device, 0.25).unwrap();
        step_on_cpu(kind, &host, 0.25);
        assert!(device.values() == host.values(), "{kind}");
    }
}

#[test]
fn lars_is_bit_identical_to_the_cpu() {
    let Some(kernels) = kernels() else { return };
    let mut values = inputs();
    // The ratio of weights of 0 is 1.
    values[0][3] = vec![0.0];
    for adapted in [true, false] {
        let [host, device] = [&Cpu::Cpu, device()].map(|device| Tensors::on(device, &values));
        let [w, g, m, _] = &host.0;
        let vars = |list: &[Tensor]| {
            list.iter()
                .map(|t| Var::from_tensor(t).unwrap())
                .collect::<Vec<_>>()
        };
        let (w, m) = (vars(w), vars(m));
        let config = LarsConfig {
            momentum: LARS.momentum,
            weight_decay: LARS.weight_decay,
            trust: LARS.trust,
            vectors: adapted,
        };
        let [dw, dg, dm, _] = device.lists();
        let step = LarsStep { adapted, ..LARS };
        for _ in 0..2 {
            lars_step(&w, g, &m, LARS.lr, &config).unwrap();
            kernels.lars(&dw, &dg, &dm, &step).unwrap();
        }
        for (found, expected) in dw.iter().zip(&w).chain(dm.iter().zip(&m)) {
            assert!(flat(found) == flat(expected), "adapted: {adapted}");
        }
    }
}

/// More tensors than a launch takes, some of several pieces, and more pieces than a block has threads.
fn many() -> Lists {
    let size = |i: usize| if i % 40 == 39 { PIECE + 5 } else { 1 + i % 5 };
    lists(&(0..3 * TENSORS + 7).map(size).collect::<Vec<_>>())
}

/// The norm of [`many`] gradients.
pub fn norm_of_many(grid: &Arc<EmulatedGrid>) -> Values {
    let [_, grads, ..] = many();
    let (norm, ..) = unscaled(&MultiTensor::new(grid.clone()), &grads, 2.0, 0.0)?;
    Ok(vec![norm])
}

#[test]
fn many_tensors_take_several_launches() {
    let Some(kernels) = kernels() else { return };
    let values = many();
    let [host, device] = [&Cpu::Cpu, device()].map(|device| Tensors::on(device, &values));
    let [_, grads, ..] = device.lists();
    let norm = kernels.norm(&grads, 2.0, 0.0).unwrap();
    close(
        "norm",
        &flat(&norm.value().unwrap()),
        &[norm_of(&values[1], 2.0)],
        1e-6,
    );
    step(&kernels, "lamb", &device, 0.5).unwrap();
    step_on_cpu("lamb", &host, 0.5);
    assert!(device.values() == host.values());
}
