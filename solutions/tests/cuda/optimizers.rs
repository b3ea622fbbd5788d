//! Multi-tensor steps: bit-identical to the CPU's. And unscaling, overflow and norm of all gradients.

use std::sync::Arc;

use candle_core::{Device as Cpu, Result, Tensor, Var};
use canopy::kernels::device::{MultiTensor, Norm, TENSORS};
use canopy::kernels::multi_tensor::{self, AdamStep, LarsStep, SgdStep};
use canopy::optim::{LarsConfig, lars_step};

use crate::common::*;
use crate::emulated::{EmulatedGrid, device};

/// Values of a piece, as in multi_tensor.cuh.
const PIECE: usize = 16_384;

/// One shorter than a piece, one of a piece exactly, one longer.
const SIZES: [usize; 4] = [5, PIECE, PIECE + 33, 1];

/// Weights, gradients and both states of each tensor.
fn inputs() -> [Vec<Vec<f32>>; 4] {
    let of = |seed: u64| {
        let tensors = SIZES.iter().zip(seed..);
        tensors.map(|(&n, seed)| random(seed, n)).collect::<Vec<_>>()
    };
    let positive = of(40).into_iter().map(|v| v.iter().map(|v| v.abs()).collect());
    [of(10), of(20), of(30), positive.collect()]
}

/// Copies of the lists as tensors: weights, gradients and both states.
struct Tensors([Vec<Tensor>; 4]);

impl Tensors {
    fn new(values: &[Vec<Vec<f32>>; 4]) -> Self {
        Self::on(device(), values)
    }

    fn on(device: &Cpu, values: &[Vec<Vec<f32>>; 4]) -> Self {
        let tensor = |v: &Vec<f32>| Tensor::new(v.as_slice(), device).unwrap();
        Self(values.each_ref().map(|list| list.iter().map(tensor).collect()))
    }

    fn lists(&self) -> [Vec<&Tensor>; 4] {
        self.0.each_ref().map(|list| list.iter().collect())
    }

    fn values(&self) -> [Vec<Vec<f32>>; 4] {
        self.0
            .each_ref()
            .map(|list| list.iter().map(|t| t.to_vec1().unwrap()).collect())
    }
}

fn kernels() -> Option<MultiTensor> {
    Some(MultiTensor::new(EmulatedGrid::new()?))
}

/// Gradients unscaled and clipped.
struct Unscaled {
    norm: Vec<f64>,
    found_inf: bool,
    gradients: Vec<Vec<f64>>,
}

fn unscaled(kernels: &MultiTensor, grads: &[Vec<f32>], scale: f64, max_norm: f64) -> Result<Unscaled> {
    let tensors = grads.iter().map(|g| Tensor::new(g.as_slice(), device()));
    let tensors = tensors.collect::<Result<Vec<_>>>()?;
    let grads: Vec<&Tensor> = tensors.iter().collect();
    let result = kernels.norm(&grads, scale, max_norm)?;
    Ok(Unscaled {
        norm: flat(&result.value()?),
        found_inf: result.found_inf()?,
        gradients: kernels.scaled(&grads, &result)?.iter().map(flat).collect(),
    })
}

/// The gradients, one of them `bad`.
fn with_overflow(bad: f32) -> Vec<Vec<f32>> {
    let [_, mut grads, ..] = inputs();
    grads[2][PIECE + 32] = bad;
    grads
}

#[test]
fn unscaling_finds_norm_and_overflow() {
    let Some(kernels) = kernels() else { return };
    let [_, grads, ..] = inputs();
    for (max_norm, scale) in [(0.0, 1.0), (2.5, 65_536.0), (1e9, 2.0)] {
        let found = unscaled(&kernels, &grads, scale, max_norm).unwrap();
        let all = grads.iter().flatten();
        let norm = all.map(|&g| (f64::from(g) / scale).powi(2)).sum::<f64>().sqrt();
        close("norm", &found.norm, &[norm], 1e-6);
        assert!(!found.found_inf);
        let clip = if max_norm > 0.0 {
            (max_norm / (norm + 1e-6)).min(1.0)
        } else {
            1.0
        };
        for (found, g) in found.gradients.iter().zip(&grads) {
            let expected: Vec<f64> = g.iter().map(|&g| f64::from(g) * clip / scale).collect();
            close("unscaled and clipped", found, &expected, 1e-6);
        }
    }
    for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let found = unscaled(&kernels, &with_overflow(bad), 1.0, 1.0).unwrap();
        assert!(found.found_inf, "{bad}");
        assert!(found.gradients[2][PIECE + 32].is_nan(), "{bad}");
    }
}

