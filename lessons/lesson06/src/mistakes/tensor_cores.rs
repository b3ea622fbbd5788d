//! Known wrong answers to exercise 6.8.

use super::*;

pub const MISTAKES: &[Mistake<Lesson06>] = &[
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "16 bytes are 8 numbers of 16 bits, not 16 numbers.",
        tensor_cores: |p, f| cores(p, f, |s, b| if b == 2 { s.next_multiple_of(16) } else { up(s, b) }, large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Sides are rounded down to multiples; round them up.",
        tensor_cores: |p, f| cores(p, f, |s, b| s / (16 / b) * (16 / b), large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Only k is padded; pad each side.",
    tensor_cores: |p, f| {
        let right = (REFERENCE.tensor_cores)(p, f);
        TensorCores { padded: Product { k: right.padded.k, ..p }, ..right }
    }),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Sides are padded to the next power of two; multiples of 16 bytes are enough.",
        tensor_cores: |p, f| cores(p, f, |s, _| s.next_power_of_two(), large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "Multiples of 8 are used for every format; 16 bytes are 4 numbers of tf32 and 16 of fp8.",
        tensor_cores: |p, f| cores(p, f, |s, _| s.next_multiple_of(8), large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "The multiple is inverted: more bytes per number are fewer numbers in 16 bytes.",
        tensor_cores: |p, f| cores(p, f, |s, b| s.next_multiple_of(4 * b), large)),
    wrong!("6.8", leaves_aligned_sides_unchanged, "A side that is already a multiple is padded by one more.",
        tensor_cores: |p, f| cores(p, f, |s, b| (s / (16 / b) + 1) * (16 / b), large)),
    wrong!("6.8", supports_all_formats_but_fp32, "fp32 products do not run on tensor cores.",
        tensor_cores: |p, f| TensorCores { served: true, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", supports_all_formats_but_fp32, "Tensor cores support tf32.",
        tensor_cores: |p, f| TensorCores { served: f.bits() <= 16, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "Every side must be at least 128; here one is enough.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().any(|&s| s >= 128))),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "A side of exactly 128 is enough.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().all(|&s| s > 128))),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "The padded sides are compared; compare the sides before padding.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().all(|&s| up(s, 2) >= 128))),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "m, the number of rows, counts as well as n and k.",
        tensor_cores: |p, f| cores(p, f, up, |s| s[1] >= 128 && s[2] >= 128)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "The sides are padded to multiples of 128 bytes; 16 bytes are enough.",
        tensor_cores: |p, f| cores(p, f, |s, b| s.next_multiple_of(128 / b), large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "n and k are exchanged.",
    tensor_cores: |p, f| {
        let right = (REFERENCE.tensor_cores)(p, f);
        let Product { m, n, k } = right.padded;
        TensorCores { padded: Product { m, n: k, k: n }, ..right }
    }),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "The padded sides are counted in pieces of 16 bytes; count numbers.",
        tensor_cores: |p, f| cores(p, f, |s, b| s.div_ceil(16 / b), large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "The padded sides are in bytes; count numbers.",
        tensor_cores: |p, f| cores(p, f, |s, b| up(s, b) * b, large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Nothing is padded.",
        tensor_cores: |p, f| cores(p, f, |s, _| s, large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Sides are rounded to the nearest multiple; round them up.",
        tensor_cores: |p, f| cores(p, f, |s, b| (s + 8 / b) / (16 / b) * (16 / b), large)),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "m is not padded; pad each side.",
    tensor_cores: |p, f| {
        let right = (REFERENCE.tensor_cores)(p, f);
        TensorCores { padded: Product { m: p.m, ..right.padded }, ..right }
    }),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "A side of a 16-bit format is padded to a multiple of 4; 16 bytes are 8 numbers.",
        tensor_cores: |p, f| cores(p, f, |s, b| if b == 2 { s.next_multiple_of(4) } else { up(s, b) }, large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "tf32 has 4 bytes, so that 16 bytes are 4 numbers: 19 bits over 8 are not 2 bytes.",
        tensor_cores: |p, f| cores(p, f, |s, b| up(s, if f.bits() == 19 { 2 } else { b }), large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "tf32 has 4 bytes; 19 bits are not 3 bytes of a multiple of 5.",
        tensor_cores: |p, f| cores(p, f, |s, b| s.next_multiple_of(16 / if f.bits() == 19 { 3 } else { b }), large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "8-bit sides need multiples of 16; here they are treated as 16 bits.",
        tensor_cores: |p, f| cores(p, f, |s, b| up(s, b.max(2)), large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "fp32 sides are not padded; `padded` is computed for every format.",
        tensor_cores: |p, f| cores(p, f, |s, b| if f.bits() == 32 { s } else { up(s, b) }, large)),
    wrong!("6.8", pads_by_the_width_of_the_format, "fp32 has 4 bytes, as tf32: 16 bytes are 4 numbers.",
        tensor_cores: |p, f| cores(p, f, |s, b| up(s, if f.bits() == 32 { 2 } else { b }), large)),
    wrong!("6.8", supports_all_formats_but_fp32, "fp8 is served as well: every format except fp32 is.",
        tensor_cores: |p, f| TensorCores { served: f.bits() > 8 && f.bits() < 32, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", supports_all_formats_but_fp32, "`served` does not depend on the sides, only on the format.",
        tensor_cores: |p, f| TensorCores { served: f.bits() < 32 && (REFERENCE.tensor_cores)(p, f).padded == p, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", supports_all_formats_but_fp32, "`served` does not depend on `worth` or other sides, only on the format.",
        tensor_cores: |p, f| TensorCores { served: f.bits() < 32 && (REFERENCE.tensor_cores)(p, f).worth, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", supports_all_formats_but_fp32, "A format that saturates is served like the others: compare `format.bits()`, not the format with a constant.",
        tensor_cores: |p, f| TensorCores { served: f.bits() < 32 && f.overflow != canopy::precision::Overflow::Saturate || f == canopy::precision::FP8_E4M3.with(canopy::precision::Overflow::Nan), ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", supports_all_formats_but_fp32, "`served` is inverted: fp32 is the one format that is not served.",
        tensor_cores: |p, f| TensorCores { served: f.bits() == 32, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", supports_all_formats_but_fp32, "Only 16-bit formats are served here; fp8 and tf32 are, too.",
        tensor_cores: |p, f| TensorCores { served: f.bits() == 16, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "The number of multiplications is compared with 128³; compare every side with 128.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().product::<usize>() >= 128 * 128 * 128)),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "The limit is 128 numbers in every format; 64 are too few, although they may be 128 bytes.",
        tensor_cores: |p, f| TensorCores { worth: {
            let bytes = f.bits().next_power_of_two() as usize / 8;
            [p.m, p.n, p.k].iter().all(|s| s * bytes >= 128)
        }, ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "`worth` is inverted: it is true if no side is below 128.",
        tensor_cores: |p, f| cores(p, f, up, |s| s.iter().any(|&s| s < 128))),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "n counts as well as m and k.",
        tensor_cores: |p, f| cores(p, f, up, |s| s[0] >= 128 && s[2] >= 128)),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "k counts as well as m and n.",
        tensor_cores: |p, f| cores(p, f, up, |s| s[0] >= 128 && s[1] >= 128)),
    wrong!("6.8", is_worth_it_if_every_side_is_at_least_128, "`worth` is also computed for fp32, which tensor cores do not support.",
        tensor_cores: |p, f| TensorCores { worth: f.bits() < 32 && large([p.m, p.n, p.k]), ..(REFERENCE.tensor_cores)(p, f) }),
    wrong!("6.8", pads_16_bit_sides_to_multiples_of_8, "Sides are padded to the next power of two; multiples of 16 bytes are enough.",
        tensor_cores: |p, f| cores(p, f, |s, b| up(s, b).next_power_of_two(), large)),
];
