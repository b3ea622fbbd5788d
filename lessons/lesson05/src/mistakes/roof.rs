use canopy::profile::{Machine, MatMul, Roof};
use grader::{Mistake, wrong};

use crate::{Lesson05, REFERENCE, answer_helpers::*};

pub const MISTAKES: &[Mistake<Lesson05>] = &[
    wrong!("5.6", counts_operations,
        "A multiplication and an addition count as two operations.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (a * b * c, a * b + b * c + a * c), |i, r| i < r)),
    wrong!("5.6", counts_operations,
        "Count 2 operations for each of `inner` products, also for the first: an addition with each multiplication.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (a * c * (2.0 * b - 1.0), a * b + b * c + a * c), |i, r| i < r)),
    wrong!("5.6", counts_bytes,
        "The bytes of the result are missing: it is written.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (2.0 * a * b * c, a * b + b * c), |i, r| i < r)),
    wrong!("5.6", counts_bytes,
        "The bytes of the left factor are missing: it is read.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (2.0 * a * b * c, b * c + a * c), |i, r| i < r)),
    wrong!("5.6", counts_bytes,
        "The bytes of the right factor are missing: it is read.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (2.0 * a * b * c, a * b + a * c), |i, r| i < r)),
    wrong!("5.6", counts_bytes,
        "The bytes of both factors are missing: they are read.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (2.0 * a * b * c, a * c), |i, r| i < r)),
    wrong!("5.6", counts_bytes,
        "The result is counted twice; it is only written.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (2.0 * a * b * c, a * b + b * c + 2.0 * a * c), |i, r| i < r)),
    wrong!("5.6", counts_bytes,
        "Each factor is read once, not once for each number of the result.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (2.0 * a * b * c, 2.0 * a * b * c + a * c), |i, r| i < r)),
    wrong!("5.6", counts_bytes,
        "The right factor is read once, not again for each row of the left one.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (2.0 * a * b * c, a * b + a * b * c + a * c), |i, r| i < r)),
    wrong!("5.6", counts_bytes,
        "The left factor is read once, not again for each column of the right one.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (2.0 * a * b * c, a * b * c + b * c + a * c), |i, r| i < r)),
    wrong!("5.6", counts_bytes,
        "`width` is divided by 8; it is in bytes already.",
        matmul_roof: |p, m| { let all = (REFERENCE.matmul_roof)(p, m); roof_of(all.flops, all.bytes / 8.0, m, |i, r| i < r) }),
    wrong!("5.6", counts_bytes,
        "`bytes` counts numbers; each has `width` bytes.",
        matmul_roof: |p, m| { let all = (REFERENCE.matmul_roof)(p, m); roof_of(all.flops, all.bytes / p.width as f64, m, |i, r| i < r) }),
    wrong!("5.6", counts_bytes,
    "The width belongs to all three matrices: brackets are missing.",
    matmul_roof: |p, m| {
        let [a, b, c, width] = [p.rows, p.inner, p.columns, p.width].map(|n| n as f64);
        roof_of(2.0 * a * b * c, width * a * b + b * c + a * c, m, |i, r| i < r)
    }),
    wrong!("5.6", counts_bytes,
    "The width belongs to all three matrices, not only to the last one: brackets are missing.",
    matmul_roof: |p, m| {
        let [a, b, c, width] = [p.rows, p.inner, p.columns, p.width].map(|n| n as f64);
        roof_of(2.0 * a * b * c, a * b + b * c + a * c * width, m, |i, r| i < r)
    }),
    wrong!("5.6", divides_operations_by_bytes,
        "This is bytes per FLOP; the intensity is FLOP per byte.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { intensity: roof.bytes / roof.flops, ..roof } }),
    wrong!("5.6", divides_operations_by_bytes,
        "This is FLOP per number; the intensity is FLOP per byte.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { intensity: roof.intensity * p.width as f64, ..roof } }),
    wrong!("5.6", divides_operations_by_bytes,
        "The intensity is rounded; return it as it is.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { intensity: (100.0 * roof.intensity).round() / 100.0, ..roof } }),
    wrong!("5.6", divides_operations_by_bytes,
        "The intensity is computed with whole numbers, which drop the fraction: divide as f64.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { intensity: roof.intensity.floor(), ..roof } }),
    wrong!("5.6", counts_large_products,
    "The counts do not fit into 32 bits: convert the sizes to f64 before you multiply.",
    matmul_roof: |p, m| {
        let all = (REFERENCE.matmul_roof)(p, m);
        let wrapped = |n: f64| f64::from(n as u64 as u32);
        roof_of(wrapped(all.flops), wrapped(all.bytes), m, |i, r| i < r)
    }),
    wrong!("5.6", counts_large_products,
    "The operations do not fit into 32 bits: convert the sizes to f64 before you multiply.",
    matmul_roof: |p, m| {
        let all = (REFERENCE.matmul_roof)(p, m);
        roof_of(f64::from(all.flops as u64 as u32), all.bytes, m, |i, r| i < r)
    }),
    wrong!("5.6", counts_large_products,
    "The counts do not fit into 32 bits, and the multiplication overflows: convert the sizes to f64 before you multiply.",
    matmul_roof: |p, m| {
        let all = (REFERENCE.matmul_roof)(p, m);
        assert!(all.flops < f64::from(u32::MAX), "attempt to multiply with overflow");
        all
    }),
    wrong!("5.6", counts_large_products,
    "The counts are rounded to the digits of f32: compute in f64.",
    matmul_roof: |p, m| {
        let [a, b, c, width] = [p.rows, p.inner, p.columns, p.width].map(|n| n as f32);
        roof_of(f64::from(2.0 * a * b * c), f64::from(width * (a * b + b * c + a * c)), m, |i, r| i < r)
    }),
    wrong!("5.6", uses_the_width_of_a_number,
        "A number is assumed to have 4 bytes; `width` has the number of bytes.",
        matmul_roof: |p, m| (REFERENCE.matmul_roof)(&MatMul { width: 4, ..*p }, m)),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "The arithmetic limit is used; the memory limit is lower here.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { attainable: m.flops, seconds: roof.flops / m.flops, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`attainable` is the arithmetic limit; below the ridge, the memory limit is lower.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { attainable: m.flops, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "Memory traffic and arithmetic run at the same time: the longer of the two counts, not their sum.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); let seconds = roof.flops / m.flops + roof.bytes / m.bytes; Roof { seconds, attainable: roof.flops / seconds, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`seconds` is the sum of the two times; they run at the same time, so the longer one counts.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { seconds: roof.flops / m.flops + roof.bytes / m.bytes, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`attainable` is the higher of the two limits; it is the lower.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); let high = m.flops.max(roof.intensity * m.bytes); Roof { attainable: high, seconds: roof.flops / high, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`attainable` is the higher of the two limits; the lower one is asked for.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); let high = m.flops.max(roof.intensity * m.bytes); Roof { attainable: high, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`seconds` is the shorter of the two times; the longer one is needed.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { seconds: (roof.flops / m.flops).min(roof.bytes / m.bytes), ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`attainable` is a share of the peak; it is asked for in FLOP per second.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { attainable: roof.attainable / m.flops, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`attainable` is in GFLOP/s; it is asked for in FLOP per second.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { attainable: roof.attainable / 1e9, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`attainable` is in bytes per second; it is asked for in FLOP per second: intensity times bandwidth.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { attainable: m.bytes.min(m.flops), ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`seconds` is the time of the arithmetic alone; below the ridge, the memory takes longer.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { seconds: roof.flops / m.flops, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "The time is in milliseconds; it is asked for in seconds.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { seconds: roof.seconds * 1e3, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "The time is in microseconds; it is asked for in seconds.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { seconds: roof.seconds * 1e6, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "The time is in nanoseconds; it is asked for in seconds.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { seconds: roof.seconds * 1e9, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`seconds` is inverted: it is operations divided by operations per second.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { seconds: 1.0 / roof.seconds, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "The machine's numbers are multiplied by 10⁹; they are in FLOP and bytes per second already.",
        matmul_roof: |p, m| (REFERENCE.matmul_roof)(p, &Machine { flops: m.flops * 1e9, bytes: m.bytes * 1e9 })),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`memory_bound` is compared with a fixed intensity; the ridge is that of the machine.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { memory_bound: roof.intensity < 10.0, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`memory_bound` is inverted: it is true if the intensity is below the ridge.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { memory_bound: roof.intensity > m.flops / m.bytes, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`memory_bound` is compared with bytes per operation; the ridge is operations divided by bytes per second.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { memory_bound: roof.intensity < m.bytes / m.flops, ..roof } }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "The ridge is inverted: it is operations divided by bytes per second. `attainable` is the arithmetic limit only if the intensity is above it.",
        matmul_roof: |p, m| at_ridge(p, m, |i| i >= m.bytes / m.flops)),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "The ridge is inverted: it is operations divided by bytes per second. `attainable` is the arithmetic limit only if the intensity is above it.",
        matmul_roof: |p, m| Roof { seconds: (REFERENCE.matmul_roof)(p, m).seconds, ..at_ridge(p, m, |i| i >= m.bytes / m.flops) }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "The comparison with the ridge is inverted: `attainable` is the memory limit below the ridge, and the arithmetic limit above it.",
        matmul_roof: |p, m| at_ridge(p, m, |i| i < m.flops / m.bytes)),
    wrong!("5.6", is_limited_by_memory_below_the_ridge,
        "`memory_bound` is true everywhere below the ridge, not only far below it.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { memory_bound: roof.attainable <= 0.5 * m.flops, ..roof } }),
    wrong!("5.6", is_limited_by_arithmetic_above_the_ridge,
        "The memory limit is used above the ridge: there the arithmetic is the limit.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { attainable: roof.intensity * m.bytes, seconds: roof.bytes / m.bytes, ..roof } }),
    wrong!("5.6", is_limited_by_arithmetic_above_the_ridge,
        "`attainable` is the memory limit; above the ridge, the arithmetic limit is lower.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { attainable: roof.intensity * m.bytes, ..roof } }),
    wrong!("5.6", is_limited_by_arithmetic_above_the_ridge,
        "`seconds` is the time of the memory alone; above the ridge, the arithmetic takes longer.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { seconds: roof.bytes / m.bytes, ..roof } }),
    wrong!("5.6", is_limited_by_arithmetic_above_the_ridge,
        "`memory_bound` is always true; above the ridge it is false.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { memory_bound: true, ..roof } }),
    wrong!("5.6", is_not_memory_bound_at_the_ridge,
        "At the ridge itself, memory is not the only limit: `memory_bound` is false there.",
        matmul_roof: |p, m| { let roof = (REFERENCE.matmul_roof)(p, m); Roof { memory_bound: roof.intensity <= m.flops / m.bytes, ..roof } }),
];

/// Whichever limit holds by `arithmetic`, from the intensity.
fn at_ridge(product: &MatMul, machine: &Machine, arithmetic: impl Fn(f64) -> bool) -> Roof {
    let roof = (REFERENCE.matmul_roof)(product, machine);
    let memory_bound = !arithmetic(roof.intensity);
    let attainable = if memory_bound {
        roof.intensity * machine.bytes
    } else {
        machine.flops
    };
    Roof {
        attainable,
        seconds: roof.flops / attainable,
        memory_bound,
        ..roof
    }
}
