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
/// is at the limit or above, or less than one part in 10^9 below it. It is 1 if `wanted` is at most 1.
pub fn amdahl(share: f64, wanted: f64) -> Amdahl {
    let rest = 1.0 - share;
    let limit = 1.0 / rest;
    let needed = if wanted <= 1.0 {
        Some(1.0)
    } else if wanted >= limit * (1.0 - AT_THE_LIMIT) {
        None
    } else {
        Some(share / (1.0 / wanted - rest))
    };
    Amdahl { limit, needed }
}

/// With share 0.8, 1 − share is a little less than 0.2 in f64, so that a limit of 5 is not quite reached by 5. The factor
/// of 10^16 that would then be needed is a rounding error.
const AT_THE_LIMIT: f64 = 1e-9;
