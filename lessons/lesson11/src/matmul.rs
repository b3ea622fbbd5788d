//! 11.6: the matrix product by tiles in shared memory.

use std::collections::HashSet;

use grader::{Check, Draw, Finding, Mistake, Verdict, mistakes, rows};
use grid::{Access, Mode, Place};

use crate::{Lesson11, REFERENCE, answers, launch::Launch, verdict::Checked};

/// m, n, k.
type Input = [usize; 3];

fn run(answer: &Lesson11, [m, n, k]: Input) -> Result<Checked, Finding> {
    let mut d = grader::draw();
    let [a, b] = [m * k, k * n].map(|count| d.list(count, -2.0, 2.0));
    let launch = Launch::matmul(("matmul", (answer.matmul)()), &a, &b, k);
    let ran = launch.check(&format!("m = {m}, n = {n}, k = {k}"), 4.0)?;
    let product = |i: usize, j: usize| f64::from(a[i / n * k + j]) * f64::from(b[j * n + i % n]);
    let expected = (0..m * n).map(|i| (0..k).map(|j| product(i, j)).sum()).collect();
    ran.close("c", "f32", &[m, n], expected)?;
    Ok(ran)
}

fn reads(answer: &Lesson11, input: Input) -> Verdict {
    let [m, n, k] = input;
    let ran = run(answer, input)?;
    // How often a block reads what another one reads, too.
    let most = [m * k * n.div_ceil(16), k * n * m.div_ceil(16)];
    for (index, (name, most)) in ["a", "b"].into_iter().zip(most).enumerate() {
        let of = |access: &Access| access.memory == Place::Buffer(index) && access.mode == Mode::Read;
        let (mut seen, mut bytes, mut again) = (HashSet::new(), 0, None);
        for (at, access) in ran.ran.trace.accesses.iter().enumerate() {
            if of(access) {
                bytes += u64::from(access.bytes);
                if !seen.insert((access.block, access.offset)) {
                    again = again.or(Some(at));
                }
            }
        }
        let what = format!("reads of `{name}`");
        ran.count(&what, "values read", [most as u64, bytes / 4], again)?;
    }
    Ok(())
}

fn odd(d: &mut Draw, [low, high]: [usize; 2]) -> usize {
    2 * d.whole(low, high) + 1
}

pub const CHECKS: &[Check<Lesson11>] = rows! { "11.6";
    by run {
        multiplies_whole_tiles: "c = a·b",
            "c[row, column] is the sum over i of a[row, i] · b[i, column], tile after tile. NaN was in c before." =>
            |_| vec![[16, 16, 16], [16, 16, 48], [32, 48, 16], [48, 16, 32]];
        accepts_sizes_that_do_not_fit: "for any m, n and k",
            "Where a tile reaches beyond a matrix, store 0 in it; only threads inside c write." => |d| {
            let mut one = |m, n, k| [odd(d, m), odd(d, n), odd(d, k)];
            vec![one([3, 7], [9, 14], [1, 6]), one([16, 18], [9, 12], [9, 12]), one([8, 10], [16, 18], [17, 19])]
        };
    }
    by reads {
        reads_each_value_once: "No block reads a value from global memory twice",
            "Each thread of a block loads one value of each tile; all products are computed from shared memory." =>
            |d| vec![[32, 32, 16 * d.whole(2, 3)], [odd(d, [8, 12]), odd(d, [12, 15]), odd(d, [10, 15])]];
    }
};

pub const MISTAKES: &[Mistake<Lesson11>] = mistakes! { "11.6" matmul;
    1 "x and y are exchanged: the row comes from y, the column from x.";
    2 "Threads outside of c return before the barrier that the others wait at: guard the accesses instead.";
    3 "Every thread reads its row and its column from global memory: load tiles into shared memory.";
    4 "The last tile, which is not full, is left out: the loop runs while from < k.";
    5 "The loop goes on by 1: a tile has 16 values along k.";
    6 "The tile of a is not guarded along k: store 0 unless from + threadIdx.x < k.";
    7 "The stride of a is taken to be n; a row of a has k values.";
    8 "Where a ends, its tile gets no value: store 0.";
    9 "The tile of a is the first one each time: add `from` to its column.";
    10 "The tile of b is not guarded along k: store 0 unless from + threadIdx.y < k.";
    11 "The stride of b is taken to be k; a row of b has n values.";
    12 "Where b ends, its tile gets no value: store 0.";
    13 "__syncwarp() orders one warp; the tiles are from all warps: __syncthreads().";
    14 "There is no barrier between loading the tiles and reading them.";
    15 "The indices of the tile of b are exchanged: bs[i][threadIdx.x].";
    16 "The sum is replaced by each product: add with +=.";
    17 "The tiles are multiplied in the wrong order: a row of a's tile, a column of b's.";
    18 "There is no barrier at the end of the loop: a fast warp loads the next tiles while others still read these.";
    19 "Threads outside of c write: both row < m and column < n must be true.";
    20 "The stride of c is taken to be k; a row of c has n values.";
    21 "c is added to itself, but it has no value yet: write with =.";
    22 "Threads outside of c write: both row < m and column < n must be true.";
};
