//! The fused operators return NaN and infinities where the plain ones do.

use candle_core::{DType, Device, Tensor};
use canopy::kernels::{self, Pass};

use super::common::{Values, flat, layer, outcome, pass, random};

const ODD: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

/// `x` with `value` at one position.
fn with(x: &Tensor, place: usize, value: f64) -> Tensor {
    let mut values = flat(x);
    values[place] = value;
    Tensor::from_vec(values, x.dims(), &Device::Cpu).unwrap()
}

fn assert_same(fused: &[f64], plain: &[f64], what: &str) {
    assert_eq!(fused.len(), plain.len());
    for (i, (f, p)) in fused.iter().zip(plain).enumerate() {
        let same = f == p || (f.is_nan() && p.is_nan()) || (f - p).abs() <= 1e-4 * (1.0 + p.abs());
        assert!(same, "{what}, value {i}: fused {f}, plain {p}");
    }
}

/// The output of the fused operators, which is that of the plain ones.
fn output(x: &Tensor, layers: &[Values], clouds: Option<usize>, train: bool, what: &str) -> Vec<f64> {
    let run = |plain| {
        let pass = pass(train, DType::F32).plain(plain);
        outcome(x, layers, clouds, DType::F32, &pass).unwrap().remove(0).1
    };
    let fused = run(false);
    assert_same(&fused, &run(true), what);
    fused
}

#[test]
fn non_finite_values_of_one_point_propagate_as_in_the_plain_form() {
    let layers = [layer(20, 4, 19, true), layer(23, 19, 33, true)];
    let x = random(3, &[2 * 300, 4]);
    for value in ODD {
        for place in [0, 4 * 150 + 2, 4 * 299 + 3, 4 * 300, 4 * 599] {
            let x = with(&x, place, value);
            for (count, clouds) in [(1, None), (1, Some(2)), (2, None), (2, Some(2))] {
                let what = format!("{value} at {place}, {count} layers, clouds {clouds:?}");
                let fused = output(&x, &layers[..count], clouds, false, &what);
                let finite = fused.iter().filter(|v| v.is_finite()).count();
                assert!((1..fused.len()).contains(&finite), "{what}: {finite} are finite");
            }
        }
    }
}

#[test]
fn non_finite_values_in_training_make_all_outputs_nan_as_in_the_plain_form() {
    let layers = [layer(20, 4, 19, true), layer(23, 19, 33, true)];
    for value in ODD {
        let x = with(&random(3, &[2 * 300, 4]), 4 * 150, value);
        for clouds in [None, Some(2)] {
            let fused = output(&x, &layers, clouds, true, &format!("{value}, clouds {clouds:?}"));
            assert!(fused.iter().all(|v| v.is_nan()));
        }
    }
}

#[test]
fn an_infinite_weight_is_not_ignored() {
    let mut l = layer(30, 4, 19, true);
    l.w = with(&l.w, 7, f64::INFINITY);
    let fused = output(&random(3, &[40, 4]), &[l], Some(2), false, "an infinite weight");
    assert!(fused.iter().any(|v| !v.is_finite()));
}

#[test]
fn a_non_finite_logit_makes_the_loss_non_finite() {
    let labels = Tensor::new(&[0u32, 2], &Device::Cpu).unwrap();
    for (value, place) in ODD.into_iter().flat_map(|value| [(value, 0), (value, 4)]) {
        let logits = with(&random(4, &[2, 3]), place, value);
        let logits = logits.to_dtype(DType::F32).unwrap();
        let loss = |pass: &Pass| {
            // A fused operator before it puts the loss on the tape, so that it is the fused one.
            let y = kernels::dropout(&logits, 1e-9, 0, pass).unwrap();
            flat(&kernels::cross_entropy(&y, &labels, 0.1, None).unwrap())
        };
        let fused = loss(&Pass::train(1, 0));
        let plain = loss(&Pass::train(1, 0).plain(true));
        assert_same(&fused, &plain, &format!("logit {value} at {place}"));
        assert!(!fused[0].is_finite());
    }
}
