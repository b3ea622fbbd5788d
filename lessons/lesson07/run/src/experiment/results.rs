//! Tables and plots of the trainings.

use canopy::{
    report::svg::{LinePlot, Mark, Series},
    schedule::RangeFound,
};
use grader::{
    experiment::{Value, json},
    table::{Cell, Column, Table, fixed, left, percent},
};

use super::train::{Cure, Trained, sharpness};
use crate::BATCHES;

/// One way of training at one batch size, with every seed.
pub struct Row {
    pub cure: Cure,
    pub batch: usize,
    pub seeds: Vec<Trained>,
}

impl Row {
    fn each(&self, value: fn(&Trained) -> f64) -> Vec<f64> {
        self.seeds.iter().map(value).collect()
    }

    fn mean(&self, value: fn(&Trained) -> f64) -> f64 {
        self.each(value).iter().sum::<f64>() / self.seeds.len() as f64
    }
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
    table(
        "accuracy",
        rows,
        |batch| percent(batch, 1),
        |r| r.each(|t| t.accuracy).into(),
    )
}

pub fn loss(rows: &[Row]) -> Table {
    table(
        "last training loss",
        rows,
        |batch| fixed(batch, 3),
        |r| r.each(|t| t.loss).into(),
    )
}

pub fn sharpnesses(rows: &[Row]) -> Table {
    let cell = |r: &Row| r.each(|t| sharpness(&t.around)).into();
    table("sharpness", rows, |batch| fixed(batch, 3), cell)
}

/// What the tables do not show.
pub fn json(rows: &[Row]) -> Vec<Value> {
    let one = |r: &Row, t: &Trained| json!({ "remedy": r.cure.name(), "batch": r.batch, "steps": t.steps, "around": t.around });
    let all = rows.iter();
    all.flat_map(|r| r.seeds.iter().map(|t| one(r, t))).collect()
}

pub fn accuracy_plot(rows: &[Row]) -> LinePlot {
    let mut plot = LinePlot::new("Accuracy against batch size", "batch size", "accuracy");
    for of in rows.chunk_by(|a, b| a.cure == b.cure) {
        let points = of
            .iter()
            .map(|r| (r.batch as f64, r.mean(|t| t.accuracy)))
            .collect();
        plot = plot.with(Series::new(of[0].cure.name(), points));
    }
    (plot.log_x, plot.percent) = (true, true);
    plot.for_the_book().ticks_at(BATCHES.map(|b| b as f64))
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
            label: format!("suggestion {rate:.4}"),
        });
    }
    plot.log_x = true;
    plot.for_the_book()
}

/// The loss around the weights of the trainings at the same rate, of the first seed.
pub fn sharpness_plot(rows: &[Row]) -> LinePlot {
    let mut plot = LinePlot::new(
        "Loss around the trained weights",
        "α along a random direction",
        "loss",
    );
    let shown = rows.iter().filter(|r| r.cure == Cure::None);
    for row in shown {
        let points = row.seeds.first().map_or_else(Vec::new, |t| t.around.clone());
        plot = plot.with(Series::new(format!("batch {}", row.batch), points));
    }
    plot.for_the_book()
}
