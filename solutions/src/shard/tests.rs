//! The stages over threads: equal parameters, memory and traffic.

use std::{thread, time::Duration};

use anyhow::Result;

use super::*;
use crate::{
    parallel::{Algorithm, Collective, Rank, chunk, threads},
    precision::DynamicScaler,
};

/// Runs `work` on each of `world` ranks at once.
fn on_ranks<T: Send>(world: usize, work: impl Fn(&Rank) -> T + Sync) -> Vec<T> {
    let work = &work;
    let ranks = threads::group(world, Algorithm::Ring, Duration::from_secs(30));
    thread::scope(|scope| {
        let spawned: Vec<_> = ranks
            .into_iter()
            .map(|rank| scope.spawn(move || work(&rank)))
            .collect();
        spawned.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

/// The gradients of rank `rank`.
fn gradients(rank: usize, length: usize) -> Vec<f32> {
    (0..length).map(|i| ((rank + 1) * (i + 1)) as f32).collect()
}

/// Their mean over the ranks.
fn mean(world: usize, length: usize) -> Vec<f32> {
    let factor = (world + 1) as f32 / 2.0;
    (0..length).map(|i| factor * (i + 1) as f32).collect()
}

fn assert_close(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= 1e-5 * y.abs().max(1.0), "{a:?} and {b:?}");
    }
}

/// Gradient descent with learning rate 0.1.
fn descend(params: &mut [f32], gradients: &[f32]) -> Result<()> {
    assert_eq!(params.len(), gradients.len());
    params.iter_mut().zip(gradients).for_each(|(p, g)| *p -= 0.1 * g);
    Ok(())
}

#[test]
fn stage_1_equals_an_unsharded_step() {
    for (world, length) in [(1, 5), (2, 7), (3, 10), (4, 3), (2, 0)] {
        let expected: Vec<f32> = mean(world, length).iter().map(|g| 2.0 - 0.1 * g).collect();
        let sent = on_ranks(world, |rank| {
            let mut params = vec![2.0; length];
            let mut gradients = gradients(Collective::rank(rank), length);
            stage1_step(rank, &mut params, &mut gradients, &mut descend).unwrap();
            assert_close(&gradients, &mean(world, length));
            assert_close(&params, &expected);
            rank.traffic().bytes
        });
        // An all-reduce and an all-gather are three passes over the list, as in stage 3.
        let predicted = numbers_sent(length as u64, Stage::Zero3, world as u64);
        assert!(sent.iter().all(|&bytes| bytes <= 4 * predicted));
    }
}

#[test]
fn stage_2_keeps_this_ranks_chunk_of_the_mean() {
    for (world, length) in [(1, 4), (2, 6), (3, 10), (4, 3)] {
        on_ranks(world, |rank| {
            let own = chunk(length, Collective::rank(rank), world);
            let got = reduce_gradients(rank, gradients(Collective::rank(rank), length)).unwrap();
            assert_close(&got, &mean(world, length)[own]);
            assert!(got.capacity() <= length.div_ceil(world));
        });
    }
}

#[test]
fn stage_3_holds_one_layer_and_sends_three_times_a_part() {
    let sizes = [12, 3, 0, 24];
    for world in [1, 2, 3, 4] {
        on_ranks(world, |rank| {
            let whole = |i: usize| (0..sizes[i]).map(|j| (10 * i + j) as f32).collect::<Vec<_>>();
            let number = Collective::rank(rank);
            let layers: Vec<Sharded> = (0..4).map(|i| Sharded::new(&whole(i), number, world)).collect();
            let memory = Memory::default();
            let mut order = Vec::new();
            let mut used = |i: usize, params: &[f32]| {
                assert_eq!(params, whole(i));
                assert_eq!(memory.live(), sizes[i]);
                order.push(i);
            };
            forward_sharded(rank, &layers, &memory, &mut |i, params| {
                used(i, params);
                Ok(())
            })
            .unwrap();
            let means = backward_sharded(rank, &layers, &memory, &mut |i, params| {
                used(i, params);
                Ok(gradients(number, sizes[i]))
            })
            .unwrap();
            assert_eq!(order, [0, 1, 2, 3, 3, 2, 1, 0]);
            assert_eq!((memory.live(), memory.peak()), (0, 24));
            for (got, n) in means.iter().zip(sizes) {
                assert_close(got, &mean(world, n)[chunk(n, number, world)]);
            }
            let predicted = numbers_sent(12 + 24, Stage::Zero3, world as u64);
            // The layer of three numbers is not a multiple of four ranks.
            let own: u64 = predicted + numbers_sent(3, Stage::Zero3, world as u64);
            assert!(rank.traffic().bytes <= 4 * own);
            assert!(rank.traffic().bytes >= 4 * predicted);
        });
    }
    let memory = Memory::default();
    let short = &mut |_: usize, _: &[f32]| Ok(Vec::new());
    let rank = threads::group(1, Algorithm::Ring, Duration::from_secs(1)).remove(0);
    let layer = [Sharded::new(&[1.0], 0, 1)];
    assert!(backward_sharded(&rank, &layer, &memory, short).is_err());
}

fn engine(accumulation: usize, scale: f64, clip: f64) -> EngineState {
    let scaler = DynamicScaler::new(scale, 100).unwrap();
    EngineState::new(accumulation, Box::new(scaler), clip).unwrap()
}

#[test]
fn the_engine_steps_after_the_last_micro_batch_and_clips_by_the_norm_of_all() {
    for world in [1, 2, 3] {
        on_ranks(world, |rank| {
            let number = Collective::rank(rank);
            let mut state = engine(2, 8.0, 1.0);
            let mut params = vec![1.0; 5];
            // Mean over the micro-batches: 3 × 8.
            for factor in [2.0, 4.0] {
                let micro: Vec<f32> = gradients(number, 5).iter().map(|g| factor * 8.0 * g).collect();
                engine_backward(&mut state, &micro).unwrap();
                if factor == 2.0 {
                    let outcome = engine_step(&mut state, rank, &mut params, &mut descend).unwrap();
                    assert_eq!(outcome, Outcome::Accumulating);
                    assert_eq!(rank.traffic().messages, 0);
                }
            }
            assert!(engine_backward(&mut state, &[0.0; 5]).is_err());
            let outcome = engine_step(&mut state, rank, &mut params, &mut descend).unwrap();
            let mean: Vec<f32> = mean(world, 5).iter().map(|g| 3.0 * g).collect();
            let norm = mean.iter().map(|g| g * g).sum::<f32>().sqrt();
            let Outcome::Taken { norm: got } = outcome else {
                panic!("{outcome:?}");
            };
            assert!((got as f32 - norm).abs() < 1e-4 * norm);
            let expected: Vec<f32> = mean.iter().map(|g| 1.0 - 0.1 * g / norm).collect();
            assert_close(&params, &expected);
            assert_eq!((state.micro_batches, state.gradients.capacity()), (0, 0));
            assert_eq!(state.scaler.scale(), 8.0);
        });
    }
}

#[test]
fn an_overflow_in_one_ranks_chunk_is_skipped_by_all() {
    for bad in [f32::INFINITY, f32::NAN, f32::MAX] {
        on_ranks(3, |rank| {
            let mut state = engine(1, 8.0, 0.0);
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
fn without_a_scale_an_overflow_is_an_error() {
    let rank = threads::group(1, Algorithm::Ring, Duration::from_secs(1)).remove(0);
    let mut state = EngineState::new(1, Box::new(Unscaled), 0.0).unwrap();
    engine_backward(&mut state, &[f32::NAN]).unwrap();
    assert!(engine_step(&mut state, &rank, &mut [0.0], &mut descend).is_err());
    assert!(EngineState::new(0, Box::new(Unscaled), 0.0).is_err());
    assert!(EngineState::new(1, Box::new(Unscaled), f64::NAN).is_err());
}
