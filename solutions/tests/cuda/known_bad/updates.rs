//! Steps of the optimizers, and the norm of the gradients. The tests compare the steps' bits.

use super::{Fault, Value, all_seen};
use crate::optimizers::{norm_of_many, norms, stepped};

#[test]
fn mistakes_in_steps_of_optimizers_are_seen() {
    const SOURCE: &str = "multi_tensor.cu";
    all_seen(
        (SOURCE, SOURCE),
        1e-6,
        stepped,
        &[
            (
                "Adam's correction is that of the step before",
                "double t = (double)step;",
                "double t = (double)(step - 1);",
                Value,
            ),
            (
                "AdamW decays the gradient, too",
                "decoupled ? 0.0f : (float)weight_decay",
                "(float)weight_decay",
                Value,
            ),
            (
                "Nesterov's momentum is left out",
                "nesterov ? g + kept * momentum : kept",
                "kept",
                Value,
            ),
            (
                "a tensor's first piece is not found",
                "piece.place - piece.index",
                "piece.place",
                Value,
            ),
            (
                "no sum over the block",
                "    directions = block_sum(directions, scratch);\n",
                "",
                Value,
            ),
            (
                "all pieces of a tensor write to one place",
                "sums[2 * piece.place + 1] = directions;",
                "sums[2 * piece.tensor + 1] = directions;",
                Fault,
            ),
            (
                "LARS's trust is left out",
                "ratio = trust * weights",
                "ratio = weights",
                Value,
            ),
        ],
    );
    all_seen(
        (SOURCE, "multi_tensor.cuh"),
        1e-6,
        stepped,
        &[
            ("values beyond the last", "to < p.n ? to : p.n", "to", Fault),
            (
                "a piece's last value is left out",
                "to < p.n ? to : p.n",
                "(to < p.n ? to : p.n) - 1",
                Value,
            ),
        ],
    );
}

#[test]
fn mistakes_in_the_norm_of_gradients_are_seen() {
    all_seen(
        ("gradients.cu", "gradients.cu"),
        1e-6,
        norms,
        &[
            (
                "no fence before the block is counted",
                "        __threadfence();\n        last",
                "        last",
                Fault,
            ),
            ("no atomic", "atomicAdd(arrived, 1u) ==", "(*arrived)++ ==", Fault),
            (
                "no barrier before all know the last block",
                "    __syncthreads();\n    if (!last)",
                "    if (!last)",
                Fault,
            ),
            (
                "a piece's last value is left out",
                "i < range.to; i += blockDim.x) {",
                "i + 1 < range.to; i += blockDim.x) {",
                Value,
            ),
            (
                "the last piece is left out",
                "i < pieces_of_all;",
                "i < pieces_of_all - 1;",
                Value,
            ),
            (
                "only NaN is an overflow",
                "sum <= 1.7976931348623157e308 ?",
                "sum == sum ?",
                Value,
            ),
            (
                "the scale is left out",
                "store ? clip : clip * inverse_scale",
                "clip",
                Value,
            ),
        ],
    );
    all_seen(
        ("gradients.cu", "gradients.cu"),
        1e-6,
        norm_of_many,
        &[(
            "no more pieces than threads",
            "for (unsigned i = threadIdx.x; i < pieces_of_all; i += blockDim.x)",
            "if (unsigned i = threadIdx.x; i < pieces_of_all)",
            Value,
        )],
    );
}
