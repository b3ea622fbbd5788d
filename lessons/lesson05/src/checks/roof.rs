use canopy::profile::{Machine, MatMul, Roof};
use grader::{Case, Draw, Verdict, draw, given};

use crate::Lesson05;

fn ask(answer: &Lesson05, product: MatMul, machine: Machine) -> (Case, Roof) {
    let MatMul {
        rows,
        inner,
        columns,
        width,
    } = product;
    let case = given(format!(
        "[{rows}, {inner}] · [{inner}, {columns}], {width} bytes per number; machine: {:.4e} FLOP/s, {:.4e} bytes/s",
        machine.flops, machine.bytes
    ));
    (case, (answer.matmul_roof)(&product, &machine))
}

/// One operation for each multiplication and each addition, one number for each element that moves.
fn counted(product: &MatMul) -> (f64, f64) {
    let (mut flops, mut numbers) = (0usize, 0usize);
    for _ in 0..product.rows {
        numbers += product.inner + product.columns;
        flops += product.columns * (product.inner + product.inner);
    }
    numbers += product.inner * product.columns;
    (flops as f64, (numbers * product.width) as f64)
}

fn product(draw: &mut Draw, low: usize, high: usize, width: usize) -> MatMul {
    let inner = draw.whole(low, high);
    MatMul {
        rows: inner + draw.whole(1, 30),
        inner,
        columns: inner + draw.whole(31, 60),
        width,
    }
}

pub fn counts_operations_and_bytes(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let product = product(&mut draw, 20, 60, 4);
    let machine = Machine {
        flops: draw.number(1e11, 1e12),
        bytes: draw.number(1e10, 1e11),
    };
    let (flops, bytes) = counted(&product);
    let (case, roof) = ask(answer, product, machine);
    case.close("flops", roof.flops, flops)?;
    case.close("bytes", roof.bytes, bytes)?;
    case.close("intensity", roof.intensity, flops / bytes)
}

pub fn uses_the_width_of_a_number(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    for width in [2, 8, 1] {
        let product = product(&mut draw, 20, 60, width);
        let machine = Machine {
            flops: 1e12,
            bytes: 1e11,
        };
        let (_, bytes) = counted(&product);
        let (case, roof) = ask(answer, product, machine);
        case.close("bytes", roof.bytes, bytes)?;
    }
    Ok(())
}

/// The machine's ridge at `times` the product's intensity.
fn with_ridge(answer: &Lesson05, times: f64) -> (Case, Roof, f64, f64) {
    let mut draw = draw();
    let product = product(&mut draw, 30, 80, 4);
    let (flops, bytes) = counted(&product);
    let speed = draw.number(1e10, 1e11);
    let machine = Machine {
        flops: speed * times * flops / bytes,
        bytes: speed,
    };
    let (case, roof) = ask(answer, product, machine);
    (case, roof, bytes / speed, flops / machine.flops)
}

pub fn is_limited_by_memory_below_the_ridge(answer: &Lesson05) -> Verdict {
    let (case, roof, by_memory, _) = with_ridge(answer, 3.0);
    case.close("seconds", roof.seconds, by_memory)?;
    case.close("attainable", roof.attainable, roof.flops / by_memory)?;
    case.require("memory_bound: true", roof.memory_bound, "false")
}

pub fn is_limited_by_arithmetic_above_the_ridge(answer: &Lesson05) -> Verdict {
    let (case, roof, _, by_arithmetic) = with_ridge(answer, 0.3);
    case.close("seconds", roof.seconds, by_arithmetic)?;
    case.close("attainable", roof.attainable, roof.flops / by_arithmetic)?;
    case.require("memory_bound: false", !roof.memory_bound, "true")
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
    let (case, roof) = ask(answer, product, machine);
    case.require("memory_bound: false", !roof.memory_bound, "true")?;
    case.close("attainable", roof.attainable, 2.0 * speed)
}
