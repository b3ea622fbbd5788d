//! Kernels with one mistake each: the tests must see it, by a fault of the grid or by a wrong value.

use grid::{Arg, Source};

use crate::case::{Case, Form, shared_bytes};
use crate::common::*;
use crate::device::*;

/// A device with `from` replaced by `to` in a source; none if the grid does not run here.
fn changed(name: &str, from: &str, to: &str) -> Option<Device> {
    let path = format!("{}/{name}", folder());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{name} has no `{from}`");
    let beside = std::path::Path::new(&path).parent().unwrap().to_owned();
    let file = name.rsplit('/').next().unwrap();
    let source = Source::text(file, text.replace(from, to))
        .include(beside)
        .include(folder());
    Device::compile(&source).map(Device::of)
}

/// Runs max_points_f32 over two clouds, and returns its rows.
fn max_points(device: &mut Device) -> Result<Vec<i32>, String> {
    let (n, starts) = (35, [0_i32, 40, 75]);
    let x = device.tensor(&random(1, 75 * n), Type::F32);
    let (y, at) = (device.output(2 * n, Type::F32), device.memory.zeros::<i32>(2 * n));
    let starts = device.memory.upload(&starts);
    let arguments = [
        x.read(),
        Arg::read(starts),
        y.write(),
        Arg::write(at),
        value(n as i32),
    ];
    device.try_launch("max_points_f32", Shape::grid([2, 2, 1], [32, 8, 1]), &arguments)?;
    Ok(device.memory.download(at))
}

#[test]
fn mistakes_in_the_maximum_are_seen() {
    let Some(mut right) = Device::with("max_points.cu") else {
        return;
    };
    let expected = max_points(&mut right).unwrap();
    for (what, from, to, fault) in [
        (
            "no barrier",
            "    __syncthreads();\n    if (threadIdx.y > 0",
            "    if (threadIdx.y > 0",
            true,
        ),
        (
            "a channel beyond the last",
            "threadIdx.y > 0 || channel >= n",
            "threadIdx.y > 0",
            true,
        ),
        ("a row too many", "r < end", "r <= end", true),
        ("the last row is left out", "r < end", "r < end - 1", false),
        (
            "another lane's row",
            "rows[k][threadIdx.x]",
            "rows[k][threadIdx.x ^ 1]",
            false,
        ),
    ] {
        let Some(mut device) = changed("max_points.cu", from, to) else {
            return;
        };
        match max_points(&mut device) {
            Err(message) => println!("{what}: {message}"),
            Ok(found) => assert!(!fault && found != expected, "{what} is not seen"),
        }
    }
}

/// The keys of the maximum on tensor cores.
fn widest(device: &mut Device) -> Result<Vec<u64>, String> {
    let case = Case::new(&[33, 150], 70, 72, false);
    let [a, w] = [&case.a, &case.w].map(|v| device.tensor(v, Type::Bf16));
    let gamma = device.memory.upload(&vec![1.0_f32; case.n]);
    let starts = device.memory.upload(&case.starts());
    let keys = device.memory.zeros::<u64>(2 * case.n);
    let mut shape = Shape::grid([2, 2, 1], [256, 1, 1]);
    shape.shared = shared_bytes(case.k, Type::Bf16);
    let sizes = [value(case.n as i32), value(case.k as i32), value(1_i32)];
    let arguments = [
        &[
            a.read(),
            w.read(),
            Arg::read(gamma),
            Arg::read(starts),
            Arg::write(keys),
        ][..],
        &sizes,
    ]
    .concat();
    device.try_launch("widest_bf16", shape, &arguments)?;
    Ok(device.memory.download(keys))
}

#[test]
fn mistakes_in_the_widest_layer_are_seen() {
    let Some(mut right) = Device::with("shared_mlp/widest.cu") else {
        return;
    };
    let expected = widest(&mut right).unwrap();
    let case = Case {
        gamma: vec![1.0; 70],
        ..Case::new(&[33, 150], 70, 72, false)
    };
    let tensors = [&case.a, &case.w].map(|v| right.tensor(v, Type::Bf16));
    let gamma = Arg::read(right.memory.upload(&case.gamma));
    let again = crate::widest::keys(&mut right, Form::Bf16, &case, tensors, &gamma, 1);
    assert_eq!(right.memory.download(again), expected);
    for (what, header, from, to, fault) in [
        (
            "no barrier behind the copies",
            true,
            "        __pipeline_wait_prior(1);\n        __syncthreads();",
            "        __pipeline_wait_prior(1);",
            true,
        ),
        (
            "no barrier before the next copy",
            true,
            "        __syncthreads(); // The next",
            "        // The next",
            true,
        ),
        (
            "no wait for the copies",
            true,
            "        __pipeline_wait_prior(1);\n",
            "",
            true,
        ),
        (
            "rows beyond the end",
            true,
            "min(row + r, end - 1)",
            "(row + r)",
            true,
        ),
        (
            "the wrong buffer",
            true,
            "buffers + step % 2 * ROWS",
            "buffers + next % 2 * ROWS",
            true,
        ),
        (
            "another warp's channels",
            true,
            "/ WARP % 2 * 32",
            "/ WARP % 2 * 16",
            false,
        ),
        (
            "channels beyond the last",
            false,
            "channel < n && d < k",
            "d < k",
            true,
        ),
        (
            "another lane's tile",
            false,
            "values[256 + r * 16 + lane % 16]",
            "values[256 + r * 16 + (lane + 1) % 16]",
            false,
        ),
        (
            "no wait for the other lanes",
            false,
            "            __syncwarp();\n            Key key",
            "            Key key",
            true,
        ),
    ] {
        let text = std::fs::read_to_string(format!("{}/shared_mlp/product.cuh", folder())).unwrap();
        let device = if header {
            assert!(text.contains(from), "product.cuh has no `{from}`");
            changed(
                "shared_mlp/widest.cu",
                "#include \"product.cuh\"",
                &text.replace(from, to),
            )
        } else {
            changed("shared_mlp/widest.cu", from, to)
        };
        let Some(mut device) = device else {
            return;
        };
        match widest(&mut device) {
            Err(message) => println!("{what}: {message}"),
            Ok(found) => assert!(!fault && found != expected, "{what} is not seen"),
        }
    }
}
