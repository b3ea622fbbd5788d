//! The checks of each answer. Expected numbers are computed here in f64, in the most direct way.

mod augment;
mod layer;
mod max;
mod normalise;
mod survivors;
mod transform;

use candle_core::{DType, Device, Result, Tensor, Var};
use grader::{Case, Check, Draw, Values, Verdict, checks};

use crate::Lesson02;
use augment::*;
use layer::*;
use max::*;
use normalise::*;
use survivors::*;
use transform::*;

pub const CHECKS: &[Check<Lesson02>] = checks! {
    "2.1": moves_the_centroid_to_the_origin => "its centroid, the mean of its points, is at the origin",
        scales_the_farthest_point_to_1 => "its farthest point is at distance 1",
        preserves_shape_and_orientation => "scaled by the same factor, nothing is rotated, and the points keep their order",
        subtracts_in_f64 => "subtract in f64",
        stays_exact_far_from_the_origin => "may have many thousand points",
        scales_tiny_clouds => "its extent along at least one axis is 1e-8 or more",
        accepts_identical_points => "If all points are identical",
        accepts_an_empty_cloud => "A cloud may be empty";
    "2.2": applies_the_same_layer_to_every_point => "with the same w and b for all of them",
        adds_the_bias_before_relu => "relu(w·p + b)",
        keeps_values_above_0 => "relu(y) is y if y is above 0",
        preserves_clouds_and_points => "the result is `[clouds, points, out]`",
        has_gradients_for_all_inputs => "`backward` can run through the result",
        computes_in_the_dtype_of_its_inputs => "one dtype, f32 or f64",
        computes_all_points_in_one_product => "A single call multiplies all points";
    "2.3": takes_the_maximum_of_each_channel => "The maximum of each channel",
        does_not_depend_on_point_order => "over the points of a cloud",
        accepts_one_cloud_of_one_point => "There is at least one point",
        sends_the_gradient_to_the_maximum => "gives the whole gradient of a channel to the point with the maximum",
        sends_the_gradient_to_the_first_of_equal_points => "the first of them gets it",
        compares_values_exactly => "to the point with the maximum, and none to the others",
        computes_in_the_dtype_of_x => "has the dtype of `x`";
    "2.4": is_the_identity_for_zero_output => "each matrix is the identity I",
        fills_matrices_row_by_row => "filled in row by row",
        gives_each_cloud_its_own_matrix => "the numbers of each cloud",
        passes_the_gradient_to_its_input => "`backward` can run through the result",
        adds_in_the_dtype_of_x => "in the dtype of `x`";
    "2.5": is_zero_for_rotations_and_reflections => "How far matrices A are from orthogonal",
        penalises_rows_of_length_other_than_1 => "the sum of the squares of all entries",
        penalises_rows_that_are_not_orthogonal => "‖I − A·Aᵀ‖²",
        is_the_mean_over_clouds => "averaged over the clouds",
        has_the_right_gradient => "`backward` can run through it",
        computes_in_the_dtype_of_a => "in the dtype of `a`";
    "2.6": rotates_the_x_axis_to_the_y_axis => "A quarter of a turn takes the x axis to the y axis",
        preserves_heights => "No point changes its height",
        preserves_distances_from_the_trunk => "Rotates a cloud about the trunk",
        rotates_by_any_angle => "`angle` may be negative",
        takes_sine_and_cosine_in_f64 => "take its sine and cosine in f64";
    "2.7": adds_a_draw_to_each_coordinate => "one draw for each coordinate",
        scales_the_noise_by_the_deviation => "`deviation` times a draw",
        clamps_draws_at_5 => "draws beyond ±5 count as ±5",
        leaves_the_cloud_unchanged_without_noise => "If `deviation` is 0, the cloud does not change",
        advances_the_generator => "All randomness comes from `random`";
    "2.8": finds_the_maximum_of_every_channel => "that has the maximum of at least one channel",
        lists_each_point_once_in_order => "once, in ascending order",
        counts_the_first_of_equal_points => "only the first counts",
        ignores_channels_that_are_zero => "A channel whose maximum is 0 does not count",
        counts_tiny_maxima => "Every maximum above 0 counts",
        accepts_values_without_a_maximum => "the result is empty";
};

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}

