//! The checks of each answer. Expected numbers are computed here in f64, in the most direct way.

mod bytes;
mod cores;
mod fp8;
mod gradients;
mod master;
mod policy;
mod rounding;
mod scale;

use candle_core::{DType, Result, Tensor};
use grader::{Check, Values, checks};

use crate::Lesson06;
use bytes::*;
use cores::*;
use fp8::*;
use gradients::*;
use master::*;
use policy::*;
use rounding::*;
use scale::*;

pub const CHECKS: &[Check<Lesson06>] = checks! {
    "6.1": rounds_to_the_nearest, rounds_ties_to_even, rounds_up_to_the_next_power_of_two, keeps_subnormal_numbers,
        overflows_as_its_format_says, overflows_after_rounding, preserves_nan_infinity_and_sign;
    "6.2": casts_products_to_low_precision, keeps_long_sums_in_fp32, keeps_losses_and_norms_in_fp32, keeps_growing_functions_in_fp32,
        promotes_to_the_widest_dtype, leaves_other_operators_unchanged;
    "6.3": runs_backward_from_the_scaled_loss, returns_unscaled_gradients, converts_to_fp32_before_dividing,
        finds_inf_and_nan, accepts_large_finite_gradients, runs_backward_once, returns_errors_of_the_backward_pass;
    "6.4": backs_off_after_an_overflow, grows_after_the_interval, resets_the_count_after_an_overflow,
        resets_the_count_after_growth, stays_within_fp32;
    "6.5": gives_the_optimizer_fp32_gradients, rounds_masters_into_weights, does_not_round_the_masters,
        accumulates_small_updates, calls_the_optimizer_once, leaves_weights_unchanged_on_error;
    "6.6": stores_16_bits_in_2_bytes, stores_tf32_as_fp32, has_masters_only_in_low_precision, stores_8_bits_in_1_byte,
        counts_the_optimizer_state;
    "6.7": uses_the_range_of_the_format, is_a_power_of_two, never_overflows, applies_the_margin,
        is_one_for_zero_inf_and_nan, stays_a_normal_f32;
    "6.8": pads_16_bit_sides_to_multiples_of_8, pads_by_the_width_of_the_format, leaves_aligned_sides_unchanged, supports_all_formats_but_fp32,
        is_worth_it_if_every_side_is_at_least_128;
};

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}
