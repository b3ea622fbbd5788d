//! What is held of each answer. Expected numbers are computed here, the long way round where there is one.

mod device;
mod evaluation;
mod figures;
mod memory;
mod resume;
mod scores;
mod search;
mod step;
mod tiny;

use candle_core::{DType, Error, Result, Tensor};
use grader::{Check, Values, checks};

use crate::Lesson04;
use device::*;
use evaluation::*;
use figures::*;
use memory::*;
use resume::*;
use scores::*;
use search::*;
use step::*;

pub const CHECKS: &[Check<Lesson04>] = checks! {
    "4.1": takes_the_cpu_without_asking, opens_the_device_named, takes_the_first_device_for_auto,
        falls_back_for_auto_and_says_why, never_falls_back_from_a_name, refuses_other_names;
    "4.2": gives_the_loss_of_the_batch, counts_what_was_named_rightly, smooths_and_weighs, adds_the_orthogonality_term,
        steps_once_by_the_gradients, clips_before_it_steps, sees_the_batch_once_in_its_pass;
    "4.3": gives_each_cloud_its_probabilities, answers_the_same_in_any_company, leaves_the_network_as_it_was,
        keeps_no_graph, stays_finite_for_huge_logits, answers_in_f32;
    "4.4": has_the_truth_in_rows, counts_the_share_named_rightly, balances_over_classes_that_occur,
        gives_each_class_its_own_f1, scores_nothing_as_0;
    "4.5": weighs_steps_by_their_clouds, waits_not_between_steps, waits_once_in_all, is_0_without_steps,
        passes_an_error_on_at_once;
    "4.6": counts_what_each_parameter_needs, counts_all_that_layers_keep, counts_the_widest_layer_once,
        fills_the_budget, leaves_out_what_does_not_fit, counts_bytes_exactly;
    "4.7": puts_weights_back, puts_running_statistics_back, puts_the_optimizer_back, goes_on_where_the_epoch_was,
        leaves_out_a_batch_that_is_not_full, ends_with_the_bits_of_an_unbroken_run;
    "4.8": stops_at_the_first_that_fits, halves_on_the_way_down, tries_the_least_and_none_below,
        passes_another_failure_on_at_once;
};

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}

/// A student's error, as the grader takes it.
fn said<T>(result: anyhow::Result<T>) -> Result<T> {
    result.map_err(|e| Error::Msg(format!("{e:#}")))
}
