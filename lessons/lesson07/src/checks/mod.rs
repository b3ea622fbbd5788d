//! The checks of each answer. Expected numbers are computed here in f64, in the most direct way.

mod accumulate;
mod cycle;
mod decay;
mod lamb;
mod landscape;
mod lars;
mod range;
mod steps;
mod warmup;

use candle_core::{DType, Result, Tensor};
use grader::{Check, Values, checks};

use crate::Lesson07;
use accumulate::*;
use cycle::*;
use decay::*;
use lamb::*;
use landscape::*;
use lars::*;
use range::*;
use warmup::*;

pub const CHECKS: &[Check<Lesson07>] = checks! {
    "7.1": starts_at_the_base_rate, stays_at_the_scaled_rate, rises_linearly,
        accepts_any_two_batch_sizes, starts_at_the_scaled_rate_without_warm_up;
    "7.2": starts_with_low_rate_and_high_momentum, turns_at_the_peak_rate, ends_at_the_final_rate,
        follows_half_cosines, peaks_between_two_steps, is_none_past_its_end;
    "7.3": decays_every_size_steps, decays_at_a_milestone, accepts_milestones_in_any_order,
        decays_at_each_step, accepts_a_size_of_0;
    "7.4": smooths_with_bias_correction, tries_every_rate, stops_when_the_smoothed_loss_diverges,
        stops_at_a_non_finite_loss, suggests_a_rate_on_the_longest_fall, suggests_nothing_without_a_fall;
    "7.5": scales_the_step_by_the_trust_ratio, takes_plain_steps_for_vectors, includes_the_decay_in_the_ratio,
        keeps_the_rate_in_the_velocity, has_trust_ratio_1_for_zero_norms, scales_vectors_if_configured;
    "7.6": scales_the_step_by_the_norm_ratio, corrects_the_bias_of_both_means, includes_the_decay_in_the_direction, stores_both_means,
        has_norm_ratio_1_for_zero_norms;
    "7.7": equals_the_large_batch, weights_smaller_batches_less, calls_gradients_once_for_each_in_order, returns_errors_of_gradients;
    "7.8": normalises_each_filter, starts_every_step_at_the_weights, leaves_vectors_unchanged, returns_the_losses_in_order,
        accepts_a_filter_of_zeros, restores_parameters_bit_identically, restores_parameters_after_an_error;
};

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}
