//! The forecasts of a run that predicts a number: scores, calibration, predicted against true values.

use std::fmt::Write;

use indicatif::HumanCount;

use crate::report::html::{escape, percent};
use crate::report::svg::{LinePlot, Series};
use crate::train::numbers::{LEVEL, NumberReport, NumberScores};

/// The main result, for the top of the page.
pub(super) fn headline(out: &mut String, number: &NumberReport) {
    let s = &number.scores;
    let place = match s.part.as_str() {
        "test" => "on plots that the model never saw",
        _ => "on plots that the model was not trained on",
    };
    let guess = s.guess_crps.map_or(String::new(), |guess| {
        format!(
            " A forecast that knows only the training values, and no tree, reaches {}.",
            quantity(guess, s)
        )
    });
    let _ = write!(
        out,
        "<div class=\"result\"><p class=\"big\">{}</p>\n<div><p class=\"lead\">mean absolute error of the {}, {place}.</p>\n\
         <p>CRPS {} over {} trees, {} set.{guess}</p></div></div>\n",
        quantity(s.mae, s),
        s.target,
        quantity(s.crps, s),
        HumanCount(s.clouds),
        escape(&s.part),
    );
}

/// The scores as facts.
pub(super) fn facts(s: &NumberScores) -> Vec<(String, String)> {
    let nll = match s.nll.is_finite() {
        true => format!("{:.3}\u{a0}nats", s.nll),
        false => "not finite".into(),
    };
    [
        ("Mean absolute error", quantity(s.mae, s)),
        ("Root mean square error", quantity(s.rmse, s)),
        ("CRPS", quantity(s.crps, s)),
        ("Negative log-likelihood", nll),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Calibration, and predicted against true values.
pub(super) fn section(out: &mut String, number: &NumberReport) {
    let s = &number.scores;
    out.push_str(
        "<section aria-labelledby=\"number\">\n<h2 id=\"number\">The forecasts</h2>\n<div class=\"plots\">\n",
    );
    for plot in [calibration(s), predicted(number)] {
        let _ = writeln!(out, "<figure>{}</figure>", plot.svg());
    }
    let _ = writeln!(
        out,
        "</div>\n<p class=\"note\">Calibration: of each central interval, the share of true values inside it; on the diagonal, \
         forecasts keep their promise, below it they are too sure. Predicted and true: medians, and the ends of the central {} \
         intervals. CRPS, the continuous ranked probability score, is the absolute error of a forecast that is a distribution; \
         lower is better.</p>\n</section>",
        percent(LEVEL)
    );
}

fn calibration(s: &NumberScores) -> LinePlot {
    let mut plot = LinePlot::new("Calibration", "probability of the interval", "true values inside")
        .with(Series::new("observed", s.calibration.clone()))
        .with(Series::new("calibrated", vec![(0.0, 0.0), (1.0, 1.0)]).dashed());
    plot.percent = true;
    plot.y_range = Some((0.0, 1.0));
    plot.size = (380.0, 290.0);
    plot
}

fn predicted(number: &NumberReport) -> LinePlot {
    let s = &number.scores;
    let label = |what: &str| format!("{what} {}, {}", s.target, s.unit);
    let points = |of: fn(&crate::train::numbers::NumberRow) -> f64| {
        number.rows.iter().map(|row| (row.truth, of(row))).collect()
    };
    let truths = || number.rows.iter().map(|row| row.truth);
    let ends = [
        truths().fold(f64::INFINITY, f64::min),
        truths().fold(f64::NEG_INFINITY, f64::max),
    ];
    LinePlot {
        size: (380.0, 290.0),
        ..LinePlot::new("Predicted and true", label("true"), label("predicted"))
    }
    .with(Series::new("median", points(|row| row.median)).dots())
    .with(Series::new("lower end", points(|row| row.lower)).dots())
    .with(Series::new("upper end", points(|row| row.upper)).dots())
    .with(Series::new("equal", ends.map(|v| (v, v)).into()).dashed())
}

fn quantity(value: f64, s: &NumberScores) -> String {
    match value.is_finite() {
        true => format!("{value:.3}\u{a0}{}", s.unit),
        false => "not finite".into(),
    }
}
