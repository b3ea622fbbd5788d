//! What is held of each answer. Expected numbers are computed here in f64, the long way round.

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
    "1.1": adds_up_weights_times_inputs, adds_the_bias_once, applies_the_activation_last, takes_any_number_of_inputs;
    "1.2": is_the_mean_over_rows, stays_finite_for_huge_logits, keeps_log_of_tiny_probabilities,
        lets_the_gradient_through;
    "1.3": steps_down_the_gradient, changes_every_parameter, uses_the_rate_of_this_step;
    "1.4": begins_as_plain_descent, remembers_the_direction, keeps_the_velocity, keeps_the_rate_out_of_the_velocity;
    "1.5": begins_with_a_step_of_lr, corrects_both_means, keeps_both_means, counts_the_steps,
        adds_epsilon_outside_the_root;
    "1.6": counts_the_last_batch, drops_only_what_is_not_full, keeps_the_only_batch, has_no_step_without_records;
};

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}
