//! 11.1: a map with a guard.

use std::collections::HashSet;

use grader::{Check, Draw, Finding, Mistake, Verdict, mistakes, rows};
use grid::{Arg, Buffer, Place, Trace};

use crate::{
    Lesson11, REFERENCE, answers,
    launch::{Kernel, Size, most_of_a_thread},
};

/// x, a and b, blocks and threads of a block.
type Input = (Vec<f32>, [f32; 2], [usize; 2]);

/// `n` values for blocks of `block` threads, and `more` blocks than they need.
fn drawn(d: &mut Draw, n: usize, block: usize, more: usize) -> Input {
    let ab = d.list(2, 1.1, 3.0);
    let x = d.list(n, -5.0, 5.0);
    (x, [ab[0], ab[1]], [n.div_ceil(block) + more, block])
}

fn run(
    answer: &Lesson11,
    (x, [a, b], [blocks, block]): Input,
) -> Result<(Kernel, Trace, Buffer<f32>), Finding> {
    let n = x.len();
    let text = format!("n = {n}, a = {a}, b = {b}, grid {blocks}, block {block}");
    let mut kernel = Kernel::new("map", (answer.map)(), text, 0.0);
    let (input, y) = (kernel.memory.upload(&x), kernel.output(n));
    let numbers = [Arg::value(a), Arg::value(b), Arg::value(n as i32)];
    let arguments = [&[Arg::read(input), Arg::write(y)], &numbers[..]].concat();
    let trace = kernel.launch(Size([blocks, 1], [block, 1], 0), &arguments)?;
    let [a, b] = [a, b].map(f64::from);
    let expected = x.iter().map(|&x| a * f64::from(x) + b).collect();
    kernel.close("y", y, (&[n], "f32"), expected)?;
    Ok((kernel, trace, input))
}

fn values(answer: &Lesson11, input: Input) -> Verdict {
    run(answer, input).map(drop)
}

fn reads(answer: &Lesson11, input: Input) -> Verdict {
    let (kernel, trace, x) = run(answer, input)?;
    let mut seen = HashSet::new();
    let (most, at) = most_of_a_thread(&trace, |access| {
        access.memory == Place::from(x) && seen.insert((access.block, access.thread, access.offset))
    });
    kernel.count(
        "elements of `x` that are read",
        "by one thread",
        [1, most],
        &trace,
        at,
    )
}

pub const CHECKS: &[Check<Lesson11>] = rows! { "11.1";
    by values {
        maps_each_element: "for every i below n",
            "Thread `threadIdx.x` of block `blockIdx.x` has the index blockIdx.x · blockDim.x + threadIdx.x. NaN was in y before." =>
            |d| [(32, 1), (64, 3), (128, 2), (96, 4)].map(|(block, blocks)| drawn(d, block * blocks, block, 0)).into();
        guards_the_last_block: "often more",
            "The last block has more threads than there are elements: these must neither read nor write." => |d| {
            let n = d.whole(70, 120);
            [(n, 32), (2 * n + 1, 64), (3 * n, 128), (1, 64)].map(|(n, block)| drawn(d, n, block, 0)).into()
        };
        accepts_more_blocks_than_needed: "often more",
            "Whole blocks may have nothing to do." => |d| {
            let n = d.whole(33, 99);
            [(n, 32, 3), (64, 64, 2)].map(|(n, block, more)| drawn(d, n, block, more)).into()
        };
    }
    by reads {
        threads_share_the_elements: "No thread reads more than one element of x",
            "Some threads go through a list and leave the others without work: each thread has one element." =>
            |d| vec![drawn(d, 160, 32, 0)];
    }
};

pub const MISTAKES: &[Mistake<Lesson11>] = mistakes! { "11.1" map;
    1 "The index lacks the block: all blocks work on the first elements. Add blockIdx.x · blockDim.x.";
    2 "blockIdx.x is multiplied by the number of blocks; multiply it by the threads of a block, blockDim.x.";
    3 "threadIdx.x and blockIdx.x are exchanged: neighbouring threads have neighbouring elements.";
    4 "The block size is taken to be 256; it is blockDim.x.";
    5 "Every thread writes all elements: each thread has one, and the grid is the loop.";
    6 "Threads beyond the last element read and write: guard the access with `if (i < n)`.";
    7 "Threads beyond the last element read and write: guard the access with `if (i < n)`.";
    8 "The guard excludes the last element: i < n.";
    9 "Element 0 gets no value: indices begin at 0.";
    10 "The guard is the wrong way round: the threads with i < n work.";
    11 "b is not added.";
    12 "b is added before the multiplication: a · x + b.";
    13 "y is added to itself, but it has no value yet: write with =.";
    14 "One thread does all the work in a loop: each thread has one element, and the grid is the loop.";
};
