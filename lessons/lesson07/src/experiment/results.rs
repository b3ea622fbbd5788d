//! Tables and plots of the trainings.

use canopy::{
    report::svg::{LinePlot, Mark, Series},
    schedule::RangeFound,
};
use grader::{
    experiment::{Value, json},
    table::{Cell, Column, Table, fixed, left, percent},
};

use super::train::{Cure, sharpness};
use crate::BATCHES;

/// One training.
pub struct Row {
    pub cure: Cure,
    pub batch: usize,
    pub steps: u64,
    pub loss: f64,
    pub accuracy: f64,
    /// α and the loss there; empty if the training diverged.
    pub around: Vec<(f64, f64)>,
}

/// A row for each remedy, a column for each batch size.
fn table(heading: &str, rows: &[Row], column: fn(String) -> Column, cell: fn(&Row) -> Cell) -> Table {
    let columns = BATCHES.map(|batch| column(format!("batch {batch}")));
    let mut table = Table::new([left(heading)].into_iter().chain(columns));
    for of in rows.chunk_by(|a, b| a.cure == b.cure) {
        let name = Cell::from(of[0].cure.name());
        table.row([name].into_iter().chain(of.iter().map(cell)).collect());
    }
    table
}

pub fn accuracy(rows: &[Row]) -> Table {
    table("accuracy", rows, |batch| percent(batch, 1), |r| r.accuracy.into())
}

pub fn loss(rows: &[Row]) -> Table {
    table(
        "last training loss",
        rows,
        |batch| fixed(batch, 3),
        |r| r.loss.into(),
    )
}

pub fn sharpnesses(rows: &[Row]) -> Table {
    let cell = |r: &Row| (!r.around.is_empty()).then(|| sharpness(&r.around)).into();
    table("sharpness", rows, |batch| fixed(batch, 3), cell)
}

/// What the tables do not show.
pub fn json(rows: &[Row]) -> Vec<Value> {
    let one =
        |r: &Row| json!({ "remedy": r.cure.name(), "batch": r.batch, "steps": r.steps, "around": r.around });
    rows.iter().map(one).collect()
}

pub fn accuracy_plot(rows: &[Row]) -> LinePlot {
    let mut plot = LinePlot::new("Accuracy against batch size", "batch size", "accuracy");
    for of in rows.chunk_by(|a, b| a.cure == b.cure) {
        let points = of.iter().map(|r| (r.batch as f64, r.accuracy)).collect();
        plot = plot.with(Series::new(of[0].cure.name(), points));
    }
    (plot.log_x, plot.percent, plot.y_range) = (true, true, Some((0.0, 1.0)));
    plot.size = (640.0, 360.0);
    plot
}

pub fn range_plot(range: &RangeFound) -> LinePlot {
    let mut plot = LinePlot::new("Range test", "learning rate", "smoothed loss");
    let points = range.rates.iter().copied().zip(range.losses.iter().copied());
    plot = plot.with(Series::new("SGD, batch 32", points.collect()));
    if let Some(rate) = range.suggestion {
        let at = range.rates.iter().position(|r| *r == rate);
        let loss = at.map_or(f64::NAN, |at| range.losses[at]);
        plot.marks.push(Mark {
            at: (rate, loss),
            label: format!("suggestion {rate:.3}"),
        });
    }
    (plot.log_x, plot.size) = (true, (640.0, 320.0));
    plot
}

/// The loss around the weights of the trainings with a warm-up.
pub fn sharpness_plot(rows: &[Row]) -> LinePlot {
    let mut plot = LinePlot::new(
        "Loss around the trained weights",
        "α along a random direction",
        "loss",
    );
    let shown = rows.iter().filter(|r| r.cure == Cure::WarmUp);
    for row in shown.filter(|r| !r.around.is_empty()) {
        plot = plot.with(Series::new(format!("batch {}", row.batch), row.around.clone()));
    }
    plot.size = (640.0, 340.0);
    plot
}
