//! Penalties for late submissions.

use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use grader::grades::{Grade, Late, Status};
use jiff::Timestamp;

/// A penalty such as `10%/day`, with a grace period and a maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Percent deducted for each unit, full or begun.
    pub percent: f64,
    /// Length of a unit in seconds.
    pub unit: u64,
    /// Grace period in seconds. A submission after it counts as late from the due time on.
    pub grace: u64,
    /// Maximum deduction in percent.
    pub cap: f64,
}

impl FromStr for Policy {
    type Err = anyhow::Error;

    /// Parses `10%/day`, `5%/hour`, `1%/15m`; without a grace period, and with a maximum of 100 %.
    fn from_str(text: &str) -> Result<Self> {
        let expected = "a late policy is written like 10%/day, 5%/hour or 1%/15m";
        let (percent, unit) = text
            .split_once("%/")
            .with_context(|| format!("{expected}, not {text:?}"))?;
        let percent: f64 = percent
            .trim()
            .parse()
            .with_context(|| format!("{expected}, not {text:?}"))?;
        let share = (0.0..=100.0).contains(&percent);
        ensure!(share, "a late policy takes 0 to 100 percent, not {percent}");
        let unit = match unit.trim() {
            "week" => 604_800,
            "day" => 86_400,
            "hour" => 3_600,
            "minute" => 60,
            other => duration(other)?,
        };
        ensure!(unit > 0, "the unit of a late policy must be longer than 0 s");
        Ok(Self {
            percent,
            unit,
            grace: 0,
            cap: 100.0,
        })
    }
}

/// Parses a duration such as `90s`, `15m`, `2h` or `1d` into seconds.
///
/// # Errors
/// Returns an error if the text is not a whole number with one of these letters.
pub fn duration(text: &str) -> Result<u64> {
    let text = text.trim();
    let expected = || format!("a time is written like 90s, 15m, 2h or 1d, not {text:?}");
    let unit = match text.chars().next_back() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3_600,
        Some('d') => 86_400,
        _ => bail!(expected()),
    };
    let count: u64 = text[..text.len() - 1].parse().with_context(expected)?;
    count.checked_mul(unit).with_context(expected)
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
    i64::try_from(seconds)
        .ok()
        .and_then(|s| Timestamp::from_second(s).ok())
        .map_or_else(|| "an unknown time".into(), |t| t.to_string())
}

/// The penalty of a submission, or nothing if it was in time. `due` is the last second in time; `due` and `submitted` are in
/// seconds since 1970 UTC.
pub fn late(policy: &Policy, due: u64, submitted: u64) -> Option<Late> {
    let seconds = submitted.saturating_sub(due);
    if seconds == 0 || seconds <= policy.grace {
        return None;
    }
    let units = seconds.div_ceil(policy.unit.max(1));
    let percent = (policy.percent * units as f64).min(policy.cap).clamp(0.0, 100.0);
    Some(Late { seconds, percent })
}

