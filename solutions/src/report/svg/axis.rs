//! Axes: their ranges and ticks.

use indicatif::HumanCount;

/// An axis, which maps values to positions from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    low: f64,
    /// Above `low`.
    high: f64,
    /// Logarithmic.
    log: bool,
    /// Values with a tick, ascending.
    pub ticks: Vec<f64>,
}

impl Axis {
    /// An axis that covers `values`, with about `count` round ticks.
    ///
    /// Non-finite values are ignored, on a logarithmic axis also those not above zero. A `tight` axis ends at the values,
    /// others at the next tick outwards.
    pub fn over(values: impl Iterator<Item = f64>, log: bool, tight: bool, count: usize) -> Self {
        let usable = values.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (mut low, mut high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
            (l.min(v), h.max(v))
        });
        if low > high {
            (low, high) = if log { (0.1, 1.0) } else { (0.0, 1.0) };
        }
        // Beyond these a difference or a power would no longer be finite.
        (low, high) = (low.clamp(-1e300, 1e300), high.clamp(-1e300, 1e300));
        if log {
            Self::powers(low, high, tight, count)
        } else {
            Self::linear(low, high, tight, count)
        }
    }

    /// Its ticks with their labels.
    pub fn labelled_ticks(&self) -> Vec<(f64, String)> {
        self.ticks.iter().map(|&t| (t, tick_label(t))).collect()
    }

    fn linear(mut low: f64, mut high: f64, tight: bool, count: usize) -> Self {
        let size = low.abs().max(high.abs());
        if high - low <= 1e-12 * size.max(1e-280) {
            let pad = if size < 1e-280 { 0.5 } else { 0.5 * size };
            (low, high) = (low - pad, high + pad);
        }
        let step = nice_step((high / 2.0 - low / 2.0) * 2.0 / count.max(1) as f64);
        if !tight {
            (low, high) = (
                (low / step + 1e-9).floor() * step,
                (high / step - 1e-9).ceil() * step,
            );
        }
        let first = (low / step - 1e-9).ceil();
        let steps = ((high / step + 1e-9).floor() - first).clamp(0.0, 1000.0) as usize;
        // `+ 0.0` turns −0 into 0.
        let ticks = (0..=steps).map(|i| (first + i as f64) * step + 0.0).collect();
        Self {
            low,
            high,
            log: false,
            ticks,
        }
    }

    fn powers(low: f64, high: f64, tight: bool, count: usize) -> Self {
        let (low, high) = (low.max(1e-300), high.max(1e-300));
        let (mut from, mut to) = (low.log10(), high.log10());
        if !tight && to - from < 2.0 && to - from > 1e-9 {
            // Less than two decades: to the next 1, 2 or 5 outwards.
            (from, to) = (outwards(from, -1), outwards(to, 1));
        } else if !tight || to - from < 1e-9 {
            (from, to) = ((from + 1e-9).floor(), (to - 1e-9).ceil());
            if to <= from {
                to = from + 1.0;
            }
        }
        let every = (((to - from) / count.max(1) as f64).ceil() as i32).max(1);
        let whole = ((from - 1e-9).ceil() as i32)..=((to + 1e-9).floor() as i32);
        let mut ticks: Vec<f64> = whole.filter(|p| p % every == 0).map(|p| 10f64.powi(p)).collect();
        if to - from < 2.5 {
            // Few powers: 2 and 5 of each decade as well.
            let decades = (from.floor() as i32)..=(to.ceil() as i32);
            let all = decades.flat_map(|p| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(p)));
            let inside = |t: &f64| (from - 1e-9..=to + 1e-9).contains(&t.log10());
            ticks = all.filter(inside).collect();
        }
        Self {
            low: 10f64.powf(from),
            high: 10f64.powf(to),
            log: true,
            ticks,
        }
    }

    /// The position of `value`: 0 at `low`, 1 at `high`.
    pub fn share(&self, value: f64) -> f64 {
        let (v, l, h) = if self.log {
            (value.log10(), self.low.log10(), self.high.log10())
        } else {
            (value, self.low, self.high)
        };
        // Halves, so that a range over all of f64 stays finite.
        (v / 2.0 - l / 2.0) / (h / 2.0 - l / 2.0)
    }
}

