//! With every filter that the machine has, outputs and gradients are bit-identical to those without a filter.
//!
//! The choice applies to the whole process, so these tests run in turn.

#![allow(clippy::unwrap_used)] // a test may panic

#[allow(dead_code)]
#[path = "kernels/common.rs"]
mod common;

use std::sync::{Mutex, PoisonError};

use candle_core::{DType, Device, Tensor};
use canopy::kernels::{Filter, FilterCounts, Pass, filter_counts};
use canopy::model::{Kind, PointNet, PointNetConfig};
use canopy::optim::OptimConfig;
use canopy::train::{Loss, short::Learner};
use common::{Values, flat, layer, outcome, random};

static TURN: Mutex<()> = Mutex::new(());

/// Fails if a filter changes any bit. Returns what the last filter did.
fn same_with_every_filter(x: &Tensor, layers: &[Values], clouds: usize, what: &str) -> FilterCounts {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut did = FilterCounts::default();
    for train in [true, false] {
        let run = || outcome(x, layers, Some(clouds), DType::F32, train).unwrap();
        Filter::Off.choose();
        let without = run();
        for filter in &Filter::ALL[1..] {
            if !filter.is_available() {
                println!("{filter:?}: not run, because this machine does not have its instructions");
                continue;
            }
            filter.choose();
            assert_eq!(Filter::current(), *filter);
            let before = filter_counts();
            let with = run();
            let after = filter_counts();
            did = FilterCounts {
                maxima: after.maxima - before.maxima,
                candidates: after.candidates - before.candidates,
                fallbacks: after.fallbacks - before.fallbacks,
            };
            for ((name, a), (_, b)) in without.iter().zip(&with) {
                for (i, (a, b)) in a.iter().zip(b).enumerate() {
                    assert!(
                        a.to_bits() == b.to_bits(),
                        "{what}, {filter:?}, train {train}: {name}[{i}] is {b}, without a filter {a}"
                    );
                }
            }
        }
    }
    did
}

/// Values of each row and channel.
fn rows(count: usize, k: usize, value: impl Fn(usize, usize, f64) -> f64) -> Tensor {
    let noise = flat(&random(3, &[count, k]));
    let values = noise.iter().enumerate().map(|(i, &v)| value(i / k, i % k, v));
    Tensor::from_vec(values.collect::<Vec<_>>(), (count, k), &Device::Cpu).unwrap()
}

#[test]
fn random_rows() {
    for (clouds, points, k, n) in [
        (2, 1024, 128, 256),
        (3, 300, 64, 70),
        (5, 1, 128, 40),
        (1, 2500, 48, 64),
        (2, 17, 40, 33),
        (2, 50, 3, 33),
    ] {
        let x = rows(clouds * points, k, |_, _, v| v.max(0.0));
        let did = same_with_every_filter(&x, &[layer(5, k, n, true)], clouds, &format!("k {k}, n {n}"));
        assert_eq!(did.fallbacks, 0, "k {k}, n {n}");
        let deep = [layer(5, k, 64, true), layer(8, 64, n, true)];
        same_with_every_filter(&random(4, &[clouds * points, k]), &deep, clouds, "two layers");
    }
}

#[test]
fn few_rows_of_random_ones_are_computed_in_f32() {
    let x = rows(4 * 1024, 128, |_, _, v| v.max(0.0));
    let did = same_with_every_filter(&x, &[layer(5, 128, 256, true)], 4, "candidates");
    assert_eq!(did.fallbacks, 0);
    assert!(
        did.candidates_each() < 100.0,
        "{} rows of 1024 for each maximum",
        did.candidates_each()
    );
}

#[test]
fn gamma_of_zero_and_below_and_columns_of_zeros() {
    let mut l = layer(31, 32, 96, true);
    let gamma: Vec<f64> = (0..96).map(|c| [0.0, -0.7, 0.9][c % 3]).collect();
    l.gamma = Tensor::from_vec(gamma, 96, &Device::Cpu).unwrap();
    let mut w = flat(&l.w);
    w[32 * 7..32 * 9].fill(0.0);
    w[32 * 12..32 * 13].fill(-0.0);
    l.w = Tensor::from_vec(w, (96, 32), &Device::Cpu).unwrap();
    let x = rows(900, 32, |_, _, v| v.max(0.0));
    same_with_every_filter(&x, &[l], 3, "gamma");
}

#[test]
fn near_ties_equal_rows_and_equal_values() {
    let l = [layer(5, 32, 64, true)];
    let value = |c: usize| 0.3 + 0.01 * c as f64;
    let equal = rows(600, 32, |_, c, _| value(c));
    let did = same_with_every_filter(&equal, &l, 2, "all rows equal");
    assert!(did.candidates >= 600 * 64, "all rows are candidates");
    let step = f64::from(f32::EPSILON) / 4.0;
    let ulp = rows(600, 32, |r, c, _| {
        value(c) + if r * 7 % 600 == c { step } else { 0.0 }
    });
    same_with_every_filter(&ulp, &l, 2, "one value differs in its last bit");
    let few = rows(600, 32, |r, c, v| {
        let high = if r % 97 == 5 { 0.7 } else { 0.2 * v.max(0.0) };
        high + if r % 2 == 0 { step * (c % 3) as f64 } else { 0.0 }
    });
    same_with_every_filter(&few, &l, 2, "near ties among few rows");
    let twice = rows(600, 32, |r, c, _| {
        (((r % 150) * 31 + c * 17) % 101) as f64 / 101.0
    });
    same_with_every_filter(&twice, &l, 2, "every row is there twice");
}

