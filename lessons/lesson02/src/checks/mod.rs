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
    "2.1": moves_the_centroid_to_the_origin, scales_the_farthest_point_to_1, preserves_shape_and_orientation,
        stays_exact_far_from_the_origin, accepts_identical_points;
    "2.2": applies_the_same_layer_to_every_point, adds_the_bias_before_relu, preserves_clouds_and_points,
        has_gradients_for_all_inputs;
    "2.3": takes_the_maximum_of_each_channel, does_not_depend_on_point_order, accepts_one_cloud_of_one_point,
        sends_the_gradient_to_the_maximum, sends_the_gradient_to_the_first_of_equal_points;
    "2.4": is_the_identity_for_zero_output, fills_matrices_row_by_row, gives_each_cloud_its_own_matrix,
        passes_the_gradient_to_its_input;
    "2.5": is_zero_for_rotations_and_reflections, penalises_rows_of_length_other_than_1, penalises_rows_that_are_not_orthogonal,
        is_the_mean_over_clouds, has_the_right_gradient;
    "2.6": rotates_the_x_axis_to_the_y_axis, preserves_heights, preserves_distances_from_the_trunk, rotates_by_any_angle;
    "2.7": adds_a_draw_to_each_coordinate, scales_the_noise_by_the_deviation, clamps_the_noise_at_5_deviations,
        leaves_the_cloud_unchanged_without_noise, advances_the_generator;
    "2.8": finds_the_maximum_of_every_channel, lists_each_point_once_in_order, counts_the_first_of_equal_points,
        ignores_channels_that_are_zero;
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

fn expected(numbers: Vec<f64>, shape: &[usize]) -> Values {
    Values::tensor(numbers, shape, "f32")
}

/// Points of a tree-like extent: tall, not round, its axes told apart.
fn cloud(draw: &mut Draw, count: usize) -> Vec<[f32; 3]> {
    let [x, y, z] = [(1.0, 4.0), (-2.0, 0.5), (3.0, 15.0)].map(|(low, high)| draw.list(count, low, high));
    (0..count).map(|i| [x[i], y[i], z[i]]).collect()
}

fn wide(list: &[f32]) -> Vec<f64> {
    list.iter().map(|&x| f64::from(x)).collect()
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
        let numbers: Vec<f32> = self.weights.iter().map(|&w| w as f32).collect();
        let weights = Tensor::from_vec(numbers, self.shape.as_slice(), &Device::Cpu)?;
        case.close("shape of the result", &result.dims().to_vec(), &self.shape)?;
        let grads = (result * weights)?.sum_all()?.backward()?;
        match grads.get(var) {
            Some(grad) => case.close(what, values(grad)?, expected(gradient, var.dims())),
            None => case.require(what, false, "none: the result does not depend on it"),
        }
    }
}
