//! 2.4: from the output of a T-Net to matrices.

use grader::{Check, Draw, Mistake, Verdict, mistakes, rows};

use crate::{Lesson02, REFERENCE, answers, tensors::Input};

fn matrices(answer: &Lesson02, x: Input) -> Verdict {
    x.compare(answer, |l, of| (l.to_matrix)(&of[0], of[0].dim(1)?.isqrt()))
}

/// All numbers are at most `size`.
fn x(d: &mut Draw, clouds: usize, k: usize, size: f64) -> Input {
    Input::default().with("x", d.list(clouds * k * k, -size, size), &[clouds, k * k])
}

pub const CHECKS: &[Check<Lesson02>] = rows! { "2.4";
    by matrices {
        is_the_identity_for_zero_output: "the identity plus the numbers",
            "If all numbers are 0, the result is I for each cloud: 1 along the diagonal, and 0 elsewhere." => |d| {
            let k = d.whole(4, 6);
            [(1, 3), (2, k), (2, 1)].map(|(clouds, k)| x(d, clouds, k, 0.0)).to_vec()
        };
        fills_matrices_row_by_row: "row by row",
            "The first k numbers are the first row, as they are; then 1 is added to each entry of the diagonal." =>
            |d| [3, 4, 1, 2].map(|k| x(d, 1, k, 1.9)).to_vec();
        gives_each_cloud_its_own_matrix: "the numbers of each cloud",
            "Each cloud has its own k·k numbers, one row of x, and I is added to each matrix." =>
            |d| [(2, 3), (3, 2), (3, 3), (5, 1)].map(|(clouds, k)| x(d, clouds, k, 1.9)).to_vec();
        passes_the_gradient_to_its_input: "Gradients flow to `x`",
            "Compute with tensors all the way: what is detached, or converted to numbers, has no gradient." =>
            |d| vec![x(d, 2, 3, 1.9).gradients()];
    }
};

pub const MISTAKES: &[Mistake<Lesson02>] = mistakes! { "2.4" to_matrix;
    1 "The output was detached, or converted to numbers: no gradient reaches the network.";
    2 "The identity is not added to the numbers: an untrained T-Net would send every point to the origin.";
    3 "`+` requires equal shapes; `broadcast_add` adds the one identity to each of the matrices.";
    4 "1 is added to every entry; the identity has it along the diagonal only.";
    5 "The matrices are transposed: the first k numbers are the first row.";
    6 "The diagonal is set to 1; 1 should be added to it.";
    7 "All clouds get the matrix of the first one.";
    8 "The result is still rows of k·k numbers; reshape it to [clouds, k, k].";
};
