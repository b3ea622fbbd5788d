//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use candle_core::{Result, Tensor};
use canopy::schedule::{Decay, OneCycle, RangeFound, valley};
use grader::{Mistake, wrong};

use crate::{Lesson07, REFERENCE, answer_helpers::*, wrong_lamb, wrong_loss_along};

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
    wrong!("7.2", starts_with_low_rate_and_high_momentum, "The momentum rises with the rate; it should fall when the rate rises.",
        one_cycle: |c, t| (REFERENCE.one_cycle)(c, t).map(|(r, m)| (r, c.least_momentum + c.greatest_momentum - m))),
    wrong!("7.2", starts_with_low_rate_and_high_momentum, "The rate starts at 0; it should start at max/first_divisor.",
        one_cycle: |c, t| (REFERENCE.one_cycle)(c, t).map(|(r, m)| (if t == 0 { 0.0 } else { r }, m))),
    wrong!("7.2", turns_at_the_peak_rate, "The rise ends one step late: it ends at step rising·total − 1, because steps are counted from 0.",
    one_cycle: |c, t| {
        let end = c.total as f64 - 1.0;
        let at = move |t: f64, top: f64| if t <= top { (false, t / top) } else { (true, (t - top) / (end - top)) };
        cycle_by(c, t, at, half_cosine, last_rate(c))
    }),
    wrong!("7.2", turns_at_the_peak_rate, "The momentum never changes.",
        one_cycle: |c, t| (REFERENCE.one_cycle)(c, t).map(|(r, _)| (r, c.greatest_momentum))),
    wrong!("7.2", ends_at_the_final_rate, "The last rate is max/last_divisor; it should be first/last_divisor.",
        one_cycle: |c, t| cycle_by(c, t, phase(c), half_cosine, c.max / c.last_divisor)),
    wrong!("7.2", ends_at_the_final_rate, "The fall ends at the first rate; it should end at first/last_divisor.",
        one_cycle: |c, t| cycle_by(c, t, phase(c), half_cosine, c.max / c.first_divisor)),
    wrong!("7.2", ends_at_the_final_rate, "The fall ends one step late: it ends at step total − 1.",
    one_cycle: |c, t| {
        let end = c.total as f64;
        let at = move |t: f64, top: f64| {
            let top = top - 1.0;
            if t <= top { (false, t / top) } else { (true, (t - top) / (end - top)) }
        };
        cycle_by(c, t, at, half_cosine, last_rate(c))
    }),
    wrong!("7.2", follows_half_cosines, "The rate changes linearly; it should follow half a cosine.",
        one_cycle: |c, t| cycle_by(c, t, phase(c), |s| s, last_rate(c))),
    wrong!("7.2", follows_half_cosines, "This is a quarter of a cosine; it should be half of one, up to π.",
        one_cycle: |c, t| cycle_by(c, t, phase(c), |s| 1.0 - (std::f64::consts::FRAC_PI_2 * s).cos(), last_rate(c))),
    wrong!("7.2", peaks_between_two_steps, "The end of the rise is rounded to a whole step; it may lie between two steps.",
    one_cycle: |c, t| {
        let end = c.total as f64 - 1.0;
        let at = move |t: f64, top: f64| {
            let top = top.floor() - 1.0;
            if t <= top { (false, t / top) } else { (true, (t - top) / (end - top)) }
        };
        cycle_by(c, t, at, half_cosine, last_rate(c))
    }),
    wrong!("7.2", is_none_past_its_end, "Past its end the cycle continues at the last rate; return None.",
        one_cycle: |c, t| (REFERENCE.one_cycle)(c, t.min(c.total - 1))),
    wrong!("7.2", is_none_past_its_end, "There is one step too many: steps are counted from 0, so step `total` is past the end.",
        one_cycle: |c, t| if t > c.total { None } else { (REFERENCE.one_cycle)(c, t.min(c.total - 1)) }),
    wrong!("7.2", starts_with_low_rate_and_high_momentum, "The rate and the momentum are exchanged: the rate is the first of the pair.",
        one_cycle: |c, t| (REFERENCE.one_cycle)(c, t).map(|(r, m)| (m, r))),
    wrong!("7.2", starts_with_low_rate_and_high_momentum, "The first rate is max·first_divisor; divide by it.",
    one_cycle: |c, t| {
        let c = OneCycle { first_divisor: 1.0 / c.first_divisor, ..c.clone() };
        (REFERENCE.one_cycle)(&c, t)
    }),
    wrong!("7.2", starts_with_low_rate_and_high_momentum, "Start and end of each phase are exchanged: at s = 0 the value is a, at s = 1 it is b.",
        one_cycle: |c, t| cycle_by(c, t, phase(c), |s| 1.0 - half_cosine(s), last_rate(c))),
    wrong!("7.2", starts_with_low_rate_and_high_momentum, "The numbers are rounded to f32: compute in f64.",
    one_cycle: |c, t| {
        let (first, max) = (c.max as f32 / c.first_divisor as f32, c.max as f32);
        let (low, high) = (c.least_momentum as f32, c.greatest_momentum as f32);
        let (top, end) = (c.rising as f32 * c.total as f32 - 1.0, c.total as f32 - 1.0);
        let way = |a: f32, b: f32, s: f32| f64::from(b + (a - b) / 2.0 * (1.0 + (std::f32::consts::PI * s).cos()));
        if t >= c.total {
            return None;
        }
        let t = t as f32;
        if t <= top {
            return Some((way(first, max, t / top), way(high, low, t / top)));
        }
        let s = (t - top) / (end - top);
        Some((way(max, first / c.last_divisor as f32, s), way(low, high, s)))
    }),
    wrong!("7.2", turns_at_the_peak_rate, "The share of the fall is counted from step 0; it starts at 0 at the peak.",
    one_cycle: |c, t| {
        let end = c.total as f64 - 1.0;
        let at = move |t: f64, top: f64| if t < top { (false, t / (top - 1.0)) } else { (true, t / end) };
        cycle_by(c, t, at, half_cosine, last_rate(c))
    }),
    wrong!("7.2", turns_at_the_peak_rate, "The share of the fall is divided by all steps; divide by those from the peak to the end.",
    one_cycle: |c, t| {
        let end = c.total as f64 - 1.0;
        let at = move |t: f64, top: f64| {
            let top = top - 1.0;
            if t <= top { (false, t / top) } else { (true, (t - top) / end) }
        };
        cycle_by(c, t, at, half_cosine, last_rate(c))
    }),
    wrong!("7.2", turns_at_the_peak_rate, "The momentum stays low after the peak; it should rise again to greatest_momentum.",
    one_cycle: |c, t| (REFERENCE.one_cycle)(c, t).map(|(r, m)| {
        (r, if t as f64 > c.rising * c.total as f64 - 1.0 { c.least_momentum } else { m })
    })),
    wrong!("7.2", turns_at_the_peak_rate, "The fall starts at the first rate; it should start at the peak, max.",
    one_cycle: |c, t| {
        let (top, end, first) = (c.rising * c.total as f64 - 1.0, c.total as f64 - 1.0, c.max / c.first_divisor);
        let (low, high) = (c.least_momentum, c.greatest_momentum);
        cycle_of(c, t, &[(top, [first, high], [c.max, low]), (end, [first, low], [last_rate(c), high])])
    }),
    wrong!("7.2", turns_at_the_peak_rate, "There are three phases, a fall as long as the rise and then the rest; there should be two.",
    one_cycle: |c, t| {
        let (top, end, first) = (c.rising * c.total as f64 - 1.0, c.total as f64 - 1.0, c.max / c.first_divisor);
        let (low, high) = (c.least_momentum, c.greatest_momentum);
        if 2.0 * top >= end {
            return (REFERENCE.one_cycle)(c, t);
        }
        let back = (2.0 * top, [c.max, low], [first, high]);
        cycle_of(c, t, &[(top, [first, high], [c.max, low]), back, (end, [first, high], [last_rate(c), high])])
    }),
    wrong!("7.2", turns_at_the_peak_rate, "The peak lasts two steps: the fall starts a step after the rise has ended.",
    one_cycle: |c, t| {
        let end = c.total as f64 - 1.0;
        let at = move |t: f64, top: f64| {
            let top = top.floor() - 1.0;
            if t <= top { (false, t / top) } else { (true, (t - top - 1.0) / (end - top - 1.0).max(1.0)) }
        };
        cycle_by(c, t, at, half_cosine, last_rate(c))
    }),
    wrong!("7.2", turns_at_the_peak_rate, "This is a whole cosine, there and back; it should be half of one, up to π.",
        one_cycle: |c, t| cycle_by(c, t, phase(c), |s| half_cosine(2.0 * s), last_rate(c))),
    wrong!("7.2", turns_at_the_peak_rate, "`rising` is taken for 0.3; use `cycle.rising`.",
        one_cycle: |c, t| (REFERENCE.one_cycle)(&OneCycle { rising: 0.3, ..c.clone() }, t)),
    wrong!("7.2", ends_at_the_final_rate, "The last step has no value: None starts at step `total`, not before.",
        one_cycle: |c, t| if t + 1 >= c.total { None } else { (REFERENCE.one_cycle)(c, t) }),
    wrong!("7.2", peaks_between_two_steps, "The end of the rise is rounded to a whole step; it may lie between two steps.",
    one_cycle: |c, t| {
        let end = c.total as f64 - 1.0;
        let at = move |t: f64, top: f64| {
            let top = top.round() - 1.0;
            if t <= top { (false, t / top) } else { (true, (t - top) / (end - top)) }
        };
        cycle_by(c, t, at, half_cosine, last_rate(c))
    }),
    wrong!("7.2", accepts_the_shortest_phases, "The end of the rise is held between two steps of the cycle; use rising·total − 1 as it is.",
    one_cycle: |c, t| {
        let end = c.total as f64 - 1.0;
        let at = move |t: f64, top: f64| {
            let top = (top - 1.0).clamp(2.0, end - 1.0);
            if t <= top { (false, t / top) } else { (true, (t - top) / (end - top)) }
        };
        cycle_by(c, t, at, half_cosine, last_rate(c))
    }),
    wrong!("7.3", decays_every_size_steps, "The rate decays at every step; use integer division.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some(t as f64 / (*size).max(1) as f64),
        _ => None,
    })),
    wrong!("7.3", decays_every_size_steps, "The rate decays one step late: after `size` steps it has already decayed.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some((t.saturating_sub(1) / (*size).max(1)) as f64),
        _ => None,
    })),
    wrong!("7.3", decays_every_size_steps, "gamma is multiplied by the number of decays; raise it to that power.",
    decayed: |d, t, g, b| match d {
        Decay::Step(size) => b * (g * (t / (*size).max(1)) as f64),
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", decays_every_size_steps, "The rate is multiplied by 1 − gamma; multiply it by gamma.",
        decayed: |d, t, g, b| (REFERENCE.decayed)(d, t, 1.0 - g, b)),
    wrong!("7.3", decays_at_a_milestone, "At the milestone itself the rate is still the old one; it has already decayed there.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => Some(list.iter().filter(|&&m| t > m).count() as f64),
        _ => None,
    })),
    wrong!("7.3", decays_at_a_milestone, "The rate decays only at the first milestone; it should decay at each.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => Some(f64::from(u8::from(list.iter().any(|&m| t >= m)))),
        _ => None,
    })),
    wrong!("7.3", accepts_milestones_in_any_order, "The list is in any order: count all milestones that are reached. Do not stop at the first that is not, and do not search it as if it were sorted.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => Some(list.iter().take_while(|&&m| t >= m).count() as f64),
        _ => None,
    })),
    wrong!("7.3", decays_at_each_step, "The rate has already decayed at step 0; there it is the base rate.",
        decayed: |d, t, g, b| falling(d, t, g, b, |d, t| matches!(d, Decay::Exponential).then_some(t as f64 + 1.0))),
    wrong!("7.3", decays_at_each_step, "This is exp(−gamma·step); the rate is base·gamma^step.",
    decayed: |d, t, g, b| match d {
        Decay::Exponential => b * (-g * t as f64).exp(),
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", accepts_a_size_of_0, "The step is divided by a size of 0; treat it as 1.",
    decayed: |d, t, g, b| match d {
        Decay::Step(size) => b * g.powi((t / size) as i32),
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", decays_every_size_steps, "The numbers are rounded to f32: compute in f64.",
        decayed: |d, t, g, b| f64::from((REFERENCE.decayed)(d, t, f64::from(g as f32), f64::from(b as f32)) as f32)),
    wrong!("7.3", decays_every_size_steps, "The rate has already decayed before the first `size` steps are done: k is step/size, rounded down.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some(((t + 1) / (*size).max(1)) as f64),
        _ => None,
    })),
    wrong!("7.3", decays_every_size_steps, "step/size is rounded to the nearest number; round it down.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some((t as f64 / (*size).max(1) as f64).round()),
        _ => None,
    })),
    wrong!("7.3", decays_every_size_steps, "step/size is rounded up; round it down.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some((t as f64 / (*size).max(1) as f64).ceil()),
        _ => None,
    })),
    wrong!("7.3", decays_every_size_steps, "The rate decays only in the steps that are multiples of `size`, and goes back after them: it should stay low.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some(f64::from(u8::from(t > 0 && t % (*size).max(1) == 0))),
        _ => None,
    })),
    wrong!("7.3", decays_every_size_steps, "Each decay subtracts the same amount; it should multiply the rate by gamma.",
    decayed: |d, t, g, b| {
        let k = match d {
            Decay::Step(size) => t / (*size).max(1),
            Decay::Milestones(list) => list.iter().filter(|&&m| m <= t).count() as u64,
            Decay::Exponential => t,
        };
        b * (1.0 - (1.0 - g) * k as f64)
    }),
    wrong!("7.3", decays_at_a_milestone, "The milestones are taken for lengths of phases, one after the other; they are steps.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => {
            let sums = list.iter().scan(0, |sum, m| { *sum += m; Some(*sum) });
            Some(sums.filter(|&m| t >= m).count() as f64)
        }
        _ => None,
    })),
    wrong!("7.3", counts_each_milestone, "A milestone that is twice in the list counts once; it should count twice.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => {
            let all: std::collections::BTreeSet<u64> = list.iter().copied().filter(|&m| m <= t).collect();
            Some(all.len() as f64)
        }
        _ => None,
    })),
    wrong!("7.3", accepts_no_milestones, "The list of milestones may be empty, so that it has no first or last.",
    decayed: |d, t, g, b| match d {
        Decay::Milestones(list) => if t >= *list.iter().max().unwrap() {
            b * g.powi(list.len() as i32)
        } else {
            (REFERENCE.decayed)(d, t, g, b)
        },
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", accepts_no_milestones, "The list of milestones may be empty, so that it has no first or last.",
    decayed: |d, t, g, b| match d {
        Decay::Milestones(list) => if t < list[0] { b } else { (REFERENCE.decayed)(d, t, g, b) },
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", decays_at_each_step, "The number of decays is cut to 8 bits: step 300 counts as 44.",
        decayed: |d, t, g, b| falling(d, t, g, b, |d, t| matches!(d, Decay::Exponential).then_some((t as u8).into()))),
    wrong!("7.3", accepts_a_size_of_0, "With a size of 0 the rate never decays; 0 counts as 1.",
    decayed: |d, t, g, b| match d {
        Decay::Step(0) => b,
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.4", smooths_with_bias_correction, "The mean starts at 0 and is too small at first: divide it by 1 − βᵗ.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { unbiased: false, ..TEST })),
    wrong!("7.4", smooths_with_bias_correction, "The first step already ends the test: count t from 1, so that 1 − βᵗ is not 0, and begin with an infinite least loss.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { from_0: true, ..TEST })),
    wrong!("7.4", smooths_with_bias_correction, "β is the share of the old mean that is kept, not the share of the new loss.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { swapped: true, ..TEST })),
    wrong!("7.4", smooths_with_bias_correction, "The losses are not smoothed.",
        range_test: |r, _, b, f| tested(r, 0.0, b, f, TEST)),
    wrong!("7.4", tries_every_rate, "The last rate is never tried.",
        range_test: |r, s, b, f| tested(&r[..r.len().saturating_sub(1)], s, b, f, TEST)),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges, "The loss itself is compared; compare the smoothed loss, so that one unlucky batch does not end the test.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { raw: true, ..TEST })),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges,
        "The loss itself is compared with the least smoothed loss; compare the smoothed loss.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { mixed: true, ..TEST })),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges, "The loss is compared with the first one; compare it with the least so far.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { first: true, ..TEST })),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges, "The limit is `breaks` times the least so far, not `breaks` more.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { adds: true, ..TEST })),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges, "The step at which the loss diverged is in the result; leave it out.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { keeps: true, ..TEST })),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges, "`broke` is never true.",
        range_test: |r, s, b, f| RangeFound { broke: false, ..(REFERENCE.range_test)(r, s, b, f) }),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges, "The test continues after the loss diverged.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { stops: false, ..TEST })),
    wrong!("7.4", stops_at_a_non_finite_loss,
        "No comparison with NaN is true, so it is not noticed: check whether the loss is finite.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { finite: false, ..TEST })),
    wrong!("7.4", smooths_with_bias_correction, "The corrected mean enters the next step: continue with m as it was before the division.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { fed_back: true, ..TEST })),
    wrong!("7.4", smooths_with_bias_correction, "`losses` has the single losses; it should have the smoothed ones.",
    range_test: |r, s, b, f| {
        let (mut found, single) = watched(r, s, b, f);
        found.losses = single[..found.rates.len()].to_vec();
        found
    }),
    wrong!("7.4", tries_every_rate, "`broke` is always true.",
        range_test: |r, s, b, f| RangeFound { broke: true, ..(REFERENCE.range_test)(r, s, b, f) }),
    wrong!("7.4", accepts_no_rates, "There may be no rates, and then no losses: neither has a first one.",
    range_test: |r, s, b, f| { let _first = r[0]; (REFERENCE.range_test)(r, s, b, f) }),
    wrong!("7.4", accepts_no_rates, "There may be no rates, and then no losses: len() − 1 is below 0.",
    range_test: |r, s, b, f| {
        let found = (REFERENCE.range_test)(r, s, b, f);
        let pairs = found.losses.len() - 1;
        RangeFound { suggestion: found.suggestion.filter(|_| pairs > 0), ..found }
    }),
    wrong!("7.4", accepts_no_rates, "There may be no rates, and then no losses: `unwrap` finds None.",
    range_test: |r, s, b, f| { let _first = r.first().unwrap(); (REFERENCE.range_test)(r, s, b, f) }),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges, "The loss is compared with the one before; compare it with the least of all before.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { previous: true, ..TEST })),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges, "The limit is taken from the least single loss; take it from the least smoothed loss.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { least_single: true, ..TEST })),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges, "The rate of the step at which the loss diverged is in the result; leave it out like its loss.",
    range_test: |r, s, b, f| {
        let mut found = (REFERENCE.range_test)(r, s, b, f);
        found.rates = r[..found.rates.len() + usize::from(found.broke)].to_vec();
        found
    }),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges, "`broke` is true only if the loss is not finite; it should be true also if it is above the limit.",
    range_test: |r, s, b, f| {
        let (mut found, single) = watched(r, s, b, f);
        found.broke &= single.last().is_some_and(|loss| !loss.is_finite());
        found
    }),
    wrong!("7.4", continues_exactly_at_the_limit, "A loss of exactly `breaks` times the least counts as diverged; it must be above that: > instead of >=.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { at_limit: true, ..TEST })),
    wrong!("7.4", continues_exactly_at_the_limit, "`broke` is false if the loss diverges at the last rate; it should be true.",
    range_test: |r, s, b, f| {
        let found = (REFERENCE.range_test)(r, s, b, f);
        RangeFound { broke: found.broke && found.rates.len() + 1 < r.len(), ..found }
    }),
    wrong!("7.4", stops_at_a_non_finite_loss, "Infinity is not noticed at every step, only NaN: check whether the loss is finite.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { only_nan: true, ..TEST })),
    wrong!("7.4", stops_at_a_non_finite_loss, "`broke` is false if the loss is not finite; it should be true.",
    range_test: |r, s, b, f| {
        let (mut found, single) = watched(r, s, b, f);
        found.broke &= single.last().is_some_and(|loss| loss.is_finite());
        found
    }),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "The rate of the steepest single decrease is suggested; use the longest fall.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| {
            let drop = |i: usize| l[i] - l[i - 1];
            (1..l.len()).min_by(|&a, &b| drop(a).total_cmp(&drop(b))).filter(|&i| drop(i) < 0.0)
        },
        ..TEST
    })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "s is one too large: it is the index of the loss from which the fall starts, not of the first lower one.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| longest(l).map(|(s, n)| (s + 1 + n / 3 + n / 6).min(l.len() - 1)),
        ..TEST
    })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "The rate at the end of the fall is suggested; use its middle.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test { pick: |l| longest(l).map(|(s, n)| s + n - 1), ..TEST })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "The fall with the greatest decrease is used; use the one with the most losses.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| {
            let deep = |f: &(usize, usize)| l[f.0] - l[f.0 + f.1 - 1];
            let all = falls(l).into_iter().filter(|f| f.1 > 1);
            all.max_by(|a, b| deep(a).total_cmp(&deep(b))).map(|(s, n)| s + n / 3 + n / 6)
        },
        ..TEST
    })),
    wrong!("7.4", counts_a_fall_that_lasts_to_the_end, "A fall that lasts to the end is not counted: falls are recorded only where a loss rises again.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| {
            let all = falls(l);
            let ended = all.iter().take(all.len().saturating_sub(1)).rev();
            ended.max_by_key(|f| f.1).filter(|f| f.1 > 1).map(|&(s, n)| s + n / 3 + n / 6)
        },
        ..TEST
    })),
    wrong!("7.4", ends_a_fall_at_an_equal_loss, "An equal loss continues the fall; each loss must be lower than the one before it.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| {
            let (mut start, mut best) = (0, (0, 1));
            for i in 1..l.len() {
                if l[i] > l[i - 1] {
                    start = i;
                } else if i - start + 1 > best.1 {
                    best = (start, i - start + 1);
                }
            }
            (best.1 > 1).then(|| best.0 + best.1 / 3 + best.1 / 6)
        },
        ..TEST
    })),
    wrong!("7.4", looks_for_the_fall_of_the_smoothed_losses, "The fall is looked for in the single losses; use the smoothed ones.",
    range_test: |r, s, b, f| {
        let (mut found, single) = watched(r, s, b, f);
        found.suggestion = valley(&single[..found.rates.len()]).map(|at| r[at]);
        found
    }),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "The rate of the least loss is suggested; there the loss is about to diverge.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| valley(l).and_then(|_| (0..l.len()).min_by(|&a, &b| l[a].total_cmp(&l[b]))),
        ..TEST
    })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "The rate at the start of the fall is suggested; use its middle.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| falls(l).into_iter().rev().max_by_key(|f| f.1).filter(|f| f.1 > 1).map(|f| f.0),
        ..TEST
    })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "L is one too small: it counts losses, not the steps between them.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| {
            let longest = falls(l).into_iter().rev().max_by_key(|f| f.1).filter(|f| f.1 > 1);
            longest.map(|(s, n)| s + (n - 1) / 3 + (n - 1) / 6)
        },
        ..TEST
    })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "This is ⌊L/2⌋ instead of ⌊L/3⌋ + ⌊L/6⌋; round each down separately.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| falls(l).into_iter().rev().max_by_key(|f| f.1).filter(|f| f.1 > 1).map(|(s, n)| s + n / 2),
        ..TEST
    })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "The first fall is used; use the longest one.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| falls(l).into_iter().find(|f| f.1 > 1).map(|(s, n)| s + n / 3 + n / 6),
        ..TEST
    })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "Of two equally long falls the last is used; use the first.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| falls(l).into_iter().max_by_key(|f| f.1).filter(|f| f.1 > 1).map(|(s, n)| s + n / 3 + n / 6),
        ..TEST
    })),
    wrong!("7.4", suggests_nothing_without_a_fall, "If no loss falls, the suggestion is None, not the first rate.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { pick: |l| valley(l).or((!l.is_empty()).then_some(0)), ..TEST })),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The ratio is missing: this is plain momentum.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |_, _, _| 1.0, moved(lr, c.momentum))),
    wrong!("7.5", scales_the_step_by_the_trust_ratio,
    "f32 numbers are read as f64: use `to_dtype(DType::F64)?` before `to_scalar`.",
    lars_step: |_, g, _, _, _| g[0].sum_all()?.to_scalar::<f64>().map(|_| ())),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The ratio is inverted: divide ‖w‖ by ‖g‖.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, _| c.trust * g / w, moved(lr, c.momentum))),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "η (`config.trust`) is missing in the ratio.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(1.0), moved(lr, c.momentum))),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The squared norms are divided: the square roots are missing.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, |w, g, _| c.trust * w * w / (g * g), moved(lr, c.momentum))
    }),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "There is one ratio for the whole network: each parameter has its own norms.",
    lars_step: |p, g, v, lr, c| {
        let (long, slope) = (norm_of_all(p.iter().map(|p| p.as_tensor()))?, norm_of_all(g)?);
        lars_by((p, g, v), c, |_, _, l| trusted(c.trust)(long, slope, l), moved(lr, c.momentum))
    }),
    wrong!("7.5", takes_plain_steps_for_vectors, "Biases are scaled and decayed as well; they should take plain steps.",
    lars_step: |p, g, v, lr, c| {
        let all = canopy::optim::LarsConfig { vectors: true, ..c.clone() };
        (REFERENCE.lars_step)(p, g, v, lr, &all)
    }),
    wrong!("7.5", takes_plain_steps_for_vectors, "Biases are not scaled, but they are decayed; their λ should be 0.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr, c.momentum)(w, g, v, ratio, if w.rank() < 2 { c.weight_decay } else { l })
    })),
    wrong!("7.5", includes_the_decay_in_the_ratio, "λ·‖w‖ is missing in the denominator of the ratio.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, _| trusted(c.trust)(w, g, 0.0), moved(lr, c.momentum))),
    wrong!("7.5", includes_the_decay_in_the_ratio, "The decay is in the ratio, but λ·w is not added to the gradient.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, _| moved(lr, c.momentum)(w, g, v, ratio, 0.0))
    }),
    wrong!("7.5", includes_the_decay_in_the_ratio, "The decay is not multiplied by the ratio: it should multiply g + λ·w.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr, c.momentum)(w, &((g * ratio)? + (w * l)?)?, v, 1.0, 0.0)
    })),
    wrong!("7.5", keeps_the_rate_in_the_velocity, "The rate is outside the velocity; LARS has it inside, with the ratio.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        let v = moved(1.0, c.momentum)(w, g, v, ratio, l)?.0;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("7.5", keeps_the_rate_in_the_velocity, "The velocity is never stored: store it in its variable with `set`.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        Ok((v.copy()?, moved(lr, c.momentum)(w, g, v, ratio, l)?.1))
    })),
    wrong!("7.5", keeps_the_rate_in_the_velocity, "Rate and ratio are both outside the velocity; LARS has both inside.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        let v = moved(1.0, c.momentum)(w, g, v, 1.0, l)?.0;
        Ok((v.clone(), (w - (v * (lr * ratio))?)?))
    })),
    wrong!("7.5", keeps_the_rate_in_the_velocity, "μ multiplies the new direction as well: μ·v + lr·ratio·(g + λw).",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr * c.momentum, c.momentum)(w, g, v, ratio, l)
    })),
    wrong!("7.5", has_trust_ratio_1_for_zero_norms, "Weights with norm 0 have ratio 0 and never move; their ratio should be 1.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, |w, g, l| if g == 0.0 { 1.0 } else { c.trust * w / (g + l * w) }, moved(lr, c.momentum))
    }),
    wrong!("7.5", has_trust_ratio_1_for_zero_norms, "The ratio is not 1 for a gradient with norm 0.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, |w, g, l| if w == 0.0 { 1.0 } else { c.trust * w / (g + l * w) }, moved(lr, c.momentum))
    }),
    wrong!("7.5", scales_vectors_if_configured, "`config.vectors` is ignored: if it is true, vectors are scaled too.",
    lars_step: |p, g, v, lr, c| {
        let none = canopy::optim::LarsConfig { vectors: false, ..c.clone() };
        (REFERENCE.lars_step)(p, g, v, lr, &none)
    }),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The weights move by the velocity of the step before; move them by the new one.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        Ok((moved(lr, c.momentum)(w, g, v, ratio, l)?.0, (w - v)?))
    })),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The velocity is added to the weights; subtract it.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        let v = moved(lr, c.momentum)(w, g, v, ratio, l)?.0;
        Ok((v.clone(), (w + v)?))
    })),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "This is Nesterov's step; move the weights by the velocity alone.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        let new = moved(lr, c.momentum)(w, g, v, ratio, l)?.0;
        let ahead = ((&new * c.momentum)? + ((g + (w * l)?)? * (lr * ratio))?)?;
        Ok((new, (w - ahead)?))
    })),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The new direction is multiplied by 1 − μ; it enters the velocity as it is.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr * (1.0 - c.momentum), c.momentum)(w, g, v, ratio, l)
    })),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The momentum is 0.9 always; use `config.momentum`.",
    lars_step: |p, g, v, lr, c| {
        let c = canopy::optim::LarsConfig { momentum: 0.9, ..c.clone() };
        (REFERENCE.lars_step)(p, g, v, lr, &c)
    }),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The norms are sums of absolute values; the 2-norm is the root of the sum of the squares.",
    lars_step: |p, g, v, lr, c| {
        for i in 0..p.len() {
            let ratio = |_: f64, _: f64, l: f64| match (norm_1(&p[i]), norm_1(&g[i])) {
                (Ok(w), Ok(g)) => trusted(c.trust)(w, g, l),
                _ => f64::NAN,
            };
            lars_by((&p[i..=i], &g[i..=i], &v[i..=i]), c, ratio, moved(lr, c.momentum))?;
        }
        Ok(())
    }),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The ratio is held at 1 or less, as in LARC; in LARS it may be any number.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, |w, g, l| trusted(c.trust)(w, g, l).min(1.0), moved(lr, c.momentum))
    }),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "Parameters with two axes take plain steps; only those with at most one axis should.",
        lars_step: |p, g, v, lr, c| lars_if((p, g, v), lr, c, |w| w.rank() > 2)),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "A parameter of shape [n, 1] takes plain steps; it has two axes. Count the axes, not the numbers.",
        lars_step: |p, g, v, lr, c| lars_if((p, g, v), lr, c, |w| w.rank() > 1 && w.elem_count() > w.dims()[0])),
    wrong!("7.5", takes_plain_steps_for_vectors, "A parameter without axes, a single number, is scaled; it should take plain steps.",
        lars_step: |p, g, v, lr, c| lars_if((p, g, v), lr, c, |w| w.rank() != 1)),
    wrong!("7.5", takes_plain_steps_for_vectors, "Biases have no velocity; only ratio and decay are left out for them.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr, if w.rank() < 2 { 0.0 } else { c.momentum })(w, g, v, ratio, l)
    })),
    wrong!("7.5", has_trust_ratio_1_for_zero_norms, "If a norm is 0, the parameter is left out; it should take a step with the ratio 1.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        if ratio == 1.0 && l > 0.0 { Ok((v.copy()?, w.copy()?)) } else { moved(lr, c.momentum)(w, g, v, ratio, l) }
    })),
    wrong!("7.5", has_trust_ratio_1_for_zero_norms, "If a norm is 0, only the ratio is 1: λ·w is still added to the gradient.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr, c.momentum)(w, g, v, ratio, if ratio == 1.0 { 0.0 } else { l })
    })),
    wrong!("7.5", keeps_velocity_and_decay_without_gradient, "A gradient of zeros resets the velocity; only the ratio is 1 then.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr, if ratio == 1.0 && l > 0.0 { 0.0 } else { c.momentum })(w, g, v, ratio, l)
    })),
    wrong!("7.5", scales_vectors_if_configured, "With `config.vectors`, biases are scaled but not decayed; λ applies to them as well.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, l| trusted(c.trust)(w, g, l), |w, g, v, ratio, l| {
        moved(lr, c.momentum)(w, g, v, ratio, if w.rank() < 2 { 0.0 } else { l })
    })),
    wrong!("7.5", scales_vectors_if_configured, "With `config.vectors`, biases have λ 0, also in the ratio; λ applies to them as well.",
    lars_step: |p, g, v, lr, c| {
        for i in 0..p.len() {
            let decay = if p[i].rank() < 2 { 0.0 } else { c.weight_decay };
            let c = canopy::optim::LarsConfig { weight_decay: decay, ..c.clone() };
            (REFERENCE.lars_step)(&p[i..=i], &g[i..=i], &v[i..=i], lr, &c)?;
        }
        Ok(())
    }),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "The ratio ‖w‖/‖r‖ is missing, as in Adam, or it is held at 1.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { ratio: |_, _, _| 1.0, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio,
    "f32 numbers are read as f64: use `to_dtype(DType::F64)?` before `to_scalar`.",
    lamb_step: |_, g, _, _, _| g[0].sum_all()?.to_scalar::<f64>().map(|_| ())),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "`state.step` is 0 when it is used: increment it first, so that 1 − βᵗ is not 0.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { counts: false, ..LAMB })),
    wrong!("7.6", treats_all_shapes_alike, "Vectors are not scaled, as in LARS; LAMB treats all parameters alike.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { vectors: false, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "The ratio is inverted: divide ‖w‖ by ‖r‖.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { ratio: |w, r, _| r / w, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "The norm of the weights is divided by that of the gradient; divide it by that of r.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { ratio: |w, _, g| w / g, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "The direction is scaled to length 1, but not multiplied by ‖w‖.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { ratio: |_, r, _| 1.0 / r, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "ε is inside the root; add it to the root.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { eps_inside: true, ..LAMB })),
    wrong!("7.6", corrects_the_bias_of_both_means, "The means are not bias-corrected (they start at 0).",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { corrects_mean: false, corrects_square: false, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "The step is counted once for each parameter; count it once for all.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { count_each: true, ..LAMB })),
    wrong!("7.6", includes_the_decay_in_the_direction, "The decay is added after the ratio; it should be part of r.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { decays_after: true, ..LAMB })),
    wrong!("7.6", includes_the_decay_in_the_direction, "The decay is missing.",
    lamb_step: |p, g, s, lr, c| {
        let none = canopy::optim::LambConfig { weight_decay: 0.0, ..c.clone() };
        (REFERENCE.lamb_step)(p, g, s, lr, &none)
    }),
    wrong!("7.6", stores_both_means, "The means are not stored: store them in their variables with `set`.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { keeps: false, ..LAMB })),
    wrong!("7.6", has_norm_ratio_1_for_zero_norms, "Weights with norm 0 never move: use 1 for the ratio.",
    lamb_step: |p, g, s, lr, c| {
        twisted(p, g, s, lr, c, Twist { ratio: |w, r, _| if r > 0.0 { w / r } else { 1.0 }, ..LAMB })
    }),
    wrong!("7.6", has_norm_ratio_1_for_zero_norms, "A direction with norm 0 divides by 0: use 1 for the ratio.",
    lamb_step: |p, g, s, lr, c| {
        twisted(p, g, s, lr, c, Twist { ratio: |w, r, _| if w > 0.0 { w / r } else { 1.0 }, ..LAMB })
    }),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "Only the mean is bias-corrected; correct the square too: v/(1 − β₂ᵗ).",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { corrects_square: false, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "Only the square is bias-corrected; correct the mean too: m/(1 − β₁ᵗ).",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { corrects_mean: false, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "1 − β₂ is inside the square: v needs (1 − β₂)·g², with only g squared.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { share_squared: true, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "ε is added to the root of v before the bias correction; correct v first.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { eps_early: true, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "The root of v̂ is missing.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { no_root: true, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "Every step is corrected as if it were the first: `state.step` must count the steps.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { counts: false, always_first: true, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "Every step is corrected as if it were the first: use `state.step` for t.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { always_first: true, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "The means of the step before are used; update them first.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { late: true, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "The norm of r is taken before the decay is added; add λ·w first.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { measures_before: true, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "The decay is added to the gradient, so that it enters m and v; add λ·w to the direction.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { decays_gradient: true, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "The step is added to the weights; subtract it.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { adds: true, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "The norms are sums of absolute values; the 2-norm is the root of the sum of the squares.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { norm: norm_1, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "‖w‖ is held at 10 or less, as in some implementations; use it as it is.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { ratio: |w, r, _| if w > 0.0 && r > 0.0 { w.min(10.0) / r } else { 1.0 }, ..LAMB })),
    wrong!("7.6", corrects_the_bias_of_both_means, "The ratio is held at 10 or less, as in some implementations; use it as it is.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { ratio: |w, r, _| if w > 0.0 && r > 0.0 { (w / r).min(10.0) } else { 1.0 }, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "There is one ratio for the whole network; each parameter has its own norms.",
        lamb_step: wrong_lamb::one_norm),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "There is one ratio for the whole network; each parameter has its own norms.",
        lamb_step: wrong_lamb::one_ratio),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "β₁ and β₂ are exchanged.",
    lamb_step: |p, g, s, lr, c| {
        let c = canopy::optim::LambConfig { beta1: c.beta2, beta2: c.beta1, ..c.clone() };
        (REFERENCE.lamb_step)(p, g, s, lr, &c)
    }),
    wrong!("7.6", treats_all_shapes_alike, "Vectors are not decayed, as in LARS; LAMB treats all parameters alike.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { decays_vectors: false, ..LAMB })),
    wrong!("7.6", treats_all_shapes_alike, "Vectors are neither scaled nor decayed, as in LARS; LAMB treats all parameters alike.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { decays_vectors: false, vectors: false, ..LAMB })),
    wrong!("7.7", equals_the_large_batch, "The gradients are summed; return their weighted mean.",
        accumulated: |w, f| summed(w.len(), f, |_| 1.0)),
    wrong!("7.7", equals_the_large_batch, "Each gradient is multiplied by its weight, but the sum is not divided by the sum of the weights.",
        accumulated: |w, f| summed(w.len(), f, |i| w[i])),
    wrong!("7.7", equals_the_large_batch, "Only the gradients of the last micro-batch are returned; sum all of them.",
        accumulated: |w, f| { let mut last = Vec::new(); for i in 0..w.len() { last = f(i)?; } Ok(last) }),
    wrong!("7.7", equals_the_large_batch, "Each new gradient is averaged with the sum so far, so that the first ones hardly count.",
        accumulated: |w, f| summed(w.len(), f, |i| 0.5f64.powi((w.len() - i.max(1)) as i32))),
    wrong!("7.7", weights_smaller_batches_less, "This is a plain mean: a smaller last micro-batch counts as much as a full one.",
        accumulated: |w, f| summed(w.len(), f, |_| 1.0 / w.len() as f64)),
    wrong!("7.7", weights_smaller_batches_less, "All are divided by the weight of the first micro-batch times their number.",
        accumulated: |w, f| summed(w.len(), f, |i| w[i] / (w[0] * w.len() as f64))),
    wrong!("7.7", weights_smaller_batches_less, "The micro-batch that is not full is left out.",
    accumulated: |w, f| {
        let full = w.iter().filter(|&&x| x >= w[0]).count();
        let total: f64 = w[..full].iter().sum();
        summed(full, f, |i| w[i] / total)
    }),
    wrong!("7.7", calls_gradients_once_for_each_in_order, "`gradients` is called twice for the first micro-batch.",
        accumulated: |w, f| { f(0)?; (REFERENCE.accumulated)(w, f) }),
    wrong!("7.7", calls_gradients_once_for_each_in_order, "The micro-batches are processed from the last to the first.",
    accumulated: |w, f| {
        let back: Vec<f64> = w.iter().rev().copied().collect();
        (REFERENCE.accumulated)(&back, &mut |i| f(w.len() - 1 - i))
    }),
    wrong!("7.7", returns_errors_of_gradients, "The error of `gradients` is swallowed; return it, as `?` does.",
    accumulated: |w, f| {
        let total: f64 = w.iter().sum();
        let mut sum: Vec<Tensor> = Vec::new();
        for (i, w) in w.iter().enumerate() {
            for (k, g) in f(i).unwrap_or_default().iter().enumerate() {
                let g = (g * (w / total))?;
                match sum.get_mut(k) { Some(s) => *s = (&*s + g)?, None => sum.push(g) }
            }
        }
        Ok(sum)
    }),
    wrong!("7.7", equals_the_large_batch, "The gradients are divided by the sum of the weights, but not multiplied by their own weight.",
        accumulated: |w, f| { let total: f64 = w.iter().sum(); summed(w.len(), f, |_| 1.0 / total) }),
    wrong!("7.7", equals_the_large_batch, "The first micro-batch enters without its weight; multiply it like the others.",
    accumulated: |w, f| {
        let total: f64 = w.iter().sum();
        summed(w.len(), f, |i| if i == 0 { 1.0 } else { w[i] / total })
    }),
    wrong!("7.7", equals_the_large_batch, "The first micro-batch is missing in the sum.",
    accumulated: |w, f| {
        let total: f64 = w.iter().sum();
        summed(w.len(), f, |i| if i == 0 { 0.0 } else { w[i] / total })
    }),
    wrong!("7.7", equals_the_large_batch, "The sum is divided in every step, so that the first micro-batches are divided again and again.",
    accumulated: |w, f| {
        let sums: Vec<f64> = w.iter().scan(0.0, |sum, w| { *sum += w; Some(*sum) }).collect();
        summed(w.len(), f, |i| w[i] / sums[i..].iter().product::<f64>())
    }),
    wrong!("7.7", equals_the_large_batch, "Only the first parameter is summed; the others have the first micro-batch alone.",
    accumulated: |w, f| {
        let total: f64 = w.iter().sum();
        let mut first = Vec::new();
        let all = summed(w.len(), &mut |i| {
            let grads = f(i)?;
            if i == 0 { first = grads.clone(); }
            Ok(grads)
        }, |i| w[i] / total)?;
        all.into_iter().zip(first).enumerate().map(|(k, (all, first))| if k == 0 { Ok(all) } else { first * (w[0] / total) }).collect()
    }),
    wrong!("7.7", accepts_fractional_and_zero_weights, "The weights are rounded to whole numbers; they may be fractions.",
    accumulated: |w, f| {
        let total: f64 = w.iter().map(|w| w.trunc()).sum();
        summed(w.len(), f, |i| w[i].trunc() / total)
    }),
    wrong!("7.7", accepts_fractional_and_zero_weights, "The result is in f32; it should have the dtypes of the gradients.",
    accumulated: |w, f| {
        let sum = (REFERENCE.accumulated)(w, f)?;
        sum.iter().map(|t| t.to_dtype(candle_core::DType::F32)).collect()
    }),
    wrong!("7.7", calls_gradients_once_for_each_in_order, "A micro-batch of weight 0 is left out; call `gradients` for each.",
    accumulated: |w, f| {
        let total: f64 = w.iter().sum();
        let some: Vec<usize> = (0..w.len()).filter(|&i| w[i] > 0.0).collect();
        summed(some.len(), &mut |i| f(some[i]), |i| w[some[i]] / total)
    }),
    wrong!("7.7", keeps_only_the_sum, "The gradients of all micro-batches are kept in a list; add each to the sum at once.",
    accumulated: |w, f| {
        let all = (0..w.len()).map(f).collect::<Result<Vec<_>>>()?;
        (REFERENCE.accumulated)(w, &mut |i| Ok(all[i].clone()))
    }),
    wrong!("7.7", returns_errors_of_gradients, "`unwrap` panics when a micro-batch fails; return the error, as `?` does.",
        accumulated: |w, f| (REFERENCE.accumulated)(w, &mut |i| Ok(f(i).unwrap()))),
    wrong!("7.7", returns_errors_of_gradients, "`gradients` is called again after it failed; return its error at once.",
        accumulated: |w, f| (REFERENCE.accumulated)(w, &mut |i| f(i).or_else(|_| f(i)))),
    wrong!("7.7", returns_errors_of_gradients, "`gradients` is called for the other micro-batches after it failed; return its error at once.",
    accumulated: |w, f| {
        let all: Vec<Result<Vec<Tensor>>> = (0..w.len()).map(f).collect();
        let mut all = all.into_iter();
        (REFERENCE.accumulated)(w, &mut |_| all.next().unwrap_or(Ok(Vec::new())))
    }),
    wrong!("7.7", returns_errors_of_gradients, "Another error is returned; return the one of `gradients`.",
        accumulated: |w, f| (REFERENCE.accumulated)(w, &mut |i| f(i).map_err(|_| candle_core::Error::Msg("failed".into())))),
    wrong!("7.8", normalises_each_filter, "The direction is not normalised; scale its filters to the norms of the weights' filters.",
        loss_along: |p, d, a, f| walked((p, d, a), f, |w, d| if w.rank() < 2 { d.zeros_like() } else { Ok(d.clone()) })),
    wrong!("7.8", normalises_each_filter, "The whole parameter is normalised at once; each filter has its own norm.",
        loss_along: |p, d, a, f| walked((p, d, a), f, |w, d| if w.rank() < 2 { d.zeros_like() } else { d * (norm(w)? / norm(d)?) })),
    wrong!("7.8", normalises_each_filter, "Every filter is scaled to norm 1; it should have the norm of the weights' filter.",
        loss_along: wrong_loss_along::one_long),
    wrong!("7.8", normalises_each_filter, "The direction is multiplied by the weights element by element.",
        loss_along: |p, d, a, f| walked((p, d, a), f, |w, d| if w.rank() < 2 { d.zeros_like() } else { w * d })),
    wrong!("7.8", normalises_each_filter, "The saved value shares its memory with the variable: keep `as_tensor().copy()?`.",
        loss_along: |p, _, _, _| p[0].set(&p[0].as_detached_tensor()).map(|()| Vec::new())),
    wrong!("7.8", normalises_each_filter, "A vector has no second axis to flatten from: it does not move, so handle it first.",
        loss_along: |p, _, _, _| p[1].flatten_from(1).map(|_| Vec::new())),
    wrong!("7.8", starts_every_step_at_the_weights, "Each step starts at the last position; start at w every time.",
        loss_along: wrong_loss_along::from_the_last),
    wrong!("7.8", leaves_vectors_unchanged, "Biases move as well; they should not move.",
        loss_along: |p, d, a, f| walked((p, d, a), f, |w, d| if w.rank() < 2 { d * (norm(w)? / norm(d)?) } else { stretched(w, d) })),
    wrong!("7.8", returns_the_losses_in_order, "The losses are sorted by α; return them in the order of `alphas`.",
    loss_along: |p, d, a, f| {
        let mut sorted = a.to_vec();
        sorted.sort_by(f64::total_cmp);
        walked((p, d, &sorted), f, stretched)
    }),
    wrong!("7.8", returns_the_losses_in_order, "The difference to the loss at w is returned; return the loss itself.",
    loss_along: |p, d, a, f| {
        let here = f()?;
        Ok(walked((p, d, a), f, stretched)?.into_iter().map(|l| l - here).collect())
    }),
    wrong!("7.8", accepts_a_filter_of_zeros, "A filter of zeros is divided by its norm, 0; it should stay zero.",
        loss_along: wrong_loss_along::zeros_divided),
    wrong!("7.8", restores_parameters_bit_identically, "α·d is subtracted again, which rounds: the parameters are not bit-identical. Keep a copy, and `set` it.",
        loss_along: wrong_loss_along::taken_off),
    wrong!("7.8", restores_parameters_bit_identically, "The parameters stay at the last position; restore them.",
        loss_along: wrong_loss_along::stays),
    wrong!("7.8", restores_parameters_after_an_error, "`?` returns before the parameters are restored: keep the result, restore, then return it.",
        loss_along: wrong_loss_along::left_early),
    wrong!("7.8", restores_parameters_after_an_error, "The error of `loss` is swallowed; return it after the parameters are restored.",
        loss_along: |p, d, a, f| (REFERENCE.loss_along)(p, d, a, &mut || Ok(f().unwrap_or(f64::NAN)))),
    wrong!("7.8", normalises_each_filter, "The columns are taken for filters: sum the squares over all axes but the first.",
        loss_along: |p, d, a, f| walked((p, d, a), f, wrong_loss_along::by_columns)),
    wrong!("7.8", normalises_each_filter, "Only the last axis is taken for a filter; a filter is `d[i]` with all further axes.",
        loss_along: |p, d, a, f| walked((p, d, a), f, wrong_loss_along::by_last_axis)),
    wrong!("7.8", normalises_each_filter, "Parameters with two axes do not move; only those with at most one axis should stay.",
        loss_along: |p, d, a, f| walked((p, d, a), f, |w, d| if w.rank() < 3 { d.zeros_like() } else { stretched(w, d) })),
    wrong!("7.8", normalises_each_filter, "A parameter of shape [n, 1] does not move; it has two axes, and filters of one number.",
        loss_along: |p, d, a, f| walked((p, d, a), f, |w, d| if w.rank() < 2 || w.elem_count() == w.dims()[0] { d.zeros_like() } else { stretched(w, d) })),
    wrong!("7.8", normalises_each_filter, "The parameters are set to α·d; it should be w + α·d.",
        loss_along: wrong_loss_along::without_w),
    wrong!("7.8", normalises_each_filter, "The norms are sums of absolute values; the length is the root of the sum of the squares.",
        loss_along: |p, d, a, f| walked((p, d, a), f, wrong_loss_along::by_sums)),
    wrong!("7.8", normalises_each_filter, "The ratio of the lengths is upside down: divide that of w by that of d.",
        loss_along: |p, d, a, f| walked((p, d, a), f, wrong_loss_along::upside_down)),
    wrong!("7.8", normalises_each_filter, "`loss` is called once more than there are alphas.",
        loss_along: |p, d, a, f| { f()?; (REFERENCE.loss_along)(p, d, a, f) }),
    wrong!("7.8", starts_every_step_at_the_weights, "The direction is normalised to where the parameters are after the last step; normalise it to w, once.",
        loss_along: wrong_loss_along::renormalised),
    wrong!("7.8", leaves_vectors_unchanged, "Each number of a bias is taken for a filter and moves; parameters with at most one axis should stay.",
    loss_along: |p, d, a, f| walked((p, d, a), f, |w, d| match w.rank() {
        0 => d.zeros_like(),
        1 => stretched(&w.unsqueeze(1)?, &d.unsqueeze(1)?)?.squeeze(1),
        _ => stretched(w, d),
    })),
    wrong!("7.8", leaves_vectors_unchanged, "A parameter without axes, a single number, moves; parameters with at most one axis should stay.",
        loss_along: |p, d, a, f| walked((p, d, a), f, |w, d| if w.rank() == 0 { Ok(d.clone()) } else { stretched(w, d) })),
    wrong!("7.8", leaves_vectors_unchanged, "Biases move by the direction as it is; they should not move.",
        loss_along: |p, d, a, f| walked((p, d, a), f, |w, d| if w.rank() < 2 { Ok(d.clone()) } else { stretched(w, d) })),
    wrong!("7.8", accepts_no_alphas, "Without alphas there is no loss to compute: return an empty list.",
        loss_along: |p, d, a, f| if a.is_empty() { Ok(vec![f()?]) } else { (REFERENCE.loss_along)(p, d, a, f) }),
    wrong!("7.8", accepts_a_filter_of_zeros, "A filter of zeros in the direction becomes ones and moves; it should stay zeros.",
        loss_along: |p, d, a, f| walked((p, d, a), f, wrong_loss_along::ones_for_zeros)),
    wrong!("7.8", accepts_a_filter_of_zeros, "The direction of a filter of zeros in w is not scaled; it should have its length, 0.",
        loss_along: |p, d, a, f| walked((p, d, a), f, wrong_loss_along::zero_weights)),
    wrong!("7.8", restores_parameters_after_an_error, "`unwrap` panics when `loss` fails; restore the parameters and return the error.",
        loss_along: |p, d, a, f| (REFERENCE.loss_along)(p, d, a, &mut || Ok(f().unwrap()))),
    wrong!("7.8", restores_parameters_after_an_error, "`loss` is called again after it failed; restore the parameters and return its error.",
        loss_along: wrong_loss_along::goes_on),
];
