//! Penalties for late submissions.

use std::str::FromStr;

use anyhow::{Context, Error, Result};
use grader::grades::{Grade, Late, Status};
use jiff::{Span, SpanRelativeTo, Timestamp};

/// A penalty such as `10%/day`, with a grace period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Percent deducted for each unit, full or begun.
    pub percent: f64,
    /// Length of a unit in seconds.
    pub unit: u64,
    /// Grace period in seconds. A submission after it counts as late from the due time on.
    pub grace: u64,
}

impl FromStr for Policy {
    type Err = Error;

    /// Parses `10%/day` or `5%/hour`, without a grace period.
    fn from_str(text: &str) -> Result<Self> {
        let policy = text.split_once("%/").and_then(|(percent, unit)| {
            Some(Self {
                percent: percent.parse().ok().filter(|p| (0.0..=100.0).contains(p))?,
                unit: match unit {
                    "day" => 86_400,
                    "hour" => 3_600,
                    _ => return None,
                },
                grace: 0,
            })
        });
        policy.with_context(|| format!("a late policy is written like 10%/day or 5%/hour, not {text:?}"))
    }
}

/// Parses a duration such as `90s`, `15m`, `2h` or `1d` into seconds.
///
/// # Errors
/// Returns an error if the text is not a duration, or is negative.
pub fn duration(text: &str) -> Result<u64> {
    let expected = || format!("a duration is written like 90s, 15m, 2h or 1d, not {text:?}");
    let span: Span = text.parse().with_context(expected)?;
    let duration = span
        .to_duration(SpanRelativeTo::days_are_24_hours())
        .with_context(expected)?;
    u64::try_from(duration.as_secs()).with_context(expected)
}

/// Parses an RFC 3339 time such as `2026-11-20T23:59:00Z` or `2026-11-20T23:59:00+01:00` into seconds since 1970 UTC.
///
/// # Errors
/// Returns an error if the text is not a time, has no time zone, or is before 1970.
pub fn instant(text: &str) -> Result<u64> {
    let expected = || {
        format!(
            "a time is written with its zone, like 2026-11-20T23:59:00Z or 2026-11-20T23:59:00+01:00, not {text:?}"
        )
    };
    let time: Timestamp = text.trim().parse().with_context(expected)?;
    u64::try_from(time.as_second()).with_context(expected)
}

/// Formats seconds since 1970 UTC as `2026-11-20T23:59:00Z`.
pub fn rfc3339(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().map(Timestamp::from_second);
    time.and_then(Result::ok)
        .map_or_else(|| "an unknown time".into(), |t| t.to_string())
}

/// The penalty of a submission, or nothing if it was in time. `due` is the last second in time; `due` and `submitted`
/// are in seconds since 1970 UTC.
fn late(policy: &Policy, due: u64, submitted: u64) -> Option<Late> {
    let seconds = submitted.saturating_sub(due);
    let percent = (policy.percent * seconds.div_ceil(policy.unit) as f64).min(100.0);
    (seconds > policy.grace).then_some(Late { seconds, percent })
}

/// Sets the penalty of a grade, or why it is unknown: nothing is deducted on a guess. `rule` is the penalty and the due
/// time.
pub fn settle(grade: &mut Grade, rule: Option<(&Policy, u64)>) {
    grade.late = rule
        .zip(grade.submitted)
        .and_then(|((policy, due), at)| late(policy, due, at));
    let unknown = if grade.status != Status::Graded || grade.late.is_some() {
        None
    } else if grade.origin.late {
        Some("the platform marks it as late, but does not say by how much")
    } else if rule.is_some() && grade.submitted.is_none() {
        Some("nothing says when it was handed in")
    } else {
        None
    };
    grade.origin.late_unknown = unknown.map(str::to_owned);
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUE: u64 = 1_795_000_000;

    #[test]
    fn each_unit_begun_counts_in_full_after_the_grace_period() {
        for (policy, grace, seconds, percent) in [
            ("10%/day", 0, 0, None),
            ("10%/day", 0, 1, Some(10.0)),
            ("10%/day", 0, 86_400, Some(10.0)),
            ("10%/day", 0, 86_401, Some(20.0)),
            ("10%/day", 0, 365 * 86_400, Some(100.0)),
            ("2.5%/hour", 0, 3 * 3_600, Some(7.5)),
            ("50%/hour", 900, 900, None),
            ("50%/hour", 900, 901, Some(50.0)),
        ] {
            let policy: Policy = policy.parse().unwrap();
            let late = late(&Policy { grace, ..policy }, DUE, DUE + seconds);
            let expected = percent.map(|percent| Late { seconds, percent });
            assert_eq!(late, expected, "{policy:?}, {seconds} s");
        }
    }

    #[test]
    fn nothing_is_deducted_if_the_time_is_unknown() {
        let policy: Policy = "10%/day".parse().unwrap();
        for (submitted, marked_late, rule, late, unknown) in [
            (Some(DUE), false, true, false, ""),
            (Some(DUE + 1), true, true, true, ""),
            (None, false, false, false, ""),
            (None, false, true, false, "nothing says"),
            (Some(DUE), true, true, false, "marks it as late"),
            (None, true, false, false, "marks it as late"),
        ] {
            let mut grade = Grade {
                status: Status::Graded,
                submitted,
                ..Grade::default()
            };
            grade.origin.late = marked_late;
            settle(&mut grade, rule.then_some((&policy, DUE)));
            let why = grade.origin.late_unknown.unwrap_or_default();
            assert!(
                why.contains(unknown) && why.is_empty() == unknown.is_empty(),
                "{why}"
            );
            assert_eq!(grade.late.is_some(), late);
        }
    }

    #[test]
    fn errors_show_the_expected_form() {
        for text in [
            "", "10", "10%/", "x%/day", "-1%/day", "101%/day", "NaN%/day", "1%/week",
        ] {
            assert!(text.parse::<Policy>().is_err(), "{text:?}");
        }
        assert_eq!(
            ["90s", "15m", "1d"].map(|text| duration(text).unwrap()),
            [90, 900, 86_400]
        );
        assert!(["", "15", "-1h", "m"].iter().all(|text| duration(text).is_err()));
        let utc = instant("2026-11-20T22:59:00Z").unwrap();
        assert_eq!(instant("2026-11-20T23:59:00+01:00").unwrap(), utc);
        assert_eq!(rfc3339(utc), "2026-11-20T22:59:00Z");
        for text in ["", "2026-11-20", "2026-11-20T23:59:00", "1960-01-01T00:00:00Z"] {
            let error = format!("{:#}", instant(text).unwrap_err());
            assert!(error.contains("2026-11-20T23:59:00Z"), "{error}");
        }
    }
}
