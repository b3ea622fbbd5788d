//! Tables of the trainings.

use canopy::report::svg::superscript;
use kit::table::{Table, Value, count, fixed, json, left, percent};

use super::{
    train::Trained,
    ways::{POWERS, SCALED, Scaling, WAYS},
};

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
    for ((name, _, scaling, _), seeds) in WAYS.into_iter().zip(ways) {
        let scaled = scaling != Scaling::Off;
        let each = |value: fn(&Trained) -> f64| seeds.iter().map(value).collect::<Vec<_>>();
        // A training that diverged has no accuracy.
        let whole: Option<Vec<f64>> = seeds.iter().map(|t| t.accuracy).collect();
        let underflow: Option<Vec<f64>> = seeds.iter().map(|t| t.underflow).collect();
        table.row(json!([
            name,
            whole,
            each(|t| t.loss),
            scaled.then(|| each(|t| t.skipped as f64)),
            scaled.then(|| powers(&each(|t| t.scale))),
            underflow
        ]));
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

/// Three rows for each of [`SCALED`], a column for each loss scale.
pub fn loss_scales(all: &[Vec<Trained>]) -> Table {
    let columns = POWERS.map(|p| count(format!("2{}", superscript(p))));
    let mut table = Table::new([left("loss times")].into_iter().chain(columns));
    for ((name, ..), trainings) in SCALED.iter().zip(all) {
        let mut row = |what: &str, cell: &dyn Fn(&Trained) -> Value| {
            let head = json!(format!("{name}: {what}"));
            table.row(
                [head]
                    .into_iter()
                    .chain(trainings.iter().map(cell))
                    .collect::<Value>(),
            );
        };
        let share = |s: f64| format!("{:.1} %", 100.0 * s);
        row("accuracy", &|t| t.accuracy.map(share).into());
        row("underflow", &|t| t.underflow.map(share).into());
        row("skipped", &|t| t.skipped.into());
    }
    table
}
