//! The summary of a recording, as text and as JSON.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Value, json};

use super::{COMPUTE_BOUND, Kind, Pattern, Shares, Timeline, Total, amdahl, name_pattern, totals};

/// The device's copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Copies {
    /// Nanoseconds.
    pub ns: u64,
    /// Share of the time that kernels and copies take together.
    pub share: f64,
}

/// A summary of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Nanoseconds.
    pub wall: u64,
    /// The pattern, if there are spans to decide by.
    pub pattern: Option<Pattern>,
    /// The evidence.
    pub shares: Shares,
    /// Copies.
    pub copies: Copies,
    /// Times of the first lane and of the device by name, the greatest self time first.
    pub totals: Vec<Total>,
    /// How many times as fast the run would be if only kernels took time.
    pub limit: f64,
    /// Spans over the limit, which were not recorded.
    pub dropped: u64,
}

impl Summary {
    /// Summarises a recording.
    pub fn of(timeline: &Timeline) -> Self {
        let shares = timeline.shares();
        let own: Vec<_> = timeline
            .spans
            .iter()
            .filter(|s| s.lane == 0 || timeline.lanes.get(s.lane).is_some_and(|l| l.device))
            .cloned()
            .collect();
        let flat = timeline.flat();
        let time = |kind: Kind| super::pattern::covered(flat.iter().filter(|s| s.kind == kind));
        let (copies, kernels) = (time(Kind::Copy), time(Kind::Kernel));
        Self {
            wall: timeline.wall,
            pattern: name_pattern(&flat, timeline.wall),
            shares,
            copies: Copies {
                ns: copies,
                share: copies as f64 / (copies + kernels).max(1) as f64,
            },
            totals: totals(&own),
            limit: amdahl(1.0 - shares.kernel, 1.0).limit,
            dropped: timeline.dropped,
        }
    }

    /// The pattern with its evidence, then a table of `rows` names.
    pub fn text(&self, rows: usize) -> String {
        let mut out = String::new();
        let pattern = self.pattern.map_or(
            "no pattern, because there are no spans to decide by".into(),
            |p| p.to_string(),
        );
        let _ = writeln!(out, "profile of {}: {pattern}", duration(self.wall));
        let s = &self.shares;
        for (what, share) in [
            ("kernels", s.kernel),
            ("launching", s.launch),
            ("waiting for the device", s.wait),
            ("waiting for data", s.load),
            ("copying", s.copy),
            ("other", s.other),
        ] {
            let _ = writeln!(out, "  {what:<24}{:>6.1} %", 100.0 * share);
        }
        let _ = writeln!(
            out,
            "  compute bound means {:.0} % kernels or more; if only kernels took time: {:.2} × as fast; copies: {:.1} % of the device's time",
            100.0 * COMPUTE_BOUND,
            self.limit,
            100.0 * self.copies.share
        );
        if let Some(pattern) = self.pattern {
            let _ = writeln!(out, "  {}", pattern.advice());
        }
        if self.dropped > 0 {
            let _ = writeln!(
                out,
                "  {} later spans were over the limit and not recorded",
                self.dropped
            );
        }
        let width = self.totals.iter().take(rows).map(|t| t.name.chars().count());
        let width = width.max().unwrap_or(4).clamp(4, 48);
        let _ = writeln!(
            out,
            "\n{:<width$} {:>8} {:>10} {:>10} {:>7}",
            "span", "calls", "total", "self", "self %"
        );
        for t in self.totals.iter().take(rows) {
            let name: String = t.name.chars().take(width).collect();
            let _ = writeln!(
                out,
                "{name:<width$} {:>8} {:>10} {:>10} {:>7.1}",
                t.calls,
                duration(t.total),
                duration(t.own),
                100.0 * t.own as f64 / self.wall.max(1) as f64
            );
        }
        out
    }

    /// The same as JSON; times in nanoseconds.
    pub fn json(&self) -> Value {
        let row = |t: &Total| json!({ "name": t.name, "calls": t.calls, "total": t.total, "self": t.own });
        json!({
            "wall": self.wall,
            "pattern": self.pattern,
            "shares": self.shares,
            "copies": self.copies,
            "limit": if self.limit.is_finite() { json!(self.limit) } else { Value::Null },
            "advice": self.pattern.map(Pattern::advice),
            "dropped": self.dropped,
            "spans": self.totals.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

/// Formats nanoseconds: `12.3 s`, `4.56 ms`, `7.89 µs`.
pub(crate) fn duration(ns: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Lane, Span};

    #[test]
    fn a_summary_contains_the_pattern_its_evidence_and_advice() {
        let lane = |name: &str, device| Lane {
            name: name.into(),
            device,
        };
        let timeline = Timeline {
            lanes: vec![lane("main", false), lane("device", true)],
            spans: vec![
                Span::new("step", Kind::Other, 0, 0, 1000),
                Span::new("next batch", Kind::Load, 0, 0, 600),
                Span::new("forward", Kind::Launch, 0, 700, 750),
                Span::new("gemm", Kind::Kernel, 1, 710, 910),
                Span::new("to device", Kind::Copy, 0, 600, 650),
            ],
            wall: 1000,
            dropped: 3,
        };
        let summary = Summary::of(&timeline);
        assert_eq!(summary.pattern, Some(Pattern::Input));
        assert!((summary.limit - 5.0).abs() < 1e-9);
        assert_eq!(summary.copies, Copies { ns: 50, share: 0.2 });
        let text = summary.text(3);
        for part in [
            "input bound",
            "60.0 %",
            "--workers",
            "3 later spans",
            "next batch",
            "5.00 ×",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("forward"), "three rows were asked for: {text}");
        assert_eq!(summary.json()["spans"][0]["self"], 600);
    }

    #[test]
    fn durations_are_short() {
        for (ns, text) in [
            (0, "0 ns"),
            (950, "950 ns"),
            (12_340, "12.3 µs"),
            (4_560_000, "4.56 ms"),
            (123_400_000_000, "123 s"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }
}
