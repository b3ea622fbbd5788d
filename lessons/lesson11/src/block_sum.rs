//! 11.3: the sum of each block, by a tree in shared memory.

use grader::{Check, Finding, Mistake, Verdict, mistakes, rows};
use grid::{Access, Mode};

use crate::{
    Lesson11, REFERENCE, answers,
    launch::{Argument::*, Launch},
    verdict::Checked,
};

/// Values, threads a block, further blocks.
type Input = (usize, usize, usize);

fn run(answer: &Lesson11, (n, block, more): Input) -> Result<Checked, Finding> {
    let x = grader::draw().list(n, 0.5, 2.0);
    let sums = x
        .chunks(block)
        .map(|part| part.iter().map(|&x| f64::from(x)).sum());
    let mut expected: Vec<f64> = sums.collect();
    expected.resize(expected.len() + more, 0.0);
    let blocks = expected.len();
    let arguments = [Floats(&x), Output(blocks), Int(n)];
    let kernel = ("block_sum", (answer.block_sum)());
    let mut launch = Launch::new(kernel, (blocks * block, 1), (block as u32, 1), &arguments);
    launch.shared = 4 * block;
    let ran = launch.check(&format!("n = {n}"), 1.0)?;
    ran.close("y", "f32", &[blocks], expected)?;
    Ok(ran)
}

fn reads(answer: &Lesson11, input: Input) -> Verdict {
    let (most, is_read) = (input.1 as u64 / 4, |access: &Access| access.mode != Mode::Write);
    run(answer, input)?.by_thread("reads", most, is_read)
}

pub const CHECKS: &[Check<Lesson11>] = rows! { "11.3";
    by run {
        adds_the_values_of_each_block: "the sum of each block's values",
            "Each step adds the upper half of the remaining sums to the lower half; after the step for 1, sums[0] is the sum." =>
            |d| { let blocks = d.whole(2, 4); vec![(256, 256, 0), (64 * blocks, 64, 0), (128 * blocks, 128, 0)] };
        works_for_each_block_size: "a power of two, at least 32",
            "The number of steps follows from blockDim.x." =>
            |d| [32, 512, 64, 1024].map(|block| (block * d.whole(1, 2), block, 0)).into();
        counts_missing_values_as_0: "and i below n",
            "Threads beyond the last value store 0 and take part in every barrier." => |d| {
            let n = d.whole(130, 250);
            vec![(n, 64, 0), (n, 256, 0), (2 * n + 1, 128, 0), (n, 32, 2)]
        };
    }
    by reads {
        threads_share_the_work: "reads more than 64 values",
            "One thread adds too many values: in a tree, half of the threads add in the first step, a quarter in the second." =>
            |_| vec![(512, 256, 0)];
    }
};

pub const MISTAKES: &[Mistake<Lesson11>] = mistakes! { "11.3" block_sum;
    1 "Threads beyond the last value read x: store 0 unless i < n.";
    2 "Threads beyond the last value store nothing, but their place is added: store 0 there.";
    3 "Threads beyond the last value return before the barrier that the others wait at: store 0 instead.";
    4 "sums has one place for each thread of the block: its index is threadIdx.x, not i.";
    5 "__syncwarp() after the stores orders one warp; the tree reads values of others: __syncthreads().";
    6 "There is no barrier between the stores and the first step.";
    7 "Thread 0 adds all values alone: halve the number of sums in each step.";
    8 "The first step is taken to be 128; it is blockDim.x / 2.";
    9 "The last step is missing: the loop runs while step > 0.";
    10 "The first step is blockDim.x, beyond the last value; it is blockDim.x / 2.";
    11 "The first step is missing: the upper half of the values is never added.";
    12 "The barrier is in the branch: threads that do not add never reach it. Put it behind the branch.";
    13 "Threads from `step` on add, too: only those with threadIdx.x < step may.";
    14 "The upper value replaces the lower one: add it.";
    15 "Threads from `step` on add, too: only those with threadIdx.x < step may.";
    16 "__syncwarp() in the loop orders one warp; the next step reads values of others: __syncthreads().";
    17 "There is no barrier between two steps.";
    18 "Every thread of the block writes the result: only thread 0 does.";
    19 "All blocks write y[0]: block b writes y[b].";
    20 "The sum is added to y, which has no value yet: block b writes y[b] with =.";
    21 "The sum is added to y, which has no value yet: block b writes y[b] with =.";
    22 "A thread adds a value that another one changes in the same step: add the value `step` further.";
    23 "Only the first 32 values are added, as by shuffles in one warp: the other warps' sums are missing.";
    24 "Every thread of the block reads sums[0] for the result: only thread 0 may read it and write y.";
};
