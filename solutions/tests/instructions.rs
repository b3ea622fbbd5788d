//! Every instruction set and every filter that this machine can run. The wide sets are bit-identical, and so are all filters
//! to none.
//!
//! A choice applies to the whole process, so these tests run in turn.

#![allow(clippy::unwrap_used)] // a test may panic

#[allow(dead_code)]
#[path = "kernels/common.rs"]
mod common;

use std::sync::{Mutex, PoisonError};

use candle_core::{DType, Device, Tensor};
use canopy::kernels::{Filter, FilterCounts, InstructionSet, Pass, filter_counts};
use canopy::model::{Kind, PointNet, PointNetConfig};
use canopy::optim::OptimConfig;
use canopy::train::{Loss, short::Learner};
use common::{
    Outcome, Values, assert_same_bits, flat, layer, matches_plain, outcome, pass, random, stack, var,
};

static TURN: Mutex<()> = Mutex::new(());

/// Fails if a filter changes any bit of what `run` returns. Returns what each filter did.
fn unchanged(what: &str, run: impl Fn() -> Outcome) -> Vec<FilterCounts> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    Filter::Off.choose();
    let (without, mut did) = (run(), Vec::new());
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
        did.push(FilterCounts {
            maxima: after.maxima - before.maxima,
            candidates: after.candidates - before.candidates,
            fallbacks: after.fallbacks - before.fallbacks,
        });
        assert_same_bits(&format!("{what}, {filter:?}"), &without, &with);
    }
    did
}

/// [`unchanged`], of layers before a maximum, in training and in evaluation. Returns what the last filter did in evaluation.
fn layers_unchanged(x: &Tensor, layers: &[Values], clouds: usize, what: &str) -> FilterCounts {
    let [_, mut did] = [true, false].map(|train| {
        unchanged(&format!("{what}, train {train}"), || {
            outcome(x, layers, Some(clouds), DType::F32, &pass(train, DType::F32)).unwrap()
        })
    });
    did.pop().expect("one filter is available everywhere")
}

/// Values of each row and channel, from those and a random value.
fn rows(count: usize, k: usize, value: impl Fn(usize, usize, f64) -> f64) -> Tensor {
    let noise = flat(&random(3, &[count, k]));
    let values = noise.iter().enumerate().map(|(i, &v)| value(i / k, i % k, v));
    Tensor::from_vec(values.collect::<Vec<_>>(), (count, k), &Device::Cpu).unwrap()
}

/// A layer 32 → 64 whose weights `change` has changed.
fn weights(change: impl Fn(&mut [f64])) -> Values {
    let mut l = layer(5, 32, 64, true);
    let mut w = flat(&l.w);
    change(&mut w);
    l.w = Tensor::from_vec(w, (64, 32), &Device::Cpu).unwrap();
    l
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
        let did = layers_unchanged(&x, &[layer(5, k, n, true)], clouds, &format!("k {k}, n {n}"));
        assert_eq!(did.fallbacks, 0, "k {k}, n {n}");
        assert!(k < 128 || did.candidates_each() < 100.0, "{did:?}");
        let deep = stack(5, &[k, 64, n], |_| true);
        layers_unchanged(&random(4, &[clouds * points, k]), &deep, clouds, "two layers");
    }
}

#[test]
fn all_rows_equal() {
    let equal = rows(600, 32, |_, c, _| 0.3 + 0.01 * c as f64);
    let did = layers_unchanged(&equal, &[layer(5, 32, 64, true)], 2, "all rows equal");
    assert!(did.candidates >= 600 * 64, "all rows are candidates");
}