/// Sets the penalty of a grade, or why it is unknown: nothing is deducted on a guess. `rule` is the penalty and the due
/// time.
pub fn settle(grade: &mut Grade, rule: Option<(&Policy, u64)>) {
    let origin = &mut grade.origin;
    grade.late = rule
        .zip(grade.submitted)
        .and_then(|((policy, due), at)| late(policy, due, at));
    let unknown = match (origin.late, grade.submitted, rule) {
        _ if grade.status != Status::Graded => "",
        (true, ..) if grade.late.is_none() => "the platform marks it as late, but does not say by how much",
        (_, None, Some(_)) => "nothing says when it was handed in",
        _ => "",
    };
    origin.late_unknown = (!unknown.is_empty()).then(|| unknown.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUE: u64 = 1_795_000_000;

    fn percent(policy: &Policy, after: u64) -> Option<f64> {
        late(policy, DUE, DUE + after).map(|l| l.percent)
    }

    #[test]
    fn nothing_is_deducted_if_the_time_is_unknown() {
        let policy: Policy = "10%/day".parse().unwrap();
        let mut grade = crate::marks::samples::graded("anna", 5);
        let settled = |grade: &mut Grade, submitted, late, due: bool| {
            (grade.submitted, grade.origin.late) = (submitted, late);
            settle(grade, due.then_some((&policy, DUE)));
            (
                grade.late.is_some(),
                grade.origin.late_unknown.clone().unwrap_or_default(),
            )
        };
        assert_eq!(
            settled(&mut grade, Some(DUE), false, true),
            (false, String::new())
        );
        assert_eq!(
            settled(&mut grade, Some(DUE + 1), true, true),
            (true, String::new())
        );
        assert_eq!(settled(&mut grade, None, false, false), (false, String::new()));
        let (late, why) = settled(&mut grade, None, false, true);
        assert!(!late && why.contains("nothing says"), "{why}");
        grade.status = Status::Refused;
        settle(&mut grade, Some((&policy, DUE)));
        assert_eq!(grade.origin.late_unknown, None);
        grade.status = Status::Graded;
        for (submitted, due) in [(Some(DUE), true), (None, true), (None, false)] {
            let (late, why) = settled(&mut grade, submitted, true, due);
            assert!(!late && why.contains("marks it as late"), "{why}");
        }
    }

    #[test]
    fn each_unit_begun_counts_in_full() {
        let policy: Policy = "10%/day".parse().unwrap();
        assert_eq!(late(&policy, DUE, DUE - 1), None);
        assert_eq!(percent(&policy, 0), None);
        assert_eq!(percent(&policy, 1), Some(10.0));
        assert_eq!(percent(&policy, 86_400), Some(10.0));
        assert_eq!(percent(&policy, 86_401), Some(20.0));
        assert_eq!(late(&policy, DUE, DUE + 90_000).unwrap().seconds, 90_000);
        let hours: Policy = "2.5%/hour".parse().unwrap();
        assert_eq!(percent(&hours, 3 * 3_600), Some(7.5));
        assert_eq!("1%/15m".parse::<Policy>().unwrap().unit, 900);
    }

    #[test]
    fn nothing_is_deducted_within_the_grace_period() {
        let policy = Policy {
            grace: 900,
            ..Policy::from_str("50%/hour").unwrap()
        };
        assert_eq!(percent(&policy, 900), None);
        let over = late(&policy, DUE, DUE + 901).unwrap();
        assert_eq!((over.seconds, over.percent), (901, 50.0));
    }

    #[test]
    fn the_cap_limits_the_penalty() {
        let mut policy: Policy = "10%/day".parse().unwrap();
        assert_eq!(percent(&policy, 365 * 86_400), Some(100.0));
        assert_eq!(late(&policy, 0, u64::MAX).unwrap().percent, 100.0);
        policy.cap = 40.0;
        assert_eq!(percent(&policy, 365 * 86_400), Some(40.0));
        assert_eq!(percent(&policy, 2 * 86_400), Some(20.0));
    }

    #[test]
    fn errors_show_the_expected_form() {
        for text in [
            "",
            "10",
            "10%",
            "10%/",
            "10/day",
            "x%/day",
            "-1%/day",
            "101%/day",
            "NaN%/day",
            "1%/0s",
            "1%/é",
            "1%/99999999999999999999d",
        ] {
            assert!(text.parse::<Policy>().is_err(), "{text:?}");
        }
        for text in [
            "",
            "tomorrow",
            "2026-11-20",
            "2026-11-20T23:59:00",
            "1960-01-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
        ] {
            let error = format!("{:#}", instant(text).unwrap_err());
            assert!(error.contains("2026-11-20T23:59:00Z"), "{error}");
        }
    }

    #[test]
    fn time_zones_are_respected() {
        let utc = instant("2026-11-20T22:59:00Z").unwrap();
        assert_eq!(instant("2026-11-20T23:59:00+01:00").unwrap(), utc);
        assert_eq!(rfc3339(utc), "2026-11-20T22:59:00Z");
        assert_eq!(rfc3339(u64::MAX), "an unknown time");
    }
}
