//! The summary of a recording, as text and as JSON.

use serde::Serialize;

use super::{
    COMPUTE_BOUND, Kind, Pattern, Shares, Span, Timeline, Total, amdahl, name_pattern, parents,
    span::covered, totals,
};

/// A summary of a recording, whose JSON has times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Nanoseconds.
    pub wall: u64,
    /// The pattern, if there are spans to decide by.
    pub pattern: Option<Pattern>,
    /// The evidence.
    pub shares: Shares,
    /// The share of the device's copies in the time that kernels and copies take together.
    pub copies: f64,
    /// How many times as fast the run would be if only kernels took time; infinite, in JSON null, without other time.
    pub limit: f64,
    /// How to speed up such a run.
    pub advice: Option<&'static str>,
    /// Spans over the limit, which were not recorded.
    pub dropped: u64,
    /// Times of the first lane and of the device by name, the greatest self time first.
    #[serde(rename = "spans")]
    pub totals: Vec<Total>,
}

impl Summary {
    /// Summarises a recording.
    pub fn of(timeline: &Timeline) -> Self {
        let shares = timeline.shares();
        let shown = |s: &&Span| s.lane == 0 || timeline.is_device(s.lane);
        let shown: Vec<_> = timeline.spans.iter().filter(shown).cloned().collect();
        let flat = timeline.flat();
        let time = |kind: Kind| covered(flat.iter().filter(|s| s.kind == kind));
        let (copies, kernels) = (time(Kind::Copy), time(Kind::Kernel));
        let pattern = name_pattern(&flat, timeline.wall);
        Self {
            wall: timeline.wall,
            pattern,
            shares,
            copies: copies as f64 / (copies + kernels).max(1) as f64,
            limit: amdahl(1.0 - shares.kernel, 1.0).limit,
            advice: pattern.map(Pattern::advice),
            dropped: timeline.dropped,
            totals: totals(&shown, &parents(&shown)),
        }
    }

    /// The pattern with its evidence, then a table of `rows` names.
    pub fn text(&self, rows: usize) -> String {
        let pattern = match self.pattern {
            Some(pattern) => pattern.to_string(),
            None => "no pattern, because there are no spans to decide by".to_owned(),
        };
        let mut lines = vec![format!("profile of {}: {pattern}", duration(self.wall))];
        let s = &self.shares;
        for (what, share) in [
            ("kernels", s.kernel),
            ("launching", s.launch),
            ("waiting for the device", s.wait),
            ("waiting for data", s.load),
            ("copying", s.copy),
            ("other", s.other),
        ] {
            lines.push(format!("  {what:<24}{:>6.1} %", 100.0 * share));
        }
        lines.push(format!(
            "  compute bound means {:.0} % kernels or more; if only kernels took time: {:.2} × as fast; copies: {:.1} % of the device's time",
            100.0 * COMPUTE_BOUND,
            self.limit,
            100.0 * self.copies
        ));
        lines.extend(self.advice.map(|advice| format!("  {advice}")));
        if self.dropped > 0 {
            lines.push(format!(
                "  {} later spans were over the limit and not recorded",
                self.dropped
            ));
        }
        let shown = &self.totals[..rows.min(self.totals.len())];
        let widths = shown.iter().map(|t| t.name.chars().count());
        let width = widths.max().unwrap_or(4).clamp(4, 48);
        let columns = ["calls", "total", "self", "self %"].map(String::from);
        let row = |name: &str, [calls, total, own, share]: [String; 4]| {
            format!("{name:<width$.width$} {calls:>8} {total:>10} {own:>10} {share:>7}")
        };
        lines.push(format!("\n{}", row("span", columns)));
        lines.extend(shown.iter().map(|t| {
            let share = format!("{:.1}", 100.0 * t.own as f64 / self.wall.max(1) as f64);
            row(
                &t.name,
                [t.calls.to_string(), duration(t.total), duration(t.own), share],
            )
        }));
        lines.join("\n") + "\n"
    }
}

/// Formats nanoseconds: `12.3 s`, `4.56 ms`, `7.89 µs`.
fn duration(ns: u64) -> String {
    let (value, unit) = match ns as f64 {
        n if n >= 1e9 => (n / 1e9, "s"),
        n if n >= 1e6 => (n / 1e6, "ms"),
        n if n >= 1e3 => (n / 1e3, "µs"),
        n => (n, "ns"),
    };
    let digits = match value {
        v if v >= 100.0 || unit == "ns" => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}
