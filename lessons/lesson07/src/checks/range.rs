use canopy::schedule::RangeFound;
use grader::{Case, Verdict, draw, given};

use crate::Lesson07;

/// The result of a student's test, and the rates at which it took steps.
struct Ran {
    case: Case,
    rates: Vec<f64>,
    asked: Vec<f64>,
    found: RangeFound,
}

/// A test over a script of losses.
fn run(answer: &Lesson07, losses: &[f64], smoothing: f64, breaks: f64) -> Ran {
    let factor = draw().number(1.2, 1.6);
    let rates: Vec<f64> = (0..losses.len()).map(|i| 1e-3 * factor.powi(i as i32)).collect();
    let shown: Vec<String> = losses.iter().map(|&l| grader::number(l)).collect();
    let case = given(format!(
        "{} rates, 0.001 times powers of {factor:.4}; losses [{}]; smoothing {smoothing:.3}, breaks {breaks}",
        rates.len(),
        shown.join(", ")
    ));
    let mut asked = Vec::new();
    let found = (answer.range_test)(&rates, smoothing, breaks, &mut |rate| {
        asked.push(rate);
        losses.get(asked.len() - 1).copied().unwrap_or(f64::NAN)
    });
    Ran {
        case,
        rates,
        asked,
        found,
    }
}

impl Ran {
    /// That the test kept these smoothed losses and their rates, and took one more step if it `broke`.
    fn check(&self, kept: &[f64], broke: bool) -> Verdict {
        let rates = &self.rates[..kept.len()];
        self.case.close("losses", &self.found.losses, &kept.to_vec())?;
        self.case
            .close("rates of the result", &self.found.rates, &rates.to_vec())?;
        let steps = kept.len() + usize::from(broke);
        self.case.close("number of steps", self.asked.len(), steps)?;
        self.case
            .require("broke", self.found.broke == broke, self.found.broke.to_string())
    }

    fn suggests(&self, expected: Option<usize>) -> Verdict {
        let (got, expected) = (self.found.suggestion, expected.map(|at| self.rates[at]));
        match (got, expected) {
            (Some(got), Some(expected)) => self.case.close("suggestion", got, expected),
            (None, None) => Ok(()),
            (None, Some(expected)) => {
                let what = format!("suggestion, {} expected", grader::number(expected));
                self.case.require(&what, false, "None")
            }
            (Some(got), None) => {
                let said = format!("Some({})", grader::number(got));
                self.case.require("suggestion, None expected", false, said)
            }
        }
    }
}

/// Σ βⁱ·x of the last ones, over the sum of the weights.
fn smoothed(losses: &[f64], beta: f64) -> Vec<f64> {
    let mean = |end: usize| {
        let weights = (0..=end).map(|i| beta.powi((end - i) as i32));
        let sum: f64 = weights.clone().zip(losses).map(|(w, l)| w * l).sum();
        sum / weights.sum::<f64>()
    };
    (0..losses.len()).map(mean).collect()
}

pub fn smooths_with_bias_correction(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let losses: Vec<f64> = (0..8).map(|_| draw.number(1.0, 2.0)).collect();
    let beta = draw.number(0.6, 0.9);
    let ran = run(answer, &losses, beta, 9.0);
    ran.case
        .close("losses", &ran.found.losses, &smoothed(&losses, beta))
}

pub fn tries_every_rate(answer: &Lesson07) -> Verdict {
    let count = draw().whole(5, 9);
    let losses: Vec<f64> = (0..count).map(|i| 2.0 - 0.1 * i as f64).collect();
    let ran = run(answer, &losses, 0.5, 4.0);
    ran.case.close("rates of the steps", &ran.asked, &ran.rates)?;
    ran.check(&smoothed(&losses, 0.5), false)
}

pub fn accepts_no_rates(answer: &Lesson07) -> Verdict {
    let ran = run(answer, &[], 0.5, 4.0);
    ran.check(&[], false)?;
    ran.suggests(None)
}

