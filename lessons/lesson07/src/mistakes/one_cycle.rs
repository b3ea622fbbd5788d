//! Known wrong answers to exercise 7.2.

use super::*;

pub const MISTAKES: &[Mistake<Lesson07>] = &[
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
    wrong!("7.2", accepts_the_shortest_phases, "The end of the rise is limited to the steps of the cycle; use rising·total − 1 as it is.",
    one_cycle: |c, t| {
        let end = c.total as f64 - 1.0;
        let at = move |t: f64, top: f64| {
            let top = (top - 1.0).clamp(2.0, end - 1.0);
            if t <= top { (false, t / top) } else { (true, (t - top) / (end - top)) }
        };
        cycle_by(c, t, at, half_cosine, last_rate(c))
    }),
    wrong!("7.2", starts_with_low_rate_and_high_momentum, "The momentum goes between fixed numbers; use `least_momentum` and `greatest_momentum` of the cycle.",
        one_cycle: |c, t| (REFERENCE.one_cycle)(&OneCycle { least_momentum: 0.85, greatest_momentum: 0.95, ..c.clone() }, t)),
    wrong!("7.2", starts_with_low_rate_and_high_momentum, "max is divided by fixed numbers; use `first_divisor` and `last_divisor` of the cycle.",
        one_cycle: |c, t| (REFERENCE.one_cycle)(&OneCycle { first_divisor: 25.0, last_divisor: 1e4, ..c.clone() }, t)),
    wrong!("7.2", starts_with_low_rate_and_high_momentum, "Divisors and momenta are fixed numbers; use the settings of the cycle.",
        one_cycle: |c, t| (REFERENCE.one_cycle)(&OneCycle { rising: c.rising, ..OneCycle::new(c.max, c.total) }, t)),
    wrong!("7.2", turns_at_the_peak_rate, "π is missing in the cosine: half a cosine goes from 0 to π.",
        one_cycle: |c, t| cycle_by(c, t, phase(c), |s| (1.0 - s.cos()) / 2.0, last_rate(c))),
    wrong!("7.2", starts_with_low_rate_and_high_momentum, "a − b is not divided by 2.",
        one_cycle: |c, t| cycle_by(c, t, phase(c), |s| -(std::f64::consts::PI * s).cos(), last_rate(c))),
    wrong!("7.2", peaks_between_two_steps, "The step after rising·total − 1 still counts as part of the rise; the fall starts right after the peak, also if that is between two steps.",
    one_cycle: |c, t| {
        let end = c.total as f64 - 1.0;
        let at = move |t: f64, top: f64| {
            let peak = top - 1.0;
            if t < top { (false, t / peak) } else { (true, (t - peak) / (end - peak)) }
        };
        cycle_by(c, t, at, half_cosine, last_rate(c))
    }),
];
