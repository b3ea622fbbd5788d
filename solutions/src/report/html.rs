//! What all pages share: the frame and the formats of numbers.

use anyhow::Result;
use base64::{Engine, engine::general_purpose::STANDARD};
use indicatif::HumanCount;
use minijinja::{Environment, UndefinedBehavior, Value, context, syntax::SyntaxConfig, value::Serde};
use sha2::{Digest, Sha256};

/// The whole document: a template that extends `frame.html`, and the page's scripts, in order; no other script may run. The
/// template escapes every text of `data`.
pub(super) fn render(template: &str, css: &str, scripts: &[&str], data: Value) -> Result<String> {
    let mut pages = Environment::new();
    pages.set_undefined_behavior(UndefinedBehavior::Strict);
    pages.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    pages.add_filter("percent", percent);
    pages.add_filter("decimals", decimals);
    pages.add_filter("duration", duration);
    pages.add_filter("thousands", |count: u64| HumanCount(count).to_string());
    pages.add_filter("scientific", |value: f64| format!("{value:.2e}"));
    pages.add_filter("sha256", |script: &str| {
        Value::from_safe_string(STANDARD.encode(Sha256::digest(script)))
    });
    pages.add_template("frame.html", include_str!("frame.html"))?;
    pages.add_template("page.html", template)?;
    let own = context!(css, scripts => Serde(scripts));
    Ok(pages.get_template("page.html")?.render(context!(..data, ..own))?)
}

/// A share as `87.3 %`; `–` if it is unknown or not finite.
pub(super) fn percent(share: Option<f64>) -> String {
    match share.filter(|share| share.is_finite()) {
        Some(share) => format!("{:.1}\u{a0}%", 100.0 * share),
        None => "–".into(),
    }
}

/// An interval of shares as `35 to 80 %`.
pub(super) fn interval(low: f64, high: f64) -> String {
    format!("{:.0} to {:.0}\u{a0}%", 100.0 * low, 100.0 * high)
}

/// A number with this many decimals and its unit; `–` if it is unknown.
pub(super) fn decimals(value: Option<f64>, digits: usize, unit: Option<&str>) -> String {
    match value {
        None => "–".into(),
        Some(value) if !value.is_finite() => "not finite".into(),
        Some(value) => match unit {
            Some(unit) => format!("{value:.digits$}\u{a0}{unit}"),
            None => format!("{value:.digits$}"),
        },
    }
}

/// Seconds as `8.4 s`, `1 min 52 s`, `3 h 05 min`.
pub(super) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "–".into();
    }
    if seconds < 59.95 {
        return format!("{seconds:.1}\u{a0}s");
    }
    let whole = seconds.round() as u64;
    match whole / 3600 {
        0 => format!("{}\u{a0}min {:02}\u{a0}s", whole / 60, whole % 60),
        hours => format!("{hours}\u{a0}h {:02}\u{a0}min", whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_for_readers() {
        for (got, expected) in [
            (interval(0.207, 1.0), "21 to 100\u{a0}%"),
            (percent(Some(0.8734)), "87.3\u{a0}%"),
            (percent(Some(f64::NAN)), "–"),
            (duration(8.44), "8.4\u{a0}s"),
            (duration(59.97), "1\u{a0}min 00\u{a0}s"),
            (duration(3_660.0), "1\u{a0}h 01\u{a0}min"),
            (duration(f64::INFINITY), "–"),
        ] {
            assert_eq!(got, expected);
        }
    }
}
