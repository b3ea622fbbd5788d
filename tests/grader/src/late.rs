//! What is taken off a late submission.

use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;

use crate::grades::Late;

/// How lateness is counted: `10%/day`, with grace and a cap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Per cent taken off for each unit begun.
    pub percent: f64,
    /// Seconds of a unit.
    pub unit: u64,
    /// Seconds after the due time that cost nothing. Who is later than that is late from the due time on.
    pub grace: u64,
    /// Per cent that are taken off at most.
    pub cap: f64,
}

impl FromStr for Policy {
    type Err = anyhow::Error;

    /// Reads `10%/day`, `5%/hour`, `1%/15m`; without grace, and with a cap of all points.
    fn from_str(text: &str) -> Result<Self> {
        let asked = "a late policy is written like 10%/day, 5%/hour or 1%/15m";
        let (percent, unit) = text
            .split_once("%/")
            .with_context(|| format!("{asked}, not {text:?}"))?;
        let percent: f64 = percent
            .trim()
            .parse()
            .with_context(|| format!("{asked}, not {text:?}"))?;
        let share = (0.0..=100.0).contains(&percent);
        ensure!(share, "a late policy takes 0 to 100 per cent, not {percent}");
        let unit = match unit.trim() {
            "week" => 604_800,
            "day" => 86_400,
            "hour" => 3_600,
            "minute" => 60,
            other => duration(other)?,
        };
        ensure!(unit > 0, "a late policy counts units longer than nothing");
        Ok(Self {
            percent,
            unit,
            grace: 0,
            cap: 100.0,
        })
    }
}

/// Seconds of `90s`, `15m`, `2h`, `1d`.
///
/// # Errors
/// It is no whole number with one of these letters.
pub fn duration(text: &str) -> Result<u64> {
    let text = text.trim();
    let asked = || format!("a time is written like 90s, 15m, 2h or 1d, not {text:?}");
    let unit = match text.chars().next_back() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3_600,
        Some('d') => 86_400,
        _ => bail!(asked()),
    };
    let count: u64 = text[..text.len() - 1].parse().with_context(asked)?;
    count.checked_mul(unit).with_context(asked)
}

/// Seconds since 1970 UTC of an RFC 3339 time such as `2026-11-20T23:59:00Z` or `2026-11-20T23:59:00+01:00`.
///
/// # Errors
/// It is none, has no zone, or is before 1970.
pub fn instant(text: &str) -> Result<u64> {
    let asked = || {
        format!(
            "a time is written with its zone, like 2026-11-20T23:59:00Z or 2026-11-20T23:59:00+01:00, not {text:?}"
        )
    };
    let time: Timestamp = text.trim().parse().with_context(asked)?;
    u64::try_from(time.as_second()).with_context(asked)
}

/// `2026-11-20T23:59:00Z` of seconds since 1970 UTC.
pub fn rfc3339(seconds: u64) -> String {
    i64::try_from(seconds)
        .ok()
        .and_then(|s| Timestamp::from_second(s).ok())
        .map_or_else(|| "an unknown time".into(), |t| t.to_string())
}

/// What lateness takes from a submission of `submitted`, where `due` was the last second that costs nothing; both in
/// seconds since 1970 UTC. Nothing where it came in time.
pub fn late(policy: &Policy, due: u64, submitted: u64) -> Option<Late> {
    let seconds = submitted.saturating_sub(due);
    if seconds == 0 || seconds <= policy.grace {
        return None;
    }
    let units = seconds.div_ceil(policy.unit.max(1));
    let percent = (policy.percent * units as f64).min(policy.cap).clamp(0.0, 100.0);
    Some(Late { seconds, percent })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUE: u64 = 1_795_000_000;

    fn percent(policy: &Policy, after: u64) -> Option<f64> {
        late(policy, DUE, DUE + after).map(|l| l.percent)
    }

    #[test]
    fn each_unit_begun_counts_whole() {
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
    fn grace_costs_nothing_and_ends_at_once() {
        let policy = Policy {
            grace: 900,
            ..Policy::from_str("50%/hour").unwrap()
        };
        assert_eq!(percent(&policy, 900), None);
        let over = late(&policy, DUE, DUE + 901).unwrap();
        assert_eq!((over.seconds, over.percent), (901, 50.0));
    }

    #[test]
    fn no_more_than_the_cap_is_taken() {
        let mut policy: Policy = "10%/day".parse().unwrap();
        assert_eq!(percent(&policy, 365 * 86_400), Some(100.0));
        assert_eq!(late(&policy, 0, u64::MAX).unwrap().percent, 100.0);
        policy.cap = 40.0;
        assert_eq!(percent(&policy, 365 * 86_400), Some(40.0));
        assert_eq!(percent(&policy, 2 * 86_400), Some(20.0));
    }

    #[test]
    fn a_policy_or_time_that_is_none_is_refused_with_what_is_asked() {
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
            let told = format!("{:#}", instant(text).unwrap_err());
            assert!(told.contains("2026-11-20T23:59:00Z"), "{told}");
        }
    }

    #[test]
    fn a_zone_is_taken_into_account() {
        let utc = instant("2026-11-20T22:59:00Z").unwrap();
        assert_eq!(instant("2026-11-20T23:59:00+01:00").unwrap(), utc);
        assert_eq!(rfc3339(utc), "2026-11-20T22:59:00Z");
        assert_eq!(rfc3339(u64::MAX), "an unknown time");
    }
}
