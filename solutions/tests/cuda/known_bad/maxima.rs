//! Searches for the maximum: of stored rows, on tensor cores, and in f32 behind the filter.

use super::{Fault, Value, all_seen, on};
use crate::case::Widest;
use crate::filter::{self, crowded, layer, tight};
use crate::sources::Type;

#[test]
fn mistakes_in_the_maximum_are_seen() {
    // With more inputs than outputs the product is stored.
    let layer = Widest::new(&[5, 35], 35, 36, false);
    all_seen(
        ("max_points.cu", "max_points.cu"),
        1e-4,
        |grid| layer.with(on(grid)),
        &[
            (
                "no barrier",
                "    __syncthreads();\n    if (threadIdx.y > 0",
                "    if (threadIdx.y > 0",
                Fault,
            ),
            (
                "a channel beyond the last",
                "threadIdx.y > 0 || channel >= n",
                "threadIdx.y > 0",
                Fault,
            ),
            ("a row too many", "r < end", "r <= end", Fault),
            ("the last row is left out", "r < end", "r < end - 1", Value),
            (
                "another lane's row",
                "rows[k][threadIdx.x]",
                "rows[k][threadIdx.x ^ 1]",
                Value,
            ),
            (
                "the last of equals",
                "equal && r < row",
                "equal && r > row",
                Value,
            ),
            ("every row has the gradient", "at[of] == i / n", "true", Value),
            (
                "one element a thread",
                "for (long long i = first + first_element(); i < end; i += element_stride())",
                "if (long long i = first + first_element(); i < end)",
                Value,
            ),
        ],
    );
}

#[test]
fn mistakes_in_the_widest_layer_are_seen() {
    const SOURCE: &str = "shared_mlp/widest.cu";
    // Two tiles of a cloud, each of two chunks, so that a copy writes to a buffer that was read before.
    let layer = Widest {
        gamma: vec![1.0; 74],
        ..Widest::new(&[33, 150], 74, 72, false)
    };
    let tolerance = Type::Bf16.tolerance();
    let run = |grid: &_| layer.with(|case| case.on(grid, Type::Bf16));
    all_seen(
        (SOURCE, "shared_mlp/product.cuh"),
        tolerance,
        run,
        &[
            (
                "no barrier behind the copies",
                "        __pipeline_wait_prior(1);\n        __syncthreads();",
                "        __pipeline_wait_prior(1);",
                Fault,
            ),
            (
                "no barrier before the next copy",
                "        __syncthreads(); // The next",
                "        // The next",
                Fault,
            ),
            (
                "no wait for the copies",
                "        __pipeline_wait_prior(1);\n",
                "",
                Fault,
            ),
            ("rows beyond the end", "min(row + r, end - 1)", "(row + r)", Fault),
            (
                "the wrong buffer",
                "buffers + step % 2 * ROWS",
                "buffers + next % 2 * ROWS",
                Fault,
            ),
            (
                "another warp's channels",
                "/ WARP % 2 * 32",
                "/ WARP % 2 * 16",
                Fault,
            ),
        ],
    );
    all_seen(
        (SOURCE, SOURCE),
        tolerance,
        run,
        &[
            ("channels beyond the last", "channel < n && d < k", "d < k", Fault),
            (
                "another lane's tile",
                "values[256 + r * 16 + lane % 16]",
                "values[256 + r * 16 + (lane + 1) % 16]",
                Value,
            ),
            (
                "no wait for the other lanes",
                "            __syncwarp();\n            Key key",
                "            Key key",
                Fault,
            ),
        ],
    );
}

