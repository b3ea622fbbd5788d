//! Multi-tensor steps: bit-identical to the CPU's. And unscaling, found_inf and the norm in one launch.

use bytemuck::{Pod, Zeroable};
use candle_core::{Device as Cpu, Tensor as Host};
use canopy::kernels::multi_tensor::{self, AdamStep, SgdStep};
use grid::{Address, Arg, Buffer, Element};

use crate::common::*;
use crate::device::*;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Parameter {
    of: [Address; 4],
    n: u64,
}
impl Element for Parameter {}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Piece {
    tensor: u32,
    index: u32,
}
impl Element for Piece {}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Factors([f32; 12]);
impl Element for Factors {}

/// Values of a piece, as in multi_tensor.cuh.
const PIECE: usize = 16_384;

/// One shorter than a piece, one of a piece exactly, one longer.
const SIZES: [usize; 4] = [5, PIECE, PIECE + 33, 1];

/// Weights, gradients and both states of each tensor.
fn inputs() -> [Vec<Vec<f32>>; 4] {
    let of = |seed: u64| {
        let tensors = SIZES.iter().zip(seed..);
        tensors.map(|(&n, seed)| random(seed, n)).collect::<Vec<_>>()
    };
    let positive = of(40).into_iter().map(|v| v.iter().map(|v| v.abs()).collect());
    [of(10), of(20), of(30), positive.collect()]
}

struct Table {
    buffers: [Vec<Buffer<f32>>; 4],
    tensors: Buffer<Parameter>,
    pieces: Buffer<Piece>,
    blocks: u32,
}

fn upload(device: &mut Device, values: &[Vec<Vec<f32>>; 4]) -> Table {
    let buffers = values
        .each_ref()
        .map(|list| list.iter().map(|v| device.memory.upload(v)).collect::<Vec<_>>());
    let parameters: Vec<Parameter> = (0..SIZES.len())
        .map(|t| Parameter {
            of: buffers.each_ref().map(|list| device.memory.address(list[t], 0)),
            n: SIZES[t] as u64,
        })
        .collect();
    let pieces: Vec<Piece> = (0..SIZES.len() as u32)
        .flat_map(|tensor| {
            let count = SIZES[tensor as usize].div_ceil(PIECE) as u32;
            (0..count).map(move |index| Piece { tensor, index })
        })
        .collect();
    Table {
        buffers,
        tensors: device.memory.upload(&parameters),
        blocks: pieces.len() as u32,
        pieces: device.memory.upload(&pieces),
    }
}

impl Table {
    fn arguments(&self, more: &[Arg]) -> Vec<Arg> {
        [&[Arg::read(self.tensors), Arg::read(self.pieces)], more].concat()
    }

    fn shape(&self) -> Shape {
        Shape::of(self.blocks, 256)
    }

    fn equals(&self, what: &str, device: &Device, expected: [&[Host]; 3]) {
        for ((list, expected), of) in [0, 2, 3].into_iter().zip(expected).zip(["weights", "m", "v"]) {
            for (t, expected) in expected.iter().enumerate() {
                let found = device.memory.download(self.buffers[list][t]);
                assert_eq!(
                    found,
                    expected.to_vec1::<f32>().unwrap(),
                    "{what}: {of} of tensor {t}"
                );
            }
        }
    }
}

fn host(values: &[Vec<f32>]) -> Vec<Host> {
    values
        .iter()
        .map(|v| Host::from_vec(v.clone(), v.len(), &Cpu::Cpu).unwrap())
        .collect()
}

/// The result of unscale_and_norm: norm, found_inf and the gradients' factor.
fn unscale(device: &mut Device, table: &Table, scale: f32, max_norm: f32, store: bool) -> Buffer<f32> {
    device.source("gradients.cu");
    let partial = device.memory.zeros::<f64>(table.blocks as usize);
    let (arrived, result) = (device.memory.zeros::<u32>(1), device.memory.zeros::<f32>(3));
    let arguments = table.arguments(&[
        value(1.0 / scale),
        value(max_norm),
        value(i32::from(store)),
        Arg::write(partial),
        Arg::write(arrived),
        Arg::write(result),
    ]);
    device.launch("unscale_and_norm", table.shape(), &arguments);
    assert_eq!(device.memory.download(arrived), [0], "ready for the next launch");
    device.source("multi_tensor.cu");
    result
}

#[test]
fn unscaling_finds_norm_and_overflow() {
    let Some(mut device) = Device::with("multi_tensor.cu") else {
        return;
    };
    let values = inputs();
    for store in [false, true] {
        for (max_norm, scale) in [(0.0, 1.0), (2.5, 65_536.0), (1e9, 2.0)] {
            let table = upload(&mut device, &values);
            let result = unscale(&mut device, &table, scale, max_norm, store);
            let result = device.memory.download(result);
            let norm = values[1]
                .iter()
                .flatten()
                .map(|&g| (f64::from(g) / f64::from(scale)).powi(2));
            let norm = norm.sum::<f64>().sqrt();
            let clip = if max_norm > 0.0 {
                (f64::from(max_norm) / (norm + 1e-6)).min(1.0)
            } else {
                1.0
            };
            let factor = if store { clip } else { clip / f64::from(scale) };
            close("norm", &result[..1], &[norm], 1e-6);
            assert_eq!(result[1], 0.0);
            assert!(
                (f64::from(result[2]) / factor - 1.0).abs() < 1e-6,
                "{} {factor}",
                result[2]
            );
            for (t, g) in values[1].iter().enumerate() {
                let expected: Vec<f32> = g.iter().map(|g| if store { g / scale } else { *g }).collect();
                assert_eq!(device.memory.download(table.buffers[1][t]), expected);
            }
        }
    }
    for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let mut values = inputs();
        values[1][2][PIECE + 32] = bad;
        let table = upload(&mut device, &values);
        let result = unscale(&mut device, &table, 1.0, 1.0, false);
        assert_eq!(device.memory.download(result)[1], 1.0, "{bad}");
    }
}

