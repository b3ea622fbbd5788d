//! Loss, accuracy and learning rate over the epochs.

use std::fmt::Write;

use indicatif::HumanCount;

use crate::report::html::{duration, percent};
use crate::report::svg::{LinePlot, Mark, Series};
use crate::train::{EpochRow, RunReport, Target};

/// Rows of the table of epochs; the first epochs of longer runs are in `metrics.jsonl` only.
const MOST_ROWS: usize = 500;

pub(super) fn section(out: &mut String, run: &RunReport) {
    out.push_str("<section aria-labelledby=\"curves\">\n<h2 id=\"curves\">How it learned</h2>\n");
    if run.epochs.is_empty() {
        out.push_str("<p>No epoch is completed yet.</p>\n</section>\n");
        return;
    }
    out.push_str("<div class=\"plots\">\n");
    let (objective, score) = match run.target {
        Target::Species => ("cross-entropy, nats", accuracy(run)),
        _ => ("loss of the head, nats", crps(run)),
    };
    let loss = loss(&run.epochs, objective);
    for plot in [loss, score, learning_rate(&run.epochs)] {
        let _ = writeln!(out, "<figure>{}</figure>", plot.svg());
    }
    out.push_str("</div>\n<p class=\"note\">Training values are measured in training mode: on augmented clouds, with dropout.</p>\n");
    table(out, run);
    out.push_str("</section>\n");
}

fn line(epochs: &[EpochRow], name: &str, value: impl Fn(&EpochRow) -> Option<f64>) -> Series {
    // The line bridges epochs that were not evaluated; a non-finite value interrupts it.
    Series::new(
        name,
        epochs
            .iter()
            .filter_map(|r| Some((r.epoch as f64, value(r)?)))
            .collect(),
    )
}

/// A plot of a size for three per row on a wide screen and one on a phone.
fn plot(title: &str, y_label: &str) -> LinePlot {
    LinePlot {
        size: (380.0, 290.0),
        whole_x: true,
        ..LinePlot::new(title, "epoch", y_label)
    }
}

fn loss(epochs: &[EpochRow], objective: &str) -> LinePlot {
    plot("Loss", objective)
        .with(line(epochs, "training", |r| Some(r.train_loss)))
        .with(line(epochs, "validation", |r| r.val_loss))
}

fn accuracy(run: &RunReport) -> LinePlot {
    let epochs = &run.epochs;
    let mut plot = plot("Accuracy", "share of trees classified correctly")
        .with(line(epochs, "training", |r| Some(r.train_accuracy)))
        .with(line(epochs, "validation", |r| r.val_accuracy))
        .with(line(epochs, "balanced", |r| r.val_balanced));
    plot.percent = true;
    plot.y_range = Some((0.0, 1.0));
    let best = epochs.iter().find(|r| Some(r.epoch) == run.best_epoch);
    plot.marks = best
        .and_then(|r| {
            let y = r.val_balanced?;
            Some(Mark {
                at: (r.epoch as f64, y),
                label: format!("{} at epoch {}", percent(y), r.epoch),
            })
        })
        .into_iter()
        .collect();
    plot
}

/// Of a run that predicts a number.
fn crps(run: &RunReport) -> LinePlot {
    let epochs = &run.epochs;
    let mut plot = plot("Error", "on the validation set")
        .with(line(epochs, "CRPS", |r| r.val_crps))
        .with(line(epochs, "mean absolute error", |r| r.val_error));
    plot.y_range = Some((0.0, 0.0));
    plot
}

fn learning_rate(epochs: &[EpochRow]) -> LinePlot {
    let mut plot =
        plot("Learning rate", "at the end of the epoch")
            .with(line(epochs, "learning rate", |r| Some(r.learning_rate)));
    plot.y_range = Some((0.0, 0.0));
    plot
}

fn table(out: &mut String, run: &RunReport) {
    let epochs = &run.epochs;
    let hidden = epochs.len().saturating_sub(MOST_ROWS);
    out.push_str("<details><summary>Every epoch in numbers</summary>\n");
    if hidden > 0 {
        let _ = writeln!(
            out,
            "<p class=\"note\">The first {} are in metrics.jsonl.</p>",
            HumanCount(hidden as u64)
        );
    }
    let [first, second, third] = match run.target {
        Target::Species => ["accuracy, training", "accuracy, validation", "balanced"],
        _ => [
            "in the central half, training",
            "CRPS, validation",
            "error, validation",
        ],
    };
    let _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Epochs\"><table class=\"numbers\">\n<thead><tr>\
         <th scope=\"col\">epoch</th><th scope=\"col\">loss, training</th><th scope=\"col\">loss, validation</th>\
         <th scope=\"col\">{first}</th><th scope=\"col\">{second}</th><th scope=\"col\">{third}</th>\
         <th scope=\"col\">learning rate</th><th scope=\"col\">time</th></tr></thead>\n<tbody>\n",
    );
    let some = |v: Option<f64>, text: fn(f64) -> String| v.map_or("–".into(), text);
    let loss: fn(f64) -> String = |v| format!("{v:.4}");
    for r in &epochs[hidden..] {
        let [second, third] = match run.target {
            Target::Species => [some(r.val_accuracy, percent), some(r.val_balanced, percent)],
            _ => [some(r.val_crps, loss), some(r.val_error, loss)],
        };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.2e}</td><td>{}</td></tr>",
            r.epoch,
            loss(r.train_loss),
            some(r.val_loss, loss),
            percent(r.train_accuracy),
            second,
            third,
            r.learning_rate,
            duration(r.seconds)
        );
    }
    out.push_str("</tbody></table></div></details>\n");
}
