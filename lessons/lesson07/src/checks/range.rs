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
        "rates 0.001 times powers of {factor:.4}, losses [{}], smoothing {smoothing:.3}, breaks {breaks}",
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
    ran.case
        .close("rates of the result", &ran.found.rates, &ran.rates)?;
    ran.case
        .require("broke", !ran.found.broke, "true, although nothing diverged")
}

pub fn stops_when_the_smoothed_loss_diverges(answer: &Lesson07) -> Verdict {
    // A single leap is smoothed away; twice the least smoothed loss is less than twice the first, and that less than 2
    // more: each ends the test elsewhere. The last losses would go on.
    let high = draw().number(0.9, 1.2);
    let mut losses = vec![0.4, 0.3, 0.1, 0.08, 0.06, 0.19, 0.05, 0.3];
    losses.extend([high, high, 4.0 * high, 0.01, 0.01]);
    let (beta, breaks) = (0.7, 2.0);
    let smooth = smoothed(&losses, beta);
    let mut least = f64::INFINITY;
    let mut kept = 0;
    while smooth[kept] <= breaks * least {
        least = least.min(smooth[kept]);
        kept += 1;
    }
    let ran = run(answer, &losses, beta, breaks);
    ran.case
        .close("losses", &ran.found.losses, &smooth[..kept].to_vec())?;
    ran.case.close(
        "rates of the result",
        &ran.found.rates,
        &ran.rates[..kept].to_vec(),
    )?;
    ran.case.close("number of steps", ran.asked.len(), kept + 1)?;
    ran.case.require("broke", ran.found.broke, "false")
}

pub fn stops_at_a_non_finite_loss(answer: &Lesson07) -> Verdict {
    let good = draw().whole(2, 5);
    for odd in [f64::NAN, f64::INFINITY] {
        let mut losses: Vec<f64> = (0..good).map(|i| 2.0 - 0.2 * i as f64).collect();
        losses.extend([odd, 1.0, 1.0]);
        let ran = run(answer, &losses, 0.5, 4.0);
        ran.case
            .close("losses", &ran.found.losses, &smoothed(&losses[..good], 0.5))?;
        ran.case.close("number of steps", ran.asked.len(), good + 1)?;
        ran.case.require("broke", ran.found.broke, "false")?;
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
        losses.extend((0..long).map(|i| 7.5 - 0.3 * i as f64));
        losses.extend([9.0, 5.0]);
        let ran = run(answer, &losses, 0.0, 100.0);
        let expected = ran.rates[start + long / 3 + long / 6];
        ran.case
            .close("suggestion", ran.found.suggestion.unwrap_or(f64::NAN), expected)?;
    }
    Ok(())
}

pub fn suggests_nothing_without_a_fall(answer: &Lesson07) -> Verdict {
    let first = draw().number(1.0, 2.0);
    for losses in [vec![first, first, 2.5], vec![first], vec![]] {
        let ran = run(answer, &losses, 0.0, 4.0);
        let said = format!("{:?}", ran.found.suggestion);
        ran.case
            .require("suggestion", ran.found.suggestion.is_none(), said)?;
    }
    Ok(())
}
