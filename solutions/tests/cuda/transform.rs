//! The T-Nets' operators: each cloud's points times its matrix, and the orthogonality penalty.

use canopy::kernels::{Clouds, orthogonality, transform};
use grid::Arg;

use crate::common::*;
use crate::device::*;

#[test]
fn transform_and_its_gradients_match() {
    let lengths = [1_usize, 2, 33, 100];
    let rows: usize = lengths.iter().sum();
    let starts = [0, 1, 3, 36, 136];
    for k in [3, 33, 64] {
        for dtype in Type::ALL {
            let Some(mut device) = Device::with("transform.cu") else {
                return;
            };
            let name = |kernel: &str| format!("{kernel}_{}", dtype.suffix());
            let x = dtype.rounded(&random(1, rows * k));
            let t = dtype.rounded(&random(2, lengths.len() * k * k));
            let g = dtype.rounded(&random(3, rows * k));
            let [on, matrices, gradient] = [&x, &t, &g].map(|v| device.tensor(v, dtype));
            let starts = Arg::read(device.memory.upload(&starts));
            let [y, dx] = [0; 2].map(|_| device.output(x.len(), dtype));
            let dt = device.output(t.len(), dtype);
            let tiles = (k as u32).div_ceil(32);
            let shape = Shape::grid([100_u32.div_ceil(32), lengths.len() as u32, tiles], [256, 1, 1]);
            for (input, output, transposed) in [(on, y, 0), (gradient, dx, 1)] {
                let arguments = [
                    input.read(),
                    matrices.read(),
                    starts.clone(),
                    output.write(),
                    value(k as i32),
                    value(transposed),
                ];
                device.launch(&name("transform"), shape, &arguments);
            }
            let shape = Shape::grid([tiles, tiles, lengths.len() as u32], [256, 1, 1]);
            let arguments = [
                on.read(),
                gradient.read(),
                starts.clone(),
                dt.write(),
                value(k as i32),
            ];
            device.launch(&name("matrix_gradient"), shape, &arguments);
            let found = [y, dx, dt].map(|t| device.values(t));
            let inputs: [Input; 2] = [(&x, &[rows, k]), (&t, &[lengths.len(), k, k])];
            for (form, expected) in references(&inputs, &g, |v, pass| {
                let clouds = Clouds::Lengths(lengths.into());
                transform(&on_tape(&v[0], pass)?, v[1].as_tensor(), clouds)
            }) {
                for ((found, expected), what) in found.iter().zip(&expected).zip(["y", "dx", "dt"]) {
                    close(
                        &format!("{what} against {form}, k {k}, {dtype:?}"),
                        found,
                        expected,
                        dtype.tolerance(),
                    );
                }
            }
        }
    }
}

#[test]
fn orthogonality_and_its_gradient_match() {
    for (clouds, k) in [(1, 3), (2, 33), (5, 64)] {
        for dtype in Type::ALL {
            let Some(mut device) = Device::with("transform.cu") else {
                return;
            };
            let name = |kernel: &str| format!("{kernel}_{}", dtype.suffix());
            let t = dtype.rounded(&random(1, clouds * k * k));
            let on = device.tensor(&t, dtype);
            let (off, norms) = (
                device.output(t.len(), Type::F32),
                device.output(clouds, Type::F32),
            );
            let (loss, dt) = (device.output(1, Type::F32), device.output(t.len(), dtype));
            let shape = Shape::of(clouds as u32, 128);
            let arguments = [on.read(), off.write(), norms.write(), value(k as i32)];
            device.launch(&name("off_orthogonal"), shape, &arguments);
            let arguments = [norms.read(), loss.write(), value(clouds as i32)];
            device.launch("mean_of", Shape::of(1, 64), &arguments);
            let g = device.tensor(&[0.5], Type::F32);
            let arguments = [on.read(), off.read(), g.read(), dt.write(), value(k as i32)];
            device.launch(&name("orthogonality_backward"), shape, &arguments);
            for (form, expected) in references(&[(&t, &[clouds, k, k])], &[0.5], |v, pass| {
                orthogonality(&on_tape(&v[0], pass)?)
            }) {
                close(
                    &format!("loss against {form}"),
                    &device.values(loss),
                    &expected[0],
                    1e-5,
                );
                close(
                    &format!("dt against {form}"),
                    &device.values(dt),
                    &expected[1],
                    dtype.tolerance(),
                );
            }
        }
    }
}

#[test]
fn add_identity_adds_to_the_diagonals() {
    let (clouds, k) = (3, 5);
    for dtype in Type::ALL {
        let Some(mut device) = Device::with("transform.cu") else {
            return;
        };
        let x = dtype.rounded(&random(1, clouds * k * k));
        let (on, y) = (device.tensor(&x, dtype), device.output(x.len(), dtype));
        let arguments = [on.read(), y.write(), value(clouds as i64), value(k as i32)];
        device.launch(
            &format!("add_identity_{}", dtype.suffix()),
            Shape::of(2, 32),
            &arguments,
        );
        let of = |(i, v): (usize, &f32)| if i % (k * k) % (k + 1) == 0 { v + 1.0 } else { *v };
        let expected: Vec<f32> = x.iter().enumerate().map(of).collect();
        assert_eq!(device.values(y), dtype.rounded(&expected));
    }
}
