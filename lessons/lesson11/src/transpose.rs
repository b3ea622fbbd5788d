//! 11.5: transpose through shared memory, coalesced on both sides and free of bank conflicts.

use grader::{Check, Draw, Finding, Mistake, Verdict, mistakes, rows};

use crate::{Lesson11, REFERENCE, answers, launch::Launch, verdict::Checked};

/// Rows and columns of x.
type Input = [usize; 2];

fn run(answer: &Lesson11, [rows, columns]: Input) -> Result<Checked, Finding> {
    let x = grader::draw().list(rows * columns, -9.0, 9.0);
    let launch = Launch::transpose(("transpose", (answer.transpose)()), &x, columns);
    let ran = launch.check(&format!("{rows} rows, {columns} columns"), 0.0)?;
    let value = |i: usize| f64::from(x[i % rows * columns + i / rows]);
    let expected = (0..x.len()).map(value).collect();
    ran.close("y", "f32", &[columns, rows], expected)?;
    Ok(ran)
}

fn reads(answer: &Lesson11, input: Input) -> Verdict {
    run(answer, input)?.coalesced("x", 0)
}

fn writes(answer: &Lesson11, input: Input) -> Verdict {
    run(answer, input)?.coalesced("y", 1)
}

fn conflicts(answer: &Lesson11, input: Input) -> Verdict {
    run(answer, input)?.free_of_conflicts()
}

fn tiles(d: &mut Draw) -> Vec<Input> {
    vec![[32, 32], [64, 32 * d.whole(1, 2)]]
}

pub const CHECKS: &[Check<Lesson11>] = rows! { "11.5";
    by run {
        exchanges_rows_and_columns: "y[c, r] = x[r, c]",
            "Element (row, column) of a tile goes to (column, row); a row of y has `rows` values. NaN was in y before." =>
            |_| vec![[32, 32], [32, 64], [96, 32]];
        guards_the_tiles_at_the_edge: "grid `(⌈columns/32⌉, ⌈rows/32⌉)`",
            "Threads outside of the matrix neither read nor write, and take part in the barrier." =>
            |d| [[3, 9], [10, 20], [21, 31], [33, 50]].map(|[low, high]| [d.whole(low, high); 2]).into();
        guards_what_is_written: "grid `(⌈columns/32⌉, ⌈rows/32⌉)`",
            "A thread writes another element than it has read: guard the write by the row and the column of y." =>
            |d| vec![[d.whole(3, 20), d.whole(21, 31)], [d.whole(33, 60), d.whole(5, 30)], [d.whole(34, 50), d.whole(51, 63)]];
    }
    by reads {
        reads_are_coalesced: "Reads of x and writes of y are coalesced",
            "In the index of x, threadIdx.x selects the column." => tiles;
    }
    by writes {
        writes_are_coalesced: "Reads of x and writes of y are coalesced",
            "In the index of y, threadIdx.x selects the column of y, which is a row of x: exchange the blocks, not the threads, and \
             read the tile by columns." => tiles;
    }
    by conflicts {
        shared_memory_has_no_bank_conflicts: "without bank conflicts",
            "A column of a tile with rows of 32 floats is in one bank: give each row one float more." => tiles;
    }
};

pub const MISTAKES: &[Mistake<Lesson11>] = mistakes! { "11.5" transpose;
    1 "Each column of the tile is in one bank: every row needs one float more, [32][33].";
    2 "Each column of the tile is in one bank: every row needs one float more, [32][33].";
    3 "Threads outside of x return before the barrier that the others wait at: guard the accesses instead.";
    4 "Threads outside of x read: guard the first access with row < rows && column < columns.";
    5 "The stride of x is taken to be `rows`; a row of x has `columns` values.";
    6 "Without the tile, the writes of a warp are `rows` apart: write the tile so that threadIdx.x selects the column of y.";
    7 "__syncwarp() orders one warp; a column of the tile is from all warps: __syncthreads().";
    8 "There is no barrier between writing the tile and reading it.";
    9 "The tile is not transposed: read it with the indices exchanged.";
    10 "The tile goes to its own place: in y, the block's row and column are exchanged.";
    11 "The second guard is not exchanged: y has `columns` rows and `rows` columns.";
    12 "The second guard tests the element that the thread has read; it writes another one.";
    13 "The second access is not guarded: at the edge, parts of the tile have no value.";
    14 "The stride of y is taken to be `columns`; a row of y has `rows` values.";
};
