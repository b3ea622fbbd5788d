//! Known wrong answers with the cause a student is told.

use candle_core::{Result, Tensor};
use canopy::schedule::{Decay, valley};
use grader::{Mistake, wrong};

use crate::{Lesson07, REFERENCE, parts::*, walks};

pub const MISTAKES: &[Mistake<Lesson07>] = &[
    wrong!("7.1", begins_at_the_base_rate, "The warm-up begins at 0; it begins at the base rate.",
    scaled_warmup: |t, n, base, b, r| {
        let to = base * b as f64 / r as f64;
        if t < n { to * t as f64 / n as f64 } else { to }
    }),
    wrong!("7.1", begins_at_the_base_rate, "There is no warm-up: the scaled rate comes at once.",
        scaled_warmup: |_, _, base, b, r| base * b as f64 / r as f64),
    wrong!("7.1", begins_at_the_base_rate, "A step counts as done before it is taken: at step 0 nothing has risen yet.",
        scaled_warmup: |t, n, base, b, r| (REFERENCE.scaled_warmup)(t + 1, n, base, b, r)),
    wrong!("7.1", stays_at_the_scaled_rate, "The rate is scaled by the root of the ratio; linear scaling takes the ratio.",
    scaled_warmup: |t, n, base, b, r| {
        let to = base * (b as f64 / r as f64).sqrt();
        if t < n { base + (to - base) * t as f64 / n as f64 } else { to }
    }),
    wrong!("7.1", stays_at_the_scaled_rate, "The ratio is turned round: a larger batch takes a larger rate.",
        scaled_warmup: |t, n, base, b, r| (REFERENCE.scaled_warmup)(t, n, base, r, b)),
    wrong!("7.1", stays_at_the_scaled_rate, "The rate goes on rising after the warm-up.",
        scaled_warmup: |t, n, base, b, r| base + base * (b as f64 / r as f64 - 1.0) * t as f64 / n.max(1) as f64),
    wrong!("7.1", rises_by_the_same_amount_each_step,
    "The rate is multiplied by the same factor each step; it grows by the same amount.",
    scaled_warmup: |t, n, base, b, r| {
        let k = b as f64 / r as f64;
        if t < n { base * k.powf(t as f64 / n as f64) } else { base * k }
    }),
    wrong!("7.1", rises_by_the_same_amount_each_step, "The rate stays at the base all through the warm-up, and then leaps.",
        scaled_warmup: |t, n, base, b, r| if t < n { base } else { base * b as f64 / r as f64 }),
    wrong!("7.1", takes_any_two_batch_sizes,
    "Whole numbers were divided, which rounds down: turn both to f64 first.",
    scaled_warmup: |t, n, base, b, r| {
        let to = base * (b / r) as f64;
        if t < n { base + (to - base) * t as f64 / n as f64 } else { to }
    }),
    wrong!("7.1", is_there_at_once_without_warm_up, "0 steps of warm-up are divided by, which is no number.",
    scaled_warmup: |t, n, base, b, r| {
        let to = base * b as f64 / r as f64;
        if t <= n { base + (to - base) * (t as f64 / n as f64) } else { to }
    }),
    wrong!("7.2", begins_low_with_much_momentum, "Momentum goes with the rate; it goes against it.",
        one_cycle: |c, t| (REFERENCE.one_cycle)(c, t).map(|(r, m)| (r, c.least_momentum + c.greatest_momentum - m))),
    wrong!("7.2", begins_low_with_much_momentum, "The rate begins at 0; it begins at max/first_divisor.",
        one_cycle: |c, t| (REFERENCE.one_cycle)(c, t).map(|(r, m)| (if t == 0 { 0.0 } else { r }, m))),
    wrong!("7.2", turns_at_the_greatest_rate, "The rise ends a step late: at step rising·total − 1, since steps count from 0.",
    one_cycle: |c, t| {
        let end = c.total as f64 - 1.0;
        let at = move |t: f64, top: f64| if t <= top { (false, t / top) } else { (true, (t - top) / (end - top)) };
        cycle_by(c, t, at, half_cosine, last_rate(c))
    }),
    wrong!("7.2", turns_at_the_greatest_rate, "The momentum never changes.",
        one_cycle: |c, t| (REFERENCE.one_cycle)(c, t).map(|(r, _)| (r, c.greatest_momentum))),
    wrong!("7.2", ends_far_below_its_beginning, "The last rate is max/last_divisor; it is the first rate over that.",
        one_cycle: |c, t| cycle_by(c, t, phase(c), half_cosine, c.max / c.last_divisor)),
    wrong!("7.2", ends_far_below_its_beginning, "The fall ends where the rise began; it goes on far below.",
        one_cycle: |c, t| cycle_by(c, t, phase(c), half_cosine, c.max / c.first_divisor)),
    wrong!("7.2", ends_far_below_its_beginning, "The fall would end a step past the last: it ends at step total − 1.",
    one_cycle: |c, t| {
        let end = c.total as f64;
        let at = move |t: f64, top: f64| {
            let top = top - 1.0;
            if t <= top { (false, t / top) } else { (true, (t - top) / (end - top)) }
        };
        cycle_by(c, t, at, half_cosine, last_rate(c))
    }),
    wrong!("7.2", follows_half_cosines, "The way between the turning points is a straight line; half a cosine is asked.",
        one_cycle: |c, t| cycle_by(c, t, phase(c), |s| s, last_rate(c))),
    wrong!("7.2", follows_half_cosines, "A quarter of a cosine: from one end to the other it is half of one, π.",
        one_cycle: |c, t| cycle_by(c, t, phase(c), |s| 1.0 - (std::f64::consts::FRAC_PI_2 * s).cos(), last_rate(c))),
    wrong!("7.2", turns_between_two_steps, "The end of the rise was rounded to a whole step; it may lie between two.",
    one_cycle: |c, t| {
        let end = c.total as f64 - 1.0;
        let at = move |t: f64, top: f64| {
            let top = top.floor() - 1.0;
            if t <= top { (false, t / top) } else { (true, (t - top) / (end - top)) }
        };
        cycle_by(c, t, at, half_cosine, last_rate(c))
    }),
    wrong!("7.2", has_no_step_past_its_end, "Past its end the cycle goes on at the last rate; there it has no step.",
        one_cycle: |c, t| (REFERENCE.one_cycle)(c, t.min(c.total - 1))),
    wrong!("7.2", has_no_step_past_its_end, "One step too many: steps count from 0, so step `total` is past the end.",
        one_cycle: |c, t| if t > c.total { None } else { (REFERENCE.one_cycle)(c, t.min(c.total - 1)) }),
    wrong!("7.3", falls_after_each_so_many_steps, "The rate falls bit by bit; whole numbers divided give whole falls.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some(t as f64 / (*size).max(1) as f64),
        _ => None,
    })),
    wrong!("7.3", falls_after_each_so_many_steps, "The rate falls a step late: after `size` steps it has fallen already.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some((t.saturating_sub(1) / (*size).max(1)) as f64),
        _ => None,
    })),
    wrong!("7.3", falls_after_each_so_many_steps, "gamma multiplies the number of falls; it is raised to it.",
    decayed: |d, t, g, b| match d {
        Decay::Step(size) => b * (g * (t / (*size).max(1)) as f64),
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", falls_after_each_so_many_steps, "gamma is taken off; the rate is multiplied by gamma, not by 1 − gamma.",
        decayed: |d, t, g, b| (REFERENCE.decayed)(d, t, 1.0 - g, b)),
    wrong!("7.3", has_fallen_at_a_milestone, "At the milestone itself the rate is still the old one; it has fallen there.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => Some(list.iter().filter(|&&m| t > m).count() as f64),
        _ => None,
    })),
    wrong!("7.3", has_fallen_at_a_milestone, "The rate falls at the first milestone alone; it falls at each.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => Some(f64::from(u8::from(list.iter().any(|&m| t >= m)))),
        _ => None,
    })),
    wrong!("7.3", takes_milestones_in_any_order, "The count stops at the first milestone that is not reached; the list is in any order.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => Some(list.iter().take_while(|&&m| t >= m).count() as f64),
        _ => None,
    })),
    wrong!("7.3", falls_in_each_step, "The first step has fallen already; at step 0 the rate is the base.",
        decayed: |d, t, g, b| falling(d, t, g, b, |d, t| matches!(d, Decay::Exponential).then_some(t as f64 + 1.0))),
    wrong!("7.3", falls_in_each_step, "This is exp(−gamma·step); the rate is base·gamma to the step.",
    decayed: |d, t, g, b| match d {
        Decay::Exponential => b * (-g * t as f64).exp(),
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", takes_a_size_of_0, "The step is divided by a size of 0; that counts as 1.",
    decayed: |d, t, g, b| match d {
        Decay::Step(size) => b * g.powi((t / size) as i32),
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.4", smooths_without_a_bias, "The mean begins at 0 and is too small at first: divide it by 1 − βᵗ.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { unbiased: false, ..TEST })),
    wrong!("7.4", smooths_without_a_bias, "1 − βᵗ is 0 at the first step, so nothing is a number: t counts from 1.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { from_0: true, ..TEST })),
    wrong!("7.4", smooths_without_a_bias, "β is the share of the old mean that is kept, not the share of the new loss.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { swapped: true, ..TEST })),
    wrong!("7.4", smooths_without_a_bias, "The losses are as they came; they are to be smoothed.",
        range_test: |r, _, b, f| tested(r, 0.0, b, f, TEST)),
    wrong!("7.4", goes_through_the_rates, "The last rate is never tried.",
        range_test: |r, s, b, f| tested(&r[..r.len().saturating_sub(1)], s, b, f, TEST)),
    wrong!("7.4", stops_where_the_smoothed_loss_breaks, "The loss itself is compared; one unlucky batch must not end the test.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { raw: true, ..TEST })),
    wrong!("7.4", stops_where_the_smoothed_loss_breaks,
        "The loss as it came is held against the least smoothed one; hold the smoothed loss against it.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { mixed: true, ..TEST })),
    wrong!("7.4", stops_where_the_smoothed_loss_breaks, "The loss is compared with the first one; the least so far counts.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { first: true, ..TEST })),
    wrong!("7.4", stops_where_the_smoothed_loss_breaks, "The limit is `breaks` times the least so far, not `breaks` more.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { adds: true, ..TEST })),
    wrong!("7.4", stops_where_the_smoothed_loss_breaks, "The step that broke is in the result; it is left out.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { keeps: true, ..TEST })),
    wrong!("7.4", stops_where_the_smoothed_loss_breaks, "`broke` is never true.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { says: false, ..TEST })),
    wrong!("7.4", stops_where_the_smoothed_loss_breaks, "The test goes on after the loss broke, and the model is lost.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { stops: false, ..TEST })),
    wrong!("7.4", stops_at_a_loss_that_is_no_number,
        "NaN is above nothing, so a comparison lets it pass: ask whether the loss is finite.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { finite: false, ..TEST })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "The rate of the least loss is suggested; there it is about to break.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| valley(l).and_then(|_| (0..l.len()).min_by(|&a, &b| l[a].total_cmp(&l[b]))),
        ..TEST
    })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "The rate where the fall begins is suggested; go on to its middle.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| falls(l).into_iter().rev().max_by_key(|f| f.1).filter(|f| f.1 > 1).map(|f| f.0),
        ..TEST
    })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "The fall is counted one short: L counts losses, not the steps between them.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| {
            let longest = falls(l).into_iter().rev().max_by_key(|f| f.1).filter(|f| f.1 > 1);
            longest.map(|(s, n)| s + (n - 1) / 3 + (n - 1) / 6)
        },
        ..TEST
    })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "⌊L/3⌋ + ⌊L/6⌋ became ⌊L/2⌋; each is rounded down for itself.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| falls(l).into_iter().rev().max_by_key(|f| f.1).filter(|f| f.1 > 1).map(|(s, n)| s + n / 2),
        ..TEST
    })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "The first fall is taken; the longest one is asked.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| falls(l).into_iter().find(|f| f.1 > 1).map(|(s, n)| s + n / 3 + n / 6),
        ..TEST
    })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "Of two falls equally long the last is taken; the first counts.",
    range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| falls(l).into_iter().max_by_key(|f| f.1).filter(|f| f.1 > 1).map(|(s, n)| s + n / 3 + n / 6),
        ..TEST
    })),
    wrong!("7.4", suggests_nothing_without_a_fall, "Where no loss falls there is nothing to suggest, not the first rate.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { pick: |l| valley(l).or((!l.is_empty()).then_some(0)), ..TEST })),
    wrong!("7.5", steps_as_far_as_its_weights_are_long, "The ratio is left out: this is plain momentum.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |_, _, _| 1.0, moved(lr, c.momentum))),
    wrong!("7.5", steps_as_far_as_its_weights_are_long,
    "The numbers have 32 bits and are read as f64: `to_dtype(DType::F64)?` before `to_scalar`.",
    lars_step: |_, g, _, _, _| g[0].sum_all()?.to_scalar::<f64>().map(|_| ())),
    wrong!("7.5", steps_as_far_as_its_weights_are_long, "The ratio is turned round: ‖w‖ is above, ‖g‖ below.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, _| c.trust * g / w, moved(lr, c.momentum))),
    wrong!("7.5", steps_as_far_as_its_weights_are_long, "η (`config.trust`) is left out of the ratio.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(1.0), moved(lr, c.momentum))),
    wrong!("7.5", steps_as_far_as_its_weights_are_long, "The squares of the norms are divided: the roots are missing.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, |w, g, _| c.trust * w * w / (g * g), moved(lr, c.momentum))
    }),
    wrong!("7.5", steps_as_far_as_its_weights_are_long, "One ratio for the whole network: each parameter has its own norms.",
    lars_step: |p, g, v, lr, c| {
        let all = |list: Vec<f64>| list.iter().map(|n| n * n).sum::<f64>().sqrt();
        let of = |t: &Tensor| norm(t);
        let long = all(p.iter().map(|p| of(p)).collect::<Result<_>>()?);
        let slope = all(g.iter().map(of).collect::<Result<_>>()?);
        lars_by((p, g, v), c, |_, _, l| trusted(c.trust)(long, slope, l), moved(lr, c.momentum))
    }),
    wrong!("7.5", leaves_vectors_to_plain_momentum, "Biases are scaled and decayed as well; they take plain steps.",
    lars_step: |p, g, v, lr, c| {
        let all = canopy::optim::LarsConfig { vectors: true, ..c.clone() };
        (REFERENCE.lars_step)(p, g, v, lr, &all)
    }),
    wrong!("7.5", leaves_vectors_to_plain_momentum, "Biases are not scaled, but they are decayed; their λ is 0.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr, c.momentum)(w, g, v, ratio, if w.rank() < 2 { c.weight_decay } else { l })
    })),
    wrong!("7.5", decays_within_the_ratio, "The decay λ·‖w‖ is missing below in the ratio.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, _| trusted(c.trust)(w, g, 0.0), moved(lr, c.momentum))),
    wrong!("7.5", decays_within_the_ratio, "The decay is in the ratio, but λ·w is not added to the gradient.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, _| moved(lr, c.momentum)(w, g, v, ratio, 0.0))
    }),
    wrong!("7.5", decays_within_the_ratio, "The decay is outside the ratio: it multiplies g + λ·w, both.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr, c.momentum)(w, &((g * ratio)? + (w * l)?)?, v, 1.0, 0.0)
    })),
    wrong!("7.5", keeps_the_velocity_with_its_rate, "The rate is outside the velocity; LARS has it inside, with its ratio.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        let v = moved(1.0, c.momentum)(w, g, v, ratio, l)?.0;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("7.5", keeps_the_velocity_with_its_rate, "The velocity is never stored: give it to its variable with `set`.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        Ok((v.copy()?, moved(lr, c.momentum)(w, g, v, ratio, l)?.1))
    })),
    wrong!("7.5", keeps_the_velocity_with_its_rate, "Rate and ratio are both outside the velocity; LARS has both inside.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        let v = moved(1.0, c.momentum)(w, g, v, 1.0, l)?.0;
        Ok((v.clone(), (w - (v * (lr * ratio))?)?))
    })),
    wrong!("7.5", keeps_the_velocity_with_its_rate, "μ multiplies the new direction as well: μ·v + lr·ratio·(g + λw).",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr * c.momentum, c.momentum)(w, g, v, ratio, l)
    })),
    wrong!("7.5", steps_where_a_norm_is_0, "Weights of length 0 have the ratio 0 and never move; then it is 1.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, |w, g, l| if g == 0.0 { 1.0 } else { c.trust * w / (g + l * w) }, moved(lr, c.momentum))
    }),
    wrong!("7.5", steps_where_a_norm_is_0, "The ratio is not 1 where the gradient has no length.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, |w, g, l| if w == 0.0 { 1.0 } else { c.trust * w / (g + l * w) }, moved(lr, c.momentum))
    }),
    wrong!("7.5", scales_vectors_where_asked, "`config.vectors` is not looked at: where it is true, vectors are scaled too.",
    lars_step: |p, g, v, lr, c| {
        let none = canopy::optim::LarsConfig { vectors: false, ..c.clone() };
        (REFERENCE.lars_step)(p, g, v, lr, &none)
    }),
    wrong!("7.6", steps_as_long_as_its_weights, "The ratio ‖w‖/‖r‖ is left out: this is Adam.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { ratio: |_, _, _| 1.0, ..LAMB })),
    wrong!("7.6", steps_as_long_as_its_weights,
    "The numbers have 32 bits and are read as f64: `to_dtype(DType::F64)?` before `to_scalar`.",
    lamb_step: |_, g, _, _, _| g[0].sum_all()?.to_scalar::<f64>().map(|_| ())),
    wrong!("7.6", steps_as_long_as_its_weights, "`state.step` was 0 where it was used: add 1 to it first, then 1 − βᵗ is not 0.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { counts: false, ..LAMB })),
    wrong!("7.6", steps_as_long_as_its_weights, "Vectors are left out of the ratio, as LARS leaves them out; LAMB treats all alike.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { vectors: false, ..LAMB })),
    wrong!("7.6", steps_as_long_as_its_weights, "The ratio is turned round: ‖w‖ is above, ‖r‖ below.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { ratio: |w, r, _| r / w, ..LAMB })),
    wrong!("7.6", steps_as_long_as_its_weights, "The weights are measured against the gradient; measure them against r.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { ratio: |w, _, g| w / g, ..LAMB })),
    wrong!("7.6", steps_as_long_as_its_weights, "The direction is made one long, and ‖w‖ is forgotten.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { ratio: |_, r, _| 1.0 / r, ..LAMB })),
    wrong!("7.6", steps_as_long_as_its_weights, "ε is inside the root; it is added to the root.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { eps_inside: true, ..LAMB })),
    wrong!("7.6", corrects_both_means, "The means are not corrected for their start at 0.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { corrects: false, ..LAMB })),
    wrong!("7.6", corrects_both_means, "The step is counted once for each parameter; count it once for all.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { count_each: true, ..LAMB })),
    wrong!("7.6", decays_within_the_direction, "The decay comes after the ratio; it is part of r.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { decays_after: true, ..LAMB })),
    wrong!("7.6", decays_within_the_direction, "The decay is left out.",
    lamb_step: |p, g, s, lr, c| {
        let none = canopy::optim::LambConfig { weight_decay: 0.0, ..c.clone() };
        (REFERENCE.lamb_step)(p, g, s, lr, &none)
    }),
    wrong!("7.6", goes_on_from_its_means, "The means are not stored: give them to their variables with `set`.",
        lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { keeps: false, ..LAMB })),
    wrong!("7.6", steps_from_weights_that_are_0, "Weights of length 0 never move: there 1 stands for the ratio.",
    lamb_step: |p, g, s, lr, c| {
        twisted(p, g, s, lr, c, Twist { ratio: |w, r, _| if r > 0.0 { w / r } else { 1.0 }, ..LAMB })
    }),
    wrong!("7.6", steps_from_weights_that_are_0, "A direction without length is divided by: there 1 stands for the ratio.",
    lamb_step: |p, g, s, lr, c| {
        twisted(p, g, s, lr, c, Twist { ratio: |w, r, _| if w > 0.0 { w / r } else { 1.0 }, ..LAMB })
    }),
    wrong!("7.7", equals_the_large_batch, "The gradients are added up; their weighted mean is asked.",
        accumulated: |w, f| summed(w.len(), f, |_| 1.0)),
    wrong!("7.7", equals_the_large_batch, "Each is multiplied by its weight, but the sum is not divided by that of the weights.",
        accumulated: |w, f| summed(w.len(), f, |i| w[i])),
    wrong!("7.7", equals_the_large_batch, "The last micro-batch's gradients alone come back; add them up.",
        accumulated: |w, f| { let mut last = Vec::new(); for i in 0..w.len() { last = f(i)?; } Ok(last) }),
    wrong!("7.7", equals_the_large_batch, "Each new one is averaged with the sum so far, so the first count for almost nothing.",
        accumulated: |w, f| summed(w.len(), f, |i| 0.5f64.powi((w.len() - i.max(1)) as i32))),
    wrong!("7.7", lets_a_smaller_batch_count_less, "A plain mean: a smaller last micro-batch counts as much as a full one.",
        accumulated: |w, f| summed(w.len(), f, |_| 1.0 / w.len() as f64)),
    wrong!("7.7", lets_a_smaller_batch_count_less, "All are divided by the first one's weight times their number.",
        accumulated: |w, f| summed(w.len(), f, |i| w[i] / (w[0] * w.len() as f64))),
    wrong!("7.7", lets_a_smaller_batch_count_less, "The micro-batch that is not full is left out.",
    accumulated: |w, f| {
        let full = w.iter().filter(|&&x| x >= w[0]).count();
        let total: f64 = w[..full].iter().sum();
        summed(full, f, |i| w[i] / total)
    }),
    wrong!("7.7", asks_each_once_in_order, "The first micro-batch is asked for twice.",
        accumulated: |w, f| { f(0)?; (REFERENCE.accumulated)(w, f) }),
    wrong!("7.7", asks_each_once_in_order, "The micro-batches are asked for from the last to the first.",
    accumulated: |w, f| {
        let back: Vec<f64> = w.iter().rev().copied().collect();
        (REFERENCE.accumulated)(&back, &mut |i| f(w.len() - 1 - i))
    }),
    wrong!("7.7", fails_where_asking_fails, "A micro-batch that failed is passed over; its error must be yours.",
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
    wrong!("7.8", stretches_each_filter, "The direction is as it was drawn; stretch its filters to the weights' lengths.",
        loss_along: |p, d, a, f| walked((p, d, a), f, |w, d| if w.rank() < 2 { d.zeros_like() } else { Ok(d.clone()) })),
    wrong!("7.8", stretches_each_filter, "The whole parameter was stretched at once; each filter has its own length.",
        loss_along: |p, d, a, f| walked((p, d, a), f, |w, d| if w.rank() < 2 { d.zeros_like() } else { d * (norm(w)? / norm(d)?) })),
    wrong!("7.8", stretches_each_filter, "Every filter is made one long; it is to be as long as the weights' filter.",
        loss_along: walks::one_long),
    wrong!("7.8", stretches_each_filter, "The direction is multiplied by the weights, number by number.",
        loss_along: |p, d, a, f| walked((p, d, a), f, |w, d| if w.rank() < 2 { d.zeros_like() } else { w * d })),
    wrong!("7.8", stretches_each_filter, "What was kept shares its memory with the variable: keep `as_tensor().copy()?`.",
        loss_along: |p, _, _, _| p[0].set(&p[0].as_detached_tensor()).map(|()| Vec::new())),
    wrong!("7.8", stretches_each_filter, "A vector has no second axis to flatten from: it does not move, so leave it out before.",
        loss_along: |p, _, _, _| p[1].flatten_from(1).map(|_| Vec::new())),
    wrong!("7.8", walks_from_where_it_began, "Each place is reached from the last one; start at w every time.",
        loss_along: walks::from_the_last),
    wrong!("7.8", leaves_vectors_where_they_are, "Biases move as well; they stay.",
        loss_along: |p, d, a, f| walked((p, d, a), f, |w, d| if w.rank() < 2 { d * (norm(w)? / norm(d)?) } else { stretched(w, d) })),
    wrong!("7.8", gives_each_place_its_loss, "The losses are sorted by α; they are in the order of `alphas`.",
    loss_along: |p, d, a, f| {
        let mut sorted = a.to_vec();
        sorted.sort_by(f64::total_cmp);
        walked((p, d, &sorted), f, stretched)
    }),
    wrong!("7.8", gives_each_place_its_loss, "The rise over the loss at w is given; the loss itself is asked.",
    loss_along: |p, d, a, f| {
        let here = f()?;
        Ok(walked((p, d, a), f, stretched)?.into_iter().map(|l| l - here).collect())
    }),
    wrong!("7.8", takes_a_filter_without_length, "A filter of zeros was divided by its length, 0; it stays zero.",
        loss_along: walks::zeros_divided),
    wrong!("7.8", puts_back_the_very_bits, "α·d was taken off again; rounding leaves other bits. Keep a copy, and `set` it.",
        loss_along: walks::taken_off),
    wrong!("7.8", puts_back_the_very_bits, "The parameters stay at the last place; put them back.",
        loss_along: walks::stays),
    wrong!("7.8", puts_back_after_an_error, "`?` left before the parameters were put back: keep the result, put back, then give it.",
        loss_along: walks::left_early),
    wrong!("7.8", puts_back_after_an_error, "A loss that failed is passed over as if it were a number.",
        loss_along: |p, d, a, f| (REFERENCE.loss_along)(p, d, a, &mut || Ok(f().unwrap_or(f64::NAN)))),
];
