//! Linear, batch norm, ReLU and max over points and over clouds.

use candle_core::{DType, Device, Tensor};

use crate::common::*;

#[test]
fn one_layer_matches_plain_at_odd_sizes() {
    for (rows, k, n) in [
        (600, 3, 64),
        (513, 64, 128),
        (777, 20, 33),
        (1000, 17, 16),
        (40, 100, 130),
    ] {
        matches_plain(&random(1, &[rows, k]), &[layer(5, k, n, true)], None, 3e-5);
    }
    // The variance of two rows may be close to 0, and 1/σ multiplies the rounding error.
    matches_plain(&random(1, &[2, 5]), &[layer(5, 5, 7, true)], None, 1e-3);
}

#[test]
fn a_layer_without_relu_matches_plain() {
    matches_plain(&random(2, &[700, 9]), &[layer(6, 9, 19, false)], None, 3e-5);
    matches_plain(&random(2, &[30, 9]), &[layer(6, 9, 19, false)], None, 3e-5);
    matches_plain(&random(3, &[640, 9]), &[layer(6, 9, 19, false)], Some(5), 3e-5);
}

#[test]
fn three_layers_match_plain() {
    let layers = [
        layer(11, 3, 64, true),
        layer(14, 64, 50, true),
        layer(17, 50, 128, true),
    ];
    matches_plain(&random(3, &[1000, 3]), &layers, None, 1e-4);
    matches_plain(&random(3, &[1000, 3]), &layers, Some(4), 1e-4);
}

#[test]
fn the_maximum_matches_plain_at_odd_sizes() {
    for (clouds, points, k, n) in [
        (3, 300, 20, 70),
        (1, 259, 16, 64),
        (5, 1, 8, 40),
        (2, 1030, 64, 200),
        (7, 6, 3, 5),
    ] {
        matches_plain(
            &random(4, &[clouds * points, k]),
            &[layer(21, k, n, true)],
            Some(clouds),
            5e-5,
        );
    }
}

#[test]
fn gamma_of_zero_and_below_selects_the_same_points() {
    let mut l = layer(31, 12, 48, true);
    let gamma: Vec<f64> = (0..48).map(|c| [0.0, -0.7, 0.9][c % 3]).collect();
    l.gamma = Tensor::from_vec(gamma, 48, &Device::Cpu).unwrap();
    matches_plain(&random(5, &[900, 12]), std::slice::from_ref(&l), Some(3), 5e-5);
    matches_plain(&random(5, &[900, 12]), &[l], None, 5e-5);
}

#[test]
fn of_tied_points_the_first_takes_the_gradient() {
    // Every point of a cloud is there twice.
    let half = random(6, &[1, 100, 8]);
    let x = Tensor::cat(&[&half, &half], 1)
        .unwrap()
        .reshape((200, 8))
        .unwrap();
    let l = Values {
        gamma: random(33, &[24]).abs().unwrap(),
        ..layer(32, 8, 24, true)
    };
    matches_plain(&x, std::slice::from_ref(&l), Some(1), 5e-5);
    let grads = outcome(&x, &[l], Some(1), DType::F32, true).unwrap();
    let (_, dx) = grads.iter().find(|(name, _)| name == "x").unwrap();
    let halves = dx.split_at(800);
    assert!(halves.0.iter().zip(halves.1).any(|(a, b)| (a - b).abs() > 1e-6));
}

#[test]
fn constant_channels_stay_finite_and_a_mean_far_from_zero_costs_no_digits() {
    let x = (random(7, &[600, 6]) + 50.0).unwrap();
    matches_plain(&x, &[layer(41, 6, 32, true)], None, 2e-2);
    let constant = Tensor::ones((600, 6), DType::F64, &Device::Cpu).unwrap();
    for clouds in [None, Some(4)] {
        for (name, values) in outcome(&constant, &[layer(42, 6, 32, true)], clouds, DType::F32, true).unwrap()
        {
            assert!(values.iter().all(|v| v.is_finite()), "{name}");
        }
    }
}

#[test]
fn results_are_bit_identical_on_any_number_of_threads() {
    let layers = [
        layer(51, 3, 64, true),
        layer(54, 64, 128, true),
        layer(57, 128, 300, true),
    ];
    let x = random(8, &[4000, 3]);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let mut all = outcome(&x, &layers, Some(8), DType::F32, true).unwrap();
            all.extend(outcome(&x, &layers, None, DType::F32, true).unwrap());
            all.extend(outcome(&random(8, &[40, 3]), &layers, None, DType::F32, true).unwrap());
            all
        })
    };
    let one = on(1);
    for threads in [2, 3, 5] {
        for ((name, a), (_, b)) in one.iter().zip(&on(threads)) {
            assert!(
                a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()),
                "{name} on {threads} threads"
            );
        }
    }
}
