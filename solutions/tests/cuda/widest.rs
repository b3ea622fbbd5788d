//! The widest layer with its maximum: forward, and the backward pass in closed form.

use candle_core::DType;
use grid::{Arg, Buffer};

use crate::case::{Case, Form, shared_bytes};
use crate::common::*;
use crate::device::*;

/// The keys of the maximum. `parts`: blocks that share a cloud.
pub fn keys(
    device: &mut Device,
    form: Form,
    case: &Case,
    [a, w]: [Tensor; 2],
    gamma: &Arg,
    parts: u32,
) -> Buffer<u64> {
    let keys = device.memory.zeros::<u64>(case.lengths.len() * case.n);
    let starts = device.memory.upload(&case.starts());
    let mut arguments = vec![
        a.read(),
        w.read(),
        gamma.clone(),
        Arg::read(starts),
        Arg::write(keys),
        value(case.n as i32),
        value(case.k as i32),
        value(parts as i32),
    ];
    let mut shape = Shape::grid(
        [(case.n as u32).div_ceil(64), case.lengths.len() as u32, parts],
        [256, 1, 1],
    );
    let kernel = match form {
        Form::Exact => {
            arguments.extend([Arg::Null, value(0_u32)]);
            device.source("shared_mlp/widest_exact.cu");
            "widest_f32"
        }
        _ => {
            device.source("shared_mlp/widest.cu");
            shape.shared = shared_bytes(case.k, form.dtype());
            match form {
                Form::Bf16 => "widest_bf16",
                Form::F16 => "widest_f16",
                _ => "widest_tf32",
            }
        }
    };
    device.launch(kernel, shape, &arguments);
    keys
}

/// A, W, γ, the mean of A, and W·S on the device, and the layer's factors with its running statistics.
struct Layer {
    a: Tensor,
    w: Tensor,
    gamma: Arg,
    beta: Arg,
    mean: Arg,
    ws: Arg,
    factors: Arg,
    running: [Buffer<f32>; 2],
}

/// The statistics of the product, from the covariance of its input.
fn statistics(device: &mut Device, case: &Case, dtype: Type) -> Layer {
    const GROUP: usize = 100;
    let (rows, n, k) = (case.rows(), case.n, case.k);
    let name = |kernel: &str| format!("{kernel}_{}", dtype.suffix());
    let groups = rows.div_ceil(GROUP);
    let [a, w] = [&case.a, &case.w].map(|v| device.tensor(v, dtype));
    let [gamma, beta] = [&case.gamma, &case.beta].map(|v| Arg::read(device.memory.upload(v)));
    let sizes = [value(rows as i32), value(k as i32), value(GROUP as i32)];

    device.source("shared_mlp/batch_norm.cu");
    let partial = device.memory.zeros::<f32>(groups * 3 * k);
    let [mean, var] = [0; 2].map(|_| device.memory.zeros::<f64>(k));
    let shape = Shape::grid([(k as u32).div_ceil(32), groups as u32, 1], [32, 8, 1]);
    let arguments = [&[a.read(), Arg::write(partial)][..], &sizes].concat();
    device.launch(&name("moments"), shape, &arguments);
    let arguments = [
        &[Arg::read(partial), Arg::write(mean), Arg::write(var)][..],
        &sizes,
    ]
    .concat();
    device.launch(
        "combine_moments",
        Shape::of((k as u32).div_ceil(64), 64),
        &arguments,
    );

    device.source("shared_mlp/covariance.cu");
    let (partial, s) = (
        device.memory.zeros::<f32>(groups * k * k),
        device.memory.zeros::<f32>(k * k),
    );
    let tiles = (k as u32).div_ceil(64);
    let arguments = [&[a.read(), Arg::read(mean), Arg::write(partial)][..], &sizes].concat();
    let shape = Shape::grid([tiles, tiles, groups as u32], [256, 1, 1]);
    device.launch(&name("covariance_products"), shape, &arguments);
    let arguments = [
        Arg::read(partial),
        Arg::write(s),
        value(k as i32),
        value(groups as i32),
    ];
    device.launch(
        "covariance",
        Shape::of(((k * k) as u32).div_ceil(64), 64),
        &arguments,
    );
    let ws = device.memory.zeros::<f32>(n * k);
    let [product_mean, product_var] = [0; 2].map(|_| device.memory.zeros::<f64>(n));
    let arguments = [
        w.read(),
        Arg::read(s),
        Arg::read(mean),
        value(rows as f64),
        Arg::write(ws),
        Arg::write(product_mean),
        Arg::write(product_var),
        value(k as i32),
    ];
    device.launch(&name("channel_statistics"), Shape::of(n as u32, 64), &arguments);

    device.source("shared_mlp/batch_norm.cu");
    let factors = device.memory.zeros::<f32>(4 * n);
    let running = [0.0, 1.0].map(|v| device.memory.upload(&vec![v; n]));
    let arguments = [
        Arg::read(product_mean),
        Arg::read(product_var),
        gamma.clone(),
        beta.clone(),
        value(rows as f64),
        value(1e-5_f64),
        value(0.1_f64),
        Arg::write(factors),
        Arg::write(running[0]),
        Arg::write(running[1]),
        value(n as i32),
    ];
    device.launch(
        "fold_statistics",
        Shape::of((n as u32).div_ceil(64), 64),
        &arguments,
    );
    Layer {
        a,
        w,
        gamma,
        beta,
        mean: Arg::read(mean),
        ws: Arg::read(ws),
        factors: Arg::read(factors),
        running,
    }
}

