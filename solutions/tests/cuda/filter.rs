//! The filter finds the maximum of a plain search in f32, bit for bit, and computes only few products in f32.

use bytemuck::{Pod, Zeroable};
use grid::{Arg, Buffer, Element};

use crate::case::{Case, Form, shared_bytes};
use crate::common::*;
use crate::device::*;
use crate::widest::keys;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Candidate([i32; 3]);
impl Element for Candidate {}

/// The keys, and the number of candidates.
fn filtered(
    device: &mut Device,
    case: &Case,
    [a, w]: [Tensor; 2],
    gamma: &Arg,
    capacity: u32,
) -> (Buffer<u64>, u32) {
    let (rows, n, k, clouds) = (case.rows(), case.n, case.k, case.lengths.len());
    let width = k.next_multiple_of(16) + 16;
    device.source("filter/filter.cu");
    let rounded = device.memory.zeros::<u16>(rows * width);
    let [lower, upper] = [0; 2].map(|_| device.memory.zeros::<u16>(n * width));
    let arguments = [a.read(), Arg::write(rounded), value(rows as i32), value(k as i32)];
    device.launch(
        "filter_rows",
        Shape::of((rows as u32).div_ceil(4), 128),
        &arguments,
    );
    let arguments = [
        w.read(),
        gamma.clone(),
        Arg::write(lower),
        Arg::write(upper),
        value(n as i32),
        value(k as i32),
    ];
    device.launch(
        "filter_channels",
        Shape::of((n as u32).div_ceil(4), 128),
        &arguments,
    );

    let wide = Case {
        lengths: case.lengths.clone(),
        k: width,
        ..Case::new(&[1], n, 1, false)
    };
    let ones = Arg::read(device.memory.upload(&vec![1.0_f32; n]));
    let operands = [Tensor::Bf16(rounded), Tensor::Bf16(lower)];
    let bounds = keys(device, Form::Bf16, &wide, operands, &ones, 2);

    device.source("filter/filter.cu");
    let list = device.memory.zeros::<Candidate>(capacity as usize);
    let (count, starts) = (
        device.memory.zeros::<u32>(1),
        device.memory.upload(&case.starts()),
    );
    let mut shape = Shape::grid([(n as u32).div_ceil(64), clouds as u32, 2], [256, 1, 1]);
    shape.shared = shared_bytes(width, Type::Bf16);
    let arguments = [
        Arg::read(rounded),
        Arg::read(upper),
        Arg::read(bounds),
        Arg::read(starts),
        Arg::write(list),
        Arg::write(count),
        value(capacity),
        value(n as i32),
        value(width as i32),
        value(2_i32),
    ];
    device.launch("filter_candidates", shape, &arguments);
    let keys = device.memory.zeros::<u64>(clouds * n);
    let arguments = [
        Arg::read(list),
        Arg::read(count),
        value(capacity),
        a.read(),
        w.read(),
        gamma.clone(),
        Arg::write(keys),
        value(n as i32),
        value(k as i32),
    ];
    device.launch("filter_exact", Shape::of(4, 128), &arguments);
    device.source("shared_mlp/widest_exact.cu");
    let arguments = [
        a.read(),
        w.read(),
        gamma.clone(),
        Arg::read(starts),
        Arg::write(keys),
        value(n as i32),
        value(k as i32),
        value(1_i32),
        Arg::read(count),
        value(capacity),
    ];
    let shape = Shape::grid([(n as u32).div_ceil(64), clouds as u32, 1], [256, 1, 1]);
    device.launch("widest_f32", shape, &arguments);
    (keys, device.memory.download(count)[0])
}

/// Compares the filter with a plain search; returns the candidates for each cloud and channel.
fn compare(case: &Case, capacity: u32) -> Option<f64> {
    let mut device = Device::with("filter/filter.cu")?;
    let [a, w] = [&case.a, &case.w].map(|v| device.tensor(v, Type::F32));
    let gamma = Arg::read(device.memory.upload(&case.gamma));
    let plain = keys(&mut device, Form::Exact, case, [a, w], &gamma, 1);
    let (found, count) = filtered(&mut device, case, [a, w], &gamma, capacity);
    assert_eq!(device.memory.download(found), device.memory.download(plain));
    Some(f64::from(count) / (case.lengths.len() * case.n) as f64)
}

fn case() -> Case {
    let mut case = Case::new(&[33, 300], 40, 72, true);
    // Full f32 values, behind a ReLU as in the network.
    case.a = random(21, case.a.len()).iter().map(|v| v.max(0.0)).collect();
    case.w = random(22, case.w.len());
    case.gamma = random(23, case.n);
    case
}

#[test]
fn the_filter_is_bit_identical_to_a_plain_search() {
    if let Some(candidates) = compare(&case(), 8_000) {
        println!("{candidates:.1} candidates for each cloud and channel");
        assert!((1.0..20.0).contains(&candidates), "{candidates}");
    }
}

#[test]
fn a_full_list_or_values_that_are_no_numbers_fall_back_to_the_plain_search() {
    compare(&case(), 10);
    let mut bad = case();
    bad.a[5 * bad.k] = f32::NAN;
    bad.w[3] = f32::INFINITY;
    bad.gamma[7] = 0.0;
    compare(&bad, 8_000);
}
