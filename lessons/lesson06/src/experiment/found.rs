//! What the experiment found, as tables, JSON and plots.

use std::fmt::Write;

use canopy::{
    precision::Counts,
    report::svg::{LinePlot, Mark, Series},
};
use serde_json::{Value, json};

use super::{
    train::Trained,
    ways::{POWERS, Scaling, WAYS},
};

/// All of it.
pub struct Found {
    pub seed: u64,
    /// As [`WAYS`].
    pub ways: Vec<Trained>,
    /// Format's name, and its trainings by the power of two that the loss was multiplied by.
    pub scales: Vec<(&'static str, Vec<(i32, Trained)>)>,
    pub layers: Value,
    pub seconds: f64,
}

fn percent(share: Option<f64>) -> String {
    share.map_or("–".into(), |a| format!("{:.1} %", 100.0 * a))
}

impl Found {
    pub fn tables(&self) -> String {
        let mut out = format!(
            "{:<24}{:>14}{:>11}{:>10}{:>8}{:>12}\n",
            "trained in", "named rightly", "last loss", "left out", "scale", "gone to 0"
        );
        for (way, t) in WAYS.iter().zip(&self.ways) {
            let last = t.losses.last().copied().unwrap_or(f64::NAN);
            let scaled = way.scaling != Scaling::Off;
            let seen = t.gradients.seen() > 0;
            let _ = writeln!(
                out,
                "  {:<22}{:>14}{last:>11.3}{:>10}{:>8}{:>12}",
                way.name,
                percent(t.accuracy),
                if scaled {
                    t.left_out.to_string()
                } else {
                    "–".into()
                },
                if scaled { t.scale.to_string() } else { "–".into() },
                if seen {
                    format!("{:.3} %", 100.0 * t.gradients.lost_share())
                } else {
                    "–".into()
                },
            );
        }
        let _ = write!(out, "\n{:<14}", "loss times");
        POWERS.iter().for_each(|p| {
            let _ = write!(out, "{:>9}", format!("2^{p}"));
        });
        for (name, row) in &self.scales {
            let mut line = |head: &str, cell: &dyn Fn(&Trained) -> String| {
                let _ = write!(out, "\n  {head:<12}");
                for power in POWERS {
                    let of = row.iter().find(|r| r.0 == power).map(|r| cell(&r.1));
                    let _ = write!(out, "{:>9}", of.unwrap_or_default());
                }
            };
            line(name, &|t| percent(t.accuracy));
            line("  gone to 0", &|t| percent(Some(t.gradients.lost_share())));
            line("  left out", &|t| t.left_out.to_string());
        }
        out.push_str("\n\n");
        out
    }

    pub fn json(&self) -> Value {
        let one = |t: &Trained| {
            json!({
                "accuracy": t.accuracy, "losses": t.losses, "steps": t.steps, "left_out": t.left_out,
                "scale": t.scale, "gone_to_0": t.gradients.lost_share(), "sizes": t.gradients.shares(),
            })
        };
        let ways = WAYS.iter().zip(&self.ways);
        let scales = self.scales.iter().map(|(name, row)| {
            let row = row.iter().map(|(p, t)| json!({ "power": p, "training": one(t) }));
            json!({ "format": name, "scales": row.collect::<Vec<_>>() })
        });
        json!({
            "seed": self.seed,
            "ways": ways.map(|(w, t)| json!({ "way": w.name, "training": one(t) })).collect::<Vec<_>>(),
            "loss_scales": scales.collect::<Vec<_>>(),
            "products": self.layers,
            "seconds": self.seconds,
        })
    }

    fn of(&self, name: &str) -> Option<&Trained> {
        WAYS.iter().position(|w| w.name == name).map(|i| &self.ways[i])
    }

    pub fn plots(&self) -> Vec<(&'static str, LinePlot)> {
        vec![
            ("06-gradients.svg", self.gradients()),
            ("06-losses.svg", self.losses()),
            ("06-scales.svg", self.accuracies()),
        ]
    }

    /// Gradients by their size, not scaled and scaled.
    fn gradients(&self) -> LinePlot {
        let mut plot = LinePlot::new(
            "Gradients by size, before they are rounded to fp16",
            "log₂ of a gradient",
            "share of the gradients",
        );
        let points = |c: &Counts| c.shares().iter().map(|&(p, s)| (f64::from(p), s)).collect();
        for (name, way) in [("as they are", "fp16"), ("loss scaled", "fp16, dynamic scale")] {
            if let Some(t) = self.of(way) {
                plot = plot.with(Series::new(name, points(&t.gradients)));
            }
        }
        for (at, label) in [(-24.0, "least of fp16"), (15.99, "greatest")] {
            plot.marks.push(Mark {
                at: (at, 0.0),
                label: label.into(),
            });
        }
        (plot.percent, plot.y_range, plot.size) = (true, Some((0.0, 0.12)), (640.0, 340.0));
        plot
    }

    fn losses(&self) -> LinePlot {
        let mut plot = LinePlot::new("Loss in training", "epoch", "mean loss");
        for (way, t) in WAYS.iter().zip(&self.ways) {
            let finite = t.losses.iter().enumerate().filter(|(_, l)| l.is_finite());
            let points: Vec<(f64, f64)> = finite.map(|(i, &l)| (i as f64 + 1.0, l)).collect();
            let shown = [
                "fp32",
                "bf16",
                "fp16, dynamic scale",
                "fp8, scaled tensors",
                "bf16 weights alone",
            ];
            if shown.contains(&way.name) && !points.is_empty() {
                plot = plot.with(Series::new(way.name, points));
            }
        }
        (plot.whole_x, plot.size) = (true, (640.0, 340.0));
        plot
    }

    fn accuracies(&self) -> LinePlot {
        let mut plot = LinePlot::new(
            "Accuracy against the loss scale",
            "log₂ of what the loss is multiplied by",
            "named rightly",
        );
        for (name, row) in &self.scales {
            let points = row
                .iter()
                .map(|(p, t)| (f64::from(*p), t.accuracy.unwrap_or(0.0)))
                .collect();
            plot = plot.with(Series::new(*name, points));
        }
        (plot.percent, plot.y_range, plot.size) = (true, Some((0.0, 1.0)), (640.0, 340.0));
        plot
    }
}
