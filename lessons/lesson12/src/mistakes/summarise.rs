//! Known wrong answers to exercise 12.5.

use super::*;

/// The right summary, with another mean.
fn with_mean(e: &[f64], p: &[f64], c: f64, mean: f64) -> Summary {
    Summary {
        mean,
        ..(REFERENCE.summarise)(e, p, c)
    }
}

/// The right summary, with another interval: the quantiles at two places.
fn between(e: &[f64], p: &[f64], c: f64, [low, high]: [f64; 2]) -> Summary {
    let of = |q| quantile(e, p, q, QUANTILE);
    Summary {
        lower: of(low),
        upper: of(high),
        ..(REFERENCE.summarise)(e, p, c)
    }
}

pub const MISTAKES: &[Mistake<Lesson12>] = &[
    wrong!("12.5", weights_the_centres_for_the_mean, "The lower edges are weighted; the mean of a bin is its centre.",
        summarise: |e, p, c| with_mean(e, p, c, mean(e, p, |low, _| low))),
    wrong!("12.5", weights_the_centres_for_the_mean, "The upper edges are weighted; the mean of a bin is its centre.",
        summarise: |e, p, c| with_mean(e, p, c, mean(e, p, |_, high| high))),
    wrong!("12.5", weights_the_centres_for_the_mean, "The centres are averaged without the probabilities.",
    summarise: |e, p, c| {
        let equal = vec![1.0 / p.len() as f64; p.len()];
        with_mean(e, p, c, mean(e, &equal, |low, high| 0.5 * (low + high)))
    }),
    wrong!("12.5", weights_the_centres_for_the_mean, "The widths are weighted: the centre of a bin is half the sum of its edges, not half their difference.",
        summarise: |e, p, c| with_mean(e, p, c, mean(e, p, |low, high| 0.5 * (high - low)))),
    wrong!("12.5", weights_the_centres_for_the_mean, "The weighted sum is divided by the number of bins; the probabilities sum to 1 already.",
        summarise: |e, p, c| with_mean(e, p, c, mean(e, p, |low, high| 0.5 * (low + high)) / p.len() as f64)),
    wrong!("12.5", weights_the_centres_for_the_mean, "The sum of both edges is weighted; the centre is half of it.",
        summarise: |e, p, c| with_mean(e, p, c, mean(e, p, |low, high| low + high))),
    wrong!("12.5", weights_the_centres_for_the_mean, "The centre of the most likely bin is the mode, not the mean.",
    summarise: |e, p, c| {
        let most = (0..p.len()).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
        with_mean(e, p, c, 0.5 * (e[most] + e[most + 1]))
    }),
    wrong!("12.5", weights_the_centres_for_the_mean, "The mean is the middle of the whole range.",
        summarise: |e, p, c| with_mean(e, p, c, 0.5 * (e[0] + e[e.len() - 1]))),
    wrong!("12.5", weights_the_centres_for_the_mean, "The mean is the median; they differ unless the forecast is symmetric.",
        summarise: |e, p, c| with_mean(e, p, c, quantile(e, p, 0.5, QUANTILE))),
    wrong!("12.5", weights_the_centres_for_the_mean, "The probabilities are weighted by the widths of the bins; a probability contains the width already.",
    summarise: |e, p, c| {
        let wide: Vec<f64> = e.windows(2).zip(p).map(|(e, p)| p * (e[1] - e[0])).collect();
        let all: f64 = wide.iter().sum();
        with_mean(e, p, c, mean(e, &wide, |low, high| 0.5 * (low + high)) / all)
    }),
    wrong!("12.5", weights_the_centres_for_the_mean, "All bins are taken as equally wide; each has its own edges.",
    summarise: |e, p, c| {
        let width = (e[p.len()] - e[0]) / p.len() as f64;
        let even: Vec<f64> = (0..e.len()).map(|i| e[0] + i as f64 * width).collect();
        (REFERENCE.summarise)(&even, p, c)
    }),
    wrong!("12.5", finds_the_median_within_its_bin, "The centre of the bin is returned; interpolate in it.",
        summarise: |e, p, c| summary(e, p, c, Quantile { within: |low, high, _, _| 0.5 * (low + high), ..QUANTILE })),
    wrong!("12.5", finds_the_median_within_its_bin, "The lower edge of the bin is returned; interpolate in it.",
        summarise: |e, p, c| summary(e, p, c, Quantile { within: |low, _, _, _| low, ..QUANTILE })),
    wrong!("12.5", finds_the_median_within_its_bin, "The upper edge of the bin is returned; interpolate in it.",
        summarise: |e, p, c| summary(e, p, c, Quantile { within: |_, high, _, _| high, ..QUANTILE })),
    wrong!("12.5", finds_the_median_within_its_bin, "The missing probability is not divided by the bin's probability: the part of the bin is (q − below)/p.",
        summarise: |e, p, c| summary(e, p, c, Quantile { within: |low, high, _, missing| low + missing * (high - low), ..QUANTILE })),
    wrong!("12.5", finds_the_median_within_its_bin, "The part is taken from the upper edge downwards; (q − below)/p counts from the lower edge.",
        summarise: |e, p, c| summary(e, p, c, Quantile { within: |low, high, p, missing| high - missing / p * (high - low), ..QUANTILE })),
    wrong!("12.5", finds_the_median_within_its_bin, "The part of the bin is q/p: subtract the probability of the bins below first.",
    summarise: |e, p, c| {
        let of = |q: f64| {
            let mut below = 0.0;
            for (e, p) in e.windows(2).zip(p) {
                if below + p >= q && *p > 0.0 { return e[0] + q / p * (e[1] - e[0]); }
                below += p;
            }
            e[e.len() - 1]
        };
        Summary { median: of(0.5), lower: of(0.5 * (1.0 - c)), upper: of(0.5 * (1.0 + c)), ..(REFERENCE.summarise)(e, p, c) }
    }),
    wrong!("12.5", finds_the_median_within_its_bin, "The part of the bin is q/p, at most 1: subtract the probability of the bins below first.",
    summarise: |e, p, c| {
        let of = |q: f64| {
            let mut below = 0.0;
            let mut last = e[0];
            for (e, p) in e.windows(2).zip(p).filter(|(_, p)| **p > 0.0) {
                if below + p >= q { return e[0] + (q / p).min(1.0) * (e[1] - e[0]); }
                below += p;
                last = e[1];
            }
            last
        };
        Summary { median: of(0.5), lower: of(0.5 * (1.0 - c)), upper: of(0.5 * (1.0 + c)), ..(REFERENCE.summarise)(e, p, c) }
    }),
    wrong!("12.5", finds_the_median_within_its_bin, "The part of the bin is not scaled by its width.",
        summarise: |e, p, c| summary(e, p, c, Quantile { within: |low, _, p, missing| low + missing / p, ..QUANTILE })),
    wrong!("12.5", finds_the_median_within_its_bin, "The median is the middle edge, whatever the probabilities are.",
        summarise: |e, p, c| Summary { median: e[e.len() / 2], ..(REFERENCE.summarise)(e, p, c) }),
    wrong!("12.5", finds_the_median_within_its_bin, "The median is the mean; they differ unless the forecast is symmetric.",
    summarise: |e, p, c| {
        let right = (REFERENCE.summarise)(e, p, c);
        Summary { median: right.mean, ..right }
    }),
    wrong!("12.5", finds_the_median_within_its_bin, "The median is the middle of the interval.",
    summarise: |e, p, c| {
        let right = (REFERENCE.summarise)(e, p, c);
        Summary { median: 0.5 * (right.lower + right.upper), ..right }
    }),
    wrong!("12.5", finds_the_central_interval, "The interval is between the quantiles 1 − coverage and coverage: that covers too much or too little. Half of 1 − coverage is on each side.",
        summarise: |e, p, c| between(e, p, c, [1.0 - c, c])),
    wrong!("12.5", finds_the_central_interval, "The lower end is the quantile 0, and the upper end the quantile `coverage`: the interval must be central.",
        summarise: |e, p, c| between(e, p, c, [0.0, c])),
    wrong!("12.5", finds_the_central_interval, "`coverage` is taken for what is outside the interval; it is inside.",
        summarise: |e, p, c| between(e, p, c, [0.5 * c, 1.0 - 0.5 * c])),
    wrong!("12.5", finds_the_central_interval, "`coverage` is on each side of the median; half of it is.",
        summarise: |e, p, c| between(e, p, c, [0.5 - c, 0.5 + c])),
    wrong!("12.5", finds_the_central_interval, "Lower and upper are exchanged.",
        summarise: |e, p, c| between(e, p, c, [0.5 * (1.0 + c), 0.5 * (1.0 - c)])),
    wrong!("12.5", finds_the_central_interval, "The ends are parts of the range of the edges; they are quantiles.",
    summarise: |e, p, c| {
        let (low, high) = (e[0], e[e.len() - 1]);
        let at = |q: f64| low + q * (high - low);
        Summary { lower: at(0.5 * (1.0 - c)), upper: at(0.5 * (1.0 + c)), ..(REFERENCE.summarise)(e, p, c) }
    }),
    wrong!("12.5", finds_the_central_interval, "The ends are edges of bins; interpolate, as for the median.",
    summarise: |e, p, c| {
        let right = (REFERENCE.summarise)(e, p, c);
        let whole = summary(e, p, c, Quantile { within: |_, high, _, _| high, ..QUANTILE });
        let low = summary(e, p, c, Quantile { within: |low, _, _, _| low, ..QUANTILE });
        Summary { lower: low.lower, upper: whole.upper, ..right }
    }),
    wrong!("12.5", finds_the_central_interval, "The coverage is always 0.9 here; use `coverage`.",
    summarise: |e, p, c| between(e, p, c, [0.05, 0.95])),
    wrong!("12.5", finds_the_central_interval, "The ends are the mean ± coverage/2 standard deviations; they are quantiles.",
    summarise: |e, p, c| {
        let right = (REFERENCE.summarise)(e, p, c);
        let square = mean(e, p, |low, high| (low * low + low * high + high * high) / 3.0);
        let std = (square - right.mean * right.mean).max(0.0).sqrt();
        Summary { lower: right.mean - 0.5 * c * std, upper: right.mean + 0.5 * c * std, ..right }
    }),
    wrong!("12.5", takes_the_least_value_of_a_flat_part, "A sum that is equal to q is not taken for enough: the quantile is then behind a gap. The least value with at least q counts: `>=`.",
        summarise: |e, p, c| summary(e, p, c, Quantile { reached: |sum, q| sum > q, ..QUANTILE })),
    wrong!("12.5", takes_the_least_value_of_a_flat_part, "The middle of a gap is returned; the least value with at least q counts.",
    summarise: |e, p, c| {
        let of = |q| {
            let (low, high) = (quantile(e, p, q, QUANTILE), quantile(e, p, q, Quantile { reached: |sum, q| sum > q, ..QUANTILE }));
            0.5 * (low + high)
        };
        Summary { median: of(0.5), lower: of(0.5 * (1.0 - c)), upper: of(0.5 * (1.0 + c)), ..(REFERENCE.summarise)(e, p, c) }
    }),
    wrong!("12.5", takes_the_least_value_of_a_flat_part, "The upper end is counted down from the top, so that it is behind a gap. The least value with at least q counts, also for `upper`.",
    summarise: |e, p, c| {
        let strict = Quantile { reached: |sum, q| sum > q, ..QUANTILE };
        Summary { upper: quantile(e, p, 0.5 * (1.0 + c), strict), ..(REFERENCE.summarise)(e, p, c) }
    }),
    wrong!("12.5", accepts_bins_without_probability, "Bins without probability are removed, but not their edges: the other probabilities belong to other bins then.",
    summarise: |e, p, c| {
        let kept: Vec<f64> = p.iter().copied().filter(|p| *p > 0.0).collect();
        (REFERENCE.summarise)(&e[..kept.len() + 1], &kept, c)
    }),
    wrong!("12.5", accepts_bins_without_probability, "The bins end at the first one without probability; there may be more behind it.",
    summarise: |e, p, c| {
        let kept: Vec<f64> = p.iter().copied().take_while(|p| *p > 0.0).collect();
        if kept.is_empty() { return Summary { mean: 0.0, median: e[0], lower: e[0], upper: e[0] }; }
        (REFERENCE.summarise)(&e[..kept.len() + 1], &kept, c)
    }),
    wrong!("12.5", accepts_bins_without_probability, "A probability of 0 panics; it is allowed.",
    summarise: |e, p, c| {
        assert!(p.iter().all(|p| *p > 0.0), "no probability");
        (REFERENCE.summarise)(e, p, c)
    }),
    wrong!("12.5", accepts_bins_without_probability, "Bins without probability between others are left out by joining their neighbours: nothing may be within a gap.",
    summarise: |e, p, c| {
        let (mut edges, mut kept) = (vec![e[0]], Vec::new());
        for (i, &p) in p.iter().enumerate() {
            if p > 0.0 { edges.push(e[i + 1]); kept.push(p); }
        }
        (REFERENCE.summarise)(&edges, &kept, c)
    }),
    wrong!("12.5", stays_within_the_bins, "If the sum of the probabilities stays below q, no bin is found, and `unwrap` panics. Return the upper edge of the last bin whose probability is not 0.",
        summarise: |e, p, c| summary(e, p, c, Quantile { beyond: |e, _| e.iter().copied().find(|v| v.is_nan()).unwrap(), ..QUANTILE })),
    wrong!("12.5", stays_within_the_bins, "If the sum of the probabilities stays below q, the last edge is returned, even if the last bins have no probability.",
        summarise: |e, p, c| summary(e, p, c, Quantile { beyond: |e, _| e[e.len() - 1], ..QUANTILE })),
    wrong!("12.5", stays_within_the_bins, "If the sum of the probabilities stays below q, NaN is returned. Return the upper edge of the last bin whose probability is not 0.",
        summarise: |e, p, c| summary(e, p, c, Quantile { beyond: |_, _| f64::NAN, ..QUANTILE })),
    wrong!("12.5", stays_within_the_bins, "If the sum of the probabilities stays below q, 0 is returned. Return the upper edge of the last bin whose probability is not 0.",
        summarise: |e, p, c| summary(e, p, c, Quantile { beyond: |_, _| 0.0, ..QUANTILE })),
    wrong!("12.5", accepts_a_single_bin, "A single bin has no edge between bins: `edges[1..n]` of it is the last edge. Its median is its centre.",
    summarise: |e, p, c| {
        let right = (REFERENCE.summarise)(e, p, c);
        if p.len() == 1 { Summary { median: e[1], ..right } } else { right }
    }),
    wrong!("12.5", accepts_a_single_bin, "A single bin is returned whole; its interval is the central part of it.",
    summarise: |e, p, c| {
        let right = (REFERENCE.summarise)(e, p, c);
        if p.len() == 1 { Summary { lower: e[0], upper: e[1], ..right } } else { right }
    }),
];
