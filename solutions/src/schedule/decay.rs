//! Rates that only fall: in steps, at milestones, by a constant factor. `step` counts from 0, in whatever unit the
//! schedule is stepped: iterations, or epochs as is usual for these.

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
