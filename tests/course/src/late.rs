//! Penalties for late submissions.

use anyhow::{Context, Result};
use grader::grades::{Grade, Late, Status};
use jiff::Timestamp;

const DAY: u64 = 86_400;

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

/// Parses percent that are deducted for each day.
///
/// # Errors
/// Returns an error if the text is not a number from 0 to 100.
pub fn percent(text: &str) -> Result<f64> {
    let number = text
        .parse()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent));
    number.with_context(|| format!("expected percent for each day, from 0 to 100, such as 10, not {text:?}"))
}

/// Sets the penalty of a grade, or why it is unknown: nothing is deducted on a guess. `rule` is the last second in time,
/// since 1970 UTC, and the percent that are deducted for each day begun.
pub fn settle(grade: &mut Grade, rule: Option<(u64, f64)>) {
    let late = rule.zip(grade.submitted).map(|((due, percent), at)| {
        let seconds = at.saturating_sub(due);
        let percent = (percent * seconds.div_ceil(DAY) as f64).min(100.0);
        Late { seconds, percent }
    });
    grade.late = late.filter(|late| late.seconds > 0);
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

    #[test]
    fn each_day_begun_counts_and_nothing_is_deducted_if_the_time_is_unknown() {
        const DUE: u64 = 1_795_000_000;
        for (submitted, marked_late, percent, late, unknown) in [
            (Some(DUE), false, Some(10.0), None, ""),
            (Some(DUE + 1), true, Some(10.0), Some(10.0), ""),
            (Some(DUE + DAY), false, Some(10.0), Some(10.0), ""),
            (Some(DUE + DAY + 1), false, Some(2.5), Some(5.0), ""),
            (Some(DUE + 365 * DAY), false, Some(10.0), Some(100.0), ""),
            (Some(DUE + 1), false, None, None, ""),
            (None, false, None, None, ""),
            (None, false, Some(10.0), None, "nothing says"),
            (Some(DUE), true, Some(10.0), None, "marks it as late"),
            (None, true, None, None, "marks it as late"),
        ] {
            let mut grade = Grade {
                status: Status::Graded,
                submitted,
                ..Grade::default()
            };
            grade.origin.late = marked_late;
            settle(&mut grade, percent.map(|percent| (DUE, percent)));
            let why = grade.origin.late_unknown.unwrap_or_default();
            assert!(
                why.contains(unknown) && why.is_empty() == unknown.is_empty(),
                "{why}"
            );
            assert_eq!(grade.late.map(|late| late.percent), late, "{submitted:?}");
        }
    }

    #[test]
    fn errors_show_the_expected_form() {
        assert_eq!(percent("2.5").unwrap(), 2.5);
        assert!(
            ["", "10%", "-1", "101", "NaN"]
                .iter()
                .all(|text| percent(text).is_err())
        );
        let utc = instant("2026-11-20T22:59:00Z").unwrap();
        assert_eq!(instant("2026-11-20T23:59:00+01:00").unwrap(), utc);
        assert_eq!(rfc3339(utc), "2026-11-20T22:59:00Z");
        for text in ["", "2026-11-20", "2026-11-20T23:59:00", "1960-01-01T00:00:00Z"] {
            let error = format!("{:#}", instant(text).unwrap_err());
            assert!(error.contains("2026-11-20T23:59:00Z"), "{error}");
        }
    }
}