const STEP: AdamStep = AdamStep {
    lr: 0.01,
    beta1: 0.9,
    beta2: 0.99,
    eps: 1e-6,
    weight_decay: 0.1,
    decoupled: true,
    step: 3,
    gradient_factor: 1.0,
};

/// The factors on the device, computed there; `result` is that of unscale_and_norm.
fn factors(device: &mut Device, step: &AdamStep, result: Buffer<f32>) -> (Buffer<Factors>, u64) {
    let (count, factors) = (
        device.memory.upload(&[step.step - 1]),
        device.memory.upload(&[Factors([f32::NAN; 12])]),
    );
    let settings = [step.lr, step.beta1, step.beta2, step.eps, step.weight_decay].map(value);
    let mut arguments = settings.to_vec();
    arguments.extend([
        value(i32::from(step.decoupled)),
        Arg::read(result),
        Arg::write(count),
        Arg::write(factors),
    ]);
    device.launch("adam_factors", Shape::of(1, 1), &arguments);
    (factors, device.memory.download(count)[0])
}

#[test]
fn steps_are_bit_identical_to_the_cpu() {
    let Some(mut device) = Device::with("multi_tensor.cu") else {
        return;
    };
    for kind in ["adamw", "adam", "lamb", "sgd", "nesterov"] {
        let values = inputs();
        let table = upload(&mut device, &values);
        let result = unscale(&mut device, &table, 4.0, 0.5, false);
        let factor = device.memory.download(result)[2];
        let [w, g, m, v] = values.each_ref().map(|list| host(list));
        let [wr, gr, mr, vr] = [&w, &g, &m, &v].map(|list| list.iter().collect::<Vec<_>>());
        let step = AdamStep {
            decoupled: kind == "adamw",
            gradient_factor: factor,
            ..STEP
        };
        match kind {
            "adam" | "adamw" => multi_tensor::adam(&wr, &gr, &mr, &vr, &step).unwrap(),
            "lamb" => multi_tensor::lamb(&wr, &gr, &mr, &vr, &step).unwrap(),
            _ => {
                let step = SgdStep {
                    lr: 0.01,
                    momentum: 0.9,
                    weight_decay: 0.1,
                    nesterov: kind == "nesterov",
                    gradient_factor: factor,
                };
                multi_tensor::sgd(&wr, &gr, &mr, &step).unwrap();
            }
        }
        match kind {
            "sgd" | "nesterov" => {
                let mut more = [0.01_f32, 0.9, 0.1].map(value).to_vec();
                more.extend([value(i32::from(kind == "nesterov")), Arg::read(result)]);
                device.launch("sgd", table.shape(), &table.arguments(&more));
            }
            _ => {
                let (factors, count) = factors(&mut device, &step, result);
                assert_eq!(count, step.step);
                let factors = Arg::read(factors);
                if kind == "lamb" {
                    let sums = device.memory.zeros::<f64>(2 * table.blocks as usize);
                    let more = [factors.clone(), Arg::write(sums)];
                    device.launch("lamb_moments", table.shape(), &table.arguments(&more));
                    device.launch(
                        "lamb_apply",
                        table.shape(),
                        &table.arguments(&[factors, Arg::read(sums)]),
                    );
                } else {
                    device.launch("adam", table.shape(), &table.arguments(&[factors]));
                }
            }
        }
        table.equals(kind, &device, [&w, &m, &v]);
    }
}

#[test]
fn a_step_with_an_overflow_changes_nothing() {
    let Some(mut device) = Device::with("multi_tensor.cu") else {
        return;
    };
    let mut values = inputs();
    values[1][0][4] = f32::INFINITY;
    let table = upload(&mut device, &values);
    let result = unscale(&mut device, &table, 1.0, 0.0, false);
    let (factors, count) = factors(&mut device, &STEP, result);
    assert_eq!(count, STEP.step - 1, "the step is not counted");
    let factors = Arg::read(factors);
    device.launch(
        "adam",
        table.shape(),
        &table.arguments(std::slice::from_ref(&factors)),
    );
    let sums = device.memory.zeros::<f64>(2 * table.blocks as usize);
    let more = [factors.clone(), Arg::write(sums)];
    device.launch("lamb_moments", table.shape(), &table.arguments(&more));
    device.launch(
        "lamb_apply",
        table.shape(),
        &table.arguments(&[factors, Arg::read(sums)]),
    );
    let mut more = [0.01_f32, 0.9, 0.1].map(value).to_vec();
    more.extend([value(0), Arg::read(result)]);
    device.launch("sgd", table.shape(), &table.arguments(&more));
    let [w, _, m, v] = values.each_ref().map(|list| host(list));
    table.equals("skipped", &device, [&w, &m, &v]);
}
