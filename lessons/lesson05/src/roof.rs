//! 5.6: the roofline of a matrix product.

use canopy::profile::{Machine, MatMul};
use grader::{Check, Draw, Facts, Mistake, Values, Verdict, given, mistakes, rows};

use crate::{Lesson05, REFERENCE, answers};

type Input = (MatMul, Machine);

#[rustfmt::skip]
const MACHINE: Machine = Machine { flops: 3e11, bytes: 2e10 };

fn roofs(answer: &Lesson05, (product, machine): Input) -> Verdict {
    let facts = |of: &Lesson05| {
        let roof = (of.matmul_roof)(&product, &machine);
        // Counts are exact.
        let count = |count: f64| Values::tensor(vec![count], &[], "integer");
        Facts::default()
            .values("flops", count(roof.flops))
            .cause("Each of rows · columns results needs `inner` multiplications and additions. Multiply as f64.")
            .asked("its operations and bytes")
            .values("bytes", count(roof.bytes))
            .values("intensity", roof.intensity)
            .cause("Divide `flops` by `bytes`, both as f64, and do not round.")
            .values("attainable", roof.attainable)
            .cause("`attainable` is the lower of machine.flops and intensity · machine.bytes.")
            .asked("how fast it can be")
            .values("seconds · 10⁶", 1e6 * roof.seconds)
            .cause("`seconds` is flops/attainable.")
            .text("memory_bound", roof.memory_bound.to_string())
            .cause(
                "`memory_bound` is true if intensity · machine.bytes is below machine.flops: < and not <=.",
            )
            .asked("At the ridge")
    };
    given(format!("{product:?}, {machine:?}")).same(facts(answer), facts(&REFERENCE))
}

#[rustfmt::skip]
fn product([rows, inner, columns, width]: [usize; 4]) -> MatMul {
    MatMul { rows, inner, columns, width }
}

fn drawn(d: &mut Draw, low: usize, width: usize) -> MatMul {
    let inner = d.whole(low, 2 * low);
    product([inner + d.whole(1, 30), inner, inner + d.whole(31, 60), width])
}

/// Machines whose ridge is at a multiple of the product's intensity. That is small and great: no fixed ridge is right.
fn at_ridges(d: &mut Draw) -> Vec<Input> {
    let all = [3.0, 3.0, 1.05, 80.0, 0.3, 0.95, 0.01]
        .into_iter()
        .zip([3, 80, 30, 30, 30, 30, 30]);
    let input = |(times, low): (f64, usize)| {
        let product = drawn(d, low, 4);
        let bytes = d.number(1e10, 1e11).round();
        let flops = (bytes * times * (REFERENCE.matmul_roof)(&product, &MACHINE).intensity).round();
        (product, Machine { flops, bytes })
    };
    all.map(input).collect()
}

pub const CHECKS: &[Check<Lesson05>] = rows! { "5.6";
    by roofs {
        counts_operations_and_bytes: "its operations and bytes",
            "Multiply `width` by the numbers of all three matrices: rows·inner + inner·columns + rows·columns." => |d| {
            // Also one row, one column, and an inner product of one number.
            let one = [[1, 7, 5, 4], [6, 1, 9, 4], [5, 8, 1, 4]].map(product);
            [drawn(d, 20, 4)].into_iter().chain(one).map(|product| (product, MACHINE)).collect()
        };
        uses_the_width_of_a_number: "its operations and bytes", "A number has `width` bytes, not always 4." =>
            |d| [2, 8, 1].map(|width| (drawn(d, 20, width), MACHINE)).into();
        counts_large_products: "its operations and bytes",
            "Convert the sizes to f64 before you multiply: 32 bits overflow, and f32 rounds." => |d| {
            // 10^13 operations, and 10^9 bytes.
            let rows = 100_001 + 2 * d.whole(1, 9_000);
            vec![(product([rows, 8001, 9001, 4]), MACHINE)]
        };
        is_limited_by_the_lower_limit: "how fast it can be", "" => at_ridges;
        is_not_memory_bound_at_the_ridge: "At the ridge", "" => |d| {
            // 2·n³ operations over 12·n² bytes are n/6 a byte: with n = 12 nothing is rounded.
            let bytes = f64::from(1 << d.whole(4, 20));
            vec![(product([12, 12, 12, 4]), Machine { flops: 2.0 * bytes, bytes })]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson05>] = mistakes! { "5.6" matmul_roof;
    1 "A multiplication and an addition count as two operations.";
    2 "The bytes of the result are missing: it is written.";
    3 "`bytes` counts numbers; each has `width` bytes.";
    4 "A number is assumed to have 4 bytes; `width` has the number of bytes.";
    5 "The width belongs to all three matrices: brackets are missing.";
    6 "The right factor is read once, not again for each row of the left one.";
    7 "This is bytes per FLOP; the intensity is FLOP per byte.";
    8 "Memory traffic and arithmetic run at the same time: the longer of the two counts, not their sum.";
    9 "At the ridge itself, memory is not the only limit: `memory_bound` is false there.";
};
