//! The layers of a PointNet as the planner sees them, read off the model itself.

use candle_core::Var;
use serde::Serialize;

use super::{LayerSize, StepSize};
use crate::{
    model::{Kind, PointNet},
    precision::{Format, bytes_per_parameter},
};

/// Which operators run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// canopy's own, on the CPU in f32.
    Fused,
    /// candle's, which keep every intermediate on their graph.
    Plain,
}

/// Tensors of a layer's output size that candle holds of a linear layer with batch norm and ReLU until the loss is dropped:
/// on its graph the product, twice its distance from the mean, that squared, divided, scaled, shifted, the zeros that the
/// ReLU chooses from, the result; and in its store the gradient of those zeros, which nobody takes out.
const ON_GRAPH: u64 = 10;

/// Those that candle's walk has besides while it goes back through the widest such layer. Measured, not counted (candle
/// 0.11: 11.7 in the vanilla model, 12.0 in the full one): gradients of views are as wide as what they are views of.
const WALKING: u64 = 12;

/// Fused rows are padded to whole vectors of so many numbers.
const LANES: u64 = 16;

/// f32, the number type of the fused operators.
const F32: u64 = 4;

impl StepSize {
    /// A step of `model` over clouds of `points` points, its numbers of `format`, with an optimizer that keeps `moments`
    /// numbers a parameter.
    pub fn of(model: &PointNet, points: usize, form: Form, format: Format, moments: u32) -> Self {
        let (points, wide) = (points as u64, u64::from(format.bits()).div_ceil(8).min(F32));
        let full = model.config().kind == Kind::Full;
        let mut layers = vec![LayerSize {
            name: "points".into(),
            rows: points,
            kept: F32 * model.config().inputs as u64,
            passing: 0,
        }];
        for (name, weight) in model.params() {
            let Some((name, out, input)) = of_layer(&name, &weight) else {
                continue;
            };
            let place = Place::of(&name, full);
            match form {
                Form::Fused => layers.extend(fused(&name, place, points, out, input)),
                Form::Plain => layers.extend(plain(&name, place, points, out, wide)),
            }
        }
        Self {
            parameters: model.param_count() as u64,
            each: bytes_per_parameter(format, moments),
            layers,
        }
    }
}

/// Name, outputs and inputs of the layer that a weight `[out, in]` belongs to.
fn of_layer(name: &str, weight: &Var) -> Option<(String, u64, u64)> {
    match (name.strip_suffix(".weight"), weight.dims()) {
        (Some(name), &[out, input]) => Some((name.to_owned(), out as u64, input as u64)),
        _ => None,
    }
}

/// Where in the network a layer is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    OverPoints,
    /// The last over points before a transform: its output is a tensor of its own.
    BeforeTransform,
    UnderMax,
    OverClouds,
    /// A last linear layer, without batch norm.
    Last,
    /// One that gives each cloud a matrix.
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

fn layer(name: &str, rows: u64, kept: u64, passing: u64) -> LayerSize {
    let name = name.to_owned();
    LayerSize {
        name,
        rows,
        kept,
        passing,
    }
}

/// The product before batch norm is kept, nothing else; under the max only each channel's greatest value and its place. The
/// way back needs the gradients above and below the layer.
fn fused(name: &str, place: Place, points: u64, out: u64, input: u64) -> Vec<LayerSize> {
    let (high, low) = (out.next_multiple_of(LANES), input.next_multiple_of(LANES));
    match place {
        Place::OverPoints => vec![layer(name, points, F32 * high, F32 * (high + low))],
        Place::BeforeTransform => vec![layer(name, points, F32 * (high + out), F32 * (high + low))],
        // Value, place and result of each channel; on the way back a row for each point.
        Place::UnderMax => vec![layer(name, 1, 3 * F32 * out, points * F32 * low)],
        // Product, result, dropout's mask and its result.
        Place::OverClouds => vec![layer(name, 1, 4 * F32 * out, 2 * F32 * out)],
        Place::Last => vec![layer(name, 1, F32 * out, F32 * input)],
        Place::Transform => transform(name, points, out, F32),
    }
}

/// Every intermediate is kept, as wide as the layer's output, and the ReLU's mask of a byte.
fn plain(name: &str, place: Place, points: u64, out: u64, wide: u64) -> Vec<LayerSize> {
    let (kept, passing) = ((ON_GRAPH * wide + 1) * out, WALKING * wide * out);
    match place {
        Place::OverPoints | Place::BeforeTransform | Place::UnderMax => {
            vec![layer(name, points, kept, passing)]
        }
        Place::OverClouds => vec![layer(name, 1, kept + 2 * wide * out, passing)],
        Place::Last => vec![layer(name, 1, 2 * wide * out, passing)],
        Place::Transform => transform(name, points, out, wide),
    }
}

/// k² numbers a cloud, and the turned points.
fn transform(name: &str, points: u64, out: u64, wide: u64) -> Vec<LayerSize> {
    let k = out.isqrt();
    vec![
        layer(name, 1, 2 * wide * out, 2 * wide * out),
        layer(&name.replace(".out", " applied"), points, wide * k, 2 * wide * k),
    ]
}
