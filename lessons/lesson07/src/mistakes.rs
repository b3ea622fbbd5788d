//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use candle_core::{Result, Tensor};
use canopy::schedule::{Decay, valley};
use grader::{Mistake, wrong};

use crate::{Lesson07, REFERENCE, answer_helpers::*, wrong_loss_along};

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
    wrong!("7.3", accepts_milestones_in_any_order, "The count stops at the first milestone that is not reached; the list is in any order.",
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
    wrong!("7.4", smooths_with_bias_correction, "The mean starts at 0 and is too small at first: divide it by 1 − βᵗ.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { unbiased: false, ..TEST })),
    wrong!("7.4", smooths_with_bias_correction, "1 − βᵗ is 0 at the first step, so that the smoothed loss is NaN: count t from 1.",
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
        range_test: |r, s, b, f| tested(r, s, b, f, Test { says: false, ..TEST })),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges, "The test continues after the loss diverged.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { stops: false, ..TEST })),
    wrong!("7.4", stops_at_a_non_finite_loss,
        "No comparison with NaN is true, so it is not noticed: check whether the loss is finite.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { finite: false, ..TEST })),
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
        let all = |list: Vec<f64>| list.iter().map(|n| n * n).sum::<f64>().sqrt();
        let of = |t: &Tensor| norm(t);
        let long = all(p.iter().map(|p| of(p)).collect::<Result<_>>()?);
        let slope = all(g.iter().map(of).collect::<Result<_>>()?);
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
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "The ratio ‖w‖/‖r‖ is missing: this is Adam.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { ratio: |_, _, _| 1.0, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio,
    "f32 numbers are read as f64: use `to_dtype(DType::F64)?` before `to_scalar`.",
    lamb_step: |_, g, _, _, _| g[0].sum_all()?.to_scalar::<f64>().map(|_| ())),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "`state.step` is 0 when it is used: increment it first, so that 1 − βᵗ is not 0.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { counts: false, ..LAMB })),
    wrong!("7.6", scales_the_step_by_the_norm_ratio, "Vectors are not scaled, as in LARS; LAMB treats all parameters alike.",
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
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { corrects: false, ..LAMB })),
    wrong!("7.6", corrects_the_bias_of_both_means, "The step is counted once for each parameter; count it once for all.",
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
    wrong!("7.7", returns_errors_of_gradients, "A micro-batch that failed is skipped; return its error.",
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
    wrong!("7.8", restores_parameters_after_an_error, "An error of `loss` is ignored as if it were a number.",
        loss_along: |p, d, a, f| (REFERENCE.loss_along)(p, d, a, &mut || Ok(f().unwrap_or(f64::NAN)))),
];
