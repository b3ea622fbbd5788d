//! Cross-entropy against the CPU twin and f64.

use candle_core::{Device as Cpu, Tensor as Host};
use canopy::kernels::cross_entropy;
use grid::Arg;

use crate::common::*;
use crate::device::*;

struct Case {
    rows: usize,
    classes: usize,
    smoothing: f32,
    weighted: bool,
    dtype: Type,
}

/// The loss and its gradient from the grid; none if the grid does not run here.
fn on_grid(case: &Case, logits: &[f32], labels: &[u32], weights: &[f32]) -> Option<(f32, Vec<f32>)> {
    let mut device = Device::with("loss.cu")?;
    let (x, gradient) = (
        device.tensor(logits, case.dtype),
        device.output(logits.len(), case.dtype),
    );
    let (labels, weights) = (device.memory.upload(labels), device.memory.upload(weights));
    let loss = device.output(1, Type::F32);
    let arguments = [
        x.read(),
        Arg::read(labels),
        if case.weighted {
            Arg::read(weights)
        } else {
            Arg::Null
        },
        value(case.smoothing),
        loss.write(),
        gradient.write(),
        value(case.rows as i32),
        value(case.classes as i32),
    ];
    let kernel = format!("cross_entropy_{}", case.dtype.suffix());
    device.launch(&kernel, Shape::of(1, 128), &arguments);
    Some((device.values(loss)[0], device.values(gradient)))
}

#[test]
fn cross_entropy_matches() {
    for (rows, classes) in ROWS.into_iter().zip([5, 40, 33, 7]) {
        for dtype in Type::ALL {
            for (smoothing, weighted) in [(0.0, false), (0.1, true)] {
                let case = Case {
                    rows,
                    classes,
                    smoothing,
                    weighted,
                    dtype,
                };
                let logits: Vec<f32> = random(4, rows * classes).iter().map(|v| v * 8.0).collect();
                let logits = dtype.rounded(&logits);
                let labels: Vec<u32> = (0..rows as u32).map(|i| i * 7 % classes as u32).collect();
                let weights: Vec<f32> = random(5, classes).iter().map(|v| v + 1.5).collect();
                let Some((loss, gradient)) = on_grid(&case, &logits, &labels, &weights) else {
                    return;
                };
                let references = references(&[(&logits, &[rows, classes])], &[1.0], |x, pass| {
                    let labels = Host::from_slice(&labels, rows, &Cpu::Cpu)?;
                    let weights = Host::from_slice(&weights, classes, &Cpu::Cpu)?;
                    let weights = weighted.then(|| weights.to_dtype(x[0].dtype())).transpose()?;
                    cross_entropy(
                        &on_tape(&x[0], pass)?,
                        &labels,
                        f64::from(smoothing),
                        weights.as_ref(),
                    )
                });
                for (name, reference) in references {
                    close(&format!("loss against {name}"), &[loss], &reference[0], 1e-5);
                    close(
                        &format!("gradient against {name}"),
                        &gradient,
                        &reference[1],
                        dtype.tolerance(),
                    );
                }
            }
        }
    }
}

#[test]
fn a_label_that_is_no_class_makes_the_loss_nan() {
    let case = Case {
        rows: 2,
        classes: 3,
        smoothing: 0.0,
        weighted: false,
        dtype: Type::F32,
    };
    if let Some((loss, _)) = on_grid(&case, &[0.0; 6], &[1, 3], &[1.0; 3]) {
        assert!(loss.is_nan());
    }
}

#[test]
fn a_weighted_sum_and_its_gradients_match() {
    let Some(mut device) = Device::with("loss.cu") else {
        return;
    };
    let (terms, factors) = (random(1, 3), random(2, 3));
    let addresses: Vec<grid::Address> = terms
        .iter()
        .map(|&term| {
            let buffer = device.memory.upload(&[term]);
            device.memory.address(buffer, 0)
        })
        .collect();
    let table = Arg::read(device.memory.upload(&addresses));
    let factors_on = Arg::read(device.memory.upload(&factors));
    let [sum, gradients] = [1, 3].map(|n| device.output(n, Type::F32));
    let arguments = [table, factors_on.clone(), sum.write(), value(3)];
    device.launch("weighted_sum", Shape::of(1, 1), &arguments);
    let product = |(t, f): (&f32, &f32)| f64::from(*t) * f64::from(*f);
    let expected: f64 = terms.iter().zip(&factors).map(product).sum();
    close("sum", &device.values(sum), &[expected], 1e-6);

    let g = device.tensor(&[0.5], Type::F32);
    let arguments = [g.read(), factors_on, gradients.write(), value(3)];
    device.launch("weighted_sum_backward", Shape::of(1, 32), &arguments);
    let expected: Vec<f32> = factors.iter().map(|f| f * 0.5).collect();
    assert_eq!(device.values(gradients), expected);
}
