//! What is held of each answer. Expected numbers are computed here in f64, the long way round.

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
    "6.1": rounds_to_the_nearest, sends_ties_to_even, carries_into_the_next_power_of_two, keeps_subnormal_numbers,
        has_its_formats_overflow, overflows_after_rounding, keeps_what_is_no_number_and_signs;
    "6.2": lowers_products, keeps_long_sums_whole, keeps_losses_and_norms_whole, keeps_functions_that_grow_whole,
        takes_the_widest_where_tensors_meet, leaves_the_rest_as_it_is;
    "6.3": walks_back_from_the_scaled_loss, gives_the_gradients_of_the_loss, widens_before_it_divides,
        finds_what_is_not_finite, takes_large_finite_gradients, walks_once, fails_where_the_walk_fails;
    "6.4": falls_at_an_overflow, grows_after_so_many_good_steps, counts_anew_after_an_overflow,
        counts_anew_after_it_grew, stays_within_fp32;
    "6.5": gives_the_optimizer_wide_gradients, rounds_masters_into_weights, keeps_all_bits_of_the_masters,
        adds_up_what_a_weight_cannot_hold, steps_once_for_all, leaves_weights_where_the_step_fails;
    "6.6": stores_16_bits_in_2_bytes, stores_tf32_as_fp32, keeps_a_master_of_low_weights_only, counts_8_bits,
        counts_the_optimizers_numbers;
    "6.7": brings_the_greatest_near_the_top, is_a_power_of_two, never_goes_over_the_top, leaves_room_by_the_margin,
        scales_nothing_without_size, stays_an_ordinary_number;
    "6.8": pads_16_bit_sides_to_8, pads_by_the_bytes_of_a_number, leaves_whole_sides_alone, serves_all_but_fp32,
        is_worth_it_from_128_on_every_side;
};

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}
