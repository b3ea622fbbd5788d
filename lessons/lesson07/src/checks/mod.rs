//! What is held of each answer. Expected numbers are computed here in f64, the long way round.

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
    "7.1": begins_at_the_base_rate, stays_at_the_scaled_rate, rises_by_the_same_amount_each_step,
        takes_any_two_batch_sizes, is_there_at_once_without_warm_up;
    "7.2": begins_low_with_much_momentum, turns_at_the_greatest_rate, ends_far_below_its_beginning,
        follows_half_cosines, turns_between_two_steps, has_no_step_past_its_end;
    "7.3": falls_after_each_so_many_steps, has_fallen_at_a_milestone, takes_milestones_in_any_order,
        falls_in_each_step, takes_a_size_of_0;
    "7.4": smooths_without_a_bias, goes_through_the_rates, stops_where_the_smoothed_loss_breaks,
        stops_at_a_loss_that_is_no_number, suggests_a_rate_on_the_longest_fall, suggests_nothing_without_a_fall;
    "7.5": steps_as_far_as_its_weights_are_long, leaves_vectors_to_plain_momentum, decays_within_the_ratio,
        keeps_the_velocity_with_its_rate, steps_where_a_norm_is_0, scales_vectors_where_asked;
    "7.6": steps_as_long_as_its_weights, corrects_both_means, decays_within_the_direction, goes_on_from_its_means,
        steps_from_weights_that_are_0;
    "7.7": equals_the_large_batch, lets_a_smaller_batch_count_less, asks_each_once_in_order, fails_where_asking_fails;
    "7.8": stretches_each_filter, walks_from_where_it_began, leaves_vectors_where_they_are, gives_each_place_its_loss,
        takes_a_filter_without_length, puts_back_the_very_bits, puts_back_after_an_error;
};

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}
