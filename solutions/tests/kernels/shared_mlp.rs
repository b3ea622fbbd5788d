//! Linear, batch norm, ReLU and max over points and over clouds.

use candle_core::{DType, Device, Tensor};

use crate::common::*;

/// [`outcome`] of the fused operators in training.
fn trained(x: &Tensor, layers: &[Values], clouds: Option<usize>) -> Outcome {
    outcome(x, layers, clouds, DType::F32, &pass(true, DType::F32)).unwrap()
}

#[test]
fn layers_match_plain() {
    // Rows, widths, whether there is a ReLU, clouds, and the tolerance.
    type Case = (usize, &'static [usize], bool, Option<usize>, f64);
    let cases: [Case; 16] = [
        (600, &[3, 64], true, None, 3e-5),
        (513, &[64, 128], true, None, 3e-5),
        (777, &[20, 33], true, None, 3e-5),
        (1000, &[17, 16], true, None, 3e-5),
        (40, &[100, 130], true, None, 3e-5),
        // The variance of two rows may be close to 0, and 1/σ multiplies the rounding error.
        (2, &[5, 7], true, None, 1e-3),
        (700, &[9, 19], false, None, 3e-5),
        (30, &[9, 19], false, None, 3e-5),
        (640, &[9, 19], false, Some(5), 3e-5),
        (1000, &[3, 64, 50, 128], true, None, 1e-4),
        (1000, &[3, 64, 50, 128], true, Some(4), 1e-4),
        (900, &[20, 70], true, Some(3), 5e-5),
        (259, &[16, 64], true, Some(1), 5e-5),
        (5, &[8, 40], true, Some(5), 5e-5),
        (2060, &[64, 200], true, Some(2), 5e-5),
        (42, &[3, 5], true, Some(7), 5e-5),
    ];
    for (rows, widths, relu, clouds, tolerance) in cases {
        println!("{rows} rows, {widths:?}, ReLU {relu}, clouds {clouds:?}");
        let layers = stack(11, widths, |_| relu);
        matches_plain(&random(3, &[rows, widths[0]]), &layers, clouds, tolerance);
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
    let grads = trained(&x, &[l], Some(1));
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
        for (name, values) in trained(&constant, &[layer(42, 6, 32, true)], clouds) {
            assert!(values.iter().all(|v| v.is_finite()), "{name}");
        }
    }
}

#[test]
fn results_are_bit_identical_on_any_number_of_threads() {
    let layers = stack(51, &[3, 64, 128, 300], |_| true);
    let x = random(8, &[4000, 3]);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let few = random(8, &[40, 3]);
            [(&x, Some(8)), (&x, None), (&few, None)].map(|(x, clouds)| trained(x, &layers, clouds))
        })
    };
    let one = on(1);
    for threads in [2, 3, 5] {
        for (one, other) in one.iter().zip(&on(threads)) {
            assert_same_bits(&format!("{threads} threads"), one, other);
        }
    }
}
