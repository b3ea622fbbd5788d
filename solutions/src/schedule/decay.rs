//! Learning rates that decay: in steps, at milestones, by a constant factor. `step` counts from 0, in iterations or, as is
//! usual for these, in epochs.

// ANCHOR: Decay
/// When the learning rate is multiplied by gamma.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decay {
    /// After every N steps, first at step N. N is at least 1.
    Step(u64),
    /// At each of these steps, in any order; a step listed twice counts twice.
    Milestones(Vec<u64>),
    /// After every step, first at step 1.
    Exponential,
}
// ANCHOR_END: Decay

/// `base·gammaᵏ`, k being the number of decays in the first `step` steps according to `decay`: PyTorch's StepLR,
/// MultiStepLR and ExponentialLR.
pub fn decayed(decay: &Decay, step: u64, gamma: f64, base: f64) -> f64 {
    let decays = match decay {
        Decay::Step(size) => step / (*size).max(1),
        Decay::Milestones(milestones) => milestones.iter().filter(|&&m| step >= m).count() as u64,
        Decay::Exponential => step,
    };
    base * gamma.powi(i32::try_from(decays).unwrap_or(i32::MAX))
}
