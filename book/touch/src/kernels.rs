//! canopy's neuron and optimizer steps.
#![allow(
    dead_code,
    unused_imports,
    reason = "the pieces use a part of canopy's functions"
)]

#[path = "../../../solutions/src/kernels/neuron.rs"]
mod neuron;
#[path = "../../../solutions/src/kernels/steps.rs"]
mod steps;
#[path = "../../../solutions/src/kernels/vector.rs"]
mod vector;

pub use neuron::neuron;
pub use steps::AdamStep;

/// The instruction sets for which the steps are compiled outside a browser.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "a browser has only the base set")]
pub enum InstructionSet {
    /// AVX-512.
    Avx512,
    /// AVX2.
    Avx2,
    /// Every CPU.
    Base,
}

impl InstructionSet {
    /// Returns the one that a browser has.
    pub fn current() -> Self {
        Self::Base
    }
}

/// One step of Adam, with its moments.
pub fn adam(w: &mut [f32], g: &[f32], moments: &mut [Vec<f32>; 2], step: &AdamStep) {
    let [m, v] = moments;
    vector::adam(w, g, m, v, &steps::AdamFactors::new(step));
}

/// One step of SGD with momentum.
pub fn sgd(w: &mut [f32], g: &[f32], velocity: &mut [f32], lr: f32, momentum: f32) {
    vector::sgd(w, g, velocity, [lr, momentum, 0.0], false);
}
