use canopy::target::Summary;
use grader::{Case, Draw, Verdict, draw, given, number};

use super::shown;
use crate::Lesson12;

/// Bins with probabilities.
pub struct Bins {
    pub edges: Vec<f64>,
    pub probabilities: Vec<f64>,
}

impl Bins {
    pub fn new(edges: &[f64], probabilities: &[f64]) -> Self {
        Self {
            edges: edges.to_vec(),
            probabilities: probabilities.to_vec(),
        }
    }

    /// Of different widths and probabilities.
    pub fn drawn(draw: &mut Draw, count: usize) -> Self {
        let mut edges = vec![(draw.number(-4.0, 4.0) * 100.0).round() / 100.0];
        for i in 0..count {
            let width = draw.whole(20, 250) as f64 / 100.0;
            edges.push(((edges[i] + width) * 100.0).round() / 100.0);
        }
        let parts: Vec<f64> = (0..count).map(|_| draw.whole(5, 60) as f64).collect();
        let all: f64 = parts.iter().sum();
        Self {
            edges,
            probabilities: parts.iter().map(|p| p / all).collect(),
        }
    }

    pub fn text(&self) -> String {
        format!(
            "edges {}, probabilities {}",
            shown(&self.edges),
            shown(&self.probabilities)
        )
    }

    fn case(&self, coverage: f64) -> Case {
        given(format!("{}, coverage {}", self.text(), number(coverage))).at_scale(1.0)
    }

    fn mean(&self) -> f64 {
        let bins = self.edges.windows(2).zip(&self.probabilities);
        bins.map(|(e, p)| 0.5 * p * (e[0] + e[1])).sum()
    }

    fn quantile(&self, q: f64) -> f64 {
        let mut below = 0.0;
        let mut last = self.edges[0];
        for (e, p) in self.edges.windows(2).zip(&self.probabilities) {
            if *p > 0.0 && below + p >= q {
                return e[0] + (e[1] - e[0]) * (q - below) / p;
            }
            below += p;
            if *p > 0.0 {
                last = e[1];
            }
        }
        last
    }

    fn expected(&self, coverage: f64) -> Summary {
        Summary {
            mean: self.mean(),
            median: self.quantile(0.5),
            lower: self.quantile(0.5 * (1.0 - coverage)),
            upper: self.quantile(0.5 * (1.0 + coverage)),
        }
    }
}

fn numbers(s: Summary) -> [f64; 4] {
    [s.mean, s.median, s.lower, s.upper]
}

const NAMES: [&str; 4] = ["mean", "median", "lower", "upper"];

/// Compares those of mean, median, lower and upper that are in `which`.
fn check(answer: &Lesson12, bins: &Bins, coverage: f64, which: &[usize]) -> Verdict {
    let case = bins.case(coverage);
    let got = numbers((answer.summarise)(&bins.edges, &bins.probabilities, coverage));
    let expected = numbers(bins.expected(coverage));
    let of = |all: [f64; 4]| which.iter().map(|&i| all[i]).collect::<Vec<f64>>();
    let names: Vec<&str> = which.iter().map(|&i| NAMES[i]).collect();
    case.close(&names.join(", "), &of(got), &of(expected))
}

const ALL: [usize; 4] = [0, 1, 2, 3];

pub fn weights_the_centres_for_the_mean(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for count in [3, 5, 2, 8] {
        check(answer, &Bins::drawn(&mut draw, count), 0.5, &[0])?;
    }
    Ok(())
}

pub fn finds_the_median_within_its_bin(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    check(
        answer,
        &Bins::new(&[0.0, 2.0, 3.0, 7.0], &[0.25, 0.375, 0.375]),
        0.5,
        &[1],
    )?;
    for count in [3, 5, 2, 8] {
        check(answer, &Bins::drawn(&mut draw, count), 0.5, &[1])?;
    }
    // In the first and in the last bin.
    let mut bins = Bins::drawn(&mut draw, 3);
    for probabilities in [[0.75, 0.125, 0.125], [0.125, 0.125, 0.75]] {
        bins.probabilities = probabilities.to_vec();
        check(answer, &bins, 0.5, &[1])?;
    }
    Ok(())
}

pub fn finds_the_central_interval(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for count in [6, 4, 12] {
        for coverage in [0.8, 0.5, 0.95, draw.number(0.05, 0.4)] {
            check(answer, &Bins::drawn(&mut draw, count), coverage, &[2, 3])?;
        }
    }
    Ok(())
}

pub fn takes_the_least_value_of_a_flat_part(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    // Sums of these are exact: quantiles ¼, ½ and ¾ are at the beginning of a gap.
    let mut bins = Bins::drawn(&mut draw, 6);
    bins.probabilities = vec![0.25, 0.0, 0.25, 0.0, 0.0, 0.5];
    check(answer, &bins, 0.5, &[1, 2])?;
    bins.probabilities = vec![0.5, 0.0, 0.25, 0.0, 0.25, 0.0];
    check(answer, &bins, 0.5, &[1, 3])?;
    bins.probabilities = vec![0.25, 0.25, 0.25, 0.25, 0.0, 0.0];
    check(answer, &bins, 0.5, &ALL)
}

pub fn accepts_bins_without_probability(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let mut bins = Bins::drawn(&mut draw, 5);
    for probabilities in [
        [0.0, 0.375, 0.0, 0.625, 0.0],
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 0.375, 0.625, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ] {
        bins.probabilities = probabilities.to_vec();
        check(answer, &bins, 0.8, &ALL)?;
    }
    Ok(())
}

pub fn stays_within_the_bins(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    // As a softmax in f32 may sum to: slightly less than 1, and less than the upper quantile.
    let mut bins = Bins::drawn(&mut draw, 4);
    for probabilities in [[0.5, 0.25, 0.25 - 2e-7, 0.0], [0.5, 0.25, 0.125, 0.125 - 2e-7]] {
        bins.probabilities = probabilities.to_vec();
        let coverage = 1.0 - 1e-8;
        let case = given(format!(
            "{}, whose sum is 1 - 2e-7, coverage 1 - 1e-8",
            bins.text()
        ));
        let got = (answer.summarise)(&bins.edges, &bins.probabilities, coverage).upper;
        // Not exactly: the sum may be divided out first.
        case.at_scale(1.0)
            .close("upper", got as f32, bins.expected(coverage).upper as f32)?;
    }
    Ok(())
}

pub fn accepts_a_single_bin(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for coverage in [0.5, draw.number(0.6, 0.95)] {
        let mut bins = Bins::drawn(&mut draw, 1);
        bins.probabilities = vec![1.0];
        check(answer, &bins, coverage, &ALL)?;
    }
    Ok(())
}
