//! The fused operators on the CPU's units for bf16, against the emulation: of every value and gradient, the difference is
//! small beside what rounding to bf16 changes.

use std::sync::Arc;

use candle_core::{DType, Tensor};
use canopy::kernels::{self, Bf16Unit, Clouds, Pass};
use canopy::precision::{Autocast, BF16};

use crate::common::*;

/// Runs `of` in passes in f32, emulated and on each unit of this machine. Fails if a unit differs from the emulation by more
/// than `most` of what rounding changes, in the norm of a tensor.
fn compare(what: &str, train: bool, most: f64, of: impl Fn(&Pass) -> Outcome) {
    let run = |autocast: Option<Autocast>| {
        let lowering = autocast.map(|autocast| Arc::new(autocast) as Arc<dyn kernels::Lowering>);
        of(&pass(train, DType::F32).lowered(lowering))
    };
    let (full, emulated) = (run(None), run(Some(Autocast::emulated(BF16))));
    for unit in &Bf16Unit::ALL[1..] {
        if !unit.is_available() {
            println!("{unit}: not run, because this machine does not have its instructions");
            continue;
        }
        let got = run(Some(Autocast::on_unit(*unit)));
        for (((name, got), (_, emulated)), (_, full)) in got.iter().zip(&emulated).zip(&full) {
            let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
            let off = |a: &[f64]| norm(&mut a.iter().zip(emulated).map(|(a, b)| a - b));
            let (of_unit, rounding) = (off(got), off(full));
            let size = norm(&mut emulated.iter().copied());
            assert!(
                of_unit <= most * rounding + 1e-6 * size,
                "{what}, {unit}, {name}: differs by {of_unit:e} from the emulation, and f32 by {rounding:e}"
            );
        }
    }
}

/// In an evaluation the emulation rounds the same numbers: before a maximum as well, because the greatest of rounded products is
/// the greatest product, rounded. What remains is sums in another order, which round to another number now and then. In training
/// before a maximum, the gradient goes to the greatest sum, in the emulation to the first of those that round to the same number:
/// the gradients that depend on the row are compared below.
#[test]
fn layers_agree_with_the_emulation() {
    // Rows, widths, clouds, and the limit in training.
    type Case = (usize, &'static [usize], Option<usize>, Option<f64>);
    let cases: [Case; 6] = [
        (301, &[20, 33], None, Some(0.1)),
        (1000, &[3, 16, 40], None, Some(0.1)),
        (50, &[130, 70, 5], None, Some(0.1)),
        (8 * 301, &[3, 20, 70], Some(8), Some(0.8)),
        (2 * 300, &[32, 17], Some(2), None),
        (2 * 300, &[17, 40], Some(2), None),
    ];
    for (rows, widths, clouds, in_training) in cases {
        let (x, layers) = (random(4, &[rows, widths[0]]), stack(5, widths, |i| i % 2 == 0));
        let what = format!("{rows} rows, {widths:?}, clouds {clouds:?}");
        let of = |pass: &Pass| {
            let mut all = outcome(&x, &layers, clouds, DType::F32, pass).unwrap();
            let depends_on_row = ["x", "w0", "gamma0", "beta0", "w1"];
            all.retain(|(name, _)| clouds.is_none() || !depends_on_row.contains(&name.as_str()));
            all
        };
        compare(&what, false, 0.1, of);
        if let Some(most) = in_training {
            compare(&what, true, most, of);
        }
    }
}

#[test]
fn a_maximum_of_exact_products_agrees_with_the_emulation() {
    // Whole numbers, whose products bf16 holds: the maxima are at the same rows. What remains is that the emulation rounds
    // the gradient of each product, which a fused layer does not compute.
    let whole = |t: &Tensor| (t * 3.0).unwrap().round().unwrap();
    let x = whole(&random(4, &[30 * 64, 17]));
    let mut l = layer(5, 17, 33, true);
    l.w = whole(&l.w);
    compare("whole numbers", true, 1.5, |pass| {
        outcome(&x, std::slice::from_ref(&l), Some(30), DType::F32, pass).unwrap()
    });
}

#[test]
fn transforms_agree_with_the_emulation() {
    for (k, clouds, points) in [(3, 3, 37), (16, 3, 37), (64, 2, 300)] {
        let of = |seed, shape: &[usize]| var(&random(seed, shape), DType::F32);
        let (x, t) = (of(4, &[clouds * points, k]), of(5, &[clouds, k, k]));
        let (w, b) = (of(6, &[5, k]), of(7, &[5]));
        for train in [true, false] {
            compare(&format!("transform {k}"), train, 0.1, |pass| {
                let on_tape = |v: &Tensor| kernels::each(v, pass, |_| (), |_| ()).unwrap();
                let (xt, tt) = (on_tape(&x), on_tape(&t));
                let y = kernels::transform_in(pass, &xt, &tt, &Clouds::Equal(clouds)).unwrap();
                let mut all = vec![("y".to_owned(), flat(&y))];
                if train {
                    let logits = kernels::linear(&y, &w, &b).unwrap();
                    let labels = (0..(clouds * points) as u32).map(|i| i * 7 % 5);
                    let labels = Tensor::from_iter(labels, y.device()).unwrap();
                    let loss = kernels::cross_entropy(&logits, &labels, 0.1, None).unwrap();
                    let vars = [("x".to_owned(), &x), ("t".to_owned(), &t)];
                    all.extend(gradients(&loss, pass, vars).unwrap());
                }
                all
            });
        }
    }
}
