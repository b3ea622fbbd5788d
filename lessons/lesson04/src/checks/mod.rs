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
use grader::{Check, Finding, Values, Verdict, Wrong, checks};

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
    "4.1": returns_the_cpu_without_opening_a_gpu => "never for the CPU",
        opens_the_named_device => "the same as `cuda:0`",
        auto_takes_the_first_gpu => "`auto` is CUDA device 0",
        auto_falls_back_with_a_reason => "or the CPU if that does not open",
        never_falls_back_from_a_named_device => "A named device never falls back",
        rejects_unknown_names => "For any other name";
    "4.2": returns_the_mean_loss => "The loss is `kernels::cross_entropy`",
        counts_correct_predictions => "the number of correctly classified clouds",
        applies_label_smoothing_and_class_weights => "`loss.smoothing` and `loss.class_weights`",
        adds_the_orthogonality_term => "`loss.orthogonality` is above 0",
        returns_f32_of_any_network => "f32 tensor of shape `[]`",
        takes_one_optimizer_step => "the optimizer takes one step",
        takes_gradients_of_the_whole_loss => "`model.gradients` of that loss",
        clips_before_the_step => "If `clip` is above 0",
        clips_without_comparing_the_norm => "If `clip` is above 0",
        runs_one_forward_pass => "Run the network once",
        reads_no_number => "Do not read any number",
        returns_errors => "Return the first error";
    "4.3": returns_probabilities_of_each_cloud => "softmax of the logits",
        does_not_depend_on_the_batch => "does not depend on the other clouds",
        leaves_the_network_unchanged => "The network does not change",
        is_detached_from_the_graph => "detached from the graph",
        stays_exact_for_large_logits => "Logits may be large",
        returns_f32_of_any_network_dtype => "whatever the network's dtype is";
    "4.4": has_true_classes_in_rows => "`confusion[t][p]` counts",
        accuracy_is_the_share_of_correct_predictions => "`accuracy` is the share",
        averages_recall_over_classes_that_occur => "`balanced_accuracy` is the mean",
        averages_f1_over_classes_that_occur => "`macro_f1` is the mean",
        is_zero_without_clouds => "Without clouds",
        counts_many_clouds => "`confusion[t][p]` counts";
    "4.5": weights_steps_by_their_clouds => "Σ clouds·loss / Σ clouds",
        never_waits_between_steps => "Never wait between two steps",
        waits_once => "Wait only once",
        is_zero_without_steps => "0 for an epoch without steps",
        returns_an_error_at_once => "return its error at once";
    "4.6": counts_the_bytes_of_parameters => "the weight and the master copy",
        counts_the_activations_of_all_layers => "summed over all layers",
        counts_backward_memory_of_the_widest_layer_once => "one layer at a time",
        fills_the_budget => "at most `budget` bytes",
        is_none_if_two_clouds_do_not_fit => "None if not even 2 clouds fit",
        does_not_try_one_batch_after_the_other => "Compute the batch",
        counts_bytes_exactly => "Count exactly";
    "4.7": restores_weights => "all tensors of the model",
        restores_running_statistics => "all tensors of the model",
        restores_the_optimizer => "and of the optimizer",
        returns_the_rest_of_the_epoch => "returns the remaining batches",
        drops_an_incomplete_batch => "an incomplete last batch is dropped",
        returns_errors_of_other_tensors => "Return the error",
        is_bit_identical_to_an_uninterrupted_run => "Resumes a run";
    "4.8": stops_at_the_first_success => "After the first success",
        halves_the_batch_after_each_failure => "start, start/2, start/4",
        tries_no_batch_below_the_least => "Do not try a batch below `least`",
        returns_other_failures_at_once => "is returned at once";
};

/// A wrong result whose words are the student's own. Known mistakes are recognised by `code`, which says what is wrong.
fn refuse(input: &str, what: &str, code: Vec<f64>, expected: &str, got: &str) -> Verdict {
    let count = code.len();
    Err(Finding::Wrong(Box::new(Wrong {
        kind: Default::default(),
        input: input.to_owned(),
        what: what.to_owned(),
        got: Some(Values::tensor(code, &[count], "integer")),
        lines: vec![format!("expected  {expected}"), format!("got       {got}")],
    })))
}

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}

/// A student's error as a finding of the grader.
fn said<T>(result: anyhow::Result<T>) -> Result<T> {
    result.map_err(|e| Error::Msg(format!("{e:#}")))
}
