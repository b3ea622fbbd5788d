//! Loops that round operands to 8 bits, and bounds of the products of blocks.

use crate::kernels::vector::for_each_instruction_set;

/// Beyond 2²³ the spacing is 1, so that adding this number rounds to an integer, which is in the last bits.
const ROUND: f32 = 12_582_912.0;

for_each_instruction_set! {
    /// Sets the highest bit of `signs` if any value is below 0.
    fn signs(values: &[f32], signs: &mut u32) {
        *signs = values.iter().fold(*signs, |signs, &v| signs | if v < 0.0 { 1 << 31 } else { 0 });
    }

    /// Rounds values, times `inverse`, to steps of 8 bits, in groups of four that begin `distance` bytes apart. `norms` become
    /// those of what rounding changed, of the steps and of the values, all in steps.
    fn quantise(values: &[f32], inverse: f32, steps: &mut [u8], distance: usize, norms: &mut [f32; 3]) {
        let (mut errors, mut of_steps, mut of_values) = ([0.0_f32; 16], [0.0_f32; 16], [0.0_f32; 16]);
        for (i, values) in values.chunks_exact(16).enumerate() {
            let mut bytes = [0; 16];
            for j in 0..16 {
                let v = values[j] * inverse;
                let rounded = v + ROUND;
                let step = rounded - ROUND;
                bytes[j] = rounded.to_bits() as u8;
                errors[j] += (v - step) * (v - step);
                of_steps[j] += step * step;
                of_values[j] += v * v;
            }
            for (g, four) in bytes.chunks_exact(4).enumerate() {
                steps[(4 * i + g) * distance..][..4].copy_from_slice(four);
            }
        }
        *norms = [errors, of_steps, of_values].map(|squares| squares.iter().sum::<f32>().sqrt());
    }

    /// For each of 32 columns, the greatest lower bound s·(I − E·W − A·D) of the blocks' products I, and the block that has it.
    fn lower_bounds(products: &[i32], blocks: [&[f32]; 3], columns: [&[f32]; 2], low: &mut [f32; 32], block: &mut [f32; 32]) {
        let [scale, error, size] = blocks;
        let (w, d) = (&columns[0][..32], &columns[1][..32]);
        for (b, products) in products.chunks_exact(32).enumerate() {
            let (s, e, a, b) = (scale[b], error[b], size[b], b as f32);
            for c in 0..32 {
                let lower = (products[c] as f32 - (e * w[c] + a * d[c])) * s;
                block[c] = if lower > low[c] { b } else { block[c] };
                low[c] = if lower > low[c] { lower } else { low[c] };
            }
        }
    }

    /// Of at most 32 blocks, sets bit b of each of 32 columns if the upper bound s·(I + E·W + A·D) of the block's products is
    /// not below the column's threshold.
    fn reaching(products: &[i32], blocks: [&[f32]; 3], columns: [&[f32]; 2], threshold: &[f32; 32], bits: &mut [u32; 32]) {
        let [scale, error, size] = blocks;
        let (w, d) = (&columns[0][..32], &columns[1][..32]);
        for (b, products) in products.chunks_exact(32).enumerate() {
            let (s, e, a) = (scale[b], error[b], size[b]);
            for c in 0..32 {
                let upper = (products[c] as f32 + (e * w[c] + a * d[c])) * s;
                bits[c] |= if upper >= threshold[c] { 1 << b } else { 0 };
            }
        }
    }
}
