//! Batch norm and ReLU over the rows of a matrix, forward and backward.

use candle_core::{DType, Tensor as Host, Var};
use canopy::kernels::{BatchNorm, linear_bn};
use grid::Arg;

use crate::common::*;
use crate::device::*;

/// Rows that one block takes.
const GROUP: usize = 48;

fn over_rows(rows: usize, n: usize) -> Shape {
    Shape::grid(
        [(n as u32).div_ceil(32), rows.div_ceil(GROUP) as u32, 1],
        [32, 8, 1],
    )
}

fn over_channels(n: usize) -> Shape {
    Shape::of((n as u32).div_ceil(64), 64)
}

#[test]
fn batch_norm_and_relu_match() {
    for (rows, n) in ROWS.into_iter().zip([5, 33, 70, 17]) {
        for dtype in Type::ALL {
            one(rows, n, dtype, true, 0.0);
            one(rows, n, dtype, false, 300.0);
        }
    }
}

/// `offset` is the mean of the values: no digits may be lost to it.
fn one(rows: usize, n: usize, dtype: Type, relu: bool, offset: f32) {
    let Some(mut device) = Device::with("shared_mlp/batch_norm.cu") else {
        return;
    };
    let name = |kernel: &str| format!("{kernel}_{}", dtype.suffix());
    let y: Vec<f32> = random(1, rows * n).iter().map(|v| v + offset).collect();
    let (y, g) = (dtype.rounded(&y), dtype.rounded(&random(2, rows * n)));
    let (gamma, beta) = (random(3, n), random(4, n));
    let running: [Vec<f32>; 2] = [random(5, n), random(6, n).iter().map(|v| v + 1.5).collect()];
    let sizes = [value(rows as i32), value(n as i32), value(GROUP as i32)];
    let groups = rows.div_ceil(GROUP);

    let (on, gradient) = (device.tensor(&y, dtype), device.tensor(&g, dtype));
    let [gamma_on, beta_on] = [&gamma, &beta].map(|v| device.memory.upload(v));
    let [running_mean, running_var] = running.each_ref().map(|v| device.memory.upload(v));
    let partial = device.memory.zeros::<f32>(groups * 3 * n);
    let [mean, var] = [0; 2].map(|_| device.memory.zeros::<f64>(n));
    let factors = device.memory.zeros::<f32>(4 * n);
    let arguments = [&[on.read(), Arg::write(partial)][..], &sizes].concat();
    device.launch(&name("moments"), over_rows(rows, n), &arguments);
    let arguments = [
        &[Arg::read(partial), Arg::write(mean), Arg::write(var)][..],
        &sizes,
    ]
    .concat();
    device.launch("combine_moments", over_channels(n), &arguments);
    let arguments = [
        Arg::read(mean),
        Arg::read(var),
        Arg::read(gamma_on),
        Arg::read(beta_on),
        value(rows as f64),
        value(1e-5_f64),
        value(0.1_f64),
        Arg::write(factors),
        Arg::write(running_mean),
        Arg::write(running_var),
        value(n as i32),
    ];
    device.launch("fold_statistics", over_channels(n), &arguments);
    let out = device.output(y.len(), dtype);
    let more = [&sizes[..], &[value(i32::from(relu))]].concat();
    let arguments = [&[on.read(), Arg::read(factors), out.write()][..], &more].concat();
    device.launch(&name("normalise"), over_rows(rows, n), &arguments);

    let partial = device.memory.zeros::<f32>(groups * 2 * n);
    let sums = device.memory.zeros::<f32>(2 * n);
    let arguments = [
        &[
            gradient.read(),
            on.read(),
            Arg::read(factors),
            Arg::write(partial),
        ][..],
        &more,
    ]
    .concat();
    device.launch(&name("backward_sums"), over_rows(rows, n), &arguments);
    let arguments = [
        Arg::read(partial),
        Arg::write(sums),
        value(groups as i32),
        value(n as i32),
    ];
    device.launch("combine_sums", over_channels(2 * n), &arguments);
    let dy = device.output(y.len(), dtype);
    let arguments = [
        &[
            gradient.read(),
            on.read(),
            Arg::read(factors),
            Arg::read(sums),
            value(1.0 / rows as f32),
            dy.write(),
        ][..],
        &more,
    ]
    .concat();
    device.launch(&name("backward"), over_rows(rows, n), &arguments);

    let sums = device.memory.download(sums);
    let found = [
        ("output", device.values(out)),
        ("dy", device.values(dy)),
        ("dγ", sums[n..].to_vec()),
        ("dβ", sums[..n].to_vec()),
        ("running mean", device.memory.download(running_mean)),
        ("running var", device.memory.download(running_var)),
    ];
    // An identity as the weight: the layer's product is its input.
    let identity: Vec<f32> = (0..n * n)
        .map(|i| f32::from(u8::from(i % (n + 1) == 0)))
        .collect();
    let inputs: [Input; 3] = [(&y, &[rows, n]), (&gamma, &[n]), (&beta, &[n])];
    let forms = [("f64", DType::F64), ("the CPU twin", DType::F32)];
    // The CPU multiplies before it subtracts the mean, and loses digits to a large one.
    for (form, dtype_of) in forms.into_iter().take(if offset > 0.0 { 1 } else { 2 }) {
        let kept = std::cell::RefCell::new(Vec::new());
        let mut expected = outcome(dtype_of, &inputs, &g, |v, pass| {
            let of = |values: &[f32], shape: &[usize]| {
                Host::from_slice(values, shape, &candle_core::Device::Cpu)?.to_dtype(dtype_of)
            };
            let bn = BatchNorm {
                gamma: v[1].clone(),
                beta: v[2].clone(),
                mean: Var::from_tensor(&of(&running[0], &[n])?)?,
                var: Var::from_tensor(&of(&running[1], &[n])?)?,
                momentum: 0.1,
                eps: 1e-5,
            };
            let y = linear_bn(v[0].as_tensor(), &of(&identity, &[n, n])?, &bn, relu, pass)?;
            *kept.borrow_mut() = vec![flat(bn.mean.as_tensor()), flat(bn.var.as_tensor())];
            Ok(y)
        });
        expected.append(&mut kept.borrow_mut());
        for (i, ((what, found), expected)) in found.iter().zip(&expected).enumerate() {
            let tolerance = if i < 2 { dtype.tolerance() } else { 1e-5 };
            let tolerance = if offset > 0.0 {
                tolerance.max(1e-3)
            } else {
                tolerance
            };
            close(
                &format!("{what} against {form}, {rows} × {n}, {dtype:?}, ReLU {relu}"),
                found,
                expected,
                tolerance,
            );
        }
    }
}