#[test]
fn outliers_and_magnitudes_at_the_ends_of_the_range() {
    let l = [layer(5, 32, 64, true)];
    let outlier = rows(
        600,
        32,
        |r, c, v| if (r, c) == (37, 5) { 1e7 } else { v.max(0.0) },
    );
    same_with_every_filter(&outlier, &l, 2, "an outlier");
    for power in [-149, -130, -100, -60, -40, -39, 39, 41, 60, 120, 126] {
        let x = rows(600, 32, |_, _, v| v.max(0.0) * 2_f64.powi(power));
        same_with_every_filter(&x, &l, 2, &format!("2^{power}"));
    }
    let mixed = rows(600, 32, |r, _, v| v.max(0.0) * 2_f64.powi((r % 280) as i32 - 149));
    same_with_every_filter(&mixed, &l, 2, "rows of all magnitudes");
    for power in [-140, -60, 60] {
        let mut scaled = layer(5, 32, 64, true);
        let mut w = flat(&scaled.w);
        w[..32 * 3].iter_mut().for_each(|w| *w *= 2_f64.powi(power));
        scaled.w = Tensor::from_vec(w, (64, 32), &Device::Cpu).unwrap();
        let x = rows(600, 32, |_, _, v| v.max(0.0));
        same_with_every_filter(&x, &[scaled], 2, &format!("weights of 2^{power}"));
    }
}

#[test]
fn negative_values_negative_zeros_and_zeros() {
    let l = [layer(5, 32, 64, true)];
    same_with_every_filter(&random(3, &[600, 32]), &l, 2, "negative values");
    let zeros = rows(600, 32, |_, _, v| if v < 0.0 { -0.0 } else { v });
    same_with_every_filter(&zeros, &l, 2, "negative zeros");
    same_with_every_filter(&rows(600, 32, |_, _, _| 0.0), &l, 2, "zeros");
    let sparse = rows(600, 32, |r, c, v| if r % 300 == c { v.abs() } else { 0.0 });
    same_with_every_filter(&sparse, &l, 2, "one value a row");
}

#[test]
fn non_finite_values() {
    let l = [layer(5, 32, 64, true)];
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let x = rows(
            600,
            32,
            |r, c, v| if (r, c) == (37, 5) { odd } else { v.max(0.0) },
        );
        same_with_every_filter(&x, &l, 2, &format!("{odd}"));
        let mut weight = layer(5, 32, 64, true);
        let mut w = flat(&weight.w);
        w[77] = odd;
        weight.w = Tensor::from_vec(w, (64, 32), &Device::Cpu).unwrap();
        let x = rows(600, 32, |_, _, v| v.max(0.0));
        same_with_every_filter(&x, &[weight], 2, &format!("a weight of {odd}"));
    }
}

#[test]
fn any_number_of_threads() {
    let x = rows(6 * 700, 64, |_, _, v| v.max(0.0));
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| same_with_every_filter(&x, &[layer(5, 64, 100, true)], 6, "threads"));
    }
}

/// Weights after some steps of AdamW on moving points, and logits of the trained network.
fn trained(kind: Kind) -> Vec<u32> {
    let config = PointNetConfig {
        kind,
        classes: 5,
        width: 2,
        ..PointNetConfig::default()
    };
    let model = PointNet::new(&config, &Device::Cpu, DType::F32, 1).unwrap();
    let optimizer = OptimConfig::adamw().build(model.params()).unwrap();
    let mut learner = Learner::new(model, optimizer, Loss::CROSS_ENTROPY);
    let labels = Tensor::new(&[0_u32, 1, 2, 3, 4, 0, 1, 2], &Device::Cpu).unwrap();
    let points = |step| random(step, &[8, 300, 3]).to_dtype(DType::F32).unwrap();
    for step in 0..6 {
        learner.step((&points(step), &labels), 1e-2).unwrap();
    }
    let logits = learner.model.forward(&points(9), &Pass::eval()).unwrap().logits;
    let all = learner
        .model
        .params()
        .into_iter()
        .map(|(_, p)| p.as_tensor().clone());
    all.chain([logits])
        .flat_map(|t| t.flatten_all().unwrap().to_vec1::<f32>().unwrap())
        .map(f32::to_bits)
        .collect()
}

#[test]
fn a_training_with_a_filter_is_bit_identical_to_one_without() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for kind in [Kind::Vanilla, Kind::Full] {
        Filter::Off.choose();
        let without = trained(kind);
        for filter in &Filter::ALL[1..] {
            if !filter.is_available() {
                println!("{filter:?}: not run, because this machine does not have its instructions");
                continue;
            }
            filter.choose();
            let before = filter_counts();
            assert!(without == trained(kind), "{filter:?}, {kind:?}");
            let after = filter_counts();
            assert!(after.maxima - before.maxima > after.fallbacks - before.fallbacks);
        }
    }
}
