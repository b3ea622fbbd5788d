//! How much faster the whole becomes when a part of it does.

/// What making a part faster can bring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amdahl {
    /// How many times as fast the whole would be if the part took no time; infinite where the part is all of it.
    pub limit: f64,
    /// How many times as fast the part must become for the whole to be as fast as wanted; None: no part is fast enough.
    pub needed: Option<f64>,
}

/// Amdahl's law (1967): of a run, `share` (0 to 1) is the part that becomes faster; the whole is to be `wanted` times as
/// fast.
///
/// The limit is 1/(1 − share). The part must be share/(1/wanted − (1 − share)) times as fast. That is None where `wanted`
/// is at the limit or above; where `wanted` is 1 or less, nothing has to be done: 1.
pub fn amdahl(share: f64, wanted: f64) -> Amdahl {
    let rest = 1.0 - share;
    let needed = if wanted <= 1.0 {
        Some(1.0)
    } else {
        let room = 1.0 / wanted - rest;
        (room > 0.0).then(|| share / room)
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
    fn the_needed_factor_gives_the_wanted_whole() {
        for (share, wanted) in [(0.5, 1.5), (0.9, 4.0), (0.25, 1.3), (1.0, 7.0)] {
            let factor = amdahl(share, wanted).needed.unwrap();
            let whole = 1.0 / (1.0 - share + share / factor);
            assert!((whole - wanted).abs() < 1e-12, "{share} {wanted}: {whole}");
        }
    }

    #[test]
    fn what_is_at_the_limit_or_above_is_never_reached() {
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
    fn nothing_wanted_is_nothing_needed() {
        assert_eq!(amdahl(0.0, 1.0).needed, Some(1.0));
        assert_eq!(amdahl(0.6, 0.5).needed, Some(1.0));
    }
}
