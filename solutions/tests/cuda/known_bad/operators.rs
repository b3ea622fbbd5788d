//! Operators without a search: losses, T-Nets, dropout, biases, and what they share.

use std::sync::Arc;

use super::{Fault, Value, Values, all_seen, on};
use crate::elementwise::{many, with_dropout, with_linear, with_padding};
use crate::emulated::EmulatedGrid;
use crate::loss::with_cross_entropy;
use crate::sources::Type::F32;
use crate::transform::{with_identity, with_orthogonality, with_transform};

/// More rows than warps, then fewer warps than lanes.
fn losses(grid: &Arc<EmulatedGrid>) -> Values {
    let of = |sizes| with_cross_entropy(sizes, (0.1, true), F32, on(grid));
    Ok([of([33, 40])?, of([2, 40])?].concat())
}

#[test]
fn mistakes_in_the_loss_are_seen() {
    all_seen(
        ("loss.cu", "loss.cu"),
        1e-4,
        losses,
        &[
            (
                "no maximum over the warp",
                "        top = warp_max(top);\n",
                "",
                Value,
            ),
            (
                "a class beyond the last",
                "c < classes; c += WARP) top",
                "c <= classes; c += WARP) top",
                Fault,
            ),
            (
                "the last class is left out",
                "c < classes; c += WARP) sum",
                "c < classes - 1; c += WARP) sum",
                Value,
            ),
            (
                "a row beyond the last",
                "r < rows; r += warps",
                "r <= rows; r += warps",
                Fault,
            ),
            (
                "no sum over the block",
                "    own = block_sum(own, scratch);\n",
                "",
                Value,
            ),
            (
                "the target's sign",
                "(hit + spread * all) - target",
                "(hit + spread * all) + target",
                Value,
            ),
            (
                "the other classes' weights are left out",
                "spread * all",
                "spread",
                Value,
            ),
        ],
    );
}

#[test]
fn mistakes_in_a_sum_over_the_block_are_seen() {
    all_seen(
        ("loss.cu", "values.cuh"),
        1e-4,
        losses,
        &[
            (
                "no barrier before the scratch is used again",
                "    __syncthreads(); // The scratch",
                "    // The scratch",
                Fault,
            ),
            (
                "no barrier before the scratch is read",
                "scratch[warp] = v;\n    __syncthreads();",
                "scratch[warp] = v;",
                Fault,
            ),
            (
                "warps that are not there",
                "lane < (int)(blockDim.x / WARP) ? scratch[lane] : S(0)",
                "scratch[lane]",
                Fault,
            ),
            (
                "a step of the warp's sum is left out",
                "step > 0; step /= 2) {\n        v +=",
                "step > 1; step /= 2) {\n        v +=",
                Value,
            ),
        ],
    );
}

#[test]
fn mistakes_in_the_operators_of_t_nets_are_seen() {
    let run = |grid: &_| {
        let left = [
            with_transform(33, F32, on(grid))?,
            with_orthogonality([2, 33], F32, on(grid))?,
            with_orthogonality([70, 3], F32, on(grid))?,
            with_identity([3, 13], F32, on(grid))?,
        ];
        Ok(left.concat())
    };
    all_seen(
        ("transform.cu", "transform.cu"),
        1e-4,
        run,
        &[
            (
                "no barrier behind the copies",
                "        __syncthreads();\n        for (int d = 0; d < min(",
                "        for (int d = 0; d < min(",
                Fault,
            ),
            (
                "no barrier before the next rows of a matrix's gradient",
                "right[r][lane];\n        }\n        __syncthreads();",
                "right[r][lane];\n        }",
                Fault,
            ),
            (
                "rows beyond the last",
                "row < end && d < k ? as_float(x",
                "d < k ? as_float(x",
                Fault,
            ),
            (
                "columns beyond the last",
                "if (row < end && column < k) y",
                "if (row < end) y",
                Fault,
            ),
            (
                "the points' gradient by a matrix that is not transposed",
                "of_cloud[wide * k + d]",
                "of_cloud[d * k + wide]",
                Value,
            ),
            (
                "every cloud has the first one's matrix",
                "t + (long long)blockIdx.y * k * k",
                "t",
                Value,
            ),
            ("a diagonal of another width", "% (k + 1) == 0", "% k == 0", Value),
            (
                "no sum over the block",
                "    own = block_sum(own, scratch);\n",
                "",
                Value,
            ),
            (
                "the gradient by the transposed matrix",
                "t[first + d * k + i % k]",
                "t[first + i % k * k + d]",
                Value,
            ),
            (
                "a sum in place of the mean",
                "(float)(sum / n)",
                "(float)sum",
                Value,
            ),
            (
                "no more clouds than threads",
                "for (int i = threadIdx.x; i < n; i += blockDim.x) sum",
                "if (int i = threadIdx.x; i < n) sum",
                Value,
            ),
        ],
    );
}