/// The coordinates of a cloud, `[points, 3]`.
fn places(points: &[[f32; 3]]) -> Values {
    let numbers = points.iter().flatten().map(|&c| f64::from(c)).collect();
    Values::tensor(numbers, &[points.len(), 3], "f32")
}

/// Points of a tree-like extent: tall, not round, its axes told apart.
fn cloud(draw: &mut Draw, count: usize) -> Vec<[f32; 3]> {
    let [x, y, z] = [(1.0, 4.0), (-2.0, 0.5), (3.0, 15.0)].map(|(low, high)| draw.list(count, low, high));
    (0..count).map(|i| [x[i], y[i], z[i]]).collect()
}

fn wide(list: &[f32]) -> Vec<f64> {
    list.iter().map(|&x| f64::from(x)).collect()
}

/// A tensor that an answer is given.
#[derive(Clone)]
struct Input {
    numbers: Vec<f64>,
    shape: Vec<usize>,
    dtype: DType,
}

impl Input {
    fn new(list: &[f32], shape: &[usize]) -> Self {
        Self {
            numbers: wide(list),
            shape: shape.to_vec(),
            dtype: DType::F32,
        }
    }

    /// In f64. The same three decimals are numbers that f32 does not have.
    fn in_f64(mut self) -> Self {
        self.numbers
            .iter_mut()
            .for_each(|v| *v = (*v * 1e3).round() / 1e3);
        self.dtype = DType::F64;
        self
    }

    fn var(&self) -> Result<Var> {
        let tensor = Tensor::from_slice(&self.numbers, self.shape.as_slice(), &Device::Cpu)?;
        Var::from_tensor(&tensor.to_dtype(self.dtype)?)
    }

    fn text(&self, name: &str) -> String {
        let (shape, f64) = (&self.shape, self.dtype == DType::F64);
        let one = |&v: &f64| {
            if f64 {
                format!("{v:?}")
            } else {
                format!("{:?}", v as f32)
            }
        };
        let numbers: Vec<String> = self.numbers.iter().map(one).collect();
        let of = if f64 { " of f64" } else { "" };
        format!("{name} {shape:?}{of} [{}]", numbers.join(", "))
    }

    /// A result in the dtype of this input.
    fn expected(&self, numbers: Vec<f64>, shape: &[usize]) -> Values {
        Values::tensor(numbers, shape, self.dtype.as_str())
    }
}

/// A number for each place of a result, so that a loss weighs every one of them otherwise: `Σ weight·result`.
struct Loss {
    weights: Vec<f64>,
    shape: Vec<usize>,
}

impl Loss {
    fn new(draw: &mut Draw, shape: &[usize]) -> Self {
        let count = shape.iter().product();
        Self {
            weights: wide(&draw.list(count, 0.5, 1.5)),
            shape: shape.to_vec(),
        }
    }

    /// The gradient of the loss by `var`, held to `gradient`.
    fn check(&self, case: &Case, what: &str, result: &Tensor, var: &Var, gradient: Vec<f64>) -> Verdict {
        case.close("shape of the result", &result.dims().to_vec(), &self.shape)?;
        let weights = Tensor::from_slice(&self.weights, self.shape.as_slice(), &Device::Cpu)?;
        let loss = (result * weights.to_dtype(result.dtype())?)?.sum_all()?;
        check_grad(case, what, &loss, var, gradient)
    }
}

/// The gradient of `loss` by `var`, held to `gradient`.
fn check_grad(case: &Case, what: &str, loss: &Tensor, var: &Var, gradient: Vec<f64>) -> Verdict {
    let expected = Values::tensor(gradient, var.dims(), var.dtype().as_str());
    match loss.backward()?.get(var) {
        Some(grad) => case.close(what, values(grad)?, expected),
        None => case.require(what, false, "none: the result does not depend on it"),
    }
}