/// Norm and clipped gradients, and whether an infinite one is found.
pub fn norms(grid: &Arc<EmulatedGrid>) -> Result<Vec<Vec<f64>>> {
    let kernels = MultiTensor::new(grid.clone());
    let [_, grads, ..] = inputs();
    let Unscaled {
        norm, mut gradients, ..
    } = unscaled(&kernels, &grads, 4.0, 2.5)?;
    let overflow = unscaled(&kernels, &with_overflow(f32::INFINITY), 1.0, 1.0)?.found_inf;
    gradients.extend([norm, vec![f64::from(u8::from(overflow))]]);
    Ok(gradients)
}

const STEP: AdamStep = AdamStep {
    lr: 0.01,
    beta1: 0.9,
    beta2: 0.99,
    eps: 1e-6,
    weight_decay: 0.1,
    decoupled: true,
    step: 3,
    gradient_factor: 1.0,
};

/// Optimizers that take one step with a given factor of the gradients.
const KINDS: [&str; 5] = ["adamw", "adam", "lamb", "sgd", "nesterov"];

fn adam(kind: &str, gradient_factor: f32) -> AdamStep {
    AdamStep {
        decoupled: kind == "adamw",
        gradient_factor,
        ..STEP
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

/// A step by the kernels. `norm` replaces the factor.
fn step(
    kernels: &MultiTensor,
    kind: &str,
    tensors: &Tensors,
    factor: f32,
    norm: Option<&Norm>,
) -> Result<()> {
    let [w, g, m, v] = tensors.lists();
    match kind {
        "lars" => kernels.lars(&w, &g, &m, &LARS, norm),
        "lamb" => kernels.lamb(&w, &g, [&m, &v], &adam(kind, factor), norm),
        "sgd" | "nesterov" => kernels.sgd(&w, &g, &m, &sgd(kind, factor), norm),
        _ => kernels.adam(&w, &g, [&m, &v], &adam(kind, factor), norm),
    }
}

/// What a step of each optimizer leaves.
pub fn stepped(grid: &Arc<EmulatedGrid>) -> Result<Vec<Vec<f64>>> {
    let kernels = MultiTensor::new(grid.clone());
    let mut left = Vec::new();
    for kind in KINDS.into_iter().chain(["lars"]) {
        let tensors = Tensors::new(&inputs());
        step(&kernels, kind, &tensors, 0.25, None)?;
        left.extend(tensors.0.iter().flatten().map(flat));
    }
    Ok(left)
}

#[test]
fn steps_are_bit_identical_to_the_cpu() {
    let Some(kernels) = kernels() else { return };
    for kind in KINDS {
        for given in [false, true] {
            let (host, device) = (Tensors::on(&Cpu::Cpu, &inputs()), Tensors::new(&inputs()));
            let ([w, g, m, v], [_, dg, ..]) = (host.lists(), device.lists());
            // The gradients' factor, computed on the device or given by the host.
            let norm = given.then(|| kernels.norm(&dg, 4.0, 0.5).unwrap());
            let clipped = norm.as_ref().map(|norm| kernels.scaled(&[dg[3]], norm).unwrap());
            let factor = match clipped {
                Some(clipped) => clipped[0].to_vec1::<f32>().unwrap()[0] / inputs()[1][3][0],
                None => 0.25,
            };
            step(&kernels, kind, &device, factor, norm.as_ref()).unwrap();
            match kind {
                "lamb" => multi_tensor::lamb(&w, &g, &m, &v, &adam(kind, factor)),
                "sgd" | "nesterov" => multi_tensor::sgd(&w, &g, &m, &sgd(kind, factor)),
                _ => multi_tensor::adam(&w, &g, &m, &v, &adam(kind, factor)),
            }
            .unwrap();
            assert!(
                device.values() == host.values(),
                "{kind}, factor on the device: {given}"
            );
        }
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

#[test]
fn lars_is_bit_identical_to_the_cpu() {
    let Some(kernels) = kernels() else { return };
    let mut values = inputs();
    // The ratio of weights of 0 is 1.
    values[0][3] = vec![0.0];
    for adapted in [true, false] {
        let device = Tensors::new(&values);
        let vars = |list: &[Tensor]| -> Vec<Var> {
            // Only matrices have a ratio.
            let shaped = |t: &Tensor| if adapted { t.unsqueeze(0) } else { t.copy() };
            list.iter()
                .map(|t| Var::from_tensor(&shaped(t).unwrap()).unwrap())
                .collect()
        };
        let host = Tensors::new(&values);
        let [w, g, m] = [0, 1, 2].map(|i| vars(&host.0[i]));
        let gradients: Vec<Tensor> = g.iter().map(|g| g.as_tensor().clone()).collect();
        let config = LarsConfig {
            momentum: LARS.momentum,
            weight_decay: LARS.weight_decay,
            trust: LARS.trust,
            vectors: false,
        };
        let [dw, dg, dm, _] = device.lists();
        let step = LarsStep { adapted, ..LARS };
        for _ in 0..2 {
            lars_step(&w, &gradients, &m, LARS.lr, &config).unwrap();
            kernels.lars(&dw, &dg, &dm, &step, None).unwrap();
        }
        for (found, expected) in [(&dw, &w), (&dm, &m)] {
            for (found, expected) in found.iter().zip(expected) {
                assert!(flat(found) == flat(expected), "adapted: {adapted}");
            }
        }
    }
}

/// More tensors than a launch takes, some of several pieces, and more pieces than a block has threads.
fn many() -> Vec<Vec<f32>> {
    let sizes = (0..3 * TENSORS + 7).map(|i| if i % 40 == 39 { PIECE + 5 } else { 1 + i % 5 });
    (0..).zip(sizes).map(|(seed, n)| random(seed, n)).collect()
}

/// The norm of [`many`].
pub fn norm_of_many(grid: &Arc<EmulatedGrid>) -> Result<Vec<Vec<f64>>> {
    let found = unscaled(&MultiTensor::new(grid.clone()), &many(), 2.0, 0.0)?;
    Ok(vec![found.norm])
}

#[test]
fn many_tensors_take_several_launches() {
    let Some(kernels) = kernels() else { return };
    let lists = many();
    let positive = lists
        .iter()
        .map(|v| v.iter().map(|v| v.abs()).collect())
        .collect();
    let values = [lists.clone(), lists.clone(), lists.clone(), positive];
    let (host, device) = (Tensors::new(&values), Tensors::new(&values));
    let ([w, g, m, v], [dw, dg, dm, dv]) = (host.lists(), device.lists());
    let result = kernels.norm(&dg, 2.0, 0.0).unwrap();
    let norm = lists
        .iter()
        .flatten()
        .map(|&g| (f64::from(g) / 2.0).powi(2))
        .sum::<f64>()
        .sqrt();
    close("norm", &flat(&result.value().unwrap()), &[norm], 1e-6);
    multi_tensor::lamb(
        &w,
        &g,
        &m,
        &v,
        &AdamStep {
            gradient_factor: 0.5,
            ..STEP
        },
    )
    .unwrap();
    kernels.lamb(&dw, &dg, [&dm, &dv], &STEP, Some(&result)).unwrap();
    assert!(device.values() == host.values());
}

/// What a step needs of the host is uploaded by the first one alone.
#[test]
fn equal_steps_upload_nothing() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let kernels = MultiTensor::new(grid.clone());
    let tensors = Tensors::new(&inputs());
    let [w, g, m, v] = tensors.lists();
    let step = |step| {
        let norm = kernels.norm(&g, 2.0, 1.0).unwrap();
        kernels
            .adam(&w, &g, [&m, &v], &AdamStep { step, ..STEP }, Some(&norm))
            .unwrap();
        grid.constants.uploads()
    };
    assert_eq!([1, 2, 3].map(step), [1; 3]);
}

#[test]
fn a_step_with_an_overflow_changes_nothing() {
    let Some(kernels) = kernels() else { return };
    let mut values = inputs();
    values[1][0][4] = f32::INFINITY;
    let tensors = Tensors::new(&values);
    let [_, g, ..] = tensors.lists();
    let norm = kernels.norm(&g, 1.0, 0.0).unwrap();
    for kind in ["adam", "lamb", "sgd", "lars"] {
        step(&kernels, kind, &tensors, 1.0, Some(&norm)).unwrap();
    }
    assert!(tensors.values() == values);
}
