//! Rates that only fall: in steps, at milestones, by a constant factor. `step` counts from 0, in whatever unit the
//! schedule is stepped: iterations, or epochs as is usual for these.

/// When a rate falls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decay {
    /// After each so many steps; 0 counts as 1.
    Step(u64),
    /// At these steps, in any order.
    Milestones(Vec<u64>),
    /// At each step.
    Exponential,
}

/// `base·gammaᵏ`, k being how often the rate has fallen when `step` steps are done, as `decay` has it.
pub fn decayed(decay: &Decay, step: u64, gamma: f64, base: f64) -> f64 {
    match decay {
        Decay::Step(size) => step_decay(step, *size, gamma, base),
        Decay::Milestones(milestones) => multi_step(step, milestones, gamma, base),
        Decay::Exponential => exponential(step, gamma, base),
    }
}

/// `base·gammaᵏ`, k being how many whole `size`s have passed (PyTorch's StepLR). A `size` of 0 counts as 1.
pub fn step_decay(step: u64, size: u64, gamma: f64, base: f64) -> f64 {
    power(base, gamma, step / size.max(1))
}

/// `base·gammaᵏ`, k being how many of the `milestones`, in any order, have been reached (PyTorch's MultiStepLR).
/// At a milestone itself the rate is the lower one already.
pub fn multi_step(step: u64, milestones: &[u64], gamma: f64, base: f64) -> f64 {
    let reached = milestones.iter().filter(|&&m| step >= m).count();
    power(base, gamma, reached as u64)
}

/// `base·gammaˢᵗᵉᵖ` (PyTorch's ExponentialLR).
pub fn exponential(step: u64, gamma: f64, base: f64) -> f64 {
    power(base, gamma, step)
}

/// `base·factor(step)`, for any other course (PyTorch's LambdaLR).
pub fn lambda(step: u64, factor: impl Fn(u64) -> f64, base: f64) -> f64 {
    base * factor(step)
}

fn power(base: f64, gamma: f64, exponent: u64) -> f64 {
    base * gamma.powi(i32::try_from(exponent).unwrap_or(i32::MAX))
}
