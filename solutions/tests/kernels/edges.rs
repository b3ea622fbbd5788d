//! The fused operators return NaN and infinities where the plain ones do.

use candle_core::{DType, Device, Result, Tensor};
use canopy::kernels::{self, Pass};

use super::common::{Values, as_mlp, build, flat, layer, random};

const ODD: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

fn forward(x: &Tensor, layers: &[Values], clouds: Option<usize>, pass: &Pass) -> Result<Vec<f64>> {
    let x = x.to_dtype(DType::F32)?;
    let layers = build(layers, DType::F32);
    let mlp = as_mlp(&layers);
    let y = match clouds {
        Some(c) => kernels::shared_mlp_max(&x, &mlp, c, pass)?,
        None => kernels::shared_mlp(&x, &mlp, pass)?,
    };
    Ok(flat(&y))
}

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

#[test]
fn non_finite_values_of_one_point_propagate_as_in_the_plain_form() {
    let layers = [layer(20, 4, 19, true), layer(23, 19, 33, true)];
    let x = random(3, &[2 * 300, 4]);
    for value in ODD {
        for place in [0, 4 * 150 + 2, 4 * 299 + 3, 4 * 300, 4 * 599] {
            let x = with(&x, place, value);
            for count in [1, 2] {
                let of = &layers[..count];
                for clouds in [None, Some(2)] {
                    let fused = forward(&x, of, clouds, &Pass::eval()).unwrap();
                    let plain = forward(&x, of, clouds, &Pass::eval().plain(true)).unwrap();
                    let what = format!("{value} at {place}, {count} layers, clouds {clouds:?}");
                    assert_same(&fused, &plain, &what);
                    assert!(
                        fused.iter().any(|v| !v.is_finite()),
                        "{what}: no output is non-finite"
                    );
                    assert!(
                        fused.iter().any(|v| v.is_finite()),
                        "{what}: every output is non-finite"
                    );
                }
            }
        }
    }
}

#[test]
fn non_finite_values_in_training_make_all_outputs_nan_as_in_the_plain_form() {
    let layers = [layer(20, 4, 19, true), layer(23, 19, 33, true)];
    let x = random(3, &[2 * 300, 4]);
    for value in ODD {
        let x = with(&x, 4 * 150, value);
        for clouds in [None, Some(2)] {
            let fused = forward(&x, &layers, clouds, &Pass::train(1, 0)).unwrap();
            let plain = forward(&x, &layers, clouds, &Pass::train(1, 0).plain(true)).unwrap();
            assert!(plain.iter().all(|v| v.is_nan()));
            assert_same(&fused, &plain, &format!("{value}, clouds {clouds:?}"));
        }
    }
}

#[test]
fn an_infinite_weight_is_not_ignored() {
    let mut l = layer(30, 4, 19, true);
    l.w = with(&l.w, 7, f64::INFINITY);
    let x = random(3, &[40, 4]);
    let layers = [l];
    let fused = forward(&x, &layers, Some(2), &Pass::eval()).unwrap();
    let plain = forward(&x, &layers, Some(2), &Pass::eval().plain(true)).unwrap();
    assert_same(&fused, &plain, "an infinite weight");
    assert!(fused.iter().any(|v| !v.is_finite()));
}

#[test]
fn a_non_finite_logit_makes_the_loss_non_finite() {
    let labels = Tensor::new(&[0u32, 2], &Device::Cpu).unwrap();
    for value in ODD {
        for place in [0, 4] {
            let logits = with(&random(4, &[2, 3]), place, value)
                .to_dtype(DType::F32)
                .unwrap();
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
}
