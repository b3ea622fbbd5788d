//! What the experiment found, as tables, JSON and plots.

use std::fmt::Write;

use canopy::report::svg::{LinePlot, Series};
use serde_json::{Value, json};

use super::{
    leakage::Split,
    padding::Lengths,
    thinning::Thinned,
    waiting::{POOLS, Row},
};

/// All of it.
pub struct Found {
    pub seed: u64,
    pub points: usize,
    /// Of the file, bytes, by format.
    pub sizes: Vec<(&'static str, u64)>,
    pub rates: Vec<Row>,
    pub waits: Vec<Row>,
    pub thinned: Vec<Thinned>,
    pub padded: Lengths,
    pub splits: Vec<Split>,
    pub seconds: f64,
}

const FORMATS: [&str; 4] = ["text", "LAZ", "LAS", "shard"];

/// A row a format, a column a pool.
fn table(title: &str, rows: &[Row], cell: impl Fn(&Row) -> String) -> String {
    let mut out = format!("{title:<26}");
    for (workers, ahead) in POOLS {
        let name = if workers == 0 {
            "none".into()
        } else {
            format!("{workers}, {ahead}")
        };
        let _ = write!(out, "{name:>9}");
    }
    out.push('\n');
    for format in FORMATS {
        let _ = write!(out, "  {format:<24}");
        rows.iter().filter(|r| r.format == format).for_each(|row| {
            let _ = write!(out, "{:>9}", cell(row));
        });
        out.push('\n');
    }
    out.push('\n');
    out
}

fn mean(list: &[f64]) -> f64 {
    list.iter().sum::<f64>() / list.len().max(1) as f64
}

impl Found {
    pub fn tables(&self) -> String {
        let size = |s: &(&str, u64)| format!("{} {:.2} MB", s.0, s.1 as f64 / 1e6);
        let sizes: Vec<String> = self.sizes.iter().map(size).collect();
        let mut out = format!(
            "A scan of {} points as a file:\n{}.\nA batch is 4 clouds of 1,024 points. Columns: workers, batches ahead.\n\n",
            self.points,
            sizes.join(", ")
        );
        out += &table("clouds/s, loading alone", &self.rates, |r| {
            format!("{:.0}", r.rate)
        });
        out += &table("clouds/s, training", &self.waits, |r| format!("{:.0}", r.rate));
        out += &table("the trainer waits", &self.waits, |r| {
            format!("{:.0} %", 100.0 * r.waited)
        });
        let _ = writeln!(
            out,
            "{:<32}{:>8}{:>10}{:>12}{:>12}",
            "to 1,024 points", "kept", "seconds", "mean hole", "worst hole"
        );
        for t in &self.thinned {
            let _ = writeln!(
                out,
                "  {:<30}{:>8}{:>10.4}{:>10.2} m{:>10.2} m",
                t.name, t.kept, t.seconds, t.mean, t.worst
            );
        }
        let p = &self.padded;
        let _ = writeln!(
            out,
            "\nTrees thinned to a point each half metre: {} to {} points, half of them under {}.\n\n{:<26}{:>9}{:>12}{:>12}{:>9}",
            p.least, p.most, p.middle, "batches of 8", "batches", "padding", "an epoch", "loss"
        );
        for row in &p.rows {
            let _ = writeln!(
                out,
                "  {:<24}{:>9}{:>10.1} %{:>10.2} s{:>9.3}",
                row.name,
                row.batches,
                100.0 * row.share,
                row.seconds,
                row.loss
            );
        }
        let _ = writeln!(
            out,
            "\n{:<12}{:>6}{:>13}{:>13}{:>11}   each time",
            "split", "groups", "trees seen", "plots seen", "accuracy"
        );
        for s in &self.splits {
            let each: Vec<String> = s.accuracy.iter().map(|a| format!("{:.1}", 100.0 * a)).collect();
            let _ = writeln!(
                out,
                "  {:<10}{:>6}{:>11.0} %{:>11.0} %{:>9.1} %   {}",
                s.name,
                s.groups,
                100.0 * s.trees_seen,
                100.0 * s.plots_seen,
                100.0 * mean(&s.accuracy),
                each.join("  ")
            );
        }
        let _ = writeln!(out, "\n{:.0} s in all.", self.seconds);
        out
    }

    pub fn json(&self) -> Value {
        let pool = |r: &Row| {
            json!({
                "format": r.format, "workers": r.workers, "ahead": r.ahead, "clouds_per_second": r.rate,
                "waited_share": r.waited,
            })
        };
        let thinned = |t: &Thinned| {
            json!({
                "way": t.name, "kept": t.kept, "seconds": t.seconds, "mean_hole_m": t.mean, "worst_hole_m": t.worst,
            })
        };
        json!({
            "seed": self.seed,
            "points": self.points,
            "bytes": self.sizes.iter().map(|s| json!({ "format": s.0, "bytes": s.1 })).collect::<Vec<_>>(),
            "loading": self.rates.iter().map(pool).collect::<Vec<_>>(),
            "training": self.waits.iter().map(pool).collect::<Vec<_>>(),
            "thinned": self.thinned.iter().map(thinned).collect::<Vec<_>>(),
            "lengths": [self.padded.least, self.padded.middle, self.padded.most],
            "padding": self.padded.rows.iter().map(|r| json!({
                "way": r.name, "batches": r.batches, "padded_share": r.share, "seconds": r.seconds, "loss": r.loss,
            })).collect::<Vec<_>>(),
            "splits": self.splits.iter().map(|s| json!({
                "split": s.name, "groups": s.groups, "trees_seen": s.trees_seen, "plots_seen": s.plots_seen,
                "accuracy": s.accuracy,
            })).collect::<Vec<_>>(),
            "seconds": self.seconds,
        })
    }

    pub fn plots(&self) -> Vec<(&'static str, LinePlot)> {
        // Of the pools only those with two batches a worker, and none: the number of workers is the axis.
        let line = |rows: &[Row], format: &str, y: fn(&Row) -> f64| -> Vec<(f64, f64)> {
            let of = rows
                .iter()
                .filter(|r| r.format == format && r.ahead == 2 * r.workers);
            of.map(|r| (r.workers as f64, y(r))).collect()
        };
        let mut rates = LinePlot::new("Clouds a second, loading alone", "workers", "clouds/s");
        let mut waits = LinePlot::new("The trainer waits", "workers", "share of the time");
        for format in FORMATS {
            rates = rates.with(Series::new(format, line(&self.rates, format, |r| r.rate)));
            waits = waits.with(Series::new(format, line(&self.waits, format, |r| r.waited)));
        }
        (rates.log_y, rates.whole_x, rates.size) = (true, true, (640.0, 340.0));
        (waits.percent, waits.whole_x, waits.size) = (true, true, (640.0, 340.0));
        waits.y_range = Some((0.0, 1.0));
        vec![("03-rates.svg", rates), ("03-waiting.svg", waits)]
    }
}
