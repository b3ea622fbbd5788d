//! Tables and plots of the trainings.

use canopy::report::svg::{LinePlot, Mark, Series, superscript};
use grader::{
    cells,
    experiment::{Value, json},
    table::{Cell, Table, count, fixed, left, percent},
};

use super::{
    census::Counts,
    train::Trained,
    ways::{POWERS, Scaling, WAYS},
};

/// Name of a format or scale, and its trainings by the power of two that multiplied the loss.
pub type Scales = (&'static str, Vec<(i32, Trained)>);

/// A row for each of [`WAYS`], each trained with every seed.
pub fn formats(ways: &[Vec<Trained>]) -> Table {
    let mut table = Table::new([
        left("trained in"),
        percent("accuracy", 1),
        fixed("last loss", 2),
        count("skipped"),
        left("scale"),
        percent("underflow", 1),
    ]);
    for (way, seeds) in WAYS.iter().zip(ways) {
        let scaled = way.scaling != Scaling::Off;
        let seen = seeds.iter().all(|t| t.gradients.seen() > 0);
        let each = |value: fn(&Trained) -> f64| seeds.iter().map(value).collect::<Vec<_>>();
        // A training that diverged has no accuracy.
        let whole: Option<Vec<f64>> = seeds.iter().map(|t| t.accuracy).collect();
        table.row(cells![
            way.name,
            whole,
            each(|t| t.losses.last().copied().unwrap_or(f64::NAN)),
            scaled.then(|| each(|t| t.left_out as f64)),
            scaled.then(|| powers(&each(|t| t.scale))),
            seen.then(|| each(|t| t.gradients.lost_share()))
        ]);
        let list = |value: fn(&Trained) -> Value| seeds.iter().map(value).collect::<Vec<_>>();
        table.only_json("scales", list(|t| json!(t.scale)));
        table.only_json("losses", list(|t| json!(t.losses)));
        table.only_json("steps", list(|t| json!(t.steps)));
        table.only_json("gradient_magnitudes", list(|t| json!(t.gradients.shares())));
    }
    table
}

/// Loss scales, powers of two, as `2¹⁵–2¹⁷`.
fn powers(scales: &[f64]) -> String {
    let power = |scale: f64| format!("2{}", superscript(scale.log2() as i32));
    let least = power(scales.iter().copied().fold(f64::INFINITY, f64::min));
    let greatest = power(scales.iter().copied().fold(0.0, f64::max));
    if least == greatest {
        least
    } else {
        format!("{least}–{greatest}")
    }
}

/// Three rows for each format, a column for each loss scale.
pub fn loss_scales(scales: &[Scales]) -> Table {
    let columns = POWERS.map(|p| count(format!("2{}", superscript(p))));
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

/// The training of `name` with the first seed.
fn of<'a>(ways: &'a [Vec<Trained>], name: &str) -> Option<&'a Trained> {
    let at = WAYS.iter().position(|w| w.name == name)?;
    ways[at].first()
}

/// Gradients by their magnitude, without and with loss scaling.
pub fn gradients(ways: &[Vec<Trained>]) -> LinePlot {
    let mut plot = LinePlot::new(
        "Magnitudes of the gradients",
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
    (plot.percent, plot.y_range) = (true, Some((0.0, 0.12)));
    plot.for_the_book()
}

/// The loss of some of the trainings, epoch by epoch.
pub fn losses(ways: &[Vec<Trained>]) -> LinePlot {
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
    plot.whole_x = true;
    plot.for_the_book()
}

pub fn accuracies(scales: &[Scales]) -> LinePlot {
    let mut plot = LinePlot::new(
        "Accuracy against the loss scale",
        "factor of the loss",
        "accuracy",
    );
    for (name, trainings) in scales {
        // A training that took no step has no accuracy, and no point.
        let point = |(p, t): &(i32, Trained)| Some((f64::from(*p), t.accuracy?));
        plot = plot.with(Series::new(*name, trainings.iter().filter_map(point).collect()));
    }
    (plot.percent, plot.y_range) = (true, Some((0.0, 1.0)));
    plot.x_ticks = POWERS
        .map(|p| (f64::from(p), format!("2{}", superscript(p))))
        .into();
    plot.for_the_book()
}
