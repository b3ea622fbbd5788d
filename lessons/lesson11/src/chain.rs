//! 11.8: operations, bytes and time of a chain of operators, fused and not.

use canopy::profile::{Machine, Operator};
use grader::{Check, Draw, Facts, Mistake, Values, Verdict, given, mistakes, rows};

use crate::{Lesson11, REFERENCE, answers};

/// The chain, the number of values, whether it is fused, the machine.
type Input = (Vec<Operator>, usize, bool, Machine);

fn costs(answer: &Lesson11, (chain, values, fused, machine): Input) -> Verdict {
    let facts = |lesson: &Lesson11| {
        let cost = (lesson.chain_cost)(&chain, values, fused, &machine);
        let count = |count: f64| Values::tensor(vec![count], &[], "integer");
        Facts::default()
            .values("flops", count(cost.flops))
            .cause("Add the operations of all operators, and multiply by the number of values.")
            .values("bytes", count(cost.bytes))
            .cause("Each kernel reads the values and the parameters of its operators and writes the values, 4 bytes each.")
            .values("seconds · 10⁶", 1e6 * cost.seconds)
            .cause("A kernel takes the longer of flops / machine.flops and bytes / machine.bytes. Add the times of the kernels.")
    };
    let operators: Vec<_> = chain.iter().map(|o| (o.flops, o.parameters)).collect();
    let Machine { flops, bytes } = machine;
    let text = format!(
        "(flops, parameters) {operators:?}, {values} values, fused {fused}, machine of {flops:e} operations and {bytes:e} bytes \
         a second"
    );
    given(text).same(facts(answer), facts(&REFERENCE))
}

/// `count` operators that are light, and some that are heavy, on a machine of `ridge` operations a byte.
fn drawn(d: &mut Draw, count: usize, fused: bool, ridge: f64) -> Input {
    let mut operator = |i: usize| {
        let flops = if i.is_multiple_of(2) {
            d.whole(1, 3)
        } else {
            d.whole(20, 60)
        };
        Operator {
            flops,
            parameters: d.whole(2, 90),
        }
    };
    let chain = (0..count).map(&mut operator).collect();
    let bytes = (d.number(2.0, 9.0) * 10.0).round() * 1e10;
    let machine = Machine {
        flops: bytes * ridge,
        bytes,
    };
    (chain, d.whole(10_000, 90_000), fused, machine)
}

pub const CHECKS: &[Check<Lesson11>] = rows! { "11.8";
    by costs {
        counts_one_operator: "the cost of `chain`",
            "An operator reads the values and its parameters and writes the values, 4 bytes each; the longer of its two times counts." =>
            |d| [(false, 20.0), (false, 0.1), (true, 20.0), (true, 0.1)].map(|(fused, ridge)| drawn(d, 1, fused, ridge)).into();
        adds_the_kernels_of_an_unfused_chain: "times add up",
            "Each operator is a kernel with a roofline of its own: add operations, bytes and times." =>
            |d| [(3, 20.0), (5, 2.0), (4, 2.0)].map(|(count, ridge)| drawn(d, count, false, ridge)).into();
        fuses_the_chain_into_one_kernel: "intermediate values stay in registers",
            "The values are read once and written once, and all parameters are read; then one roofline." =>
            |d| [(3, 20.0), (5, 2.0), (4, 2.0)].map(|(count, ridge)| drawn(d, count, true, ridge)).into();
    }
};

pub const MISTAKES: &[Mistake<Lesson11>] = mistakes! { "11.8" chain_cost;
    1 "A fused chain is counted as if each operator were a kernel: it reads and writes the values once.";
    2 "An unfused chain is counted as if it were fused: each operator reads and writes the values.";
    3 "The parameters are missing in the bytes.";
    4 "The parameters are counted for each value; a kernel reads them once.";
    5 "Only the parameters of the first operator are counted.";
    6 "The operations are those of one value: multiply by `values`.";
    7 "Only the operations of the first operator are counted.";
    8 "Values are counted, not bytes: an f32 has 4.";
    9 "The values are counted once: a kernel reads and writes them.";
    10 "The two times are added: computing and memory overlap, and the longer one counts.";
    11 "The time is that of memory alone: computing may take longer.";
    12 "The shorter of the two times counts: it is the longer one.";
    13 "The time follows from the sums of the chain: each kernel has its own longer time, and these add up.";
    14 "The parameters are counted twice: a kernel reads them, and writes only the values.";
    15 "The parameters are counted as one byte each: an f32 has 4.";
    16 "Intermediate values of the fused chain are counted: they stay in registers.";
    17 "Each f32 is counted as 8 bytes: it has 4.";
};
