//! Learning rates that decay: in steps, at milestones, by a constant factor. `step` counts from 0, in iterations or, as is
//! usual for these, in epochs.

// ANCHOR: Decay
/// When the learning rate is multiplied by gamma.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decay {
    /// Every N steps; 0 counts as 1.
    Step(u64),
    /// At these steps, in any order.
    Milestones(Vec<u64>),
    /// At each step.
    Exponential,
}
// ANCHOR_END: Decay

/// `base·gammaᵏ`, k being the number of decays in the first `step` steps according to `decay`.
pub fn decayed(decay: &Decay, step: u64, gamma: f64, base: f64) -> f64 {
    match decay {
        Decay::Step(size) => step_decay(step, *size, gamma, base),
        Decay::Milestones(milestones) => multi_step(step, milestones, gamma, base),
        Decay::Exponential => exponential(step, gamma, base),
    }
}

/// `base·gammaᵏ` with k = ⌊step/size⌋ (PyTorch's StepLR). A `size` of 0 counts as 1.
pub fn step_decay(step: u64, size: u64, gamma: f64, base: f64) -> f64 {
    power(base, gamma, step / size.max(1))
}

/// `base·gammaᵏ`, k being the number of `milestones`, in any order, that are at most `step` (PyTorch's MultiStepLR).
pub fn multi_step(step: u64, milestones: &[u64], gamma: f64, base: f64) -> f64 {
    let reached = milestones.iter().filter(|&&m| step >= m).count();
    power(base, gamma, reached as u64)
}

/// `base·gammaˢᵗᵉᵖ` (PyTorch's ExponentialLR).
pub fn exponential(step: u64, gamma: f64, base: f64) -> f64 {
    power(base, gamma, step)
}

fn power(base: f64, gamma: f64, exponent: u64) -> f64 {
    base * gamma.powi(i32::try_from(exponent).unwrap_or(i32::MAX))
}
