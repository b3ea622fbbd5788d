use canopy::profile::{Machine, MatMul, Roof};
use grader::{Draw, Verdict, draw, given};

use super::refuse::{apart, near, refuse, two};
use crate::Lesson05;

/// One operation for each multiplication and each addition, one number for each element that moves.
fn counted(product: &MatMul) -> (f64, f64) {
    let wide = |n: usize| n as u128;
    let [rows, inner, columns] = [product.rows, product.inner, product.columns].map(wide);
    let operations = rows * columns * (inner + inner);
    let numbers = rows * (inner + columns) + inner * columns;
    (operations as f64, (numbers * wide(product.width)) as f64)
}

/// Compares `fields` of the result, in their order; all of them tell the mistakes apart, and beside [`LIMITS`] the counts.
fn check(answer: &Lesson05, product: MatMul, machine: Machine, fields: &[&str]) -> Verdict {
    let MatMul {
        rows,
        inner,
        columns,
        width,
    } = product;
    let input = format!(
        "[{rows}, {inner}] · [{inner}, {columns}], {width} bytes per number; machine: {} FLOP/s, {} bytes/s",
        grader::number(machine.flops),
        grader::number(machine.bytes)
    );
    given(&input);
    let got = (answer.matmul_roof)(&product, &machine);
    let (flops, bytes) = counted(&product);
    let by_memory = bytes / machine.bytes;
    let seconds = by_memory.max(flops / machine.flops);
    let expected = Roof {
        flops,
        bytes,
        intensity: flops / bytes,
        attainable: flops / seconds,
        seconds,
        memory_bound: by_memory > 1.000_001 * flops / machine.flops,
    };
    let numbers = |r: &Roof| {
        [
            ("flops", r.flops),
            ("bytes", r.bytes),
            ("intensity", r.intensity),
            ("attainable", r.attainable),
            ("seconds", r.seconds),
        ]
    };
    let compared = numbers(&got)
        .into_iter()
        .filter(|n| fields.contains(&n.0) || fields == LIMITS)
        .map(|n| n.1);
    let bound = fields.contains(&"memory_bound") && got.memory_bound;
    let all: Vec<f64> = compared.chain([f64::from(bound)]).collect();
    for ((field, got), (_, expected)) in numbers(&got).into_iter().zip(numbers(&expected)) {
        // Counts below 2^53 are exact in f64.
        let right = match field {
            "flops" | "bytes" => (got - expected).abs() <= 1e-13 * expected,
            _ => near(got, expected),
        };
        if fields.contains(&field) && !right {
            return refuse(input, field, apart(expected, got), all);
        }
    }
    if fields.contains(&"memory_bound") && got.memory_bound != expected.memory_bound {
        let lines = two(expected.memory_bound, got.memory_bound);
        return refuse(input, "memory_bound", lines, all);
    }
    Ok(())
}

const COUNTS: &[&str] = &["flops", "bytes", "intensity"];
const LIMITS: &[&str] = &["attainable", "seconds", "memory_bound"];

fn product(draw: &mut Draw, low: usize, high: usize, width: usize) -> MatMul {
    let inner = draw.whole(low, high);
    MatMul {
        rows: inner + draw.whole(1, 30),
        inner,
        columns: inner + draw.whole(31, 60),
        width,
    }
}

const MACHINE: Machine = Machine {
    flops: 3e11,
    bytes: 2e10,
};

/// Tests one of the counts.
fn count(answer: &Lesson05, field: &'static str) -> Verdict {
    let mut draw = draw();
    check(answer, product(&mut draw, 20, 60, 4), MACHINE, &[field])?;
    // One row, one column, and an inner product of one number.
    for [rows, inner, columns] in [[1, 7, 5], [6, 1, 9], [5, 8, 1]] {
        let product = MatMul {
            rows,
            inner,
            columns,
            width: 4,
        };
        check(answer, product, MACHINE, &[field])?;
    }
    Ok(())
}

pub fn counts_operations(answer: &Lesson05) -> Verdict {
    count(answer, "flops")
}

pub fn counts_bytes(answer: &Lesson05) -> Verdict {
    count(answer, "bytes")
}

pub fn divides_operations_by_bytes(answer: &Lesson05) -> Verdict {
    count(answer, "intensity")
}

pub fn counts_large_products(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    // 10^13 operations, and 10^9 bytes: too many for u32, and for f32 to be exact.
    let product = MatMul {
        rows: 100_000 + 2 * draw.whole(1, 9_000) + 1,
        inner: 8001,
        columns: 9001,
        width: 4,
    };
    check(answer, product, MACHINE, COUNTS)
}

pub fn uses_the_width_of_a_number(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    for width in [2, 8, 1] {
        check(answer, product(&mut draw, 20, 60, width), MACHINE, COUNTS)?;
    }
    Ok(())
}

/// The machine's ridge at `times` the product's intensity.
fn with_ridge(answer: &Lesson05, times: f64, inner: (usize, usize)) -> Verdict {
    let mut draw = draw();
    let product = product(&mut draw, inner.0, inner.1, 4);
    let (flops, bytes) = counted(&product);
    let speed = draw.number(1e10, 1e11).round();
    let machine = Machine {
        flops: (speed * times * flops / bytes).round(),
        bytes: speed,
    };
    check(answer, product, machine, LIMITS)
}

pub fn is_limited_by_memory_below_the_ridge(answer: &Lesson05) -> Verdict {
    // An intensity of 1.5 at most, and others of 15 and more: no fixed ridge is right for all.
    with_ridge(answer, 3.0, (3, 6))?;
    with_ridge(answer, 3.0, (80, 120))?;
    with_ridge(answer, 1.05, (30, 80))?;
    with_ridge(answer, 80.0, (30, 80))
}

pub fn is_limited_by_arithmetic_above_the_ridge(answer: &Lesson05) -> Verdict {
    with_ridge(answer, 0.3, (30, 80))?;
    with_ridge(answer, 0.95, (30, 80))?;
    with_ridge(answer, 0.01, (30, 80))
}

pub fn is_not_memory_bound_at_the_ridge(answer: &Lesson05) -> Verdict {
    // 2·n³ operations over 12·n² bytes are n/6 a byte: with n = 12 no rounding comes in.
    let product = MatMul {
        rows: 12,
        inner: 12,
        columns: 12,
        width: 4,
    };
    let speed = f64::from(1 << draw().whole(4, 20));
    let machine = Machine {
        flops: 2.0 * speed,
        bytes: speed,
    };
    check(answer, product, machine, LIMITS)
}
