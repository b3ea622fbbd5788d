//! Steps of the engine whose gradients overflow.

use std::{thread, time::Duration};

use super::*;
use crate::{
    parallel::{Algorithm, Rank, threads},
    precision::DynamicScaler,
};

/// Runs `work` on each of `world` ranks at once.
fn on_ranks(world: usize, work: impl Fn(&Rank) + Sync) {
    let work = &work;
    thread::scope(|scope| {
        for rank in threads::group(world, Algorithm::Ring, Duration::from_secs(30)) {
            scope.spawn(move || work(&rank));
        }
    });
}

#[test]
fn an_overflow_in_one_ranks_chunk_is_skipped_by_all() {
    for bad in [f32::INFINITY, f32::NAN, f32::MAX] {
        on_ranks(3, |rank| {
            let scaler = DynamicScaler::new(8.0, 100).unwrap();
            let mut state = EngineState::new(1, Box::new(scaler), 0.0).unwrap();
            let mut params = vec![1.0; 6];
            let mut gradients = vec![1.0; 6];
            gradients[5] = bad;
            engine_backward(&mut state, &gradients).unwrap();
            let outcome = engine_step(&mut state, rank, &mut params, &mut |_, _| panic!("no step")).unwrap();
            assert_eq!(outcome, Outcome::Skipped);
            assert_eq!(params, [1.0; 6]);
            assert_eq!(state.scaler.scale(), 4.0);
            engine_backward(&mut state, &[8.0; 6]).unwrap();
        });
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let scaler = || Box::new(DynamicScaler::new(8.0, 100).unwrap());
    assert!(EngineState::new(0, scaler(), 0.0).is_err());
    assert!(EngineState::new(1, scaler(), f64::NAN).is_err());
}
