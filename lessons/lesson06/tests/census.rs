//! The experiment's counts of gradients.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../run/src/experiment/census.rs"]
mod census;

use canopy::precision::GradientCensus;
use census::Census;

#[test]
fn gradients_are_counted_by_exponent() {
    let census = Census::default();
    census.note(
        &[0.0, 3.0, -0.25, 1e-9, 1e6, f32::NAN],
        &[0.0, 3.0, -0.25, 0.0, f32::INFINITY, f32::NAN],
    );
    let counts = census.take();
    assert_eq!(
        (counts.zeros, counts.lost, counts.overflowed, counts.seen()),
        (1, 1, 2, 4)
    );
    assert_eq!(counts.lost_share(), 0.25);
    let shares = counts.shares();
    assert_eq!(
        (shares[0], shares.last().copied()),
        ((-30, 0.25), Some((19, 0.25)))
    );
    assert!(shares.contains(&(1, 0.25)) && shares.contains(&(-2, 0.25)));
    assert_eq!(census.take().seen(), 0);
}