/// The next logarithm of 1, 2 or 5 times a power of ten below `log` (direction −1) or above it (1), or `log` itself.
fn outwards(log: f64, direction: i32) -> f64 {
    let decade = log.floor();
    let all = [0.0, 2f64.log10(), 5f64.log10(), 1.0].map(|part| decade + part);
    if direction < 0 {
        all.into_iter().rev().find(|&l| l <= log + 1e-9).unwrap_or(decade)
    } else {
        all.into_iter().find(|&l| l >= log - 1e-9).unwrap_or(decade + 1.0)
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `about`.
fn nice_step(about: f64) -> f64 {
    let power = 10f64.powf(about.max(1e-300).log10().floor());
    let mut round = [1.0, 2.0, 5.0].into_iter();
    let enough = |m: &f64| m * power >= about * (1.0 - 1e-9);
    round.find(enough).unwrap_or(10.0) * power
}

/// A whole number in superscript digits.
pub fn superscript(number: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let one = |c: char| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize]);
    number.to_string().chars().map(one).collect()
}

/// The label of a tick: `0.25`, `1,500`, `2·10⁻⁵`.
pub fn tick_label(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e6).contains(&size) {
        let power = (size.log10() + 1e-9).floor();
        let mantissa = format!("{:.2}", value / 10f64.powf(power));
        let power = superscript(power as i32);
        return match mantissa.trim_end_matches('0').trim_end_matches('.') {
            "1" => format!("10{power}"),
            "-1" => format!("−10{power}"),
            mantissa => format!("{}·10{power}", mantissa.replace('-', "−")),
        };
    }
    let sign = if value < 0.0 { "−" } else { "" };
    let text = format!("{:.6}", (size * 1e6).round() / 1e6);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    format!("{sign}{}{rest}", HumanCount(whole.parse().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_and_positions_from_zero_to_one() {
        let powers = ["10⁻⁶", "10⁻⁵", "0.0001", "0.001", "0.01", "0.1", "1"];
        // Values, whether logarithmic and tight, the number of ticks wanted, and their labels.
        let halves = ["0", "0.5", "1", "1.5", "2"];
        for (values, log, tight, count, ticks) in [
            (&[0.13, 1.87][..], false, false, 5, &halves[..]),
            (&[1.0, 12.0], false, true, 6, &["2", "4", "6", "8", "10", "12"]),
            (&[2e-6, 3e-1], true, false, 6, &powers),
            (&[1.0, 40.0], true, true, 6, &["1", "2", "5", "10", "20"]),
            (&[13.3, 128.6], true, false, 5, &["10", "20", "50", "100", "200"]),
            (&[7.0], false, false, 5, &["2", "4", "6", "8", "10", "12"]),
            (&[], true, true, 5, &["0.1", "0.2", "0.5", "1"]),
        ] {
            let axis = Axis::over(values.iter().copied(), log, tight, count);
            let labels: Vec<String> = axis.ticks.iter().map(|&t| tick_label(t)).collect();
            assert_eq!(labels, ticks, "{values:?}");
            let inside = |v: &f64| (-1e-9..=1.0 + 1e-9).contains(&axis.share(*v));
            assert!(values.iter().all(inside), "{axis:?}");
            if tight && !values.is_empty() {
                assert!((axis.low - values[0]).abs() < 1e-9 && (axis.high - values[1]).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn labels_are_short() {
        let labels = [1500.0, -0.25, 2e-4, 2e-5, 2.5e7, -1e-7, 1e6].map(tick_label);
        let expected = "1,500 −0.25 0.0002 2·10⁻⁵ 2.5·10⁷ −10⁻⁷ 10⁶";
        assert_eq!(labels.join(" "), expected);
    }
}
