//! Tables and plots.

use anyhow::Result;
use canopy::report::svg::{LinePlot, Mark, Series};
use grader::table::{Cell, Table, count, fixed, left, percent, scientific};

use super::{
    forests::ForestKind,
    heads::Head,
    sites::{Learned, Update},
    train::{LEVELS, Network, Scores},
};

/// A forest, a head, and the scores of each seed.
pub struct Row {
    pub forest: ForestKind,
    pub head: Head,
    pub seeds: Vec<Scores>,
}

impl Row {
    fn each(&self, value: fn(&Scores) -> f64) -> Cell {
        self.seeds.iter().map(value).collect::<Vec<_>>().into()
    }
}

/// A row for each head, a column for each forest; the last row is the true distribution.
pub fn scores(heading: &str, rows: &[Row], value: fn(&Scores) -> f64, truth: Option<[Vec<f64>; 4]>) -> Table {
    let columns = ForestKind::ALL.map(|forest| fixed(forest.name(), 3));
    let mut table = Table::new([left(heading)].into_iter().chain(columns));
    for head in Head::ALL {
        let own = rows.iter().filter(|r| r.head == head);
        let name = Cell::from(head.name().as_str());
        table.row([name].into_iter().chain(own.map(|r| r.each(value))).collect());
    }
    if let Some(truth) = truth {
        let cells = truth.into_iter().map(Cell::from);
        table.row([Cell::from("the truth")].into_iter().chain(cells).collect());
    }
    table
}

/// The share of targets in the intervals of 50 and 90 %.
pub fn coverage(rows: &[Row]) -> Table {
    let columns = ForestKind::ALL.map(|forest| percent(forest.name(), 1));
    let mut table = Table::new([left("inside")].into_iter().chain(columns));
    for (level, value) in [("50 %", inside_50 as fn(&Scores) -> f64), ("90 %", inside_90)] {
        for head in Head::ALL {
            let own = rows.iter().filter(|r| r.head == head);
            let name = Cell::from(format!("{level}, {}", head.name()).as_str());
            table.row([name].into_iter().chain(own.map(|r| r.each(value))).collect());
        }
    }
    table
}

fn inside_50(scores: &Scores) -> f64 {
    scores.coverage[4]
}

fn inside_90(scores: &Scores) -> f64 {
    scores.coverage[8]
}

/// Scores by the number of bins.
pub fn bins(rows: &[Row]) -> Table {
    let mut table = Table::new([
        count("bins"),
        left("forest"),
        fixed("NLL", 3),
        fixed("CRPS", 3),
        fixed("error of the median", 3),
    ]);
    for row in rows {
        let Head::Bins(bins) = row.head else { continue };
        table.row(vec![
            Cell::from(bins),
            Cell::from(row.forest.name()),
            row.each(|s| s.nll),
            row.each(|s| s.crps),
            row.each(|s| s.error),
        ]);
    }
    table
}

/// How often the intervals contained the truth, over all seeds.
pub fn calibration_plot(rows: &[Row], forest: ForestKind) -> LinePlot {
    let title = format!("Calibration, {}", forest.name());
    let mut plot = LinePlot::new(title, "nominal level of the interval", "share of targets inside");
    for row in rows.iter().filter(|r| r.forest == forest) {
        let mean = |i: usize| row.seeds.iter().map(|s| s.coverage[i]).sum::<f64>() / row.seeds.len() as f64;
        let points = LEVELS.iter().enumerate().map(|(i, &level)| (level, mean(i)));
        plot = plot.with(Series::new(row.head.name(), points.collect()));
    }
    plot = plot.with(Series::new("calibrated", vec![(0.0, 0.0), (1.0, 1.0)]).dashed());
    plot.percent = true;
    plot.for_the_book()
}

/// The densities of all heads for one x, and the mean that the squared error gives.
pub fn density_plot(forest: ForestKind, networks: &[(Head, Network)], x: f64) -> Result<LinePlot> {
    let mut plot = LinePlot::new(
        format!("Forecasts, {}", forest.name()),
        "target, m",
        "density, per m",
    );
    let at = |i: i32| 5.0 + 0.1 * f64::from(i);
    for (head, network) in networks {
        let forecast = network.forecasts(&[x])?.remove(0);
        let points = (0..280).map(|i| (at(i), network.density(&forecast, at(i))));
        plot = plot.with(Series::new(head.name(), points.collect()));
        if *head == Head::SquaredError {
            let mean = network.mean(&forecast);
            plot.marks.push(Mark {
                at: (mean, network.density(&forecast, mean)),
                label: format!("mean {mean:.1}"),
            });
        }
    }
    let truth = (0..280).map(|i| (at(i), forest.density(x, at(i))));
    plot = plot.with(Series::new("the truth", truth.collect()).dashed());
    Ok(plot.for_the_book())
}

/// One row for each optimizer and rate.
pub fn sites(rows: &[(Update, f64, Vec<Learned>)]) -> Table {
    let mut table = Table::new([
        left("Adam"),
        scientific("rate"),
        fixed("error, rare", 3),
        fixed("error, common", 3),
        percent("unseen", 1),
        fixed("rows a step", 0),
    ]);
    for (update, rate, seeds) in rows {
        let each = |value: fn(&Learned) -> f64| Cell::from(seeds.iter().map(value).collect::<Vec<_>>());
        table.row(vec![
            Cell::from(update.name()),
            Cell::from(*rate),
            each(|l| l.rare),
            each(|l| l.common),
            each(|l| l.unseen),
            each(|l| l.changed),
        ]);
    }
    table
}

/// The row of one rare site, step by step.
pub fn trace_plot(rows: &[(Update, &Learned)]) -> LinePlot {
    let mut plot = LinePlot::new("The row of a rare site", "step", "its value");
    for (update, learned) in rows {
        let points = learned.trace.iter().enumerate();
        let points = points.map(|(step, v)| (step as f64, *v)).collect();
        plot = plot.with(Series::new(update.name(), points));
    }
    if let Some((_, learned)) = rows.first() {
        let end = learned.trace.len() as f64;
        let truth = vec![(0.0, learned.effect), (end, learned.effect)];
        plot = plot.with(Series::new("the truth", truth).dashed());
        // On the axis: on a line of a trace they would not be visible.
        let seen = learned.seen_at.iter().map(|&step| (step as f64, 0.0));
        plot = plot.with(Series::new("the batch had it", seen.collect()).dots());
    }
    plot.for_the_book()
}
