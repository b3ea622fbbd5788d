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
