//! A small shared MLP over a few trees, and other kernels over what it computes.

use anyhow::Result;
use candle_core::{Device, Tensor};
use canopy::{loader::random_sample, train::short::built_in};
use canopy_data::Philox;
use lesson11::{
    Lesson11,
    launch::{
        Argument::{Float, Floats, Int, Output},
        Launch,
    },
};

use super::COMPARED;

/// Runs a launch somewhere, and returns the floats that it wrote.
pub type Run<'a> = dyn FnMut(&Launch) -> Result<Vec<f32>> + 'a;

/// Channels of the two layers.
pub const CHANNELS: [usize; 2] = [32, 64];

/// The greatest difference between two lists; NaN is greater than any number.
pub fn off(a: &[f32], b: &[f32]) -> f32 {
    let differences = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    differences.max_by(f32::total_cmp).unwrap_or_default()
}

fn drawn(n: usize, deviation: f64, random: &mut Philox) -> Vec<f32> {
    (0..n).map(|_| (deviation * random.normal()) as f32).collect()
}

/// The sum of the features of trees of the built-in forest, by the kernels of `answer`.
///
/// `run` gets each launch with the result of candle's operator. Returns the values behind the first layer, and the greatest
/// difference of a result from candle's.
pub fn forward(
    answer: &Lesson11,
    size: (usize, usize),
    seed: u64,
    mut run: impl FnMut(&Launch, &[f32]) -> Result<Vec<f32>>,
) -> Result<(Vec<f32>, f32)> {
    let (clouds, points) = size;
    let (mut random, forest) = (Philox::new(seed, 1), built_in()?);
    let mut coordinates = Vec::new();
    for _ in 0..clouds {
        let cloud = forest.cloud(random.below(forest.records.len()))?;
        coordinates.extend(random_sample(&cloud.xyz, points, &mut random).into_flattened());
    }
    let mut most = 0f32;
    let mut run = |launch: Launch, by_candle: &Tensor| -> Result<Vec<f32>> {
        let by_candle = by_candle.flatten_all()?.to_vec1()?;
        let values = run(&launch, &by_candle)?;
        let off = off(&values, &by_candle);
        most = [most, off].into_iter().max_by(f32::total_cmp).unwrap_or(off);
        Ok(values)
    };
    let n = coordinates.len();
    let mut x = Tensor::new(&coordinates[..], &Device::Cpu)?.affine(0.1, -1.0)?;
    let arguments = [Floats(&coordinates), Output(n), Float(0.1), Float(-1.0), Int(n)];
    let kernel = ("map", (answer.map)());
    let mut values = run(Launch::new(kernel, (n, 1), (256, 1), &arguments), &x)?;
    x = x.reshape((clouds * points, 3))?;
    let (mut inputs, mut hidden) = (3, Vec::new());
    for outputs in CHANNELS {
        let deviation = 1.0 / (inputs as f64).sqrt();
        let weight = drawn(inputs * outputs, deviation, &mut random);
        let bias = drawn(outputs, deviation, &mut random);
        // candle's layers store a weight as [outputs, inputs].
        let w = Tensor::from_slice(&weight, (outputs, inputs), &Device::Cpu)?.t()?;
        let kernel = ("transpose", (answer.transpose)());
        let weight = run(Launch::transpose(kernel, &weight, inputs), &w)?;
        x = x.matmul(&w)?;
        let kernel = ("matmul", (answer.matmul)());
        values = run(Launch::matmul(kernel, &values, &weight, inputs), &x)?;
        x = x.broadcast_add(&Tensor::new(&bias[..], &Device::Cpu)?)?.relu()?;
        let kernel = ("bias_relu", (answer.bias_relu)());
        values = run(Launch::of_matrix(kernel, &values, outputs, &[&bias]), &x)?;
        inputs = outputs;
        if hidden.is_empty() {
            hidden.clone_from(&values);
        }
    }
    let starts: Vec<i32> = (0..=clouds).map(|cloud| (cloud * points) as i32).collect();
    let n = clouds * inputs;
    x = x.reshape((clouds, points, inputs))?.max(1)?;
    let kernel = ("max_points", (answer.max_points)());
    values = run(Launch::max_points(kernel, &values, &starts, inputs), &x)?;
    let kernel = ("block_sum", (answer.block_sum)());
    let arguments = [Floats(&values), Output(n.div_ceil(256)), Int(n)];
    let mut launch = Launch::new(kernel, (n, 1), (256, 1), &arguments);
    launch.shared = 4 * 256;
    run(launch, &x.reshape(((), 256))?.sum(1)?)?;
    Ok((hidden, most))
}

/// Kernels for the same tasks as those of `answer`, over the values behind the first layer.
pub fn others(answer: &Lesson11, hidden: &[f32], run: &mut Run) -> Result<()> {
    let k = CHANNELS[0];
    let weight = drawn(k * CHANNELS[1], 0.2, &mut Philox::new(1, 2));
    for kernel in [("matmul_naive", COMPARED.into()), ("matmul", (answer.matmul)())] {
        run(&Launch::matmul(kernel, hidden, &weight, k))?;
    }
    let others = ["transpose_naive", "transpose_no_padding"].map(|name| (name, COMPARED.into()));
    for kernel in others.into_iter().chain([("transpose", (answer.transpose)())]) {
        run(&Launch::transpose(kernel, hidden, k))?;
    }
    Ok(())
}

/// A bias, a scale and a shift for each channel of the first layer.
pub fn of_channels() -> [Vec<f32>; 3] {
    [1, 2, 3].map(|key| drawn(CHANNELS[0], 1.0, &mut Philox::new(1, key)))
}

/// Bias, batch norm and ReLU over the values behind the first layer: the results of three kernels, and of one.
pub fn chain(hidden: &[f32], run: &mut Run) -> Result<[Vec<f32>; 2]> {
    let of_channels = of_channels();
    let [bias, scale, shift] = of_channels.each_ref().map(|list| &list[..]);
    let mut run = |name, x: &[f32], values: &[&[f32]]| {
        let kernel = (name, COMPARED.into());
        run(&Launch::of_matrix(kernel, x, CHANNELS[0], values))
    };
    let values = run("bias", hidden, &[bias])?;
    let values = run("batch_norm", &values, &[scale, shift])?;
    let values = run("relu", &values, &[])?;
    Ok([values, run("fused", hidden, &[bias, scale, shift])?])
}
