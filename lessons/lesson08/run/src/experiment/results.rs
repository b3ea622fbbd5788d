//! Tables and plots of the runs, and predictions for more ranks.

use canopy::{
    report::svg::{LinePlot, Series},
    train::ranks::measure::ShortRun,
};
use grader::{
    cells,
    table::{Table, fixed, left, percent, scientific},
};
use lesson08::Lesson08;

use super::{
    messages::{Messages, Reduced},
    runs::{EACH, Runs, apart},
};

/// Numbers of ranks that are predicted.
const PREDICTED: [usize; 6] = [2, 4, 16, 128, 1024, 4096];
/// Ticks of the plots.
const TICKS: [f64; 5] = [1.0, 8.0, 64.0, 512.0, 4096.0];

/// What was measured, and the functions that predict.
pub struct Results {
    pub runs: Runs,
    pub messages: Messages,
    pub answer: Lesson08,
}

fn ms(seconds: f64) -> f64 {
    seconds * 1e3
}

fn name(run: &ShortRun) -> String {
    format!("{} rank{}", run.ranks, if run.ranks > 1 { "s" } else { "" })
}

impl Results {
    /// Predicted seconds of a ring and of a tree all-reduce of the gradients over `p` ranks.
    fn predicted(&self, p: usize) -> (f64, f64) {
        let bytes = (self.runs.shared[0].params.len() * size_of::<f32>()) as f64;
        let cost = self.messages.cost;
        (
            (self.answer.ring_seconds)(p, bytes, cost),
            (self.answer.tree_seconds)(p, bytes, cost),
        )
    }

    /// Predicted weak efficiency on `p` ranks: a ring without overlap, a ring with full overlap, a tree without overlap.
    fn efficiencies(&self, p: usize) -> [f64; 3] {
        let one = self.runs.grown[0].step;
        let (ring, tree) = self.predicted(p);
        [one + ring, one.max(ring), one + tree].map(|step| (self.answer.weak_efficiency)(one, step))
    }

    fn weak(&self, run: &ShortRun) -> f64 {
        (self.answer.weak_efficiency)(self.runs.grown[0].step, run.step)
    }

    /// MB that a step sends, and how far the parameters are from those of one rank.
    pub fn shared(&self) -> Table {
        let mut table = Table::new([
            left("ranks"),
            fixed("a step", 1).unit("ms"),
            percent("efficiency", 0),
            fixed("gradients", 3).unit("MB"),
            fixed("batch norm", 3).unit("MB"),
            scientific("off by"),
        ]);
        let others = [
            (&self.runs.at_once, "2 ranks, no overlap".to_owned()),
            (&self.runs.other_bits, "1 rank, other bits".to_owned()),
        ];
        let one = &self.runs.shared[0];
        for (run, name) in self.runs.shared.iter().map(|r| (r, name(r))).chain(others) {
            let mb = |bytes| bytes as f64 / run.stats.steps.max(1) as f64 / 1e6;
            table.row(cells![
                name,
                ms(run.step),
                (self.answer.strong_efficiency)(one.step, run.step, run.ranks),
                mb(run.stats.gradients.bytes),
                mb(run.stats.others.bytes),
                apart(run, one)
            ]);
            table.only_json("loss", run.loss);
        }
        table
    }

    /// Milliseconds that a step takes for all-reduces, and how long it waits for them.
    pub fn grown(&self) -> Table {
        let mut table = Table::new([
            left("ranks"),
            fixed("a step", 1).unit("ms"),
            percent("efficiency", 0),
            fixed("all-reduce", 2).unit("ms"),
            fixed("waited for", 2).unit("ms"),
        ]);
        for run in &self.runs.grown {
            let of_step = |seconds| ms(seconds / run.stats.steps.max(1) as f64);
            table.row(cells![
                format!("{}, batch {}", name(run), EACH * run.ranks),
                ms(run.step),
                self.weak(run),
                of_step(run.stats.communicating),
                of_step(run.stats.waited)
            ]);
            table.only_json("loss", run.loss);
        }
        table
    }

    pub fn timed(&self) -> Table {
        let mut table = Table::new([
            left("a message"),
            fixed("measured", 1).unit("µs"),
            fixed("α + β·bytes", 1).unit("µs"),
        ]);
        let cost = self.messages.cost;
        for &(bytes, seconds) in &self.messages.timed {
            table.row(cells![
                format!("{bytes:.0} bytes"),
                seconds * 1e6,
                (cost.alpha + bytes * cost.beta) * 1e6
            ]);
        }
        table
    }

    pub fn all_reduce(&self) -> Table {
        let mut table = Table::new([
            left(""),
            fixed("ring", 3).unit("ms"),
            fixed("tree", 3).unit("ms"),
            percent("efficiency", 0),
            percent("full overlap", 0),
        ]);
        for r in &self.messages.reduced {
            table.row(cells![
                format!("{} ranks, measured", r.ranks),
                ms(r.ring),
                ms(r.tree)
            ]);
        }
        for p in PREDICTED {
            let (ring, tree) = self.predicted(p);
            let [open, hidden, of_tree] = self.efficiencies(p);
            table.row(cells![
                format!("{p} ranks, predicted"),
                ms(ring),
                ms(tree),
                open,
                hidden
            ]);
            table.only_json("efficiency_of_a_tree", of_tree);
        }
        table
    }

    fn line(&self, name: &str, y: impl Fn(usize) -> f64) -> Series {
        let ranks = (1..=12).map(|i| 1usize << i);
        Series::new(name, ranks.map(|p| (p as f64, y(p))).collect())
    }

    pub fn scaling_plot(&self) -> LinePlot {
        let measured = self.runs.grown.iter().map(|r| (r.ranks as f64, self.weak(r)));
        let mut plot = LinePlot::new("Weak scaling", "ranks", "efficiency")
            .with(Series::new("measured here", measured.collect()))
            .with(self.line("ring, full overlap", |p| self.efficiencies(p)[1]))
            .with(self.line("ring, no overlap", |p| self.efficiencies(p)[0]))
            .with(
                self.line("tree, no overlap", |p| self.efficiencies(p)[2])
                    .dashed(),
            );
        (plot.log_x, plot.percent, plot.y_range) = (true, true, Some((0.0, 1.0)));
        plot.for_the_book().ticks_at(TICKS)
    }

    /// The gradients of this network, and 100 MB of gradients for comparison.
    pub fn all_reduce_plot(&self) -> LinePlot {
        let of = |name: &str, seconds: fn(&Reduced) -> f64| {
            let all = self.messages.reduced.iter();
            Series::new(name, all.map(|r| (r.ranks as f64, ms(seconds(r)))).collect())
        };
        let large = 1e8;
        let (answer, cost) = (self.answer, self.messages.cost);
        let mut plot = LinePlot::new("All-reduce of all gradients", "ranks", "ms")
            .with(of("ring, measured", |r| r.ring))
            .with(of("tree, measured", |r| r.tree))
            .with(self.line("ring, predicted", |p| ms(self.predicted(p).0)))
            .with(self.line("tree, predicted", |p| ms(self.predicted(p).1)))
            .with(
                self.line("ring, 100 MB", |p| ms((answer.ring_seconds)(p, large, cost)))
                    .dashed(),
            )
            .with(
                self.line("tree, 100 MB", |p| ms((answer.tree_seconds)(p, large, cost)))
                    .dashed(),
            );
        (plot.log_x, plot.log_y) = (true, true);
        plot.for_the_book().ticks_at(TICKS)
    }
}
