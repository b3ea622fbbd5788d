//! Tables and plots of the trainings.

use canopy::{
    precision::{FP16, FP32, bytes_per_parameter},
    report::svg::{LinePlot, Series},
    shard::Stage,
};
use grader::{
    cells,
    table::{Table, count, fixed, left, scientific},
};
use lesson09::Lesson09;

use super::train::{BATCH, Found, STEPS, Way};

/// A training of one way on some ranks.
pub struct Row {
    pub way: Way,
    pub ranks: usize,
    pub found: Found,
}

/// Returns the name of a way.
pub fn name(way: Way) -> String {
    match way {
        Way::Stage(stage) => stage.to_string(),
        Way::Engine => "engine".into(),
    }
}

/// The stage of a way, for predictions. The engine accumulates whole gradients, as stage 1 keeps them.
fn stage(way: Way) -> Stage {
    match way {
        Way::Stage(stage) => stage,
        Way::Engine => Stage::Zero1,
    }
}

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

impl Row {
    /// KiB in the lists that a rank keeps.
    fn kept(&self) -> f64 {
        kib(4 * self.found.kept.iter().sum::<usize>() as u64)
    }

    fn predicted(&self, answer: &Lesson09, parameters: u64) -> f64 {
        let each = bytes_per_parameter(FP32, 2);
        let bytes = (answer.bytes_per_rank)(parameters, each, stage(self.way), self.ranks as u64);
        kib(bytes.iter().sum())
    }

    /// The largest difference of a step's loss from that of `other`.
    pub fn apart(&self, other: &Self) -> f64 {
        let pairs = self.found.losses.iter().zip(&other.found.losses);
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }
}

/// The losses: at the start, at the end, and apart from one rank with data parallelism.
pub fn losses(rows: &[Row]) -> Table {
    let mut table = Table::new([
        left("ranks"),
        left(""),
        fixed("first loss", 4),
        fixed("last loss", 4),
        scientific("off by"),
    ]);
    for row in rows {
        let losses = &row.found.losses;
        table.row(cells![
            row.ranks.to_string(),
            name(row.way),
            losses.first().copied().unwrap_or_default(),
            losses.last().copied().unwrap_or_default(),
            row.apart(&rows[0])
        ]);
        table.only_json("seconds", row.found.seconds);
    }
    table
}

/// What a rank keeps and sends.
pub fn memory(answer: &Lesson09, rows: &[Row], parameters: u64) -> Table {
    let mut table = Table::new([
        left("ranks"),
        left(""),
        fixed("kept", 1).unit("KiB"),
        fixed("predicted", 1).unit("KiB"),
        fixed("briefly", 1).unit("KiB"),
        count("sent a step"),
        count("predicted sent"),
    ]);
    for row in rows {
        table.row(cells![
            row.ranks.to_string(),
            name(row.way),
            row.kept(),
            row.predicted(answer, parameters),
            kib(4 * row.found.briefly as u64),
            row.found.sent / STEPS as u64,
            (answer.numbers_sent)(parameters, stage(row.way), row.ranks as u64)
        ]);
    }
    table
}

/// The parts of the parameters that each of four ranks owns.
pub fn slices(answer: &Lesson09, sizes: &[usize]) -> Table {
    let mut table = Table::new([left("rank"), left("owns"), count("parameters")]);
    for rank in 0..4 {
        let slices = (answer.slices_of_rank)(sizes, rank, 4);
        let part = |s: &canopy::shard::Slice| {
            let kind = ["W", "b"][s.param % 2];
            format!("{kind}{} {:?}", s.param / 2, s.range)
        };
        let owns: Vec<String> = slices.iter().map(part).collect();
        let numbers: usize = slices.iter().map(|s| s.range.len()).sum();
        table.row(cells![rank.to_string(), owns.join(", "), numbers]);
    }
    table
}

/// A model that needs sharding: 7.5 billion parameters on 64 ranks, in mixed precision with Adam.
pub fn large(answer: &Lesson09) -> Table {
    let mut table = Table::new([
        left(""),
        fixed("weights", 1).unit("GB"),
        fixed("gradients", 1).unit("GB"),
        fixed("optimizer", 1).unit("GB"),
        fixed("sum", 1).unit("GB"),
        fixed("sent a step", 1).unit("GB"),
    ]);
    let each = bytes_per_parameter(FP16, 2);
    let (parameters, ranks) = (7_500_000_000, 64);
    for stage in Stage::ALL {
        let bytes = (answer.bytes_per_rank)(parameters, each, stage, ranks);
        let [weights, gradients, optimizer] = bytes.map(|b| b as f64 / 1e9);
        // Two bytes a number.
        let sent = 2.0 * (answer.numbers_sent)(parameters, stage, ranks) as f64 / 1e9;
        let sum = weights + gradients + optimizer;
        table.row(cells![
            stage.to_string(),
            weights,
            gradients,
            optimizer,
            sum,
            sent
        ]);
    }
    table
}

/// Memory by stage, counted and predicted.
pub fn memory_plot(answer: &Lesson09, rows: &[Row], parameters: u64) -> LinePlot {
    let mut plot = LinePlot::new("Kept by a rank", "stage", "KiB");
    for ranks in [1, 2, 4] {
        let of = |value: &dyn Fn(&Row) -> f64| {
            let own = rows.iter().filter(|r| r.ranks == ranks && r.way != Way::Engine);
            own.map(|r| (f64::from(stage(r.way) as u8), value(r))).collect()
        };
        let s = if ranks > 1 { "s" } else { "" };
        plot = plot
            .with(
                Series::new(
                    format!("{ranks} rank{s}, predicted"),
                    of(&|r| r.predicted(answer, parameters)),
                )
                .dashed(),
            )
            .with(Series::new(format!("{ranks} rank{s}, counted"), of(&Row::kept)).dots());
    }
    plot.for_the_book().ticks_at([0.0, 1.0, 2.0, 3.0])
}

/// The losses of one rank as a line, and those of all ways on four ranks on it.
pub fn loss_plot(rows: &[Row]) -> LinePlot {
    let points = |row: &Row, every: usize, from: usize| {
        let all = row.found.losses.iter().enumerate();
        let some = all.filter(|(i, _)| i % every == from);
        some.map(|(i, loss)| (i as f64, *loss)).collect()
    };
    let mut plot = LinePlot::new(format!("Loss of each step, batch {BATCH}"), "step", "loss")
        .with(Series::new("1 rank", points(&rows[0], 1, 0)));
    for (i, row) in rows.iter().filter(|r| r.ranks == 4).enumerate() {
        // Each way at its own steps, so that all can be seen.
        plot = plot.with(Series::new(format!("4 ranks, {}", name(row.way)), points(row, 15, 3 * i)).dots());
    }
    plot.for_the_book()
}
