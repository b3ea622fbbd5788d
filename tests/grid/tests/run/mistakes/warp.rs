//! Mistakes of warps: shuffles, votes, `__syncwarp`, wmma; and of fences.

use grid::Kind;

use super::{Mistake, mistake, wrong_values};

pub const MISTAKES: &[Mistake] = &[
    wrong_values("warp_sum.cu", "a wrong first offset", ["step = 16", "step = 8"]),
    mistake(
        "warp_sum.cu",
        "a mask without the upper lanes",
        ["0xffffffffu", "0xffffu"],
        Kind::LaneNotInMask,
        [
            "is lane 16, and calls a shuffle with the mask 0x0000ffff",
            "__shfl_down_sync",
        ],
    ),
    mistake(
        "warp_sum.cu",
        "a shuffle in a branch",
        [
            "sum = warp_sum(sum);",
            "if (threadIdx.x < n) sum = warp_sum(sum); __syncwarp();",
        ],
        Kind::Deadlock,
        ["with the mask 0xffffffff", "__shfl_down_sync"],
    ),
    wrong_values(
        "warp_sum.cu",
        "the wrong lane writes",
        ["threadIdx.x == 0", "threadIdx.x == 31"],
    ),
    mistake(
        "warp_sum.cu",
        "no guard of the rows",
        ["if (row >= rows) return;", ""],
        Kind::OutOfBounds,
        ["past the end of `x`", "sum += x[row * n + i]"],
    ),
    mistake(
        "last_block.cu",
        "no fence",
        ["__threadfence();", ""],
        Kind::Race,
        ["__threadfence() and an atomic", "sum += partial[b]"],
    ),
    mistake(
        "last_block.cu",
        "no __syncwarp",
        ["__syncwarp();", ""],
        Kind::Uninitialised,
        ["shared `sums`", "sum += sums[i]"],
    ),
    mistake(
        "last_block.cu",
        "no barrier before `last`",
        ["__syncthreads();", ""],
        Kind::Race,
        ["shared `last`", "last = atomicAdd"],
    ),
    mistake(
        "neighbour.cu",
        "no __syncwarp",
        ["__syncwarp();", ""],
        Kind::Uninitialised,
        ["shared `values`", "int next ="],
    ),
    mistake(
        "neighbour.cu",
        "an index off by one",
        ["(lane + 1) % 32", "lane + 1"],
        Kind::Index,
        ["index 32", "int next ="],
    ),
    mistake(
        "neighbour.cu",
        "a ballot of few",
        ["0xffffffffu, i < n", "0x7fffffffu, i < n"],
        Kind::LaneNotInMask,
        ["a warp vote", "__ballot_sync"],
    ),
    mistake(
        "neighbour.cu",
        "a mask without the first lane",
        ["__reduce_max_sync(inside", "__reduce_max_sync(inside & ~1u"],
        Kind::LaneNotInMask,
        ["a warp reduction", "__reduce_max_sync"],
    ),
    mistake(
        "wmma.cu",
        "a wrong leading dimension",
        ["as[step % 2], 24)", "as[step % 2], 20)"],
        Kind::Wmma,
        [
            "leading dimension 20 of a matrix of 2-byte elements must be a multiple of 8",
            "load_matrix_sync(left",
        ],
    ),
    wrong_values("wmma.cu", "another leading dimension", ["bs, 16)", "bs, 8)"]),
    mistake(
        "wmma.cu",
        "a matrix that begins between two",
        ["as[step % 2], 24)", "as[step % 2] + 8, 24)"],
        Kind::Wmma,
        ["aligned to 32 bytes", "load_matrix_sync(left"],
    ),
    mistake(
        "wmma.cu",
        "no wait",
        ["__pipeline_wait_prior(1);", ""],
        Kind::AsyncCopy,
        ["is not finished", "load_matrix_sync(left"],
    ),
    mistake(
        "wmma.cu",
        "a wait for too few",
        ["__pipeline_wait_prior(1);", "__pipeline_wait_prior(2);"],
        Kind::AsyncCopy,
        ["is not finished", "load_matrix_sync(left"],
    ),
    mistake(
        "wmma.cu",
        "no __syncwarp after loading",
        ["__syncwarp(); // loaded", ""],
        Kind::Race,
        ["lanes of one warp", "load_matrix_sync("],
    ),
    mistake(
        "wmma.cu",
        "no __syncwarp before the next tile",
        ["__syncwarp(); // used", ""],
        Kind::Race,
        ["lanes of one warp", "load_matrix_sync("],
    ),
    mistake(
        "wmma.cu",
        "no __syncwarp after storing",
        ["__syncwarp(); // stored", ""],
        Kind::Uninitialised,
        ["shared `out`", "c[r * n + col] = out"],
    ),
    wrong_values(
        "wmma.cu",
        "sums that are not cleared",
        ["wmma::fill_fragment(sums, 0.0f);", ""],
    ),
    mistake(
        "wmma.cu",
        "half a warp",
        [
            "wmma::mma_sync(sums, left, right, sums);",
            "if (threadIdx.x < 16) wmma::mma_sync(sums, left, right, sums);",
        ],
        Kind::Deadlock,
        ["wmma::mma_sync()", "mma_sync(sums"],
    ),
    wrong_values(
        "tf32.cu",
        "cut, not rounded",
        ["left.x[i] = wmma::__float_to_tf32(left.x[i]);", ";"],
    ),
];
