//! 12.5: mean, median and interval of a forecast in bins.

use grader::{Check, Draw, Facts, Mistake, Values, Verdict, given, mistakes, rows};
use kit::shown;

use crate::{Lesson12, REFERENCE, answers};

/// Edges, probabilities.
pub type Bins = (Vec<f64>, Vec<f64>);

/// Bins of different widths and probabilities.
pub fn drawn(d: &mut Draw, count: usize) -> Bins {
    let parts: Vec<f64> = (0..count).map(|_| d.whole(5, 60) as f64).collect();
    let all: f64 = parts.iter().sum();
    with(d, &parts.iter().map(|part| part / all).collect::<Vec<_>>())
}

/// Bins of different widths, with these probabilities.
pub fn with(d: &mut Draw, probabilities: &[f64]) -> Bins {
    let mut at = (d.number(-4.0, 4.0) * 100.0).round();
    let mut edges = vec![at / 100.0];
    for _ in probabilities {
        at += d.whole(20, 250) as f64;
        edges.push(at / 100.0);
    }
    (edges, probabilities.to_vec())
}

pub fn text((edges, probabilities): &Bins) -> String {
    format!("edges {}, probabilities {}", shown(edges), shown(probabilities))
}

/// A forecast, and the coverage of its interval.
type Input = (Bins, f64);

fn mean(answer: &Lesson12, bins: Bins) -> Verdict {
    let of = |lesson: &Lesson12| (lesson.summarise)(&bins.0, &bins.1, 0.5).mean;
    given(text(&bins))
        .at_scale(1.0)
        .close("mean", of(answer), of(&REFERENCE))
}

fn numbers(answer: &Lesson12, (bins, coverage): Input) -> Verdict {
    let sum: f64 = bins.1.iter().sum();
    // What the sum lacks may be divided out first.
    let (dtype, rest) = if sum > 1.0 - 1e-9 {
        ("f64", String::new())
    } else {
        ("f32", format!(" of sum 1 - {:.1e}", 1.0 - sum))
    };
    let facts = |lesson: &Lesson12| {
        let summary = (lesson.summarise)(&bins.0, &bins.1, coverage);
        let number = |x: f64| Values::tensor(vec![x], &[], dtype);
        Facts::default()
            .values("median", number(summary.median))
            .asked("Quantile q is the smallest v")
            .values("lower", number(summary.lower))
            .values("upper", number(summary.upper))
            .values("mean", number(summary.mean))
    };
    given(format!("{}{rest}, coverage {coverage}", text(&bins)))
        .at_scale(1.0)
        .same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson12>] = rows! { "12.5";
    by mean {
        weights_the_centres_for_the_mean: "within a bin, all values are equally likely",
            "Add the probability times the centre, ½·(lower edge + upper edge), over all bins." =>
            |d| [3, 5, 2, 8].map(|count| drawn(d, count)).to_vec();
    }
    by numbers {
        interpolates_within_the_bin_of_a_quantile: "`lower` and `upper` are the quantiles",
            "`lower`, `median`, `upper` are the quantiles (1 − coverage)/2, ½, (1 + coverage)/2. Quantile q is (q − sum before)/p of the width \
             into the bin where the sum reaches q." => |d| {
            let mut all = vec![((vec![0.0, 2.0, 3.0, 7.0], vec![0.25, 0.375, 0.375]), 0.5)];
            // The median in the first and in the last bin.
            all.extend([[0.75, 0.125, 0.125], [0.125, 0.125, 0.75]].map(|p| (with(d, &p), 0.5)));
            for coverage in [0.8, 0.5, 0.95, d.number(0.05, 0.4)] {
                all.extend([6, 4, 12, 2].map(|count| (drawn(d, count), coverage)));
            }
            all
        };
        accepts_a_single_bin: "within a bin, all values are equally likely",
            "A single bin is no special case: quantile q is its lower edge plus q times its width." => |d| {
            let coverage = d.number(0.6, 0.95);
            [0.5, coverage].map(|coverage| (with(d, &[1.0]), coverage)).to_vec()
        };
        accepts_bins_without_probability: "the smallest v within the edges",
            "A bin of probability 0 keeps its edges, but no quantile is in it: skip it." => |d| {
            let lists = [
                [0.0, 0.375, 0.0, 0.625, 0.0], [0.0, 0.0, 0.375, 0.625, 0.0],
                [0.0, 0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0],
            ];
            lists.map(|p| (with(d, &p), 0.8)).to_vec()
        };
        takes_the_least_value_of_a_flat_part: "the smallest v within the edges",
            "Where the sum is exactly q, stop at once (`>=`): the quantile is before the empty bins." => |d| {
            // Sums of these are exact: quantiles ¼, ½ and ¾ are at the beginning of a gap.
            let lists = [
                [0.25, 0.0, 0.25, 0.0, 0.0, 0.5], [0.5, 0.0, 0.25, 0.0, 0.25, 0.0], [0.25, 0.25, 0.25, 0.25, 0.0, 0.0],
            ];
            lists.map(|p| (with(d, &p), 0.5)).to_vec()
        };
        stays_within_the_bins: "the upper edge of the last bin whose probability is not 0",
            "If no sum reaches q, return the upper edge of the last bin whose probability is not 0." => |d| {
            // As a softmax in f32 may sum to: slightly less than 1, and less than the upper quantile.
            let lists =
                [[0.5, 0.25, 0.25 - 2e-7, 0.0], [0.5, 0.25, 0.125, 0.125 - 2e-7], [0.5, 0.25, 0.25 - 1.2e-6, 1e-6]];
            lists.map(|p| (with(d, &p), 1.0 - 1e-12)).to_vec()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson12>] = mistakes! { "12.5" summarise;
    1 "The lower edges are weighted; the mean of a bin is its centre.";
    2 "The centre of the bin is returned; interpolate in it.";
    3 "The missing probability is not divided by the bin's probability: the part of the bin is (q − below)/p.";
    4 "The part of the bin is q/p: subtract the probability of the bins below first.";
    5 "The interval is between the quantiles 1 − coverage and coverage; half of 1 − coverage is on each side.";
    6 "`coverage` is taken for what is outside the interval; it is inside.";
};
