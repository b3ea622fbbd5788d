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
    "6.1":
        rounds_to_the_nearest => "nearest to `x`",
        rounds_ties_to_even => "two equally near ones",
        rounds_up_to_the_next_power_of_two => "nearest to `x`",
        keeps_subnormal_numbers => "the subnormal numbers",
        overflows_as_its_format_says => "above `format.max`",
        overflows_after_rounding => "rounded absolute value",
        preserves_nan_and_sign => "NaN stays NaN",
        overflows_from_infinity => "if `x` is infinite",
        is_exact_for_every_exponent => "in f64";
    "6.2":
        casts_products_to_low_precision => "`Casting::Low`",
        keeps_long_sums_in_fp32 => "long sums",
        keeps_losses_and_norms_in_fp32 => "operators that consist of these",
        keeps_growing_functions_in_fp32 => "far larger or smaller",
        promotes_to_the_widest_dtype => "`Casting::Widest`",
        leaves_other_operators_unchanged => "`Casting::AsIs`";
    "6.3":
        runs_backward_from_the_scaled_loss => "with `loss` times `scale`",
        runs_backward_once => "Call it once",
        returns_unscaled_gradients => "divide it by `scale`",
        converts_to_fp32_before_dividing => "to f32 first",
        finds_inf_and_nan => "infinite or NaN",
        returns_gradients_that_overflowed => "even those that are not finite",
        accepts_large_finite_gradients => "are no overflow",
        looks_at_the_returned_gradients => "infinite or NaN",
        accepts_no_gradients => "an empty list",
        returns_errors_of_the_backward_pass => "return its error";
    "6.4":
        backs_off_after_an_overflow => "by `state.backoff`",
        grows_after_the_interval => "by `state.growth`",
        resets_the_count_after_an_overflow => "After an overflow",
        resets_the_count_after_growth => "the count restarts at 0",
        stays_within_fp32 => "above `f32::MAX`",
        has_no_lower_limit => "no lower limit";
    "6.5":
        gives_the_optimizer_fp32_gradients => "requires fp32 gradients",
        does_not_round_gradients => "unrounded",
        calls_the_optimizer_once => "call it once",
        rounds_masters_into_weights => "each weight is its master",
        does_not_round_the_masters => "with all their bits",
        accumulates_small_updates => "with all their bits",
        rounds_by_low => "rounded by `low(tensor)`",
        rounds_every_master => "whatever its gradient",
        leaves_weights_unchanged_on_error => "change no weight",
        returns_errors_of_low => "If `low` fails";
    "6.6":
        stores_16_bits_in_2_bytes => "16-bit formats in 2",
        stores_tf32_as_fp32 => "is stored in 4 bytes",
        stores_8_bits_in_1_byte => "8-bit formats in 1",
        stores_fp32_in_4_bytes => "fp32 is stored in 4 bytes",
        has_masters_only_in_low_precision => "otherwise none (0)",
        counts_the_optimizer_state => "fp32 numbers for each parameter";
    "6.7":
        uses_the_range_of_the_format => "the largest power of two",
        is_a_power_of_two => "the largest power of two",
        never_overflows => "at most `format.max`",
        applies_the_margin => "reduced by `margin`",
        is_one_for_zero_inf_and_nan => "infinite or NaN",
        stays_a_normal_f32 => "clamped";
    "6.8":
        pads_16_bit_sides_to_multiples_of_8 => "2 in 16-bit formats",
        pads_by_the_width_of_the_format => "4 bytes in formats",
        leaves_aligned_sides_unchanged => "each side rounded up",
        supports_all_formats_but_fp32 => "every format except fp32",
        is_worth_it_if_every_side_is_at_least_128 => "at least 128";
};

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}
