/// Linear warm-up, then half a cosine (Loshchilov and Hutter 2017), at step `step` counted from 0:
///
/// - for `step < warmup`, `base·(step + 1)/warmup`: the first learning rate is above 0, the last of the warm-up is `base`;
/// - then half a cosine from `base` to `floor`, which it reaches at `step = total` and keeps.
///
/// ```
/// use canopy::schedule::cosine_with_warmup;
///
/// let rate = |step| cosine_with_warmup(step, 4, 12, 0.1, 0.0);
/// assert_eq!(rate(0), 0.025);
/// assert_eq!(rate(3), 0.1);
/// assert_eq!(rate(4), 0.1);
/// assert!((rate(8) - 0.05).abs() < 1e-12);
/// assert!(rate(12) < 1e-12);
/// // A run of warm-up only ends at the floor.
/// assert_eq!(cosine_with_warmup(9, 10, 10, 0.5, 0.1), 0.5);
/// assert_eq!(cosine_with_warmup(10, 10, 10, 0.5, 0.1), 0.1);
/// ```
pub fn cosine_with_warmup(step: u64, warmup: u64, total: u64, base: f64, floor: f64) -> f64 {
    if step < warmup {
        return base * ((step + 1) as f64 / warmup as f64);
    }
    if step >= total {
        return floor;
    }
    let done = (step - warmup) as f64 / (total - warmup) as f64;
    floor + (base - floor) * 0.5 * (1.0 + (std::f64::consts::PI * done).cos())
}