#[test]
fn ties_zeros_and_values_and_weights_of_any_size() {
    let step = f64::from(f32::EPSILON) / 4.0;
    let ulp = |r: usize, c: usize| f64::from(u8::from(r * 7 % 600 == c)) * step;
    let few = |r: usize, c: usize, v: f64| {
        let high = if r % 97 == 5 { 0.7 } else { 0.2 * v.max(0.0) };
        high + if r.is_multiple_of(2) {
            step * (c % 3) as f64
        } else {
            0.0
        }
    };
    let twice = |r: usize, c: usize| (((r % 150) * 31 + c * 17) % 101) as f64 / 101.0;
    let one = |r: usize, c: usize, v: f64| if r % 300 == c { v.abs() } else { 0.0 };
    let mut inputs = vec![
        (
            "last bits".to_owned(),
            rows(600, 32, |r, c, _| 0.3 + 0.01 * c as f64 + ulp(r, c)),
        ),
        ("near ties among few rows".into(), rows(600, 32, few)),
        ("every row twice".into(), rows(600, 32, |r, c, _| twice(r, c))),
        ("negative values".into(), random(3, &[600, 32])),
        (
            "negative zeros".into(),
            rows(600, 32, |_, _, v| if v < 0.0 { -0.0 } else { v }),
        ),
        ("zeros".into(), rows(600, 32, |_, _, _| 0.0)),
        ("one value a row".into(), rows(600, 32, one)),
        (
            "rows of all magnitudes".into(),
            rows(600, 32, |r, _, v| v.max(0.0) * 2_f64.powi((r % 280) as i32 - 149)),
        ),
    ];
    for power in [-149, -130, -100, -60, -40, -39, 39, 41, 60, 120, 126] {
        let x = rows(600, 32, |_, _, v| v.max(0.0) * 2_f64.powi(power));
        inputs.push((format!("2^{power}"), x));
    }
    for odd in [1e7, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let value = |r, c, v: f64| if (r, c) == (37, 5) { odd } else { v.max(0.0) };
        inputs.push((format!("one value of {odd}"), rows(600, 32, value)));
    }
    for (what, x) in inputs {
        layers_unchanged(&x, &[layer(5, 32, 64, true)], 2, &what);
    }

    let mut gamma = weights(|w| {
        w[32 * 7..32 * 9].fill(0.0);
        w[32 * 12..32 * 13].fill(-0.0);
    });
    let values: Vec<f64> = (0..64).map(|c| [0.0, -0.7, 0.9][c % 3]).collect();
    gamma.gamma = Tensor::from_vec(values, 64, &Device::Cpu).unwrap();
    let mut layers = vec![("columns of zeros, gamma of zero and below".to_owned(), gamma)];
    for power in [-140, -60, 60] {
        let l = weights(|w| w[..32 * 3].iter_mut().for_each(|w| *w *= 2_f64.powi(power)));
        layers.push((format!("weights of 2^{power}"), l));
    }
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        layers.push((format!("a weight of {odd}"), weights(|w| w[77] = odd)));
    }
    for (what, l) in layers {
        layers_unchanged(&rows(900, 32, |_, _, v| v.max(0.0)), &[l], 3, &what);
    }
}

#[test]
fn any_number_of_threads() {
    let x = rows(6 * 700, 64, |_, _, v| v.max(0.0));
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let run = || layers_unchanged(&x, &[layer(5, 64, 100, true)], 6, "threads");
        pool.build().unwrap().install(run);
    }
}

/// Weights after some steps of AdamW on moving points, and logits of the trained network.
fn trained(kind: Kind) -> Outcome {
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
    let params = learner.model.params().into_iter();
    let mut all: Outcome = params.map(|(name, p)| (name, flat(&p))).collect();
    all.push(("logits".to_owned(), flat(&logits)));
    all
}

#[test]
fn a_training_with_a_filter_is_bit_identical_to_one_without() {
    for kind in [Kind::Vanilla, Kind::Full] {
        let did = unchanged(&format!("{kind}"), || trained(kind));
        assert!(did.iter().all(|did| did.maxima > did.fallbacks), "{did:?}");
    }
}

/// Weights after three steps of AdamW.
fn stepped() -> Vec<f64> {
    let w = var(&random(40, &[37, 11]), DType::F32);
    let mut adam = OptimConfig::adamw()
        .build(vec![("w".to_owned(), w.clone())])
        .unwrap();
    for step in 0..3 {
        let gradient = random(50 + step, &[37, 11]).to_dtype(DType::F32).unwrap();
        adam.step(&[gradient], 1e-2).unwrap();
    }
    flat(w.as_tensor())
}

#[test]
fn every_instruction_set_matches_plain_and_the_wide_ones_are_bit_identical() {
    let layers = stack(20, &[3, 19, 40, 67], |_| true);
    let x = random(3, &[600, 3]);
    let (mut wide, mut adam) = (Vec::new(), Vec::new());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = InstructionSet::current();
    for set in InstructionSet::ALL {
        if set > InstructionSet::widest() {
            println!("{set:?}: not run, because this machine has no such instructions");
            continue;
        }
        set.choose();
        assert_eq!(InstructionSet::current(), set);
        matches_plain(&x, &layers, None, 1e-4);
        matches_plain(&x, &layers, Some(3), 1e-4);
        adam.push(stepped());
        // The base set rounds each product before it adds it; the others do not, and add in the same order.
        if set > InstructionSet::Base {
            let pass = pass(true, DType::F32);
            wide.push(outcome(&x, &layers, Some(3), DType::F32, &pass).unwrap());
        }
    }
    before.choose();
    assert!(
        wide.windows(2).all(|pair| pair[0] == pair[1]),
        "AVX2 and AVX-512 differ"
    );
    assert!(adam.windows(2).all(|pair| pair[0] == pair[1]), "AdamW");
}
