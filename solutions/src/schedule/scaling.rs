//! The linear scaling rule and gradual warm-up (Goyal et al. 2017, "Accurate, Large Minibatch SGD", sections 2.1 and 2.2).

/// The learning rate for batches of `batch` records if `base` is right for batches of `reference`: `base·batch/reference`.
///
/// k workers with n records each have a batch of kn; the paper's learning rate is 0.1·kn/256.
pub fn linear_scaling(base: f64, batch: usize, reference: usize) -> f64 {
    base * (batch as f64 / reference as f64)
}

/// The learning rate of `step`, counted from 0, of a gradual warm-up: `from` at step 0, growing linearly to `to` at step
/// `steps` and later. If `steps` is 0 it is `to` at once.
pub fn gradual_warmup(step: u64, steps: u64, from: f64, to: f64) -> f64 {
    if step >= steps {
        return to;
    }
    from + (to - from) * (step as f64 / steps as f64)
}

/// Both together, as in the paper: a warm-up over `warmup` steps from `base`, which is right for batches of `reference`
/// records, to its [`linear_scaling`] for batches of `batch` records. `step` counts from 0.
///
/// ```
/// use canopy::schedule::scaled_warmup;
///
/// let rate = |step| scaled_warmup(step, 4, 0.1, 64, 16);
/// assert_eq!([rate(0), rate(2), rate(4), rate(99)], [0.1, 0.25, 0.4, 0.4]);
/// ```
pub fn scaled_warmup(step: u64, warmup: u64, base: f64, batch: usize, reference: usize) -> f64 {
    gradual_warmup(step, warmup, base, linear_scaling(base, batch, reference))
}
