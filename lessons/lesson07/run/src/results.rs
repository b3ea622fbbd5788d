//! Tables of the trainings, and plots of the range test and of the schedules.

use canopy::{
    report::svg::{LinePlot, Mark, Series},
    schedule::{Decay, OneCycle, RangeFound, cosine_with_warmup},
};
use kit::table::{Column, Table, Value, json, left};
use lesson07::Lesson07;

use crate::{
    BATCHES,
    train::{Cure, Trained},
};

/// A way of training, and its results: for each batch size those of every seed.
pub type Row = (Cure, Vec<Vec<Trained>>);

/// A row for each cure, a column for each batch size.
pub fn table(heading: &str, rows: &[Row], column: fn(String) -> Column, value: fn(&Trained) -> f64) -> Table {
    let columns = BATCHES.map(|batch| column(format!("batch {batch}")));
    let mut table = Table::new([left(heading)].into_iter().chain(columns));
    for (cure, sizes) in rows {
        let each = |seeds: &Vec<Trained>| seeds.iter().map(value).collect::<Value>();
        let name = json!(cure.name());
        table.row(
            [name]
                .into_iter()
                .chain(sizes.iter().map(each))
                .collect::<Value>(),
        );
    }
    table
}

/// The learning rate of 100 steps by exercises 7.1 to 7.3, and by canopy's cosine, all with a peak of 1.
pub fn schedules_plot(answer: &Lesson07) -> LinePlot {
    let cycle = OneCycle::new(1.0, 100);
    let rates: [(&str, &dyn Fn(u64) -> f64); 5] = [
        ("warm-up (7.1)", &|step| {
            (answer.scaled_warmup)(step, 20, 0.25, 64, 16)
        }),
        ("one cycle (7.2)", &|step| {
            (answer.one_cycle)(&cycle, step).map_or(f64::NAN, |(rate, _)| rate)
        }),
        ("step (7.3)", &|step| {
            (answer.decayed)(&Decay::Step(25), step, 0.5, 1.0)
        }),
        ("exponential (7.3)", &|step| {
            (answer.decayed)(&Decay::Exponential, step, 0.97, 1.0)
        }),
        ("cosine", &|step| cosine_with_warmup(step, 0, 100, 1.0, 0.0)),
    ];
    let mut plot = LinePlot::new("The learning rate by schedule", "step", "rate / peak");
    for (name, rate) in rates {
        let line = Series::new(name, (0..100).map(|step| (step as f64, rate(step))).collect());
        plot = plot.with(if name.ends_with("(7.3)") {
            line.dashed()
        } else {
            line
        });
    }
    plot.for_the_book()
}

pub fn range_plot(range: &RangeFound) -> LinePlot {
    let points = range.rates.iter().copied().zip(range.losses.iter().copied());
    let mut plot = LinePlot::new("Range test", "learning rate", "smoothed loss")
        .with(Series::new("SGD, batch 32", points.clone().collect()));
    let suggested = points.clone().find(|point| Some(point.0) == range.suggestion);
    plot.marks.extend(suggested.map(|at| Mark {
        at,
        label: format!("suggestion {:.4}", at.0),
    }));
    plot.log_x = true;
    plot.for_the_book()
}
