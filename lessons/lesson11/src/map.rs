//! 11.1: a map with a guard.

use std::collections::HashSet;

use grader::{Check, Draw, Finding, Mistake, Verdict, mistakes, rows};
use grid::Place;

use crate::{
    Lesson11, REFERENCE, answers,
    launch::{Argument::*, Launch},
    verdict::Checked,
};

/// x, a and b, the threads of a block, further blocks.
type Input = (Vec<f32>, [f32; 2], [usize; 2]);

fn drawn(d: &mut Draw, n: usize, block: usize, more: usize) -> Input {
    let ab = d.list(2, 1.1, 3.0);
    (d.list(n, -5.0, 5.0), [ab[0], ab[1]], [block, more])
}

fn run(answer: &Lesson11, (x, [a, b], [block, more]): Input) -> Result<Checked, Finding> {
    let n = x.len();
    let arguments = [Floats(&x), Output(n), Float(a), Float(b), Int(n)];
    let kernel = ("map", (answer.map)());
    let launch = Launch::new(kernel, (n + more * block, 1), (block as u32, 1), &arguments);
    let ran = launch.check(&format!("n = {n}, a = {a}, b = {b}"), 0.0)?;
    let [a, b] = [a, b].map(f64::from);
    let expected = x.iter().map(|&x| a * f64::from(x) + b).collect();
    ran.close("y", "f32", &[n], expected)?;
    Ok(ran)
}

fn reads(answer: &Lesson11, input: Input) -> Verdict {
    let mut seen = HashSet::new();
    run(answer, input)?.by_thread("elements of `x` that are read", 1, |access| {
        access.memory == Place::Buffer(0) && seen.insert((access.block, access.thread, access.offset))
    })
}

pub const CHECKS: &[Check<Lesson11>] = rows! { "11.1";
    by run {
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
    6 "Threads beyond the last element read or write: guard each access with `if (i < n)`.";
    7 "Threads beyond the last element read or write: guard each access with `if (i < n)`.";
    8 "The guard excludes the last element: i < n.";
    9 "Element 0 gets no value: indices begin at 0.";
    10 "The guard is the wrong way round: the threads with i < n work.";
    11 "b is not added.";
    12 "b is added before the multiplication: a · x + b.";
    13 "y is added to itself, but it has no value yet: write with =.";
    14 "One thread does all the work in a loop: each thread has one element, and the grid is the loop.";
    15 "Threads beyond the last element read or write: guard each access with `if (i < n)`.";
};
