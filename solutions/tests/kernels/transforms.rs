//! A network of every operator: clouds of different lengths, padded to the longest, a T-Net with dropout, and a maximum.

use candle_core::{DType, Device, Tensor};
use canopy::kernels::{self, Pass};

use crate::cases::*;

/// The loss, the gradients of the padded points and of every parameter, the logits and the running statistics, over clouds of
/// `lengths`. Padding is NaN.
fn network(k: usize, lengths: &'static [usize]) -> Case {
    let (clouds, longest) = (lengths.len(), lengths.iter().max().unwrap() + 2);
    let real = move |i: usize| i % longest >= 1 && i % longest < 1 + lengths[i / longest];
    let widths: [&[usize]; 2] = [&[k, k, 40, 24], &[k, 19, 70]];
    let mut shapes = vec![vec![clouds, longest, k]];
    shapes.extend(widths.into_iter().flat_map(layer_shapes));
    shapes.extend([vec![k * k, 24], vec![k * k]]);
    let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
    let mut case = Case::new("network", (k, lengths), &shapes, move |x, v, pass| {
        let mask: Vec<f32> = (0..clouds * longest).map(|i| f32::from(real(i))).collect();
        let mask = Tensor::from_vec(mask, (clouds, longest), &Device::Cpu)?;
        let norms = norms(&v[1..16])?;
        let mlp = [mlp(&v[1..13], &norms, true), mlp(&v[13..16], &norms[4..], false)].concat();
        let (w, b) = (&v[16], &v[17]);

        let (rows, of_rows) = kernels::without_padding(x, &mask, pass)?;
        assert_eq!(rows.dim(0)?, lengths.iter().sum::<usize>());
        let y = kernels::shared_mlp(&rows, &mlp[..1], pass)?;
        let pooled = kernels::shared_mlp_max(&y, &mlp[1..2], of_rows.clone(), pass)?;
        let hidden = kernels::shared_mlp(&pooled, &mlp[2..3], pass)?;
        let hidden = kernels::dropout(&hidden, 0.3, 2, pass)?;
        let t = kernels::add_identity(&kernels::linear(&hidden, w, b)?, k)?;
        let z = kernels::transform(&y, &t, &of_rows, pass)?;
        let logits = kernels::shared_mlp_max(&z, &mlp[3..], of_rows, pass)?;
        let labels: Vec<u32> = (0..clouds as u32).collect();
        let loss = kernels::cross_entropy(&logits, &Tensor::new(labels, &Device::Cpu)?, 0.1, None)?;
        let loss = kernels::weighted_sum(&[(&loss, 1.0), (&kernels::orthogonality(&t)?, 0.001)])?;
        let mut outputs = with_running(loss, &norms)?;
        outputs.insert(1, logits);
        Ok(outputs)
    });
    for (i, value) in case.inputs[0].0.iter_mut().enumerate() {
        if !real(i / k) {
            *value = f32::NAN;
        }
    }
    case
}

#[test]
fn every_operator_matches_plain_and_padding_is_in_no_statistic_no_maximum_and_no_gradient() {
    for (k, lengths, bound) in [
        (3, &[300; 3][..], 3e-4),
        (16, &[200; 3], 3e-4),
        (7, &[301; 3], 3e-4),
        (5, &[300, 1, 270, 9], 2e-4),
        (16, &[40, 12, 33], 2e-4),
        (5, &[6; 3], 2e-4),
    ] {
        let case = network(k, lengths);
        let outcome = |dtype| case.on_cpu(dtype, &Pass::train(5, 9).plain(dtype == DType::F64));
        let (fused, plain) = (outcome(DType::F32), outcome(DType::F64));
        let of_points = case.inputs[0].0.iter().zip(&fused[1]);
        for (point, gradient) in of_points.filter(|(point, _)| point.is_nan()) {
            assert!(*gradient == 0.0, "gradient {gradient} of padding {point}");
        }
        for (i, (fused, plain)) in fused.iter().zip(&plain).enumerate() {
            let what = format!("k {k}, {lengths:?}: tensor {i}");
            match i {
                // β of a channel whose maxima are all positive shifts every cloud alike, which the next batch norm takes back.
                // Its gradient is 0, apart from rounding, so the bound is absolute.
                BETA_BEFORE_MAXIMUM => {
                    let at_least_one = |values: &[f64]| [values, &[1.0]].concat();
                    close(&what, &at_least_one(fused), &at_least_one(plain), bound)
                }
                _ => close(&what, fused, plain, bound),
            };
        }
    }
}

/// The gradient of β of the second layer: that of the seventh input, after the loss.
const BETA_BEFORE_MAXIMUM: usize = 7;
