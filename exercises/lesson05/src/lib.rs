//! Lesson 05: profiling and monitoring. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson05` checks the lesson, `cargo test -p lesson05 5.2` one exercise. `cargo course hint 5.2` shows
//! a hint.

use candle_core::Result;
use canopy::profile::{
    Activity, Amdahl, COMPUTE_BOUND, KernelRow, Kind, Machine, MatMul, Pattern, Roof, Span, Stream, Total,
};

/// One `Total` per name, by descending self time, then name.
///
/// `parents[i]` is the index of the innermost span around `spans[i]`, or None. `spans` may be in any order.
pub fn totals(spans: &[Span], parents: &[Option<usize>]) -> Vec<Total> {
    todo!("5.1: sum by name, then subtract each span from its parent")
}

/// The times of `runs` calls of `work`, in order, by `device.now()`, after `warm_up` untimed calls.
///
/// Each time starts on an idle device and includes exactly one wait, after `work`.
pub fn time_device(
    device: &dyn Stream,
    warm_up: usize,
    runs: usize,
    work: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<u64>> {
    todo!("5.2: wait in the right places")
}

/// `Pattern::Compute` if `Kind::Kernel` spans cover at least `COMPUTE_BOUND` of `wall`, and more than 0. Overlapping
/// kernels count once.
///
/// Otherwise, the greatest plain sum of times: `Load` and `Copy` together (`Input`), `Wait` (`Synchronisation`), or
/// `Launch` (`Launch`). The first of equal sums counts; None if all are 0.
pub fn name_pattern(spans: &[Span], wall: u64) -> Option<Pattern> {
    todo!("5.3: is the device busy? If not, what does the host do?")
}

/// Amdahl's law for a part that takes `share` of a run that should become `wanted` times as fast.
///
/// `needed` is `Some(1)` for `wanted <= 1`, otherwise None from `limit·(1 − 10⁻⁹)` on.
pub fn amdahl(share: f64, wanted: f64) -> Amdahl {
    todo!("5.4: the rest stays; solve for the part")
}

/// The share of copies in the time of all rows; None if this time is 0.
pub fn copy_share(rows: &[KernelRow]) -> Option<f64> {
    todo!("5.5: sum the times by activity")
}

/// The roofline of `product` on `machine`: its operations and bytes, and how fast it can be. At the ridge,
/// `memory_bound` is false.
pub fn matmul_roof(product: &MatMul, machine: &Machine) -> Roof {
    todo!("5.6: count operations and bytes, then apply the roofline")
}
