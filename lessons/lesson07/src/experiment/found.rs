//! What the experiment found, as tables, JSON and plots.

use std::fmt::Write;

use canopy::{
    report::svg::{LinePlot, Mark, Series},
    schedule::RangeFound,
};
use serde_json::{Value, json};

use super::{
    accumulate::{LARGE, MICRO},
    train::{Cure, sharpness},
};

/// One training.
pub struct Row {
    pub cure: Cure,
    pub batch: usize,
    pub steps: u64,
    pub loss: f64,
    pub accuracy: f64,
    /// α and loss; nothing where training came apart.
    pub around: Vec<(f64, f64)>,
}

/// All of it.
pub struct Found {
    pub seed: u64,
    pub batches: Vec<usize>,
    pub rows: Vec<Row>,
    pub range: RangeFound,
    /// Without batch norm, with it.
    pub apart: (f64, f64),
    pub seconds: f64,
}

impl Found {
    fn of(&self, cure: Cure) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |r| r.cure == cure)
    }

    /// A table of what `cell` gives of each training.
    fn table(&self, title: &str, cell: impl Fn(&Row) -> String) -> String {
        let mut out = format!("{title:<24}");
        for batch in &self.batches {
            let _ = write!(out, "{:>11}", format!("batch {batch}"));
        }
        out.push('\n');
        for cure in Cure::ALL {
            let _ = write!(out, "  {:<22}", cure.name());
            self.of(cure).for_each(|row| {
                let _ = write!(out, "{:>11}", cell(row));
            });
            out.push('\n');
        }
        out.push('\n');
        out
    }

    pub fn tables(&self) -> String {
        let mut out = self.table("named rightly", |r| format!("{:.1} %", 100.0 * r.accuracy));
        out += &self.table("last training loss", |r| format!("{:.3}", r.loss));
        out += &self.table("sharpness", |r| match r.around.as_slice() {
            [] => "–".into(),
            around => format!("{:.3}", sharpness(around)),
        });
        let (last, least) = (self.range.rates.last(), self.range.losses.iter().copied());
        let _ = writeln!(
            out,
            "Range test of SGD in batches of 32:\n{} steps, the last at a rate of {}{};\nleast smoothed loss {:.3}; suggestion {}.\n",
            self.range.rates.len(),
            last.map_or("–".into(), |r| grader::number(*r)),
            if self.range.broke { ", then it broke" } else { "" },
            least.fold(f64::INFINITY, f64::min),
            self.range.suggestion.map_or("none".into(), |r| format!("{r:.4}")),
        );
        let _ = writeln!(
            out,
            "Gradient of {LARGE} clouds against that of micro-batches of {MICRO}, relative difference:\n\
             without batch norm {:.1e}, with batch norm {:.2}.\n\n{:.0} s in all.",
            self.apart.0, self.apart.1, self.seconds
        );
        out
    }

    pub fn json(&self) -> Value {
        let row = |r: &Row| {
            json!({
                "cure": r.cure.name(), "batch": r.batch, "steps": r.steps, "loss": r.loss,
                "accuracy": r.accuracy, "around": r.around,
                "sharpness": (!r.around.is_empty()).then(|| sharpness(&r.around)),
            })
        };
        json!({
            "seed": self.seed,
            "trainings": self.rows.iter().map(row).collect::<Vec<_>>(),
            "range_test": {
                "rates": self.range.rates, "losses": self.range.losses,
                "suggestion": self.range.suggestion, "broke": self.range.broke,
            },
            "accumulation": { "without_batch_norm": self.apart.0, "with_batch_norm": self.apart.1 },
            "seconds": self.seconds,
        })
    }

    pub fn plots(&self) -> Vec<(&'static str, LinePlot)> {
        let mut accuracy = LinePlot::new(
            "Accuracy against batch size",
            "clouds of a batch",
            "named rightly",
        );
        for cure in Cure::ALL {
            let points = self.of(cure).map(|r| (r.batch as f64, r.accuracy)).collect();
            accuracy = accuracy.with(Series::new(cure.name(), points));
        }
        (accuracy.log_x, accuracy.percent, accuracy.y_range) = (true, true, Some((0.0, 1.0)));
        accuracy.size = (640.0, 360.0);
        let mut range = LinePlot::new("Range test", "learning rate", "smoothed loss");
        let points = self
            .range
            .rates
            .iter()
            .copied()
            .zip(self.range.losses.iter().copied());
        range = range.with(Series::new("SGD, batch 32", points.collect()));
        if let Some(rate) = self.range.suggestion {
            let at = self.range.rates.iter().position(|r| *r == rate);
            let loss = at.map_or(f64::NAN, |at| self.range.losses[at]);
            range.marks.push(Mark {
                at: (rate, loss),
                label: format!("suggestion {rate:.3}"),
            });
        }
        (range.log_x, range.size) = (true, (640.0, 320.0));
        let mut around = LinePlot::new(
            "Loss around the end of training",
            "α along a random direction",
            "loss",
        );
        for row in self.of(Cure::WarmUp).filter(|r| !r.around.is_empty()) {
            around = around.with(Series::new(format!("batch {}", row.batch), row.around.clone()));
        }
        around.size = (640.0, 340.0);
        vec![
            ("07-accuracy.svg", accuracy),
            ("07-range.svg", range),
            ("07-sharpness.svg", around),
        ]
    }
}
