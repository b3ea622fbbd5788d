//! The fused operators return NaN and infinities where the plain ones do.

use candle_core::{DType, Tensor};
use canopy::kernels::{self, Pass};

use crate::cases::*;

const ODD: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

/// The output of the fused operator, which is that of the plain one.
fn output(case: &Case, train: bool, what: &str) -> Vec<f64> {
    let run = |plain| {
        let pass = if train { Pass::train(1, 0) } else { Pass::eval() };
        case.on_cpu(DType::F32, &pass.plain(plain)).remove(0)
    };
    let (fused, plain) = (run(false), run(true));
    assert_eq!(fused.len(), plain.len());
    for (i, (f, p)) in fused.iter().zip(plain).enumerate() {
        let same = *f == p || (f.is_nan() && p.is_nan()) || (f - p).abs() <= 1e-4 * (1.0 + p.abs());
        assert!(same, "{what}, value {i}: fused {f}, plain {p}");
    }
    fused
}

/// One or two layers over two clouds, with the value at `place` of the points, and with a maximum if `max`.
fn layers(widths: &[usize], max: bool, value: f32, place: usize) -> Case {
    let mut case = shared(widths, (true, max), &[300; 2]);
    case.inputs[0].0[place] = value;
    case
}

#[test]
fn non_finite_values_of_one_point_propagate_as_in_the_plain_form() {
    for value in ODD {
        for place in [0, 4 * 150 + 2, 4 * 299 + 3, 4 * 300, 4 * 599] {
            for (widths, max) in [&[4, 19][..], &[4, 19, 33]]
                .into_iter()
                .flat_map(|widths| [(widths, false), (widths, true)])
            {
                let what = format!("{value} at {place}, {widths:?}, maximum {max}");
                let fused = output(&layers(widths, max, value, place), false, &what);
                let finite = fused.iter().filter(|v| v.is_finite()).count();
                assert!((1..fused.len()).contains(&finite), "{what}: {finite} are finite");
            }
        }
    }
}

#[test]
fn non_finite_values_in_training_make_all_outputs_nan_as_in_the_plain_form() {
    for value in ODD {
        for max in [false, true] {
            let case = layers(&[4, 19, 33], max, value, 4 * 150);
            let fused = output(&case, true, &format!("{value}, maximum {max}"));
            assert!(fused.iter().all(|v| v.is_nan()));
        }
    }
}

#[test]
fn an_infinite_weight_is_not_ignored() {
    let mut case = shared(&[4, 19], (true, true), &[20; 2]);
    case.inputs[1].0[7] = f32::INFINITY;
    let fused = output(&case, false, "an infinite weight");
    assert!(fused.iter().any(|v| !v.is_finite()));
}

#[test]
fn a_non_finite_logit_makes_the_loss_non_finite() {
    for (value, place) in ODD.into_iter().flat_map(|value| [(value, 0), (value, 4)]) {
        let mut case = Case::new("cross_entropy", value, &[&[2, 3]], |x, _, pass| {
            // A fused operator before it puts the loss on the tape, so that it is the fused one.
            let y = kernels::dropout(x, 1e-9, 0, pass)?;
            let labels = Tensor::new(&[0u32, 2], x.device())?;
            Ok(vec![kernels::cross_entropy(&y, &labels, 0.1, None)?])
        });
        case.inputs[0].0[place] = value;
        assert!(!output(&case, true, &format!("logit {value} at {place}"))[0].is_finite());
    }
}
