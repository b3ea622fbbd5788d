//! 11.2: bias and ReLU over a matrix, coalesced.

use grader::{Check, Draw, Finding, Mistake, Verdict, mistakes, rows};

use crate::{Lesson11, REFERENCE, answers, launch::Launch, verdict::Checked};

/// Rows and columns, further blocks along x and y.
type Input = ([usize; 2], [u32; 2]);

/// Runs the kernel, and tests the values.
fn run(answer: &Lesson11, ([rows, columns], more): Input) -> Result<Checked, Finding> {
    let mut d = grader::draw();
    let (x, bias) = (d.list(rows * columns, -3.0, 3.0), d.list(columns, 0.5, 2.0));
    let kernel = ("bias_relu", (answer.bias_relu)());
    let mut launch = Launch::of_matrix(kernel, &x, columns, &[&bias]);
    launch.grid = (launch.grid.0 + more[0], launch.grid.1 + more[1]);
    let ran = launch.check(&format!("{rows} rows, {columns} columns"), 0.0)?;
    let value = |(i, x): (usize, &f32)| (f64::from(*x) + f64::from(bias[i % columns])).max(0.0);
    let expected = x.iter().enumerate().map(value).collect();
    ran.close("y", "f32", &[rows, columns], expected)?;
    Ok(ran)
}

fn traffic(answer: &Lesson11, input: Input) -> Verdict {
    let ran = run(answer, input)?;
    ran.coalesced("x", 0)?;
    ran.coalesced("y", 2)
}

fn odd(d: &mut Draw, least: usize) -> usize {
    2 * d.whole(least, 2 * least) + 1
}

pub const CHECKS: &[Check<Lesson11>] = rows! { "11.2";
    by run {
        adds_the_bias_of_the_column: "max(x[r, c] + bias[c], 0)",
            "Element (r, c) of a row-major matrix is number r · columns + c. NaN was in y before." =>
            |_| [32, 64].map(|side| ([side; 2], [0, 0])).into();
    }
    by traffic {
        accesses_are_coalesced: "Accesses to x and y are coalesced",
            "threadIdx.x changes fastest in a warp: it must select the column, whose values are next to each other in memory." =>
            |d| vec![([32 * d.whole(1, 2); 2], [0, 0])];
    }
    by run {
        guards_the_columns: "may reach beyond both",
            "A thread beyond the last column must neither read nor write." =>
            |d| [8, 16].map(|rows| ([rows, odd(d, rows)], [0, 0])).into();
        guards_the_rows: "may reach beyond both",
            "A thread below the last row must neither read nor write." =>
            |d| [32, 64].map(|columns| ([odd(d, 4), columns], [0, 0])).into();
        guards_both: "may reach beyond both",
            "A thread works only if both its row and its column exist." =>
            |d| [(4, 8), (9, 20), (3, 33), (16, 3)].map(|(r, c)| ([odd(d, r), odd(d, c)], [0, 0])).into();
        accepts_more_blocks_than_needed: "may reach beyond both",
            "Whole blocks may have nothing to do, along x and along y." =>
            |d| vec![([odd(d, 4), odd(d, 8)], [2, 1]), ([odd(d, 8), odd(d, 10)], [0, 3])];
    }
};

pub const MISTAKES: &[Mistake<Lesson11>] = mistakes! { "11.2" bias_relu;
    1 "x and y are exchanged: the row comes from y and the column from x, which changes fastest in a warp.";
    2 "The indices lack the block: add blockIdx.x · blockDim.x and blockIdx.y · blockDim.y.";
    3 "blockIdx.y is multiplied by 32, a block's threads along x; a block has blockDim.y = 8 rows.";
    4 "The row lacks threadIdx.y: a block has 8 rows.";
    5 "The rows are not guarded: the last block may reach below the matrix.";
    6 "The columns are not guarded: beyond the last column, the next row begins.";
    7 "Threads beyond the last row or column read and write: both row < rows and column < columns must be true.";
    8 "The guards are exchanged: row < rows, and column < columns.";
    9 "Threads beyond the last row or column read and write: both row < rows and column < columns must be true.";
    10 "The stride of a row is taken to be `rows`; a row has `columns` values.";
    11 "The index is that of a column-major matrix: row · columns + column.";
    12 "The bias of the row is added; there is one for each column.";
    13 "The bias is added after the ReLU.";
    14 "The ReLU is missing.";
    15 "The bias is missing.";
    16 "The smaller of value and 0 is taken; ReLU takes the greater.";
    17 "y is added to itself, but it has no value yet: write with =.";
    18 "The bias is selected by threadIdx.x, which is the column only in the first block along x.";
};
