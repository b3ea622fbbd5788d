//! The checks of each answer. Expected numbers are computed here, in the most direct way.

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
    "4.1": returns_the_cpu_without_opening_a_gpu, opens_the_named_device, auto_takes_the_first_gpu,
        auto_falls_back_with_a_reason, never_falls_back_from_a_named_device, rejects_unknown_names;
    "4.2": returns_the_mean_loss, counts_correct_predictions, applies_label_smoothing_and_class_weights, adds_the_orthogonality_term,
        takes_one_optimizer_step, clips_before_the_step, runs_one_forward_pass;
    "4.3": returns_probabilities_of_each_cloud, does_not_depend_on_the_batch, leaves_the_network_unchanged,
        is_detached_from_the_graph, stays_finite_for_huge_logits, returns_f32;
    "4.4": has_true_classes_in_rows, accuracy_is_the_share_of_correct_predictions, averages_recall_over_classes_that_occur,
        averages_f1_over_classes_that_occur, is_zero_without_clouds;
    "4.5": weights_steps_by_their_clouds, never_waits_between_steps, waits_once, is_zero_without_steps,
        returns_an_error_at_once;
    "4.6": counts_the_bytes_of_parameters, counts_the_activations_of_all_layers, counts_backward_memory_of_the_widest_layer_once,
        fills_the_budget, is_none_if_two_clouds_do_not_fit, counts_bytes_exactly;
    "4.7": restores_weights, restores_running_statistics, restores_the_optimizer, returns_the_rest_of_the_epoch,
        drops_an_incomplete_batch, is_bit_identical_to_an_uninterrupted_run;
    "4.8": stops_at_the_first_success, halves_the_batch_after_each_failure, tries_no_batch_below_the_least,
        returns_other_failures_at_once;
};

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}

/// A student's error as a finding of the grader.
fn said<T>(result: anyhow::Result<T>) -> Result<T> {
    result.map_err(|e| Error::Msg(format!("{e:#}")))
}
