//! How much faster a run becomes if a part of it becomes faster.

// ANCHOR: Amdahl
/// The limit of making a part faster, and the speed-up that the part needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amdahl {
    /// How many times as fast the whole would be if the part took no time; infinite if the part is all of it.
    pub limit: f64,
    /// How many times as fast the part must become for the whole to be as fast as `wanted`; None if it cannot be.
    pub needed: Option<f64>,
}
// ANCHOR_END: Amdahl

/// Amdahl's law (1967). `share` (0 to 1) of a run becomes faster, and the whole run should become `wanted` times as fast.
///
/// The limit is 1/(1 − share). The part must become share/(1/wanted − (1 − share)) times as fast. That is None if `wanted`
/// is at the limit or above, and 1 if `wanted` is at most 1.
pub fn amdahl(share: f64, wanted: f64) -> Amdahl {
    let rest = 1.0 - share;
    let needed = if wanted <= 1.0 {
        Some(1.0)
    } else {
        let time_left = 1.0 / wanted - rest;
        (time_left > 0.0).then(|| share / time_left)
    };
    Amdahl {
        limit: 1.0 / rest,
        needed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_needed_speed_up_reaches_the_wanted_one() {
        for (share, wanted) in [(0.5, 1.5), (0.9, 4.0), (0.25, 1.3), (1.0, 7.0)] {
            let factor = amdahl(share, wanted).needed.unwrap();
            let whole = 1.0 / (1.0 - share + share / factor);
            assert!((whole - wanted).abs() < 1e-12, "{share} {wanted}: {whole}");
        }
    }

    #[test]
    fn a_speed_up_at_the_limit_or_above_cannot_be_reached() {
        assert_eq!(
            amdahl(0.5, 2.0),
            Amdahl {
                limit: 2.0,
                needed: None
            }
        );
        assert_eq!(amdahl(0.75, 5.0).needed, None);
        assert_eq!(
            amdahl(0.0, 1.1),
            Amdahl {
                limit: 1.0,
                needed: None
            }
        );
        assert!(amdahl(1.0, 3.0).limit.is_infinite());
    }

    #[test]
    fn no_wanted_speed_up_needs_none() {
        assert_eq!(amdahl(0.0, 1.0).needed, Some(1.0));
        assert_eq!(amdahl(0.6, 0.5).needed, Some(1.0));
    }
}
