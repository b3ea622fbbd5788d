/// The linear scaling rule with a gradual warm-up (Goyal et al. 2017, "Accurate, Large Minibatch SGD", sections 2.1 and
/// 2.2). The learning rate `base` is right for batches of `reference` records, and `base·batch/reference` for batches of
/// `batch` records. The learning rate grows linearly from the first to the second over `warmup` steps; `step` counts from 0.
///
/// k workers with n records each have a batch of kn; the paper's learning rate is 0.1·kn/256.
///
/// ```
/// use canopy::schedule::scaled_warmup;
///
/// let rate = |step| scaled_warmup(step, 4, 0.1, 64, 16);
/// assert_eq!([rate(0), rate(2), rate(4), rate(99)], [0.1, 0.25, 0.4, 0.4]);
/// ```
pub fn scaled_warmup(step: u64, warmup: u64, base: f64, batch: usize, reference: usize) -> f64 {
    let scaled = base * (batch as f64 / reference as f64);
    if step >= warmup {
        return scaled;
    }
    base + (scaled - base) * (step as f64 / warmup as f64)
}
