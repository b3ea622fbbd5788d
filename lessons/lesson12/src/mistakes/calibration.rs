//! Known wrong answers to exercise 12.6.

use super::*;

/// The right shares, changed.
fn with(pits: &[f64], levels: &[f64], change: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let shares = (REFERENCE.calibration)(pits, levels);
    levels
        .iter()
        .zip(shares)
        .map(|(&c, share)| change(c, share))
        .collect()
}

pub const MISTAKES: &[Mistake<Lesson12>] = &[
    wrong!("12.6", counts_the_central_interval, "The PITs up to the level are counted; a central interval has a lower end, too.",
        calibration: |u, c| shares(u, c, |u, c| u <= c)),
    wrong!("12.6", counts_the_central_interval, "The PITs up to (1 + c)/2 are counted; a central interval has a lower end, too.",
        calibration: |u, c| shares(u, c, |u, c| u <= 0.5 * (1.0 + c))),
    wrong!("12.6", counts_the_central_interval, "The PITs from (1 − c)/2 on are counted; a central interval has an upper end, too.",
        calibration: |u, c| shares(u, c, |u, c| u >= 0.5 * (1.0 - c))),
    wrong!("12.6", counts_the_central_interval, "The interval of level c is from c/2 to 1 − c/2 here: that has the probability 1 − c.",
        calibration: |u, c| shares(u, c, |u, c| 0.5 * c <= u && u <= 1.0 - 0.5 * c)),
    wrong!("12.6", counts_the_central_interval, "The interval extends by c to each side of ½; by c/2 it has the probability c.",
        calibration: |u, c| shares(u, c, |u, c| (u - 0.5).abs() <= c)),
    wrong!("12.6", counts_the_central_interval, "The interval is between 1 − c and c; half of 1 − c is on each side.",
        calibration: |u, c| shares(u, c, |u, c| 1.0 - c <= u && u <= c)),
    wrong!("12.6", counts_the_central_interval, "The PITs outside the interval are counted; count those inside.",
        calibration: |u, c| with(u, c, |_, share| 1.0 - share)),
    wrong!("12.6", counts_the_central_interval, "The distance from the level is returned; return the share itself.",
        calibration: |u, c| with(u, c, |c, share| share - c)),
    wrong!("12.6", counts_the_central_interval, "The levels are returned, as if every forecast were calibrated.",
        calibration: |_, c| c.to_vec()),
    wrong!("12.6", counts_the_central_interval, "A PIT is compared with the level by its distance from 0 alone: the last c of the probability is counted.",
        calibration: |u, c| shares(u, c, |u, c| u >= 1.0 - c)),
    wrong!("12.6", includes_both_ends, "A PIT at an end of the interval is not counted; both ends belong to it.",
        calibration: |u, c| shares(u, c, |u, c| 0.5 * (1.0 - c) < u && u < 0.5 * (1.0 + c))),
    wrong!("12.6", includes_both_ends, "A PIT at the lower end of the interval is not counted; both ends belong to it.",
        calibration: |u, c| shares(u, c, |u, c| 0.5 * (1.0 - c) < u && u <= 0.5 * (1.0 + c))),
    wrong!("12.6", includes_both_ends, "A PIT at the upper end of the interval is not counted; both ends belong to it. The range `a..b` leaves b out.",
        calibration: |u, c| shares(u, c, |u, c| 0.5 * (1.0 - c) <= u && u < 0.5 * (1.0 + c))),
    wrong!("12.6", includes_both_ends, "PITs of 0 and 1 are left out; they are in the interval of level 1.",
        calibration: |u, c| shares(u, c, |u, c| u > 0.0 && u < 1.0 && central(u, c))),
    wrong!("12.6", includes_both_ends, "PITs of 0 and 1 are removed before the shares are computed; they count like all others.",
    calibration: |u, c| {
        let inner: Vec<f64> = u.iter().copied().filter(|u| *u > 0.0 && *u < 1.0).collect();
        let n = inner.len().max(1) as f64;
        let share = |&c: &f64| inner.iter().filter(|&&u| central(u, c)).count() as f64 / n;
        c.iter().map(share).collect()
    }),
    wrong!("12.6", includes_both_ends, "At level 0 the share is 0 here; a PIT of exactly ½ is within that interval.",
        calibration: |u, c| with(u, c, |c, share| if c == 0.0 { 0.0 } else { share })),
    wrong!("12.6", returns_shares, "The numbers of PITs are returned; divide them by how many there are.",
        calibration: |u, c| with(u, c, |_, share| share * u.len() as f64)),
    wrong!("12.6", returns_shares, "The shares are in per cent; they are between 0 and 1.",
        calibration: |u, c| with(u, c, |_, share| share * 100.0)),
    wrong!("12.6", returns_shares, "The division is one of whole numbers, which rounds down to 0: convert both to f64 first.",
        calibration: |u, c| with(u, c, |_, share| share.floor())),
    wrong!("12.6", returns_shares, "The count is divided by the number of levels; divide it by the number of PITs.",
        calibration: |u, c| with(u, c, |_, share| share * u.len() as f64 / c.len() as f64)),
    wrong!("12.6", returns_shares, "The count is divided by one more than the number of PITs.",
        calibration: |u, c| with(u, c, |_, share| share * u.len() as f64 / (u.len() + 1) as f64)),
    wrong!("12.6", returns_shares, "Equal PITs are counted once.",
    calibration: |u, c| {
        let mut list = sorted(u);
        list.dedup();
        (REFERENCE.calibration)(&list, c)
    }),
    wrong!("12.6", keeps_the_order_of_the_levels, "The shares are in the order of sorted levels; keep the order of `levels`.",
        calibration: |u, c| (REFERENCE.calibration)(u, &sorted(c))),
    wrong!("12.6", keeps_the_order_of_the_levels, "Each share counts only what lower levels have not: that is a histogram.",
    calibration: |u, c| {
        let shares = (REFERENCE.calibration)(u, c);
        let before = std::iter::once(0.0).chain(shares.iter().copied());
        shares.iter().zip(before).map(|(share, before)| share - before).collect()
    }),
    wrong!("12.6", keeps_the_order_of_the_levels, "A level that occurs twice has one share; it must have two.",
    calibration: |u, c| {
        let mut seen: Vec<f64> = Vec::new();
        for &level in c {
            if !seen.contains(&level) { seen.push(level); }
        }
        (REFERENCE.calibration)(u, &seen)
    }),
    wrong!("12.6", keeps_the_order_of_the_levels, "The shares are in the opposite order.",
    calibration: |u, c| {
        let mut shares = (REFERENCE.calibration)(u, c);
        shares.reverse();
        shares
    }),
    wrong!("12.6", accepts_any_number_of_levels, "Without levels there is no `levels[0]`: that panics. Return an empty list.",
    calibration: |u, c| {
        let _ = c[0];
        (REFERENCE.calibration)(u, c)
    }),
    wrong!("12.6", accepts_any_number_of_levels, "Without levels one share is returned; return an empty list.",
        calibration: |u, c| if c.is_empty() { vec![1.0] } else { (REFERENCE.calibration)(u, c) }),
];
