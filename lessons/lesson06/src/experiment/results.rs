//! Tables and plots of the trainings.

use canopy::{
    precision::Counts,
    report::svg::{LinePlot, Mark, Series},
};
use grader::{
    cells,
    experiment::{Value, json},
    table::{Cell, Table, count, fixed, left, percent},
};

use super::{
    train::Trained,
    ways::{POWERS, Scaling, WAYS},
};

/// Name of a format, and its trainings by the power of two that multiplied the loss.
pub type Scales = (&'static str, Vec<(i32, Trained)>);

/// A row for each of [`WAYS`].
pub fn formats(ways: &[Trained]) -> Table {
    let mut table = Table::new([
        left("trained in"),
        percent("accuracy", 1),
        fixed("last loss", 3),
        count("skipped"),
        count("loss scale"),
        percent("underflow", 3),
    ]);
    for (way, t) in WAYS.iter().zip(ways) {
        let scaled = way.scaling != Scaling::Off;
        let seen = t.gradients.seen() > 0;
        table.row(cells![
            way.name,
            t.accuracy,
            t.losses.last().copied(),
            scaled.then_some(t.left_out),
            scaled.then_some(t.scale),
            seen.then(|| t.gradients.lost_share())
        ]);
        table.only_json("losses", t.losses.clone());
        table.only_json("steps", t.steps);
        table.only_json("gradient_magnitudes", json!(t.gradients.shares()));
    }
    table
}

/// Three rows for each format, a column for each loss scale.
pub fn loss_scales(scales: &[Scales]) -> Table {
    let columns = POWERS.map(|p| count(format!("2^{p}")));
    let mut table = Table::new([left("loss times")].into_iter().chain(columns));
    for (name, trainings) in scales {
        let mut row = |head: String, cell: &dyn Fn(&Trained) -> Cell| {
            let of = |power: &i32| trainings.iter().find(|t| t.0 == *power);
            let cells = POWERS.iter().map(|p| of(p).map_or("".into(), |t| cell(&t.1)));
            table.row([head.into()].into_iter().chain(cells).collect());
        };
        let share = |s: f64| format!("{:.1} %", 100.0 * s);
        row(format!("{name}: accuracy"), &|t| t.accuracy.map(share).into());
        row(format!("{name}: underflow"), &|t| {
            share(t.gradients.lost_share()).into()
        });
        row(format!("{name}: skipped"), &|t| t.left_out.into());
    }
    table
}

/// The trainings of [`loss_scales`] in numbers.
pub fn loss_scales_json(scales: &[Scales]) -> Vec<Value> {
    let one = |name: &str, power: i32, t: &Trained| {
        json!({ "format": name, "power": power, "accuracy": t.accuracy, "losses": t.losses,
            "skipped": t.left_out, "underflow": t.gradients.lost_share() })
    };
    let all = scales.iter();
    all.flat_map(|(name, row)| row.iter().map(move |(p, t)| one(name, *p, t)))
        .collect()
}

fn of<'a>(ways: &'a [Trained], name: &str) -> Option<&'a Trained> {
    WAYS.iter().position(|w| w.name == name).map(|i| &ways[i])
}

/// Gradients by their magnitude, without and with loss scaling.
pub fn gradients(ways: &[Trained]) -> LinePlot {
    let mut plot = LinePlot::new(
        "Gradients by magnitude, before they are rounded to fp16",
        "log₂ of a gradient",
        "share of the gradients",
    );
    let points = |c: &Counts| c.shares().iter().map(|&(p, s)| (f64::from(p), s)).collect();
    for (name, way) in [("not scaled", "fp16"), ("loss scaled", "fp16, dynamic scale")] {
        if let Some(t) = of(ways, way) {
            plot = plot.with(Series::new(name, points(&t.gradients)));
        }
    }
    for (at, label) in [(-24.0, "least of fp16"), (15.99, "greatest")] {
        plot.marks.push(Mark {
            at: (at, 0.0),
            label: label.into(),
        });
    }
    (plot.percent, plot.y_range, plot.size) = (true, Some((0.0, 0.12)), (640.0, 340.0));
    plot
}

/// The loss of some of the trainings, epoch by epoch.
pub fn losses(ways: &[Trained]) -> LinePlot {
    let mut plot = LinePlot::new("Training loss", "epoch", "mean loss");
    for name in [
        "fp32",
        "bf16",
        "fp16, dynamic scale",
        "fp8, scaled tensors",
        "bf16 weights alone",
    ] {
        let all = of(ways, name).map_or(&[][..], |t| &t.losses);
        let finite = all.iter().enumerate().filter(|(_, l)| l.is_finite());
        let points: Vec<(f64, f64)> = finite.map(|(i, &l)| (i as f64 + 1.0, l)).collect();
        if !points.is_empty() {
            plot = plot.with(Series::new(name, points));
        }
    }
    (plot.whole_x, plot.size) = (true, (640.0, 340.0));
    plot
}

pub fn accuracies(scales: &[Scales]) -> LinePlot {
    let mut plot = LinePlot::new(
        "Accuracy against the loss scale",
        "log₂ of the loss scale",
        "accuracy",
    );
    for (name, trainings) in scales {
        let point = |(p, t): &(i32, Trained)| (f64::from(*p), t.accuracy.unwrap_or(0.0));
        plot = plot.with(Series::new(*name, trainings.iter().map(point).collect()));
    }
    (plot.percent, plot.y_range, plot.size) = (true, Some((0.0, 1.0)), (640.0, 340.0));
    plot
}
