//! The linear scaling rule and its warm-up (Goyal et al. 2017, "Accurate, Large Minibatch SGD", sections 2.1 and 2.2).

/// The rate for batches of `batch` where `base` does well for batches of `reference`: `base·batch/reference`.
///
/// k workers with n records each make a batch of kn; the paper's rate is 0.1·kn/256.
pub fn linear_scaling(base: f64, batch: usize, reference: usize) -> f64 {
    base * (batch as f64 / reference as f64)
}

/// The rate of `step`, from 0, of a gradual warm-up: at step 0 it is `from`, and it grows by the same amount each step
/// until, from step `steps` on, it is `to`. Without steps it is `to` at once.
pub fn gradual_warmup(step: u64, steps: u64, from: f64, to: f64) -> f64 {
    if step >= steps {
        return to;
    }
    from + (to - from) * (step as f64 / steps as f64)
}

/// Both together, as the paper trains: from `base`, which does well for batches of `reference`, up to what
/// [`linear_scaling`] makes of it for batches of `batch`, over `warmup` steps; `step` counts from 0.
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
