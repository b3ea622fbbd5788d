//! The checks of each answer. Expected numbers are computed here in f64, in the most direct way.

mod adam;
mod epoch;
mod loss;
mod momentum;
mod neuron;
mod sgd;
mod steps;

use candle_core::{DType, Result, Tensor};
use grader::{Check, Values, checks};

use crate::Lesson01;
use adam::*;
use epoch::*;
use loss::*;
use momentum::*;
use neuron::*;
use sgd::*;

pub const CHECKS: &[Check<Lesson01>] = checks! {
    "1.1": sums_weights_times_inputs, adds_the_bias_once, applies_the_activation_last, accepts_any_number_of_inputs;
    "1.2": is_the_mean_over_rows, stays_finite_for_huge_logits, stays_exact_for_tiny_probabilities,
        has_the_right_gradient;
    "1.3": steps_down_the_gradient, updates_every_parameter, uses_the_current_learning_rate;
    "1.4": first_step_is_plain_sgd, accumulates_velocity, stores_the_velocity, excludes_the_learning_rate_from_the_velocity;
    "1.5": first_step_has_size_lr, corrects_the_bias_of_both_means, stores_both_means, counts_the_steps,
        adds_epsilon_after_the_root;
    "1.6": counts_the_last_batch, drops_only_an_incomplete_batch, keeps_the_only_batch, has_no_step_without_records;
};

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}
