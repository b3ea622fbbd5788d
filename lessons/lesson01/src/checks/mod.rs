//! The checks of each answer. Expected numbers are computed here in f64, in the most direct way.

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
    "1.1": sums_weights_times_inputs => "f(Σ wᵢ·xᵢ + b)",
        adds_the_bias_once => "f(Σ wᵢ·xᵢ + b)",
        applies_the_activation_last => "where f is the activation",
        accepts_any_number_of_inputs => "Without inputs";
    "1.2": is_the_mean_over_rows => "The mean over the rows",
        stays_exact_for_tiny_probabilities => "Tiny probabilities",
        stays_finite_for_huge_logits => "large logits",
        has_the_right_gradient => "`backward` through it",
        keeps_the_dtype_of_the_logits => "in the dtype of the logits";
    "1.3": steps_down_the_gradient => "w ← w − lr·g",
        updates_every_parameter => "any number of parameters",
        uses_the_current_learning_rate => "w ← w − lr·g",
        computes_in_the_dtype_of_the_parameter => "Compute in the dtype";
    "1.4": first_step_is_plain_sgd => "v ← μ·v + g, then w ← w − lr·v",
        accumulates_velocity => "kept from step to step",
        stores_the_velocity => "They hold v itself",
        excludes_the_learning_rate_from_the_velocity => "without lr",
        moves_on_without_a_gradient => "also if g, lr or μ is 0",
        uses_the_current_momentum => "also if g, lr or μ is 0",
        keeps_the_dtype_of_the_velocity => "compute in that dtype or a wider one";
    "1.5": first_step_has_size_lr => "w ← w − lr·m̂/(√v̂ + ε)",
        corrects_the_bias_of_both_means => "m̂ = m/(1−β₁ᵗ) and v̂ = v/(1−β₂ᵗ)",
        stores_both_means => "these keep m and v, not m̂ and v̂",
        counts_the_steps => "t counts the steps from 1",
        adds_epsilon_after_the_root => "lr·m̂/(√v̂ + ε)",
        updates_the_means_without_a_gradient => "also if g or lr is 0",
        steps_at_the_current_rate => "also if g or lr is 0",
        keeps_the_dtype_of_the_means => "compute in that dtype or a wider one";
    "1.6": counts_the_last_batch => "The last batch may be incomplete",
        drops_only_an_incomplete_batch => "With `drop_last` it is then dropped",
        keeps_the_only_batch => "unless it is the only one",
        has_no_step_without_records => "An epoch over no records",
        is_exact_for_millions_of_records => "The count is exact";
};

fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}

/// Numbers in short, with commas.
fn shown(numbers: &[f64]) -> String {
    let list: Vec<String> = numbers.iter().map(|&x| grader::number(x)).collect();
    list.join(", ")
}
