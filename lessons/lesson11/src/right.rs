//! Right answers that are not written as the third hints: every check must accept them.

use canopy::profile::Cost;
use grader::{Right, known};

use crate::{Lesson11, REFERENCE};

/// One of the kernels in a file.
fn way(number: u32, text: &str) -> String {
    format!("#define WAY {number}\n#line 1\n{text}")
}

pub const RIGHT: &[Right<Lesson11>] = &[
    known!("11.1", "a loop with the stride of the grid", map: || way(1, include_str!("right/map.cu"))),
    known!("11.1", "an early return", map: || way(2, include_str!("right/map.cu"))),
    known!("11.2", "one index over all values", bias_relu: || way(1, include_str!("right/bias_relu.cu"))),
    known!("11.2", "loops with the stride of the grid", bias_relu: || way(2, include_str!("right/bias_relu.cu"))),
    known!("11.2", "the bias in shared memory", bias_relu: || way(3, include_str!("right/bias_relu.cu"))),
    known!("11.2", "four values at once", bias_relu: || way(4, include_str!("right/bias_relu.cu"))),
    known!("11.3", "shuffles", block_sum: || way(1, include_str!("right/block_sum.cu"))),
    known!("11.3", "neighbours first", block_sum: || way(2, include_str!("right/block_sum.cu"))),
    known!("11.3", "sums in registers", block_sum: || way(3, include_str!("right/block_sum.cu"))),
    known!("11.3", "one atomic for each warp", block_sum: || way(4, include_str!("right/block_sum.cu"))),
    known!("11.4", "a tree over contiguous parts", max_points: || way(1, include_str!("right/max_points.cu"))),
    known!("11.4", "from the first point on", max_points: || way(2, include_str!("right/max_points.cu"))),
    known!("11.5", "XOR instead of padding", transpose: || way(1, include_str!("right/transpose.cu"))),
    known!("11.5", "exchanged on the way in", transpose: || way(2, include_str!("right/transpose.cu"))),
    known!("11.5", "rotated rows", transpose: || way(3, include_str!("right/transpose.cu"))),
    known!("11.6", "b's tile transposed", matmul: || way(1, include_str!("right/matmul.cu"))),
    known!("11.6", "two tiles in turn", matmul: || way(2, include_str!("right/matmul.cu"))),
    known!("11.6", "half of the block loads a, half b", matmul: || way(3, include_str!("right/matmul.cu"))),
    known!("11.7", "the bias folded into the shift, row by row", bias_norm_relu: |x, bias, scale, shift| {
        for row in 0..x.len() / bias.len() {
            for c in 0..bias.len() {
                let i = row * bias.len() + c;
                let v = x.read(i).mul_add(scale[c], bias[c] * scale[c] + shift[c]);
                x.write(i, if v > 0.0 { v } else { 0.0 });
            }
        }
    }),
    known!("11.8", "the intermediate values subtracted", chain_cost: |chain, values, fused, machine| {
        let n = values as f64;
        let of = |flops: f64, bytes: f64| (flops / machine.flops).max(bytes / machine.bytes);
        let flops = chain.iter().map(|o| o.flops as f64 * n).sum();
        let parameters: f64 = chain.iter().map(|o| 4.0 * o.parameters as f64).sum();
        let bytes = 8.0 * n * chain.len() as f64 + parameters;
        if fused {
            let bytes = bytes - 8.0 * n * (chain.len() - 1) as f64;
            return Cost { flops, bytes, seconds: of(flops, bytes) };
        }
        let times = chain.iter().map(|o| of(o.flops as f64 * n, 4.0 * (2 * values + o.parameters) as f64));
        Cost { flops, bytes, seconds: times.sum() }
    }),
];
