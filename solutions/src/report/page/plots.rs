//! The plots of a run's page.

use crate::report::{
    html::percent,
    svg::{LinePlot, Mark, Series},
};
use crate::train::{
    EpochRow, RunReport, Target,
    numbers::{NumberReport, NumberRow},
};

/// A plot of a size for three per row on a wide screen and one on a phone.
fn plot(title: &str, x_label: &str, y_label: &str) -> LinePlot {
    LinePlot {
        size: (380.0, 290.0),
        ..LinePlot::new(title, x_label, y_label)
    }
}

/// Loss, score and learning rate over the epochs.
pub(super) fn curves(run: &RunReport) -> Vec<String> {
    // A line bridges epochs that were not evaluated; a non-finite value interrupts it.
    let line = |name: &str, value: fn(&EpochRow) -> Option<f64>| {
        let epochs = run.epochs.iter();
        let points = epochs.filter_map(|r| Some((r.epoch as f64, value(r)?)));
        Series::new(name, points.collect())
    };
    let of_species = run.target == Target::Species;
    let objective = match of_species {
        true => "cross-entropy, nats",
        false => "loss of the head, nats",
    };
    let loss = plot("Loss", "epoch", objective)
        .with(line("training", |r| Some(r.train_loss)))
        .with(line("validation", |r| r.val_loss));
    let mut score = plot("Error", "epoch", "on the validation set")
        .with(line("CRPS", |r| r.val_crps))
        .with(line("mean absolute error", |r| r.val_error));
    score.y_range = Some((0.0, 0.0));
    if of_species {
        score = plot("Accuracy", "epoch", "share of trees classified correctly")
            .with(line("training", |r| Some(r.train_accuracy)))
            .with(line("validation", |r| r.val_accuracy))
            .with(line("balanced", |r| r.val_balanced));
        (score.percent, score.y_range) = (true, Some((0.0, 1.0)));
        let best = run.epochs.iter().find(|r| Some(r.epoch) == run.best_epoch);
        score.marks.extend(best.and_then(|r| {
            Some(Mark {
                at: (r.epoch as f64, r.val_balanced?),
                label: format!("{} at epoch {}", percent(r.val_balanced), r.epoch),
            })
        }));
    }
    let mut rate = plot("Learning rate", "epoch", "at the end of the epoch")
        .with(line("learning rate", |r| Some(r.learning_rate)));
    rate.y_range = Some((0.0, 0.0));
    let plots = [loss, score, rate].map(|mut plot| {
        plot.whole_x = true;
        plot.svg()
    });
    plots.into()
}

/// Calibration, and predicted against true values.
pub(super) fn forecasts(number: &NumberReport) -> Vec<String> {
    let s = &number.scores;
    let mut calibration = plot("Calibration", "probability of the interval", "true values inside")
        .with(Series::new("observed", s.calibration.clone()))
        .with(Series::new("calibrated", vec![(0.0, 0.0), (1.0, 1.0)]).dashed());
    (calibration.percent, calibration.y_range) = (true, Some((0.0, 1.0)));
    let dots = |name: &str, value: fn(&NumberRow) -> f64| {
        let points = number.rows.iter().map(|row| (row.truth, value(row)));
        Series::new(name, points.collect()).dots()
    };
    let truths = || number.rows.iter().map(|row| row.truth);
    let (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
    let ends = [truths().fold(low, f64::min), truths().fold(high, f64::max)];
    let label = |what: &str| format!("{what} {}, {}", s.target, s.unit);
    let predicted = plot("Predicted and true", &label("true"), &label("predicted"))
        .with(dots("median", |row| row.forecast.median))
        .with(dots("lower end", |row| row.forecast.lower))
        .with(dots("upper end", |row| row.forecast.upper))
        .with(Series::new("equal", ends.map(|v| (v, v)).into()).dashed());
    [calibration.svg(), predicted.svg()].into()
}
