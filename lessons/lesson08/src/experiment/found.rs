//! What the experiment found, as tables, JSON and plots.

use std::fmt::Write;

use canopy::{
    report::svg::{LinePlot, Series},
    train::ranks::measure::ShortRun,
};
use lesson08::Lesson08;
use serde_json::{Value, json};

use super::{
    messages::Messages,
    runs::{EACH, POINTS, Runs, SHARED},
};

/// Ranks that are predicted.
const PREDICTED: [usize; 6] = [2, 4, 16, 128, 1024, 4096];

/// All of it.
pub struct Found {
    pub seed: u64,
    pub clouds: usize,
    pub runs: Runs,
    pub messages: Messages,
    pub answer: Lesson08,
    pub seconds: f64,
}

fn ms(seconds: f64) -> f64 {
    seconds * 1e3
}

/// Of a run's step: gradients sent, all else sent, in MB; sums of gradients, and of that what was waited for, in ms.
fn of_step(run: &ShortRun) -> [f64; 4] {
    let steps = run.stats.steps.max(1) as f64;
    let (gradients, others) = (run.stats.gradients.bytes as f64, run.stats.others.bytes as f64);
    [
        gradients / steps / 1e6,
        others / steps / 1e6,
        ms(run.stats.communicating / steps),
        ms(run.stats.waited / steps),
    ]
}

impl Found {
    fn bytes(&self) -> f64 {
        (self.runs.shared[0].params.len() * size_of::<f32>()) as f64
    }

    /// Predicted seconds of a ring and of a tree all-reduce of the gradients over `p` ranks.
    fn predicted(&self, p: usize) -> (f64, f64) {
        let (bytes, cost) = (self.bytes(), self.messages.cost);
        (
            (self.answer.ring_seconds)(p, bytes, cost),
            (self.answer.tree_seconds)(p, bytes, cost),
        )
    }

    /// Predicted weak efficiency on `p` ranks: nothing of the ring hidden, as much as can be, and a tree with nothing hidden.
    fn efficiencies(&self, p: usize) -> [f64; 3] {
        let one = self.runs.grown[0].step;
        let (ring, tree) = self.predicted(p);
        [one + ring, one.max(ring), one + tree].map(|step| (self.answer.weak_efficiency)(one, step))
    }

    pub fn tables(&self) -> String {
        let mut out = format!(
            "A half-wide PointNet of {} parameters, {} trees of {POINTS} points, {} steps;\neach rank has one thread.\n\n",
            self.runs.shared[0].params.len(),
            self.clouds,
            self.runs.shared[0].steps
        );
        let _ = writeln!(
            out,
            "{:<22}{:>9}{:>12}{:>12}{:>12}{:>11}",
            format!("shared: batches of {SHARED}"),
            "a step",
            "efficiency",
            "gradients",
            "batch norm",
            "off by"
        );
        let name = |run: &ShortRun| format!("{} rank{}", run.ranks, if run.ranks > 1 { "s" } else { "" });
        let others = [
            (&self.runs.at_once, "2 ranks, no overlap".to_owned()),
            (&self.runs.other_bits, "1 rank, other bits".to_owned()),
        ];
        for (run, name) in self.runs.shared.iter().map(|run| (run, name(run))).chain(others) {
            let [gradients, others, ..] = of_step(run);
            let efficiency = (self.answer.strong_efficiency)(self.runs.shared[0].step, run.step, run.ranks);
            let _ = writeln!(
                out,
                "  {name:<20}{:>6.1} ms{:>10.0} %{gradients:>9.3} MB{others:>9.3} MB{:>11.1e}",
                ms(run.step),
                100.0 * efficiency,
                run.apart(&self.runs.shared[0]),
            );
        }
        let _ = writeln!(
            out,
            "\n{:<22}{:>9}{:>12}{:>12}{:>12}",
            format!("grown: {EACH} a rank"),
            "a step",
            "efficiency",
            "sums",
            "waited for"
        );
        for run in &self.runs.grown {
            let [.., sums, waited] = of_step(run);
            let efficiency = (self.answer.weak_efficiency)(self.runs.grown[0].step, run.step);
            let _ = writeln!(
                out,
                "  {:<20}{:>6.1} ms{:>10.0} %{sums:>9.2} ms{waited:>9.2} ms",
                format!("batch {}, {}", EACH * run.ranks, name(run)),
                ms(run.step),
                100.0 * efficiency,
            );
        }
        self.costs(&mut out);
        out
    }