pub fn stops_when_the_smoothed_loss_diverges(answer: &Lesson07) -> Verdict {
    // A single leap is smoothed away. Then the loss climbs slowly, so that the test ends elsewhere if the limit is twice the
    // first smoothed loss, twice the one before, twice the least single loss, or 2 more. The last losses would go on.
    let high = draw().number(0.95, 1.05);
    let mut losses = vec![
        0.8, 0.6, 0.3, 0.2, 0.16, 0.34, 0.12, 0.3, 0.36, 0.45, 0.55, 0.7, 0.9,
    ];
    losses.extend([1.1, 1.4, 1.8, 2.4, 3.0, 4.0].map(|l| l * high));
    losses.extend([0.01, 0.01]);
    let (beta, breaks) = (0.7, 2.0);
    let smooth = smoothed(&losses, beta);
    let mut least = f64::INFINITY;
    let mut kept = 0;
    while smooth[kept] <= breaks * least {
        least = least.min(smooth[kept]);
        kept += 1;
    }
    run(answer, &losses, beta, breaks).check(&smooth[..kept], true)
}

pub fn continues_exactly_at_the_limit(answer: &Lesson07) -> Verdict {
    // Without smoothing, and in powers of two, nothing is rounded.
    let size = [0.5, 1.0, 2.0][draw().whole(0, 2)];
    let losses = [1.0, 4.0, 0.5, 2.0, 0.25].map(|l| l * size);
    run(answer, &losses, 0.0, 4.0).check(&losses, false)?;
    // The loss diverges at the last rate.
    let losses = [1.0, 0.5, 2.0, 2.5].map(|l| l * size);
    run(answer, &losses, 0.0, 4.0).check(&losses[..3], true)
}

pub fn stops_at_a_non_finite_loss(answer: &Lesson07) -> Verdict {
    let good = draw().whole(2, 5);
    for good in [good, 0] {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut losses: Vec<f64> = (0..good).map(|i| 2.0 - 0.2 * i as f64).collect();
            losses.extend([odd, 1.0, 1.0]);
            let ran = run(answer, &losses, 0.5, 4.0);
            ran.check(&smoothed(&losses[..good], 0.5), true)?;
            ran.suggests((good > 0).then_some(good / 3 + good / 6))?;
        }
    }
    Ok(())
}

pub fn suggests_a_rate_on_the_longest_fall(answer: &Lesson07) -> Verdict {
    let sixes = 6 * draw().whole(1, 2);
    // By the first two lengths a count that is one short is seen, by the third a plain half.
    for long in [sixes, sixes + 3, sixes + 5] {
        // A short deep fall, a long one, one as long again that goes lowest, a steep one.
        let mut losses = vec![6.0, 4.0];
        let start = losses.len();
        losses.extend((0..long).map(|i| 8.0 - 0.1 * i as f64));
        losses.extend((0..long).map(|i| 7.7 - 0.3 * i as f64));
        losses.extend([9.0, 5.0]);
        run(answer, &losses, 0.0, 100.0).suggests(Some(start + long / 3 + long / 6))?;
    }
    Ok(())
}

pub fn counts_a_fall_that_lasts_to_the_end(answer: &Lesson07) -> Verdict {
    let long = draw().whole(7, 12);
    let mut losses = vec![5.0, 4.0, 3.5, 6.0, 5.5];
    let start = losses.len();
    losses.extend((0..long).map(|i| 8.0 - 0.2 * i as f64));
    run(answer, &losses, 0.0, 100.0).suggests(Some(start + long / 3 + long / 6))
}

pub fn ends_a_fall_at_an_equal_loss(answer: &Lesson07) -> Verdict {
    let flat = draw().whole(5, 9);
    let mut losses = vec![9.0, 8.0];
    losses.extend(vec![7.0; flat]);
    losses.extend([8.0, 7.5, 6.5, 6.0, 6.5]);
    run(answer, &losses, 0.0, 100.0).suggests(Some(2 + flat + 1))
}

pub fn looks_for_the_fall_of_the_smoothed_losses(answer: &Lesson07) -> Verdict {
    // The smoothed losses fall all the time, while every second single loss rises.
    let pairs = draw().whole(3, 5);
    let mut losses = vec![6.0];
    losses.extend((0..2 * pairs).map(|i| 3.0 - 0.2 * i as f64 + 0.5 * (i % 2) as f64));
    let long = losses.len();
    run(answer, &losses, 0.8, 100.0).suggests(Some(long / 3 + long / 6))
}

pub fn suggests_nothing_without_a_fall(answer: &Lesson07) -> Verdict {
    let first = draw().number(1.0, 2.0);
    for losses in [vec![first, first, 2.5], vec![first, 2.1, 2.2, 2.3], vec![first]] {
        run(answer, &losses, 0.0, 4.0).suggests(None)?;
    }
    Ok(())
}
