//! The fused operators on the CPU's units for bf16, against the emulation: of every value and gradient, the difference is
//! small beside what rounding to bf16 changes.

use std::sync::Arc;

use candle_core::{DType, Tensor};
use canopy::kernels::{self, Bf16Unit, Clouds, Pass};
use canopy::precision::{Autocast, BF16};

use crate::common::{Values, flat, layer, outcome_of, random, var};

type Outcome = Vec<(String, Vec<f64>)>;

/// [`compare_in`] training.
fn compare(what: &str, most: impl Fn(&str) -> f64, of: impl Fn(Pass) -> Outcome) {
    compare_in(|| Pass::train(1, 0), what, most, of);
}

/// Runs `of` in passes in f32, emulated and on each unit of this machine. Fails if a unit differs from the emulation by more
/// than `most` (of a tensor's name) of what rounding changes, in the norm of a tensor.
fn compare_in(new: impl Fn() -> Pass, what: &str, most: impl Fn(&str) -> f64, of: impl Fn(Pass) -> Outcome) {
    let pass = |autocast: Autocast| new().lowered(Some(Arc::new(autocast)));
    let (full, emulated) = (of(new()), of(pass(Autocast::emulated(BF16))));
    for unit in &Bf16Unit::ALL[1..] {
        if !unit.is_available() {
            println!("{unit}: not run, because this machine does not have its instructions");
            continue;
        }
        let got = of(pass(Autocast::on_unit(*unit)));
        for (((name, got), (_, emulated)), (_, full)) in got.iter().zip(&emulated).zip(&full) {
            let off = |a: &[f64]| -> f64 {
                a.iter()
                    .zip(emulated)
                    .map(|(a, b)| (a - b).powi(2))
                    .sum::<f64>()
                    .sqrt()
            };
            let size = emulated.iter().map(|v| v * v).sum::<f64>().sqrt();
            let (of_unit, rounding) = (off(got), off(full));
            assert!(
                of_unit <= most(name) * rounding + 1e-6 * size,
                "{what}, {unit}, {name}: differs by {of_unit:e} from the emulation, and f32 by {rounding:e}"
            );
        }
    }
}

fn layers(widths: &[usize]) -> Vec<Values> {
    let pairs = widths.windows(2).enumerate();
    pairs
        .map(|(i, w)| layer(5 + 3 * i as u64, w[0], w[1], i % 2 == 0))
        .collect()
}

#[test]
fn stored_layers_agree_with_the_emulation() {
    for (rows, widths) in [
        (301, vec![20, 33]),
        (1000, vec![3, 16, 40]),
        (50, vec![130, 70, 5]),
    ] {
        let (x, layers) = (random(4, &[rows, widths[0]]), layers(&widths));
        compare(
            &format!("{rows} rows, {widths:?}"),
            |_| 0.1,
            |pass| outcome_of(&x, &layers, None, DType::F32, pass).unwrap(),
        );
    }
}

#[test]
fn layers_before_a_maximum_agree_with_the_emulation() {
    // The gradient goes to the greatest sum, in the emulation to the first of those that round to the same number. The
    // gradients that depend on the row are compared below.
    let (x, layers) = (random(4, &[8 * 301, 3]), layers(&[3, 20, 70]));
    compare(
        "two layers",
        |_| 0.8,
        |pass| {
            let mut all = outcome_of(&x, &layers, Some(8), DType::F32, pass).unwrap();
            all.retain(|(name, _)| !["x", "w0", "gamma0", "beta0", "w1"].contains(&name.as_str()));
            all
        },
    );
}

#[test]
fn a_maximum_of_exact_products_agrees_with_the_emulation() {
    // Whole numbers, whose products bf16 holds: the maxima are at the same rows. What remains is that the emulation rounds
    // the gradient of each product, which a fused layer does not compute.
    let whole = |t: &Tensor| (t * 3.0).unwrap().round().unwrap();
    let x = whole(&random(4, &[30 * 64, 17]));
    let mut l = layer(5, 17, 33, true);
    l.w = whole(&l.w);
    compare(
        "whole numbers",
        |_| 1.5,
        |pass| outcome_of(&x, std::slice::from_ref(&l), Some(30), DType::F32, pass).unwrap(),
    );
}

#[test]
fn transforms_agree_with_the_emulation() {
    for (k, clouds, points) in [(16, 3, 37), (64, 2, 300)] {
        let (x, t) = (
            var(&random(4, &[clouds * points, k]), DType::F32),
            var(&random(5, &[clouds, k, k]), DType::F32),
        );
        let weight = var(&random(6, &[5, k]), DType::F32);
        let bias = var(&random(7, &[5]), DType::F32);
        compare(
            &format!("transform {k}"),
            |_| 0.1,
            |pass| {
                let on_tape = |v: &Tensor| kernels::each(v, &pass, |_| (), |_| ()).unwrap();
                let y =
                    kernels::transform_in(&pass, &on_tape(&x), &on_tape(&t), &Clouds::Equal(clouds)).unwrap();
                let logits = kernels::linear(&y, &weight, &bias).unwrap();
                let rows = (clouds * points) as u32;
                let labels = Tensor::from_iter((0..rows).map(|i| i * 7 % 5), y.device()).unwrap();
                let loss = kernels::cross_entropy(&logits, &labels, 0.1, None).unwrap();
                let gradients = kernels::backward(&loss, &pass).unwrap();
                let of = |v: &Tensor| flat(&gradients.get(v).unwrap().to_dtype(DType::F64).unwrap());
                vec![
                    ("y".into(), flat(&y.to_dtype(DType::F64).unwrap())),
                    ("x".into(), of(&x)),
                    ("t".into(), of(&t)),
                ]
            },
        );
    }
}

/// In an evaluation the emulation rounds the same numbers: before a maximum as well, because the greatest of rounded products is
/// the greatest product, rounded. What remains is sums in another order, which round to another number now and then.
#[test]
fn evaluations_agree_with_the_emulation() {
    let cases: [(usize, &[usize], Option<usize>); 6] = [
        (301, &[20, 33], None),
        (1000, &[3, 16, 40], None),
        (50, &[130, 70, 5], None),
        (8 * 301, &[3, 20, 70], Some(8)),
        (2 * 300, &[32, 17], Some(2)),
        (2 * 300, &[17, 40], Some(2)),
    ];
    for (rows, widths, clouds) in cases {
        let (x, layers) = (random(4, &[rows, widths[0]]), layers(widths));
        compare_in(
            Pass::eval,
            &format!("{rows} rows, {widths:?}, clouds {clouds:?}"),
            |_| 0.1,
            |pass| outcome_of(&x, &layers, clouds, DType::F32, pass).unwrap(),
        );
    }
    for (k, clouds, points) in [(3, 3, 37), (16, 3, 37), (64, 2, 300)] {
        let [x, t] = [random(4, &[clouds * points, k]), random(5, &[clouds, k, k])]
            .map(|t| t.to_dtype(DType::F32).unwrap());
        compare_in(
            Pass::eval,
            &format!("transform {k}"),
            |_| 0.1,
            |pass| {
                let y = kernels::transform_in(&pass, &x, &t, &Clouds::Equal(clouds)).unwrap();
                vec![("y".into(), flat(&y.to_dtype(DType::F64).unwrap()))]
            },
        );
    }
}