#[test]
fn mistakes_in_gathering_rows_are_seen() {
    let run = |grid: &_| with_padding(60, F32, on(grid));
    all_seen(
        ("clouds.cu", "clouds.cu"),
        1e-4,
        run,
        &[
            (
                "an element beyond the last",
                "i < rows * k",
                "i <= rows * k",
                Fault,
            ),
            (
                "the last element is left out",
                "i < rows * k",
                "i < rows * k - 1",
                Value,
            ),
            (
                "no zeros for padding",
                "row < 0 ? Rounded<T>::of(0.0f) : x",
                "x",
                Fault,
            ),
            (
                "another column",
                "x[row * k + i % k]",
                "x[row * k + (i + 1) % k]",
                Value,
            ),
        ],
    );
    all_seen(
        ("clouds.cu", "values.cuh"),
        1e-4,
        run,
        &[
            (
                "every block begins with the first element",
                "return (long long)blockIdx.x * blockDim.x + threadIdx.x;",
                "return threadIdx.x;",
                Fault,
            ),
            (
                "a stride of one block",
                "return (long long)gridDim.x * blockDim.x;",
                "return blockDim.x;",
                Fault,
            ),
        ],
    );
}

#[test]
fn mistakes_in_dropout_are_seen() {
    let run = |grid: &_| with_dropout([1000, 3], [1, 3], F32, on(grid));
    all_seen(
        ("dropout.cu", "dropout.cu"),
        1e-4,
        run,
        &[
            (
                "columns of the row before",
                "column < 0 || column >= width",
                "column >= width",
                Fault,
            ),
            (
                "columns of the next row",
                "column < 0 || column >= width",
                "column < 0",
                Fault,
            ),
            (
                "a draw too few",
                "(width + 3LL) / 4 + 1",
                "(width + 3LL) / 4",
                Value,
            ),
            (
                "every rank has the mask of the first",
                "rank + own * world",
                "own * world",
                Value,
            ),
            (
                "what is kept is not scaled",
                "as_float(x[at]) * scale",
                "as_float(x[at])",
                Value,
            ),
        ],
    );
    all_seen(
        ("dropout.cu", "philox.cuh"),
        1e-4,
        run,
        &[
            ("a round too few", "round < 10", "round < 9", Value),
            (
                "half of the stream is left out",
                "(unsigned)(stream >> 32)",
                "0",
                Value,
            ),
        ],
    );
}

#[test]
fn mistakes_in_biases_and_scalars_are_seen() {
    let run = |grid: &_| {
        let linear = with_linear([33, 35], F32, on(grid))?;
        Ok([linear, losses(grid)?].concat())
    };
    all_seen(
        ("operators.cu", "operators.cu"),
        1e-4,
        run,
        &[
            (
                "no barrier before the lines of a block are added",
                "    __syncthreads();\n    if (threadIdx.y == 0",
                "    if (threadIdx.y == 0",
                Fault,
            ),
            (
                "a column beyond the last",
                "threadIdx.y == 0 && column < n",
                "threadIdx.y == 0",
                Fault,
            ),
            ("the block's last line is left out", "y < 8", "y < 7", Value),
            ("the bias of another column", "bias[i % n]", "bias[i / n]", Value),
            (
                "an element beyond the last",
                "i < rows * n",
                "i <= rows * n",
                Fault,
            ),
            (
                "the factor is left out",
                "as_float(x[i]) * *factor",
                "as_float(x[i])",
                Value,
            ),
        ],
    );
}

#[test]
fn a_thread_that_takes_only_one_element_is_seen() {
    const WHAT: &str = "one element a thread";
    let loop_to =
        |end: &str| format!("for (long long i = first_element(); i < {end}; i += element_stride())");
    let once_to = |end: &str| format!("if (long long i = first_element(); i < {end})");
    let check = |name, end, run: &dyn Fn(&Arc<EmulatedGrid>) -> Values| {
        all_seen(
            (name, name),
            1e-4,
            run,
            &[(WHAT, &loop_to(end), &once_to(end), Value)],
        );
    };
    check("operators.cu", "rows * n", &|grid| {
        with_linear(many::LINEAR, F32, on(grid))
    });
    check("operators.cu", "n", &|grid| {
        with_cross_entropy(many::LOGITS, (0.1, true), F32, on(grid))
    });
    check("clouds.cu", "rows * k", &|grid| {
        with_padding(many::PADDED, F32, on(grid))
    });
    check("transform.cu", "clouds * k * k", &|grid| {
        with_identity(many::MATRICES, F32, on(grid))
    });
    check("dropout.cu", "rows * draws", &|grid| {
        with_dropout([1000, 3], [1, 3], F32, on(grid))
    });
}
