//! Known wrong answers to exercise 7.4.

use super::*;

pub const MISTAKES: &[Mistake<Lesson07>] = &[
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
    wrong!("7.4", smooths_with_bias_correction, "The first smoothed loss is divided by 0: count t from 1, so that 1 − βᵗ is not 0.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { from_0: true, finite: false, ..TEST })),
    wrong!("7.4", smooths_with_bias_correction, "The mean is rounded to f32: compute in f64.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { narrow: true, ..TEST })),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges, "Steps are taken after the loss has diverged: do not take them all first, but stop at once.",
    range_test: |r, s, b, f| {
        let all: Vec<f64> = r.iter().map(|&rate| f(rate)).collect();
        let mut all = all.into_iter();
        (REFERENCE.range_test)(r, s, b, &mut |_| all.next().unwrap_or(f64::NAN))
    }),
    wrong!("7.4", stops_when_the_smoothed_loss_diverges, "All given rates are in the result, also those that were not used.",
        range_test: |r, s, b, f| RangeFound { rates: r.to_vec(), ..(REFERENCE.range_test)(r, s, b, f) }),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "The losses of the fall are not in a row: a higher loss between them ends it.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { pick: with_gaps, ..TEST })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "s, the start of the fall, is missing in the index.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { pick: |l| longest(l).map(|(_, n)| n / 3 + n / 6), ..TEST })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "⌊L/6⌋ is missing in the index.",
        range_test: |r, s, b, f| tested(r, s, b, f, Test { pick: |l| longest(l).map(|(s, n)| s + n / 3), ..TEST })),
    wrong!("7.4", suggests_a_rate_on_the_longest_fall, "The loss at the index is suggested; suggest the rate.",
    range_test: |r, s, b, f| {
        let found = (REFERENCE.range_test)(r, s, b, f);
        RangeFound { suggestion: valley(&found.losses).map(|at| found.losses[at]), ..found }
    }),
];
