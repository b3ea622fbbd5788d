//! Known wrong answers to exercise 7.1.

use super::*;

pub const MISTAKES: &[Mistake<Lesson07>] = &[
    wrong!("7.1", starts_at_the_base_rate, "The warm-up starts at 0; it should start at the base rate.",
    scaled_warmup: |t, n, base, b, r| {
        let to = base * b as f64 / r as f64;
        if t < n { to * t as f64 / n as f64 } else { to }
    }),
    wrong!("7.1", starts_at_the_base_rate, "There is no warm-up: the rate starts at the scaled rate.",
        scaled_warmup: |_, _, base, b, r| base * b as f64 / r as f64),
    wrong!("7.1", starts_at_the_base_rate, "The warm-up is one step early: at step 0 the rate is the base rate.",
        scaled_warmup: |t, n, base, b, r| (REFERENCE.scaled_warmup)(t + 1, n, base, b, r)),
    wrong!("7.1", stays_at_the_scaled_rate, "The rate is scaled by the square root of the ratio; linear scaling uses the ratio.",
    scaled_warmup: |t, n, base, b, r| {
        let to = base * (b as f64 / r as f64).sqrt();
        if t < n { base + (to - base) * t as f64 / n as f64 } else { to }
    }),
    wrong!("7.1", stays_at_the_scaled_rate, "The ratio is inverted: a larger batch has a larger rate.",
        scaled_warmup: |t, n, base, b, r| (REFERENCE.scaled_warmup)(t, n, base, r, b)),
    wrong!("7.1", stays_at_the_scaled_rate, "The rate keeps rising after the warm-up.",
        scaled_warmup: |t, n, base, b, r| base + base * (b as f64 / r as f64 - 1.0) * t as f64 / n.max(1) as f64),
    wrong!("7.1", rises_linearly,
    "The rate is multiplied by the same factor each step; it should rise by the same amount.",
    scaled_warmup: |t, n, base, b, r| {
        let k = b as f64 / r as f64;
        if t < n { base * k.powf(t as f64 / n as f64) } else { base * k }
    }),
    wrong!("7.1", rises_linearly, "The rate stays at the base rate during the warm-up, and then jumps.",
        scaled_warmup: |t, n, base, b, r| if t < n { base } else { base * b as f64 / r as f64 }),
    wrong!("7.1", accepts_any_two_batch_sizes,
    "The integer division rounds down: convert both to f64 first.",
    scaled_warmup: |t, n, base, b, r| {
        let to = base * (b / r) as f64;
        if t < n { base + (to - base) * t as f64 / n as f64 } else { to }
    }),
    wrong!("7.1", starts_at_the_scaled_rate_without_warm_up, "The division by a warm-up of 0 steps is NaN.",
    scaled_warmup: |t, n, base, b, r| {
        let to = base * b as f64 / r as f64;
        if t <= n { base + (to - base) * (t as f64 / n as f64) } else { to }
    }),
    wrong!("7.1", starts_at_the_base_rate, "The rate is rounded to f32: compute in f64.",
    scaled_warmup: |t, n, base, b, r| {
        let base = base as f32;
        let to = base * b as f32 / r as f32;
        f64::from(if t < n { base + (to - base) * t as f32 / n as f32 } else { to })
    }),
    wrong!("7.1", rises_linearly, "The scaled rate is reached one step early: the share of the rise is step/warmup.",
    scaled_warmup: |t, n, base, b, r| {
        let to = base * b as f64 / r as f64;
        if t + 1 < n { base + (to - base) * t as f64 / (n - 1) as f64 } else { to }
    }),
    wrong!("7.1", stays_at_the_scaled_rate, "The scaled rate is reached one step late: the share of the rise is step/warmup.",
    scaled_warmup: |t, n, base, b, r| {
        let to = base * b as f64 / r as f64;
        if t <= n { base + (to - base) * t as f64 / (n + 1) as f64 } else { to }
    }),
    wrong!("7.1", accepts_any_two_batch_sizes, "The ratio of the batch sizes is rounded to a whole number: divide them as f64.",
    scaled_warmup: |t, n, base, b, r| {
        let to = base * (b as f64 / r as f64).round();
        if t < n { base + (to - base) * t as f64 / n as f64 } else { to }
    }),
    wrong!("7.1", accepts_any_two_batch_sizes, "A batch smaller than the reference is not scaled down: its rate is lower than the base rate.",
        scaled_warmup: |t, n, base, b, r| (REFERENCE.scaled_warmup)(t, n, base, b.max(r), r)),
    wrong!("7.1", accepts_any_two_batch_sizes, "batch − reference is below 0 for a smaller batch, which a usize cannot be: convert both to f64 first.",
    scaled_warmup: |t, n, base, b, r| {
        let more = base * (b - r) as f64 / r as f64;
        if t < n { base + more * t as f64 / n as f64 } else { base + more }
    }),
    wrong!("7.1", starts_at_the_scaled_rate_without_warm_up, "Without warm-up the rate stays at the base rate; it should be the scaled one from step 0 on.",
        scaled_warmup: |t, n, base, b, r| if n == 0 { base } else { (REFERENCE.scaled_warmup)(t, n, base, b, r) }),
    wrong!("7.1", starts_at_the_scaled_rate_without_warm_up, "No warm-up is taken for a warm-up of one step: step 0 should already have the scaled rate.",
        scaled_warmup: |t, n, base, b, r| (REFERENCE.scaled_warmup)(t, n.max(1), base, b, r)),
    wrong!("7.1", rises_linearly, "The rate rises along half a cosine; it should rise by the same amount in each step.",
    scaled_warmup: |t, n, base, b, r| {
        let to = base * b as f64 / r as f64;
        if t < n { base + (to - base) * half_cosine(t as f64 / n as f64) } else { to }
    }),
    wrong!("7.1", accepts_any_two_batch_sizes, "The rate is cut off at the scaled one, also for a smaller batch, where that is below `base`: there is no warm-up then.",
    scaled_warmup: |t, n, base, b, r| {
        let to = base * b as f64 / r as f64;
        if n == 0 { to } else { (base + (to - base) * t as f64 / n as f64).min(to) }
    }),
    wrong!("7.1", accepts_any_two_batch_sizes, "The rate is cut off at the scaled one, also for a smaller batch, where that is below `base`: there is no warm-up then.",
        scaled_warmup: |t, n, base, b, r| (REFERENCE.scaled_warmup)(t, n, base, b, r).min(base * b as f64 / r as f64)),
    wrong!("7.1", stays_at_the_scaled_rate, "The rate is not scaled: multiply it by batch/reference.",
        scaled_warmup: |_, _, base, _, _| base),
];
