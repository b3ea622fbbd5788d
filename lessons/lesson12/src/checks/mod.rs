//! The checks of each answer. Expected numbers are computed here in f64, in the most direct way.

mod bins;
mod calibration;
mod crps;
mod embedding;
mod gaussian;
mod mixture;
mod summary;

use candle_core::{DType, Device, Result, Tensor, Var};
use grader::{Case, Check, Values, Verdict, checks};

use crate::Lesson12;
use bins::*;
use calibration::*;
use crps::*;
use embedding::*;
use gaussian::*;
use mixture::*;
use summary::*;

pub const CHECKS: &[Check<Lesson12>] = checks! {
    "12.1": selects_rows_in_the_order_of_ids => "in the order of `ids`",
        selects_a_row_several_times => "An id may occur several times",
        returns_no_rows_without_ids => "Without ids, the result is [0, width]",
        keeps_the_dtype_of_the_table => "has the dtype of `table`",
        passes_the_gradient_to_the_table => "`backward` through it reaches `table`",
        selects_from_a_transposed_table => "may be a transposed view",
        rejects_ids_beyond_the_table => "if an id is not below `categories`",
        lists_each_id_once_in_order => "each id once, in ascending order",
        sums_the_rows_of_each_id => "is the sum of the rows of `grad` whose id is `rows[i]`",
        keeps_the_dtype_of_the_gradient => "`values` has the dtype of `grad`",
        sums_a_transposed_gradient => "`grad` may be a transposed view",
        returns_no_gradient_without_ids => "`rows` is empty and `values` is [0, width]",
        rejects_a_gradient_with_other_rows => "if `grad` has not one row for each id";
    "12.2": measures_the_distance_in_units_of_the_deviation => "½·((y − μ)/σ)²",
        includes_the_constant_and_the_deviation => "½·ln 2π + ln σ",
        averages_over_the_targets => "the mean over all n",
        has_the_gradients_of_the_formula => "`backward` through it reaches all three",
        stays_finite_for_extreme_deviations => "σ fits in f32, but σ² does not",
        keeps_gradients_finite_for_extreme_deviations => "the result and its gradients are finite",
        keeps_the_dtype_of_its_inputs => "a scalar (shape []) of that dtype",
        rejects_shapes_that_differ => "an error if the shapes differ";
    "12.3": is_the_density_of_one_gaussian_for_k_1 => "k ≥ 1",
        sums_the_densities_of_the_components => "−ln Σⱼ wⱼ·N(y; μⱼ, σⱼ)",
        weights_components_by_the_softmax => "w is the softmax of the row's `logits`",
        averages_over_the_rows => "the mean over all n",
        has_the_gradients_of_the_mixture => "`backward` through it reaches all four",
        stays_finite_far_from_every_component => "where every density is 0 in f32",
        stays_finite_for_large_logits => "Logits may be as large as ±10,000",
        keeps_the_dtype_of_the_mixture => "a scalar (shape []) of that dtype",
        rejects_shapes_that_do_not_fit => "an error if the shapes do not fit";
    "12.4": starts_at_the_least_and_ends_at_the_greatest_value => "The first edge is the least value",
        fills_bins_equally => "at least i/bins of all values are at or below v",
        sorts_the_values_first => "in any order",
        merges_equal_edges => "Equal edges are merged",
        counts_with_integers => "Count with integers",
        accepts_more_bins_than_values => "may be greater than n",
        finds_the_bin_of_a_value => "The index of the bin that contains `value`",
        puts_an_edge_into_the_lower_bin => "Bin i contains its upper edge",
        puts_values_outside_into_the_end_bins => "The first bin also contains its lower edge",
        bins_each_value_with_its_share => "may be infinite";
    "12.5": weights_the_centres_for_the_mean => "Within a bin, all values are equally likely",
        finds_the_median_within_its_bin => "interpolate linearly in it",
        finds_the_central_interval => "`lower` and `upper` are the quantiles",
        takes_the_least_value_of_a_flat_part => "the least value v for which the probability",
        accepts_bins_without_probability => "A probability may be 0",
        stays_within_the_bins => "the upper edge of the last bin whose probability is not 0",
        accepts_a_single_bin => "There is at least one bin";
    "12.6": counts_the_central_interval => "(1 − c)/2 ≤ u ≤ (1 + c)/2",
        includes_both_ends => "(1 − c)/2 ≤ u ≤ (1 + c)/2",
        returns_shares => "the share of `pits`",
        keeps_the_order_of_the_levels => "in their order",
        accepts_any_number_of_levels => "perhaps none";
    "12.7": integrates_the_squared_difference => "∫ (F(x) − H(x))² dx over all x",
        splits_the_bin_of_the_target => "has a part of each kind",
        adds_the_distance_outside => "A target outside the edges adds its distance",
        weights_bins_by_their_width => "over a width w",
        accepts_targets_on_edges => "H(x) is 0 below `target` and 1 from it on";
};

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}

fn wide(list: &[f32]) -> Vec<f64> {
    list.iter().map(|&x| f64::from(x)).collect()
}

/// Numbers in short, with commas.
fn shown(numbers: &[f64]) -> String {
    let list: Vec<String> = numbers.iter().map(|&x| grader::number(x)).collect();
    list.join(", ")
}

/// A tensor that an answer is given.
#[derive(Clone)]
struct Input {
    numbers: Vec<f64>,
    shape: Vec<usize>,
    dtype: DType,
}

impl Input {
    fn new(numbers: &[f64], shape: &[usize]) -> Self {
        Self {
            numbers: numbers.to_vec(),
            shape: shape.to_vec(),
            dtype: DType::F32,
        }
    }

    fn with(mut self, dtype: DType) -> Self {
        self.dtype = dtype;
        self
    }

    fn tensor(&self) -> Result<Tensor> {
        Tensor::from_slice(&self.numbers, self.shape.as_slice(), &Device::Cpu)?.to_dtype(self.dtype)
    }

    fn var(&self) -> Result<Var> {
        Var::from_tensor(&self.tensor()?)
    }

    /// The same matrix, as the transpose of another one.
    fn transposed(&self) -> Result<Tensor> {
        self.tensor()?.t()?.contiguous()?.t()
    }

    fn text(&self, name: &str) -> String {
        format!("{name} {}", values_of(self).short(60))
    }
}

fn values_of(input: &Input) -> Values {
    Values::tensor(input.numbers.clone(), &input.shape, input.dtype.as_str())
}

/// Compares the gradients of `loss` by `vars`: first which of them have one, then their numbers.
fn check_grads<const N: usize>(
    case: &Case,
    loss: &Tensor,
    names: &[&str; N],
    vars: &[Var; N],
    expected: [Vec<f64>; N],
) -> Verdict {
    let grads = loss.backward()?;
    let reached: Vec<usize> = vars.iter().map(|v| usize::from(grads.get(v).is_some())).collect();
    let what = format!("gradient (1) or none (0) of {}", names.join(", "));
    case.close(&what, &reached, &vec![1usize; N])?;
    for ((name, var), expected) in names.iter().zip(vars).zip(expected) {
        let expected = Values::tensor(expected, var.dims(), var.dtype().as_str());
        if let Some(grad) = grads.get(var) {
            case.close(&format!("gradient of {name}"), values(grad)?, expected)?;
        }
    }
    Ok(())
}

/// Requires that `result` is an error.
fn rejects(case: &Case, result: Result<impl Sized>) -> Verdict {
    case.require("an error", result.is_err(), "Ok")
}
