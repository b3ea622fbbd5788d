//! Known wrong answers to exercise 12.7.

use super::*;

pub const MISTAKES: &[Mistake<Lesson12>] = &[
    wrong!("12.7", integrates_the_squared_difference, "The mean of the squares at both ends is used; for a straight line the integral is w·(a² + a·b + b²)/3.",
        crps: |e, p, y| scored(e, p, y, Score { piece: |w, a, b| w * (a * a + b * b) / 2.0, ..SCORE })),
    wrong!("12.7", integrates_the_squared_difference, "The square at the middle is used; for a straight line the integral is w·(a² + a·b + b²)/3.",
        crps: |e, p, y| scored(e, p, y, Score { piece: |w, a, b| w * (0.5 * (a + b)).powi(2), ..SCORE })),
    wrong!("12.7", integrates_the_squared_difference, "The term a·b is missing: the integral is w·(a² + a·b + b²)/3.",
        crps: |e, p, y| scored(e, p, y, Score { piece: |w, a, b| w * (a * a + b * b) / 3.0, ..SCORE })),
    wrong!("12.7", integrates_the_squared_difference, "The integral is not divided by 3.",
        crps: |e, p, y| scored(e, p, y, Score { piece: |w, a, b| w * (a * a + a * b + b * b), ..SCORE })),
    wrong!("12.7", integrates_the_squared_difference, "The difference is integrated without its square: that is the mean distance from the target.",
        crps: |e, p, y| scored(e, p, y, Score { piece: |w, a, b| w * 0.5 * (a + b).abs(), ..SCORE })),
    wrong!("12.7", integrates_the_squared_difference, "F is taken as constant within a bin, its value at the upper edge; it rises linearly.",
        crps: |e, p, y| scored(e, p, y, Score { piece: |w, _, b| w * b * b, ..SCORE })),
    wrong!("12.7", integrates_the_squared_difference, "F is taken as constant within a bin, its value at the lower edge; it rises linearly.",
        crps: |e, p, y| scored(e, p, y, Score { piece: |w, a, _| w * a * a, ..SCORE })),
    wrong!("12.7", integrates_the_squared_difference, "1 is not subtracted above the target: ∫ F² grows with everything above it.",
        crps: |e, p, y| scored(e, p, y, Score { step: 0.0, ..SCORE })),
    wrong!("12.7", integrates_the_squared_difference, "The root of the integral is returned.",
        crps: |e, p, y| scored(e, p, y, SCORE).sqrt()),
    wrong!("12.7", integrates_the_squared_difference, "Only the part below the target is counted; above it, (F − 1)² counts.",
    crps: |e, p, y| {
        let (mut score, mut below) = ((y - e[e.len() - 1]).max(0.0) + (e[0] - y).max(0.0), 0.0);
        for (e, p) in e.windows(2).zip(p) {
            let share = ((y - e[0]) / (e[1] - e[0])).clamp(0.0, 1.0);
            score += (SCORE.piece)(share * (e[1] - e[0]), below, below + share * p);
            below += p;
        }
        score
    }),
    wrong!("12.7", integrates_the_squared_difference, "The part above the target is subtracted; both parts are squares, and are added.",
    crps: |e, p, y| {
        let below = |y: f64| scored(e, p, y, Score { step: 0.0, ..SCORE });
        2.0 * below(y) - scored(e, p, y, SCORE)
    }),
    wrong!("12.7", integrates_the_squared_difference, "F starts anew in each bin: its value at the lower edge is the probability of all bins below.",
    crps: |e, p, y| {
        let mut score = (y - e[e.len() - 1]).max(0.0) + (e[0] - y).max(0.0);
        for (e, p) in e.windows(2).zip(p) {
            let (width, step) = (e[1] - e[0], 1.0);
            let share = ((y - e[0]) / width).clamp(0.0, 1.0);
            score += (SCORE.piece)(share * width, 0.0, share * p);
            score += (SCORE.piece)((1.0 - share) * width, share * p - step, p - step);
        }
        score
    }),
    wrong!("12.7", integrates_the_squared_difference, "The distance of the target from the mean is returned: that is the score of a single number.",
        crps: |e, p, y| (y - mean(e, p, |low, high| 0.5 * (low + high))).abs()),
    wrong!("12.7", integrates_the_squared_difference, "The score is negative: it is a distance, and the smaller the better.",
        crps: |e, p, y| -scored(e, p, y, SCORE)),
    wrong!("12.7", splits_the_bin_of_the_target, "The bin of the target is not split: all of it is taken as below the target.",
        crps: |e, p, y| scored(e, p, y, Score { split: f64::ceil, ..SCORE })),
    wrong!("12.7", splits_the_bin_of_the_target, "The bin of the target is not split: all of it is taken as above the target.",
        crps: |e, p, y| scored(e, p, y, Score { split: f64::floor, ..SCORE })),
    wrong!("12.7", splits_the_bin_of_the_target, "The bin of the target is not split: all of it is taken as below or above the target, by its centre.",
        crps: |e, p, y| scored(e, p, y, Score { split: f64::round, ..SCORE })),
    wrong!("12.7", splits_the_bin_of_the_target, "The bin of the target is split at its middle; split it at the target.",
        crps: |e, p, y| scored(e, p, y, Score { split: |s| if s > 0.0 && s < 1.0 { 0.5 } else { s }, ..SCORE })),
    wrong!("12.7", splits_the_bin_of_the_target, "The two parts of the target's bin are exchanged.",
        crps: |e, p, y| scored(e, p, y, Score { split: |s| if s > 0.0 && s < 1.0 { 1.0 - s } else { s }, ..SCORE })),
    wrong!("12.7", splits_the_bin_of_the_target, "The bin of the target is left out; both of its parts count.",
    crps: |e, p, y| {
        let right = scored(e, p, y, SCORE);
        let mut below = 0.0;
        for (e, p) in e.windows(2).zip(p) {
            if e[0] < y && y < e[1] {
                let share = (y - e[0]) / (e[1] - e[0]);
                let (width, middle) = (e[1] - e[0], below + share * p);
                let part = (SCORE.piece)(share * width, below, middle)
                    + (SCORE.piece)((1.0 - share) * width, middle - 1.0, below + p - 1.0);
                return right - part;
            }
            below += p;
        }
        right
    }),
    wrong!("12.7", adds_the_distance_outside, "The distance of a target outside the edges is not added.",
        crps: |e, p, y| scored(e, p, y, Score { outside: [|_| 0.0, |_| 0.0], ..SCORE })),
    wrong!("12.7", adds_the_distance_outside, "The distance of a target below the edges is not added.",
        crps: |e, p, y| scored(e, p, y, Score { outside: [|_| 0.0, |d| d], ..SCORE })),
    wrong!("12.7", adds_the_distance_outside, "The distance of a target above the edges is not added.",
        crps: |e, p, y| scored(e, p, y, Score { outside: [|d| d, |_| 0.0], ..SCORE })),
    wrong!("12.7", adds_the_distance_outside, "The square of the distance is added; F − H is −1 or 1 there, so it is the distance itself.",
        crps: |e, p, y| scored(e, p, y, Score { outside: [|d| d * d, |d| d * d], ..SCORE })),
    wrong!("12.7", integrates_the_squared_difference, "The distance from the nearest edge is added for targets between the edges as well, as a negative number.",
        crps: |e, p, y| scored(e, p, y, SCORE) + (e[0] - y).max(y - e[e.len() - 1]).min(0.0)),
    wrong!("12.7", adds_the_distance_outside, "Only the distance is returned for a target outside the edges; the bins count as well.",
    crps: |e, p, y| {
        let far = (e[0] - y).max(y - e[e.len() - 1]);
        if far > 0.0 { far } else { scored(e, p, y, SCORE) }
    }),
    wrong!("12.7", adds_the_distance_outside, "The share of a bin below the target is not clamped to 0 … 1, so that it is negative or above 1 in most bins.",
    crps: |e, p, y| {
        let (mut score, mut below) = ((y - e[e.len() - 1]).max(0.0) + (e[0] - y).max(0.0), 0.0);
        for (e, p) in e.windows(2).zip(p) {
            let width = e[1] - e[0];
            let share = (y - e[0]) / width;
            score += (SCORE.piece)(share * width, below, below + share * p);
            score += (SCORE.piece)((1.0 - share) * width, below + share * p - 1.0, below + p - 1.0);
            below += p;
        }
        score
    }),
    wrong!("12.7", integrates_the_squared_difference, "The share of a bin below the target is not clamped to 1, so that it is greater in the bins below.",
    crps: |e, p, y| {
        let (mut score, mut below) = ((y - e[e.len() - 1]).max(0.0) + (e[0] - y).max(0.0), 0.0);
        for (e, p) in e.windows(2).zip(p) {
            let width = e[1] - e[0];
            let share = ((y - e[0]) / width).max(0.0);
            let (middle, above) = (below + share * p, below + p);
            score += (SCORE.piece)(share * width, below, middle);
            score += (SCORE.piece)((1.0 - share) * width, middle - 1.0, above - 1.0);
            below = above;
        }
        score
    }),
    wrong!("12.7", integrates_the_squared_difference, "The share of a bin below the target is not clamped to 0, so that it is negative in the bins above.",
    crps: |e, p, y| {
        let (mut score, mut below) = ((y - e[e.len() - 1]).max(0.0) + (e[0] - y).max(0.0), 0.0);
        for (e, p) in e.windows(2).zip(p) {
            let width = e[1] - e[0];
            let share = ((y - e[0]) / width).min(1.0);
            let (middle, above) = (below + share * p, below + p);
            score += (SCORE.piece)(share * width, below, middle);
            score += (SCORE.piece)((1.0 - share) * width, middle - 1.0, above - 1.0);
            below = above;
        }
        score
    }),
    wrong!("12.7", integrates_the_squared_difference, "1 is subtracted at the upper end of the part above the target only; F − H is reduced by 1 at both ends.",
    crps: |e, p, y| {
        let (mut score, mut below) = ((y - e[e.len() - 1]).max(0.0) + (e[0] - y).max(0.0), 0.0);
        for (e, p) in e.windows(2).zip(p) {
            let width = e[1] - e[0];
            let share = ((y - e[0]) / width).clamp(0.0, 1.0);
            let (middle, above) = (below + share * p, below + p);
            score += (SCORE.piece)(share * width, below, middle);
            score += (SCORE.piece)((1.0 - share) * width, middle, above - 1.0);
            below = above;
        }
        score
    }),
    wrong!("12.7", integrates_the_squared_difference, "1 is subtracted at the lower end of the part above the target only; F − H is reduced by 1 at both ends.",
    crps: |e, p, y| {
        let (mut score, mut below) = ((y - e[e.len() - 1]).max(0.0) + (e[0] - y).max(0.0), 0.0);
        for (e, p) in e.windows(2).zip(p) {
            let width = e[1] - e[0];
            let share = ((y - e[0]) / width).clamp(0.0, 1.0);
            let (middle, above) = (below + share * p, below + p);
            score += (SCORE.piece)(share * width, below, middle);
            score += (SCORE.piece)((1.0 - share) * width, middle - 1.0, above);
            below = above;
        }
        score
    }),
    wrong!("12.7", weights_bins_by_their_width, "The widths of the bins are left out: this is the ranked probability score of classes.",
    crps: |e, p, y| {
        let unit: Vec<f64> = (0..e.len()).map(|i| i as f64).collect();
        let at = e.windows(2).position(|e| y < e[1]).unwrap_or(p.len());
        let share = if at < p.len() { ((y - e[at]) / (e[at + 1] - e[at])).max(0.0) } else { 0.0 };
        scored(&unit, p, at as f64 + share, SCORE)
    }),
    wrong!("12.7", weights_bins_by_their_width, "The widths are left out: every bin, and every part of the target's bin, counts the same.",
        crps: |e, p, y| scored(e, p, y, Score { piece: |w, a, b| if w > 0.0 { (a * a + a * b + b * b) / 3.0 } else { 0.0 }, ..SCORE })),
    wrong!("12.7", weights_bins_by_their_width, "The integral is divided by the whole range.",
        crps: |e, p, y| scored(e, p, y, SCORE) / (e[e.len() - 1] - e[0])),
    wrong!("12.7", weights_bins_by_their_width, "The mean over the bins is returned; add them.",
        crps: |e, p, y| scored(e, p, y, SCORE) / p.len() as f64),
    wrong!("12.7", weights_bins_by_their_width, "Bins without probability are left out; F is constant in them, but F − H is not 0.",
    crps: |e, p, y| {
        let right = scored(e, p, y, SCORE);
        let mut below = 0.0;
        let mut gaps = 0.0;
        for (e, p) in e.windows(2).zip(p) {
            if *p == 0.0 {
                let share = ((y - e[0]) / (e[1] - e[0])).clamp(0.0, 1.0);
                gaps += (e[1] - e[0]) * (share * below * below + (1.0 - share) * (below - 1.0).powi(2));
            }
            below += p;
        }
        right - gaps
    }),
    wrong!("12.7", accepts_targets_on_edges, "No bin contains a target on an edge here, if both ends are left out, and `unwrap` panics.",
    crps: |e, p, y| {
        if y > e[0] && y < e[e.len() - 1] {
            e.windows(2).position(|e| e[0] < y && y < e[1]).unwrap();
        }
        scored(e, p, y, SCORE)
    }),
    wrong!("12.7", accepts_targets_on_edges, "A target on an edge is counted in both bins next to it.",
    crps: |e, p, y| {
        let mut score = (y - e[e.len() - 1]).max(0.0) + (e[0] - y).max(0.0);
        let mut below = 0.0;
        for (e, p) in e.windows(2).zip(p) {
            let (width, above) = (e[1] - e[0], below + p);
            let share = ((y - e[0]) / width).clamp(0.0, 1.0);
            let middle = below + share * p;
            score += (SCORE.piece)(share * width, below, middle);
            score += (SCORE.piece)((1.0 - share) * width, middle - 1.0, above - 1.0);
            if y == e[1] { score += (SCORE.piece)(width, below - 1.0, above - 1.0); }
            below = above;
        }
        score
    }),
];
