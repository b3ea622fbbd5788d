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
    "7.1":
        starts_at_the_base_rate => "from `base` at step 0",
        stays_at_the_scaled_rate => "stays there",
        rises_linearly => "rises linearly",
        accepts_any_two_batch_sizes => "smaller than `reference`",
        starts_at_the_scaled_rate_without_warm_up => "Without warm-up";
    "7.2":
        starts_with_low_rate_and_high_momentum => "starts at first",
        turns_at_the_peak_rate => "reaches its peak",
        ends_at_the_final_rate => "at step total − 1",
        follows_half_cosines => "(1 + cos πs)",
        peaks_between_two_steps => "need not be a whole number",
        accepts_the_shortest_phases => "is at least 2 and less than total",
        is_none_past_its_end => "None from step `cycle.total` on";
    "7.3":
        decays_every_size_steps => "first at step `size`",
        decays_at_a_milestone => "once for each milestone",
        accepts_milestones_in_any_order => "in any order",
        counts_each_milestone => "counts twice",
        accepts_no_milestones => "may be empty",
        decays_at_each_step => "after every step",
        accepts_a_size_of_0 => "a size of 0 counts as 1";
    "7.4":
        smooths_with_bias_correction => "m/(1−βᵗ)",
        tries_every_rate => "at each of `rates` in turn",
        accepts_no_rates => "there may be no rates",
        stops_when_the_smoothed_loss_diverges => "above `breaks` times",
        continues_exactly_at_the_limit => "above `breaks` times",
        suggests_a_rate_on_the_longest_fall => "⌊L/3⌋ + ⌊L/6⌋",
        stops_at_a_non_finite_loss => "is not finite",
        counts_a_fall_that_lasts_to_the_end => "last to the end",
        ends_a_fall_at_an_equal_loss => "lower than the one before it",
        looks_for_the_fall_of_the_smoothed_losses => "L smoothed losses in a row",
        suggests_nothing_without_a_fall => "Without a fall";
    "7.5":
        scales_the_step_by_the_trust_ratio => "The ratio is",
        takes_plain_steps_for_vectors => "have ratio 1 and λ 0",
        includes_the_decay_in_the_ratio => "The ratio is",
        keeps_the_rate_in_the_velocity => "One step of LARS",
        has_trust_ratio_1_for_zero_norms => "or 1 if ‖w‖ or ‖g‖ is 0",
        keeps_velocity_and_decay_without_gradient => "One step of LARS",
        accepts_tiny_gradients => "The ratio is",
        scales_tiny_weights => "between 1e-15 and 1e15",
        scales_vectors_if_configured => "If `config.vectors` is true";
    "7.6":
        scales_the_step_by_the_norm_ratio => "(‖w‖/‖r‖)·r",
        corrects_the_bias_of_both_means => "v/(1−β₂ᵗ)",
        includes_the_decay_in_the_direction => "√v̂ + ε) + λ·w",
        treats_all_shapes_alike => "treated alike",
        stores_both_means => "kept in `state.mean`",
        accepts_short_directions => "(‖w‖/‖r‖)·r",
        accepts_tiny_weights => "between 1e-15 and 1e15",
        has_norm_ratio_1_for_zero_norms => "use 1 for";
    "7.7":
        equals_the_large_batch => "Σᵢ weightᵢ·gᵢ / Σᵢ",
        weights_smaller_batches_less => "its number of records",
        accepts_fractional_and_zero_weights => "may be 0 or a fraction",
        calls_gradients_once_for_each_in_order => "once for each micro-batch",
        keeps_only_the_sum => "keep only the sum",
        returns_errors_of_gradients => "return its error";
    "7.8":
        normalises_each_filter => "is scaled to the length",
        starts_every_step_at_the_weights => "The loss at w + α·d",
        leaves_vectors_unchanged => "do not move at all",
        returns_the_losses_in_order => "in their order",
        returns_non_finite_losses => "once for each α",
        accepts_no_alphas => "once for each α",
        accepts_a_filter_of_zeros => "all zeros",
        accepts_short_filters => "between 1e-15 and 1e15",
        restores_parameters_bit_identically => "bit-identical",
        restores_parameters_after_an_error => "even if `loss` fails";
};

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}
