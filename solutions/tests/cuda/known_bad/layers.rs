//! Layers of linear+BN+ReLU: batch norm, and what the widest layer has in its place.

use super::{Fault, Value, all_seen, on};
use crate::case::Widest;
use crate::layers::with_batch_norm;
use crate::sources::Type::F32;

#[test]
fn mistakes_in_batch_norm_are_seen() {
    const SOURCE: &str = "shared_mlp/batch_norm.cu";
    all_seen(
        (SOURCE, SOURCE),
        1e-4,
        |grid| with_batch_norm([150, 33], true, 0.0, F32, on(grid)),
        &[
            (
                "no barrier before the scratch is used again",
                "    __syncthreads();\n    scratch",
                "    scratch",
                Fault,
            ),
            (
                "no barrier before the scratch is read",
                "[threadIdx.x] = v;\n    __syncthreads();",
                "[threadIdx.x] = v;",
                Fault,
            ),
            (
                "rows beyond the last",
                "min(rows - from, group) + from",
                "from + group",
                Fault,
            ),
            (
                "channels beyond the last",
                "if (threadIdx.y == 0 && inside) {\n        float* out",
                "if (threadIdx.y == 0) {\n        float* out",
                Fault,
            ),
            ("a sum beyond the last", "if (c >= 2 * n) return;", "", Fault),
            (
                "the block's last line is left out",
                "y < DEEP; ++y",
                "y < DEEP - 1; ++y",
                Value,
            ),
            (
                "the running variance is the biased one",
                "v * unbiased * momentum",
                "v * momentum",
                Value,
            ),
        ],
    );
}

/// Two tiles of rows, two chunks of inputs, and more channels than a block has threads.
fn widest() -> Widest {
    let mut layer = Widest::new(&[5, 40], 300, 20, true);
    // The channel of γ = 0 passes the ReLU.
    layer.beta[150] = 1.0;
    layer
}

#[test]
fn mistakes_in_the_covariance_are_seen() {
    const SOURCE: &str = "shared_mlp/covariance.cu";
    // Two groups of rows, and two tiles of inputs.
    let layer = Widest::new(&[5, 70], 70, 67, true);
    all_seen(
        (SOURCE, SOURCE),
        1e-4,
        |grid| layer.with(on(grid)),
        &[
            (
                "no barrier behind the copies",
                "        __syncthreads();\n        for (int r",
                "        for (int r",
                Fault,
            ),
            (
                "no barrier before the next rows",
                "            }\n        }\n        __syncthreads();\n    }",
                "            }\n        }\n    }",
                Fault,
            ),
            (
                "rows beyond the last",
                "r < end && l < k ? as_float",
                "l < k ? as_float",
                Fault,
            ),
            (
                "a pair beyond the last",
                "    if (pair >= k * k) return;\n",
                "",
                Fault,
            ),
            (
                "tiles below the diagonal",
                "blockIdx.x < blockIdx.y",
                "blockIdx.x > blockIdx.y",
                Value,
            ),
            (
                "the last group is left out",
                "g < groups",
                "g < groups - 1",
                Value,
            ),
            (
                "no sum over the block",
                "    of_var = block_sum(of_var, scratch);\n",
                "",
                Value,
            ),
        ],
    );
}

#[test]
fn mistakes_in_the_widest_layers_gradients_are_seen() {
    const SOURCE: &str = "shared_mlp/widest_backward.cu";
    let layer = widest();
    all_seen(
        (SOURCE, SOURCE),
        1e-4,
        |grid| layer.with(on(grid)),
        &[
            (
                "every channel passes the ReLU",
                "bool open = !relu || xhat[i] * gamma[c] + beta[c] > 0.0f;",
                "bool open = true;",
                Value,
            ),
            (
                "a channel beyond the last",
                "    if (c >= n) return;\n",
                "",
                Fault,
            ),
            (
                "the sign of what the variance adds",
                "sum - q * ws",
                "sum + q * ws",
                Value,
            ),
            (
                "no barrier behind the copies of the weights",
                "        __syncthreads();\n        for (int i = 0; i < 16; ++i) {",
                "        for (int i = 0; i < 16; ++i) {",
                Fault,
            ),
            (
                "no barrier before the next channels",
                "of_p += p[i] * right[i][x];\n        }\n        __syncthreads();",
                "of_p += p[i] * right[i][x];\n        }",
                Fault,
            ),
            (
                "no barrier before the warps' hits are added",
                "before[0] = 0;\n        __syncthreads();",
                "before[0] = 0;",
                Fault,
            ),
            (
                "no barrier before the list is written",
                "        __syncthreads();\n        if (hit)",
                "        if (hit)",
                Fault,
            ),
            (
                "no barrier before the list is read",
                "= c;\n        __syncthreads();",
                "= c;",
                Fault,
            ),
            (
                "the first channels again",
                "int c = from + threadIdx.x;",
                "int c = threadIdx.x;",
                Value,
            ),
            ("rows beyond the last", "d < k && row < end;", "d < k;", Fault),
            (
                "no barrier behind the copies of the points",
                "        __syncthreads();\n        for (int d",
                "        for (int d",
                Fault,
            ),
            (
                "no barrier before the next copies",
                "right[d][x + 16 * j];\n            }\n        }\n        __syncthreads();",
                "right[d][x + 16 * j];\n            }\n        }",
                Fault,
            ),
            (
                "columns beyond the last",
                "if (row < end && c < k) dx",
                "if (row < end) dx",
                Fault,
            ),
        ],
    );
}

#[test]
fn mistakes_in_the_widest_layers_output_are_seen() {
    const SOURCE: &str = "shared_mlp/widest_output.cu";
    let layer = widest();
    all_seen(
        (SOURCE, SOURCE),
        1e-4,
        |grid| layer.with(on(grid)),
        &[
            (
                "the least product has the wrong sign",
                "        if (gamma[c] < 0.0f) v = -v;\n",
                "",
                Value,
            ),
            (
                "no product where γ is 0",
                "if (gamma[c] == 0.0f)",
                "if (false)",
                Value,
            ),
            (
                "an element beyond the last",
                "i < (long long)clouds * n",
                "i <= (long long)clouds * n",
                Fault,
            ),
            ("no ReLU", "relu && y < 0.0f ? 0.0f : y", "y", Value),
            (
                "another channel's γ",
                "normal * gamma[c]",
                "normal * gamma[n - 1 - c]",
                Value,
            ),
        ],
    );
}
