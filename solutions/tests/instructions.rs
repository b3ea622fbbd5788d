//! Every instruction set and every filter that this machine can run. The wide sets are bit-identical, and so are all filters
//! to none.
//!
//! A choice applies to the whole process, so these tests run in turn.

#![allow(clippy::unwrap_used)] // a test may panic

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "cases/mod.rs"]
mod cases;

use std::sync::{Mutex, PoisonError};

use candle_core::{DType, Device, Tensor, Var};
use canopy::kernels::{Filter, FilterCounts, InstructionSet, Pass, filter_counts};
use canopy::model::{Kind, PointNet, PointNetConfig};
use canopy::optim::OptimConfig;
use canopy::train::{Loss, short::Learner};
use cases::{Case, assert_same_bits, flat, random, shared};

type Outcome = Vec<Vec<f64>>;

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
fn layers_unchanged(case: &Case, what: &str) -> FilterCounts {
    let [_, mut did] = [Pass::train, |_, _| Pass::eval()].map(|pass| {
        let pass = || pass(1, 0);
        let what = format!("{what}, train {}", pass().train);
        unchanged(&what, || case.on_cpu(DType::F32, &pass()))
    });
    did.pop().expect("one filter is available everywhere")
}

/// Layers of these widths over `clouds` clouds of `points` points; each coordinate is that of `value`, of its row, its channel and a random
/// value.
fn layers(widths: &[usize], [clouds, points]: [usize; 2], value: impl Fn(usize, usize, f64) -> f64) -> Case {
    let mut case = shared(widths, (true, true), &vec![points; clouds]);
    let k = widths[0];
    for (i, v) in case.inputs[0].0.iter_mut().enumerate() {
        *v = value(i / k, i % k, f64::from(*v)) as f32;
    }
    case
}

/// One layer 32 → 64 over two clouds.
fn one(value: impl Fn(usize, usize, f64) -> f64) -> Case {
    layers(&[32, 64], [2, 300], value)
}

/// A layer 32 → 64 over three clouds whose weights `change` has changed.
fn weights(change: impl Fn(&mut [f32])) -> Case {
    let mut case = layers(&[32, 64], [3, 300], |_, _, v| v.max(0.0));
    change(&mut case.inputs[1].0);
    case
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
        let positive = layers(&[k, n], [clouds, points], |_, _, v| v.max(0.0));
        let did = layers_unchanged(&positive, &format!("k {k}, n {n}"));
        assert_eq!(did.fallbacks, 0, "k {k}, n {n}");
        assert!(k < 128 || did.candidates_each() < 100.0, "{did:?}");
        layers_unchanged(&layers(&[k, 64, n], [clouds, points], |_, _, v| v), "two layers");
    }
}

#[test]
fn all_rows_equal() {
    let equal = one(|_, c, _| 0.3 + 0.01 * c as f64);
    let did = layers_unchanged(&equal, "all rows equal");
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
    let single = |r: usize, c: usize, v: f64| if r % 300 == c { v.abs() } else { 0.0 };
    let magnitude = |r: usize, v: f64| v.max(0.0) * 2_f64.powi((r % 280) as i32 - 149);
    let mut cases = vec![
        (
            "last bits".to_owned(),
            one(|r, c, _| 0.3 + 0.01 * c as f64 + ulp(r, c)),
        ),
        ("near ties among few rows".into(), one(few)),
        ("every row twice".into(), one(|r, c, _| twice(r, c))),
        ("negative values".into(), one(|_, _, v| v)),
        (
            "negative zeros".into(),
            one(|_, _, v| if v < 0.0 { -0.0 } else { v }),
        ),
        ("zeros".into(), one(|_, _, _| 0.0)),
        ("one value a row".into(), one(single)),
        ("rows of all magnitudes".into(), one(|r, _, v| magnitude(r, v))),
    ];
    for power in [-149, -130, -100, -60, -40, -39, 39, 41, 60, 120, 126] {
        cases.push((
            format!("2^{power}"),
            one(|_, _, v| v.max(0.0) * 2_f64.powi(power)),
        ));
    }
    for odd in [1e7, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let value = |r, c, v: f64| if (r, c) == (37, 5) { odd } else { v.max(0.0) };
        cases.push((format!("one value of {odd}"), one(value)));
    }
    let mut gamma = weights(|w| {
        w[32 * 7..32 * 9].fill(0.0);
        w[32 * 12..32 * 13].fill(-0.0);
    });
    gamma.inputs[2].0 = (0..64).map(|c| [0.0, -0.7, 0.9][c % 3]).collect();
    cases.push(("columns of zeros, gamma of zero and below".into(), gamma));
    for power in [-140, -60, 60] {
        let change = |w: &mut [f32]| w[..32 * 3].iter_mut().for_each(|w| *w *= 2_f32.powi(power));
        cases.push((format!("weights of 2^{power}"), weights(change)));
    }
    for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        cases.push((format!("a weight of {odd}"), weights(|w| w[77] = odd)));
    }
    for (what, case) in cases {
        layers_unchanged(&case, &what);
    }
}

#[test]
fn any_number_of_threads() {
    let case = layers(&[64, 100], [6, 700], |_, _, v| v.max(0.0));
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let run = || layers_unchanged(&case, "threads");
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
    let points = |step| Tensor::from_vec(random(step, 8 * 300 * 3), (8, 300, 3), &Device::Cpu).unwrap();
    for step in 0..6 {
        learner.step((&points(step), &labels), 1e-2).unwrap();
    }
    let logits = learner.model.forward(&points(9), &Pass::eval()).unwrap().logits;
    let mut all: Outcome = learner.model.params().iter().map(|(_, p)| flat(p)).collect();
    all.push(flat(&logits));
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
    let tensor = |seed| Tensor::from_vec(random(seed, 37 * 11), (37, 11), &Device::Cpu).unwrap();
    let w = Var::from_tensor(&tensor(40)).unwrap();
    let mut adam = OptimConfig::adamw()
        .build(vec![("w".to_owned(), w.clone())])
        .unwrap();
    for step in 0..3 {
        adam.step(&[tensor(50 + step)], 1e-2).unwrap();
    }
    flat(w.as_tensor())
}

#[test]
fn every_instruction_set_matches_plain_and_the_wide_ones_are_bit_identical() {
    let [whole, of_clouds] = [false, true].map(|max| shared(&[3, 19, 40, 67], (true, max), &[200; 3]));
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
        whole.matches_plain(1e-4);
        of_clouds.matches_plain(1e-4);
        adam.push(stepped());
        // The base set rounds each product before it adds it; the others do not, and add in the same order.
        if set > InstructionSet::Base {
            wide.push(of_clouds.on_cpu(DType::F32, &Pass::train(1, 0)));
        }
    }
    before.choose();
    assert!(
        wide.windows(2).all(|pair| pair[0] == pair[1]),
        "AVX2 and AVX-512 differ"
    );
    assert!(adam.windows(2).all(|pair| pair[0] == pair[1]), "AdamW");
}