    fn costs(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "\n{:<22}{:>12}{:>12}",
            "a message", "measured", "α + β·bytes"
        );
        let cost = self.messages.cost;
        for &(bytes, seconds) in &self.messages.timed {
            let _ = writeln!(
                out,
                "  {:<20}{:>9.1} µs{:>9.1} µs",
                format!("{bytes:.0} bytes"),
                seconds * 1e6,
                (cost.alpha + bytes * cost.beta) * 1e6
            );
        }
        let _ = writeln!(
            out,
            "  α = {:.1} µs, β = {:.2} ns a byte ({:.1} GB/s)\n",
            cost.alpha * 1e6,
            cost.beta * 1e9,
            1e-9 / cost.beta
        );
        let _ = writeln!(
            out,
            "{:<22}{:>12}{:>12}{:>14}{:>14}",
            "sum of all gradients", "ring", "tree", "efficiency", "all hidden"
        );
        for r in &self.messages.reduced {
            let _ = writeln!(
                out,
                "  {:<20}{:>9.3} ms{:>9.3} ms",
                format!("{} ranks, measured", r.ranks),
                ms(r.ring),
                ms(r.tree)
            );
        }
        for p in PREDICTED {
            let (ring, tree) = self.predicted(p);
            let [open, hidden, _] = self.efficiencies(p).map(|e| 100.0 * e);
            let _ = writeln!(
                out,
                "  {:<20}{:>9.3} ms{:>9.3} ms{open:>12.0} %{hidden:>12.0} %",
                format!("{p} ranks, predicted"),
                ms(ring),
                ms(tree),
            );
        }
        let _ = writeln!(out, "\n{:.0} s in all.", self.seconds);
    }

    pub fn json(&self) -> Value {
        let run = |r: &ShortRun| {
            let [gradients, others, sums, waited] = of_step(r);
            json!({
                "ranks": r.ranks, "step_ms": ms(r.step), "steps": r.steps, "loss": r.loss,
                "gradients_mb": gradients, "others_mb": others, "sums_ms": sums, "waited_ms": waited,
                "off_by": r.apart(&self.runs.shared[0]),
            })
        };
        let runs = |all: &[ShortRun]| all.iter().map(run).collect::<Vec<_>>();
        let predicted = |&p: &usize| {
            let ((ring, tree), [open, hidden, of_tree]) = (self.predicted(p), self.efficiencies(p));
            json!({
                "ranks": p, "ring_ms": ms(ring), "tree_ms": ms(tree),
                "efficiency": { "ring": open, "ring_hidden": hidden, "tree": of_tree },
            })
        };
        let reduced = self.messages.reduced.iter();
        json!({
            "seed": self.seed,
            "parameters": self.runs.shared[0].params.len(),
            "shared": runs(&self.runs.shared),
            "grown": runs(&self.runs.grown),
            "without_overlap": run(&self.runs.at_once),
            "other_bits": run(&self.runs.other_bits),
            "messages": self.messages.timed,
            "alpha": self.messages.cost.alpha,
            "beta": self.messages.cost.beta,
            "all_reduce": reduced.map(|r| json!({
                "ranks": r.ranks, "ring_ms": ms(r.ring), "tree_ms": ms(r.tree),
            })).collect::<Vec<_>>(),
            "predicted": PREDICTED.iter().map(predicted).collect::<Vec<_>>(),
            "seconds": self.seconds,
        })
    }

    pub fn plots(&self) -> [(&'static str, LinePlot); 2] {
        let ranks: Vec<usize> = (1..=12).map(|i| 1 << i).collect();
        let line = |name: &str, y: &dyn Fn(usize) -> f64| {
            Series::new(name, ranks.iter().map(|&p| (p as f64, y(p))).collect())
        };
        let measured = |name: &str, points: Vec<(f64, f64)>| Series::new(name, points);
        let mut scaling = LinePlot::new("Weak scaling, measured and predicted", "ranks", "efficiency");
        let efficiency = |r: &ShortRun| {
            let found = (self.answer.weak_efficiency)(self.runs.grown[0].step, r.step);
            (r.ranks as f64, found)
        };
        scaling = scaling
            .with(measured(
                "measured here",
                self.runs.grown.iter().map(efficiency).collect(),
            ))
            .with(line("ring, all hidden", &|p| self.efficiencies(p)[1]))
            .with(line("ring, nothing hidden", &|p| self.efficiencies(p)[0]))
            .with(line("tree, nothing hidden", &|p| self.efficiencies(p)[2]).dashed());
        (scaling.log_x, scaling.percent, scaling.y_range) = (true, true, Some((0.0, 1.0)));
        scaling.size = (640.0, 360.0);
        let mut sums = LinePlot::new("Sum of all gradients over the ranks", "ranks", "milliseconds");
        let of = |pick: fn(&super::messages::Reduced) -> f64| {
            let all = self.messages.reduced.iter();
            all.map(|r| (r.ranks as f64, ms(pick(r)))).collect()
        };
        // As a hundred million bytes of gradients would be.
        let large = 1e8;
        let (answer, cost) = (self.answer, self.messages.cost);
        sums = sums
            .with(measured("ring, measured", of(|r| r.ring)))
            .with(measured("tree, measured", of(|r| r.tree)))
            .with(line("ring", &|p| ms(self.predicted(p).0)))
            .with(line("tree", &|p| ms(self.predicted(p).1)))
            .with(line("ring, 100 MB", &|p| ms((answer.ring_seconds)(p, large, cost))).dashed())
            .with(line("tree, 100 MB", &|p| ms((answer.tree_seconds)(p, large, cost))).dashed());
        (sums.log_x, sums.log_y) = (true, true);
        sums.size = (760.0, 360.0);
        [("scaling.svg", scaling), ("sums.svg", sums)]
    }
}