#[test]
fn mistakes_in_the_filter_are_seen() {
    const SOURCE: &str = "filter/filter.cu";
    // Rounded values, exact ones, those that need the whole bound, and more candidates than threads.
    let exact = Widest::new(&[33, 150], 80, 72, true);
    let layers = [layer(), exact, tight(), crowded()];
    let run = |grid: &_| {
        let left = layers.iter().map(|layer| filter::outcome(layer, None, grid));
        Ok(left.collect::<candle_core::Result<Vec<_>>>()?.concat())
    };
    all_seen(
        (SOURCE, SOURCE),
        1e-4,
        run,
        &[
            (
                "a row beyond the last",
                "    if (row >= points) return;\n",
                "",
                Fault,
            ),
            (
                "a bound without the sum over the warp",
                "sqrtf(warp_sum(of_changes))",
                "sqrtf(of_changes)",
                Value,
            ),
            (
                "two terms of the bound swapped",
                "lane == 0 ? terms[0] : terms[1]",
                "lane == 0 ? terms[1] : terms[0]",
                Value,
            ),
            (
                "an upper bound for the lower one",
                "Rounded<bf16>::of(-term)",
                "Rounded<bf16>::of(term)",
                Value,
            ),
            (
                "the threshold in bf16",
                "piece >= 0 && piece < 3",
                "piece == 0",
                Value,
            ),
            (
                "no wait for the other lanes",
                "        __syncwarp();\n        for (int r",
                "        for (int r",
                Fault,
            ),
            (
                "no wait before the next fragment",
                "        }\n        __syncwarp();\n    }\n};",
                "        }\n    }\n};",
                Fault,
            ),
            (
                "rows beyond the end",
                "row >= rows.end || channel",
                "channel",
                Fault,
            ),
            (
                "channels beyond the last",
                "row >= rows.end || channel >= n",
                "row >= rows.end",
                Fault,
            ),
            (
                "candidates counted without an atomic",
                "atomicAdd(count, 1u)",
                "(*count)++",
                Fault,
            ),
            (
                "one candidate a thread",
                "for (long long i = first_element(); i < *count; i += element_stride())",
                "if (long long i = first_element(); i < *count)",
                Fault,
            ),
            (
                "γ's sign is left out",
                "float sign = sign_of(gamma[c.channel])",
                "float sign = 1.0f",
                Value,
            ),
            (
                "no atomic maximum",
                "atomicMax(&keys[(long long)c.cloud * n + c.channel], key_of(sum, c.row));",
                "Key& key = keys[(long long)c.cloud * n + c.channel];\n\
                 key = max(key, key_of(sum, c.row));",
                Fault,
            ),
        ],
    );
}

#[test]
fn mistakes_in_the_plain_search_are_seen() {
    const SOURCE: &str = "shared_mlp/widest_exact.cu";
    let layer = layer();
    all_seen(
        (SOURCE, SOURCE),
        1e-4,
        // More candidates than the list has room for.
        |grid| filter::outcome(&layer, Some(10), grid),
        &[
            (
                "no barrier behind the copies",
                "            __syncthreads();\n            for (int d",
                "            for (int d",
                Fault,
            ),
            (
                "no barrier before the next copies",
                "            __syncthreads();\n        }\n",
                "        }\n",
                Fault,
            ),
            (
                "no barrier before the block's maximum is read",
                "    __syncthreads();\n    int channel",
                "    int channel",
                Fault,
            ),
            (
                "rows beyond the end",
                "min(first + i / CHUNK, rows.end - 1)",
                "first + i / CHUNK",
                Fault,
            ),
            (
                "channels beyond the last",
                "threadIdx.x < TILE && channel < n",
                "threadIdx.x < TILE",
                Fault,
            ),
            (
                "no atomic maximum of the block",
                "atomicMax(&best_of[x + 16 * j], best[j])",
                "best_of[x + 16 * j] = max(best_of[x + 16 * j], best[j])",
                Fault,
            ),
            (
                "no atomic maximum of the parts",
                "atomicMax(&keys[(long long)blockIdx.y * n + channel], best_of[threadIdx.x])",
                "keys[(long long)blockIdx.y * n + channel] = best_of[threadIdx.x]",
                Fault,
            ),
            (
                "the number of another row",
                "min(first + y + 16 * i, rows.end - 1)",
                "min(first + y + i, rows.end - 1)",
                Value,
            ),
        ],
    );
}
