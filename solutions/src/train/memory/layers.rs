//! The memory of a PointNet's layers, derived from the model itself.

use candle_core::Var;
use serde::Serialize;

use super::{LayerSize, StepSize};
use crate::{
    model::{Kind, PointNet},
    precision::{Format, bytes_per_parameter},
};

/// Which implementation of the operators runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// canopy's fused operators on the CPU.
    Fused,
    /// canopy's CUDA kernels, under autocast in bf16 and fp16.
    Cuda,
    /// candle's operators, which keep every intermediate tensor on the graph.
    Plain,
}

/// Number of tensors of a layer's output size that candle keeps for linear + batch norm + ReLU until the loss is dropped.
/// On the graph: the product, the centred product (twice), its square, and the divided, scaled and shifted tensor, the zeros
/// and the result of the ReLU. In the gradient store: the gradient of those zeros, which is never removed.
const ON_GRAPH: u64 = 10;

/// Number of further tensors that candle's backward pass holds at the widest such layer. Measured with candle 0.11 (11.7 in
/// the vanilla model, 12.0 in the full one): the gradient of a view is as large as the tensor that it views.
const IN_BACKWARD: u64 = 12;

/// Rows of the fused operators are padded to a multiple of this many numbers.
const LANES: u64 = 16;

/// Bytes of an f32, the dtype of everything but the matrices of the fused operators.
const F32: u64 = 4;

impl StepSize {
    /// Returns the size of a training step of `model` over clouds of `points` points, with tensors in `format` and an
    /// optimizer that keeps `moments` numbers per parameter.
    pub fn of(model: &PointNet, points: usize, form: Form, format: Format, moments: u32) -> Self {
        let (points, wide) = (points as u64, u64::from(format.bits()).div_ceil(8).min(F32));
        let full = model.config().kind == Kind::Full;
        // The CUDA kernels cast the points for each operator that reads them.
        let casts = match form {
            Form::Cuda if wide < F32 => 1 + u64::from(full),
            _ => 0,
        };
        let kept = (F32 + casts * wide) * model.config().inputs as u64;
        let layer = |name: &str, (rows, kept, passing)| LayerSize {
            name: name.to_owned(),
            rows,
            kept,
            passing,
        };
        let mut layers = vec![layer("points", (points, kept, 0))];
        for (name, weight) in model.params() {
            let Some((name, out, input)) = of_layer(&name, &weight) else {
                continue;
            };
            let place = Place::of(&name, full);
            layers.push(layer(&name, sizes(form, place, points, (out, input), wide)));
            if place == Place::Transform {
                let wide = if form == Form::Fused { F32 } else { wide };
                let applied = 2 * wide * out.isqrt();
                layers.push(layer(
                    &name.replace(".out", " applied"),
                    (points, applied / 2, applied),
                ));
            }
        }
        Self {
            parameters: model.param_count() as u64,
            each: bytes_per_parameter(format, moments),
            layers,
        }
    }
}

/// Returns name, outputs and inputs of the layer that a weight `[out, in]` belongs to.
fn of_layer(name: &str, weight: &Var) -> Option<(String, u64, u64)> {
    match (name.strip_suffix(".weight"), weight.dims()) {
        (Some(name), &[out, input]) => Some((name.to_owned(), out as u64, input as u64)),
        _ => None,
    }
}

/// The position of a layer in the network.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    OverPoints,
    /// The last layer over points before a transform: its output is a tensor of its own.
    BeforeTransform,
    UnderMax,
    OverClouds,
    /// The last linear layer, without batch norm.
    Last,
    /// The layer that computes a transform matrix for each cloud.
    Transform,
}

impl Place {
    fn of(name: &str, full: bool) -> Self {
        match name {
            "mlp.4" | "input_transform.mlp.2" | "feature_transform.mlp.2" => Self::UnderMax,
            "mlp.1" if full => Self::BeforeTransform,
            "input_transform.out" | "feature_transform.out" => Self::Transform,
            "classifier" => Self::Last,
            _ if name.contains("mlp.") => Self::OverPoints,
            _ => Self::OverClouds,
        }
    }
}

/// Returns the rows of a layer per cloud, and the bytes per row that it keeps and that its backward pass needs. Its weight is
/// `[out, input]`, and a number of a matrix has `wide` bytes.
///
/// Fused layers keep only the product before batch norm; under the max only each channel's
/// maximum and its index. The backward pass needs the gradients of the layer's output and input. All else is f32.
///
/// The CUDA kernels' layers keep the product and the output of batch norm, both as wide as matrices are. The backward pass has
/// the gradients of both.
///
/// Plain layers keep every intermediate tensor, as wide as the layer's output, and the ReLU's mask with a byte per value.
fn sizes(form: Form, place: Place, points: u64, (out, input): (u64, u64), wide: u64) -> (u64, u64, u64) {
    let (high, low) = (out.next_multiple_of(LANES), input.next_multiple_of(LANES));
    let (on_graph, in_backward) = ((ON_GRAPH * wide + 1) * out, IN_BACKWARD * wide * out);
    match (form, place) {
        (Form::Fused, Place::OverPoints) => (points, wide * high, F32 * (high + low)),
        (Form::Fused, Place::BeforeTransform) => (points, wide * high + F32 * out, F32 * (high + low)),
        // Maximum, index and result of each channel; in the backward pass a row for each point.
        (Form::Fused, Place::UnderMax) => (1, 3 * F32 * out, points * F32 * low),
        // Product, result, dropout mask and its result.
        (Form::Fused, Place::OverClouds) => (1, (wide + 3 * F32) * out, 2 * F32 * out),
        (Form::Fused, Place::Last) => (1, F32 * out, F32 * input),
        (Form::Fused, Place::Transform) => (1, 2 * F32 * out, 2 * F32 * out),
        (Form::Cuda, Place::OverPoints | Place::BeforeTransform) => {
            (points, 2 * wide * out, wide * (out + out.max(input)))
        }
        // Result, normalised maximum and index; in the backward pass a row for each point.
        (Form::Cuda, Place::UnderMax) => (1, (wide + 2 * F32) * out, points * wide * input),
        // Product, output, and that of dropout, whose mask is computed again.
        (Form::Cuda, Place::OverClouds) => (1, 3 * wide * out, 2 * wide * out),
        (Form::Cuda, Place::Last) => (1, (wide + F32) * out, wide * input),
        // The matrices as the layer returns them, with the identity, and cast; their distance from orthogonal.
        (Form::Cuda, Place::Transform) => (1, (2 * wide + 2 * F32) * out, 2 * wide * out),
        (Form::Plain, Place::OverPoints | Place::BeforeTransform | Place::UnderMax) => {
            (points, on_graph, in_backward)
        }
        (Form::Plain, Place::OverClouds) => (1, on_graph + 2 * wide * out, in_backward),
        (Form::Plain, Place::Last) => (1, 2 * wide * out, in_backward),
        (Form::Plain, Place::Transform) => (1, 2 * wide * out, 2 * wide * out),
    }
}
