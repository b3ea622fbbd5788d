//! Linear, batch norm, ReLU and max over points and over clouds; and each other operator alone.

use candle_core::DType;
use canopy::kernels::Pass;

use crate::cases::*;

/// The outcome of the fused operator in training.
fn trained(case: &Case) -> Vec<Vec<f64>> {
    case.on_cpu(DType::F32, &Pass::train(1, 0))
}

/// One layer with ReLU, with the maximum of each cloud if `max`.
fn layer(k: usize, n: usize, max: bool, clouds: &[usize]) -> Case {
    shared(&[k, n], (true, max), clouds)
}

#[test]
fn layers_match_plain() {
    // Widths, whether there are a ReLU and a maximum, lengths of the clouds, and the tolerance.
    type Sizes = (&'static [usize], (bool, bool), &'static [usize], f64);
    let cases: [Sizes; 16] = [
        (&[3, 64], (true, false), &[600], 3e-5),
        (&[64, 128], (true, false), &[513], 3e-5),
        (&[20, 33], (true, false), &[777], 3e-5),
        (&[17, 16], (true, false), &[1000], 3e-5),
        (&[100, 130], (true, false), &[40], 3e-5),
        // The variance of two rows may be close to 0, and 1/σ multiplies the rounding error.
        (&[5, 7], (true, false), &[2], 1e-3),
        (&[9, 19], (false, false), &[700], 3e-5),
        (&[9, 19], (false, false), &[30], 3e-5),
        (&[9, 19], (false, true), &[128; 5], 3e-5),
        (&[3, 64, 50, 128], (true, false), &[1000], 1e-4),
        (&[3, 64, 50, 128], (true, true), &[250; 4], 1e-4),
        (&[20, 70], (true, true), &[300; 3], 5e-5),
        (&[16, 64], (true, true), &[259], 5e-5),
        (&[8, 40], (true, true), &[1; 5], 5e-5),
        (&[64, 200], (true, true), &[1030; 2], 5e-5),
        (&[3, 5], (true, true), &[6; 7], 5e-5),
    ];
    for (widths, form, clouds, tolerance) in cases {
        shared(widths, form, clouds).matches_plain(tolerance);
    }
}

#[test]
fn each_operator_matches_plain() {
    for rows in [1, 2, 33, 1000] {
        for case in [
            linear_layer([rows, 70]),
            entropy([rows, 5], false),
            entropy([rows, 40], true),
        ] {
            case.matches_plain(1e-5);
        }
    }
    for case in [
        transformed(3),
        transformed(33),
        transformed(64),
        penalty([1, 3]),
        penalty([5, 64]),
        plus_identity([3, 13]),
        padding(60),
    ] {
        case.matches_plain(1e-5);
    }
}

#[test]
fn gamma_of_zero_and_below_selects_the_same_points() {
    for max in [true, false] {
        let mut case = layer(12, 48, max, &[300; 3]);
        case.inputs[2].0 = (0..48).map(|c| [0.0, -0.7, 0.9][c % 3]).collect();
        case.matches_plain(5e-5);
    }
}

#[test]
fn of_tied_points_the_first_takes_the_gradient() {
    // Every point of a cloud is there twice.
    let mut case = layer(8, 24, true, &[200]);
    case.inputs[0].0.copy_within(..800, 800);
    case.inputs[2].0.iter_mut().for_each(|gamma| *gamma = gamma.abs());
    case.matches_plain(5e-5);
    let left = trained(&case);
    let (first, second) = left[1].split_at(800);
    assert!(first.iter().zip(second).any(|(a, b)| (a - b).abs() > 1e-6));
}

#[test]
fn constant_channels_stay_finite_and_a_mean_far_from_zero_costs_no_digits() {
    let mut far = layer(6, 32, false, &[600]);
    far.inputs[0].0.iter_mut().for_each(|v| *v += 50.0);
    far.matches_plain(2e-2);
    for max in [true, false] {
        let mut constant = layer(6, 32, max, &[150; 4]);
        constant.inputs[0].0.fill(1.0);
        assert!(trained(&constant).iter().flatten().all(|v| v.is_finite()));
    }
}

#[test]
fn results_are_bit_identical_on_any_number_of_threads() {
    let widths = [3, 64, 128, 300];
    let cases = [(true, &[500; 8][..]), (false, &[4000]), (false, &[40])]
        .map(|(max, clouds)| shared(&widths, (true, max), clouds));
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| cases.each_ref().map(trained))
    };
    let one = on(1);
    for threads in [2, 3, 5] {
        for (one, other) in one.iter().zip(&on(threads)) {
            assert_same_bits(&format!("{threads} threads"), one, other);
        }
    }
}