/// As [`Case::expected`]; none if the grid does not run here.
fn on_grid(case: &Case, form: Form, parts: u32) -> Option<Vec<Vec<f32>>> {
    let mut device = Device::with("shared_mlp/batch_norm.cu")?;
    let dtype = form.dtype();
    let name = |kernel: &str| format!("{kernel}_{}", dtype.suffix());
    let (rows, n, k, clouds) = (case.rows(), case.n, case.k, case.lengths.len());
    let layer = statistics(&mut device, case, dtype);
    let keys = keys(&mut device, form, case, [layer.a, layer.w], &layer.gamma, parts);

    device.source("shared_mlp/widest_output.cu");
    let out = device.output(clouds * n, dtype);
    let (xhat, at) = (
        device.memory.zeros::<f32>(clouds * n),
        device.memory.zeros::<i32>(clouds * n),
    );
    let [n_arg, k_arg, relu, count] = [n, k, usize::from(case.relu), clouds].map(|v| value(v as i32));
    let arguments = [
        Arg::read(keys),
        layer.a.read(),
        layer.w.read(),
        layer.factors.clone(),
        layer.gamma.clone(),
        layer.beta.clone(),
        out.write(),
        Arg::write(xhat),
        Arg::write(at),
        count.clone(),
        n_arg.clone(),
        k_arg.clone(),
        relu.clone(),
    ];
    device.launch(&name("widest_output"), Shape::of(3, 64), &arguments);

    device.source("shared_mlp/widest_backward.cu");
    let g = device.tensor(&case.g, dtype);
    let (ug, sums) = (
        device.memory.zeros::<f32>(clouds * n),
        device.memory.zeros::<f32>(2 * n),
    );
    let arguments = [
        g.read(),
        Arg::read(xhat),
        layer.factors.clone(),
        layer.gamma.clone(),
        layer.beta.clone(),
        Arg::write(ug),
        Arg::write(sums),
        count.clone(),
        n_arg.clone(),
        relu,
    ];
    device.launch(
        &name("widest_masked"),
        Shape::of((n as u32).div_ceil(64), 64),
        &arguments,
    );
    let dw = device.memory.zeros::<f32>(n * k);
    let inverse = value(1.0 / rows as f32);
    let arguments = [
        Arg::read(ug),
        Arg::read(at),
        layer.a.read(),
        layer.mean.clone(),
        layer.ws,
        layer.factors.clone(),
        Arg::read(sums),
        inverse.clone(),
        Arg::write(dw),
        count,
        n_arg.clone(),
        k_arg.clone(),
    ];
    device.launch(&name("widest_dw"), Shape::of(n as u32, 64), &arguments);
    let (quad, pw) = (device.memory.zeros::<f32>(k * k), device.memory.zeros::<f32>(k));
    let arguments = [
        layer.w.read(),
        layer.factors,
        Arg::read(sums),
        inverse,
        Arg::write(quad),
        Arg::write(pw),
        n_arg.clone(),
        k_arg.clone(),
    ];
    let tiles = (k as u32).div_ceil(16);
    device.launch(
        &name("widest_quadratic"),
        Shape::grid([tiles, tiles, 1], [16, 16, 1]),
        &arguments,
    );
    let dx = device.output(rows * k, dtype);
    let starts = device.memory.upload(&case.starts());
    let arguments = [
        layer.a.read(),
        layer.mean,
        Arg::read(quad),
        Arg::read(pw),
        layer.w.read(),
        Arg::read(ug),
        Arg::read(at),
        Arg::read(starts),
        dx.write(),
        n_arg,
        k_arg,
    ];
    let tall = (*case.lengths.iter().max().unwrap() as u32).div_ceil(32);
    let shape = Shape::grid([tall, clouds as u32, (k as u32).div_ceil(64)], [256, 1, 1]);
    device.launch(&name("widest_dx"), shape, &arguments);

    let sums = device.memory.download(sums);
    Some(vec![
        device.values(out),
        device.values(dx),
        device.memory.download(dw),
        sums[n..].to_vec(),
        sums[..n].to_vec(),
        device.memory.download(layer.running[0]),
        device.memory.download(layer.running[1]),
    ])
}

fn check(case: &Case, form: Form, parts: u32) {
    let Some(found) = on_grid(case, form, parts) else {
        return;
    };
    let names = ["output", "dA", "dW", "dγ", "dβ", "running mean", "running var"];
    for (of, dtype) in [("f64", DType::F64), ("the CPU twin", DType::F32)] {
        for (i, (found, expected)) in found.iter().zip(case.expected(dtype)).enumerate() {
            let tolerance = if i < 2 { form.dtype().tolerance() } else { 1e-5 };
            let what = format!("{} against {of}, {form:?}, clouds {:?}", names[i], case.lengths);
            close(&what, found, &expected, tolerance.max(5e-5));
        }
    }
}

#[test]
fn tensor_cores_keep_the_maximum_and_its_gradient() {
    for form in [Form::Bf16, Form::F16, Form::Tf32] {
        check(&Case::new(&[2, 33, 300], 70, 40, true), form, 2);
        check(&Case::new(&[1, 2], 5, 3, false), form, 1);
    }
}

#[test]
fn a_thousand_rows_through_two_chunks() {
    check(&Case::new(&[1000], 33, 136, true), Form::Bf16, 3);
}

#[test]
fn f32_without_tensor_cores_matches() {
    check(&Case::new(&[2, 33, 300], 70, 40, true), Form::Exact, 2);
    check(&Case::new(&[1, 2], 5, 3, false), Form::Exact, 1);
}
