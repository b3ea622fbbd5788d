//! Lesson 11: the third hint of each exercise, completed; those of the kernels are in `answers`. `M` is 0 here; each other
//! number is one known mistake, whose cause is in the exercise's file. Those of the kernels are in `mistakes`.

use canopy::profile::{Cost, Counted, Machine, Operator};

/// The right kernel with the mistake `m`: each part of `mistakes` after `@@ m` says which lines replace which.
fn kernel(m: u32, right: &str, mistakes: &str) -> String {
    let mut text = right.to_owned();
    for part in mistakes.split("@@ ").skip(1) {
        let (number, lines) = part.split_once('\n').unwrap_or_default();
        if number == m.to_string() {
            let side = |sign| {
                let lines = lines.lines().filter(|line| line.starts_with([' ', sign]));
                lines.map(|line| format!("{}\n", &line[1..])).collect::<String>()
            };
            text = text.replacen(&side('-'), &side('+'), 1);
        }
    }
    text
}

pub fn map<const M: u32>() -> String {
    kernel(M, include_str!("answers/map.cu"), include_str!("mistakes/map.diff"))
}

pub fn bias_relu<const M: u32>() -> String {
    kernel(M, include_str!("answers/bias_relu.cu"), include_str!("mistakes/bias_relu.diff"))
}

pub fn block_sum<const M: u32>() -> String {
    kernel(M, include_str!("answers/block_sum.cu"), include_str!("mistakes/block_sum.diff"))
}

pub fn max_points<const M: u32>() -> String {
    kernel(M, include_str!("answers/max_points.cu"), include_str!("mistakes/max_points.diff"))
}

pub fn transpose<const M: u32>() -> String {
    kernel(M, include_str!("answers/transpose.cu"), include_str!("mistakes/transpose.diff"))
}

pub fn matmul<const M: u32>() -> String {
    kernel(M, include_str!("answers/matmul.cu"), include_str!("mistakes/matmul.diff"))
}

pub fn bias_norm_relu<const M: u32>(x: &mut Counted, bias: &[f32], scale: &[f32], shift: &[f32]) {
    let channels = bias.len();
    if M == 1 {
        for i in 0..x.len() { let v = x.read(i) + bias[i % channels]; x.write(i, v); }
        for i in 0..x.len() { let v = x.read(i) * scale[i % channels]; x.write(i, v + shift[i % channels]); }
        for i in 0..x.len() { let v = x.read(i).max(0.0); x.write(i, v); }
        return;
    }
    for i in 0..x.len() {
        let c = match M { 2 => i / channels, 3 => i / (x.len() / channels), _ => i % channels };
        let v = (x.read(i) + bias[c]) * scale[c] + shift[c];
        let v = match M {
            4 => v + 0.0 * x.read(i),
            5 => v - bias[c] * scale[c],
            6 => v - shift[c],
            7 => (v - shift[c]) / scale[c],
            8 | 12 => ((v - shift[c]) / scale[c]).max(0.0) * scale[c] + shift[c],
            9 => v + bias[c] - bias[c] * scale[c],
            13 => (v - shift[c]) / scale[c] - bias[c] + bias[c] * scale[c] + shift[c],
            14 => v - shift[c] + shift[c] * scale[c],
            _ => v,
        };
        match M {
            10 | 12 => x.write(i, v),
            11 if v <= 0.0 => {}
            15 => x.write(i, v.min(0.0)),
            _ => x.write(i, v.max(0.0)),
        }
    }
}

pub fn chain_cost<const M: u32>(chain: &[Operator], values: usize, fused: bool, machine: &Machine) -> Cost {
    let mut cost = Cost { flops: 0.0, bytes: 0.0, seconds: 0.0 };
    let size = if M == 1 || !fused && M != 2 { 1 } else { chain.len() };
    for kernel in chain.chunks(size) {
        let flops: usize = kernel.iter().map(|o| o.flops).sum();
        let parameters: usize = kernel.iter().map(|o| o.parameters).sum();
        let parameters = match M { 3 => 0, 4 => parameters * values, 5 => kernel[0].parameters, _ => parameters };
        let flops = match M { 6 => flops as f64, 7 => (kernel[0].flops * values) as f64, _ => (flops * values) as f64 };
        let bytes = 4.0 * (2 * values + parameters) as f64;
        let bytes = match M { 8 => bytes / 4.0, 9 => bytes - 4.0 * values as f64, 17 => 2.0 * bytes, _ => bytes };
        let bytes = match M {
            14 => bytes + 4.0 * parameters as f64,
            15 => bytes - 3.0 * parameters as f64,
            16 => bytes + 4.0 * ((kernel.len() - 1) * values) as f64,
            _ => bytes,
        };
        let (compute, memory) = (flops / machine.flops, bytes / machine.bytes);
        cost.flops += flops;
        cost.bytes += bytes;
        cost.seconds += match M { 10 => compute + memory, 11 => memory, 12 => compute.min(memory), _ => compute.max(memory) };
    }
    if M == 13 {
        cost.seconds = (cost.flops / machine.flops).max(cost.bytes / machine.bytes);
    }
    cost
}
