//! The checks of each answer. Expected numbers are computed here in f64, in the most direct way.

mod bubble;
mod column;
mod matrix;
mod order;
mod planner;
mod row;

use grader::{Check, checks};

use crate::Lesson10;
use bubble::*;
use column::*;
use order::*;
use planner::*;
use row::*;

pub const CHECKS: &[Check<Lesson10>] = checks! {
    "10.1": computes_its_own_outputs => "This rank's outputs of a linear layer",
        adds_its_part_of_the_bias => "its part of b",
        sums_the_gradient_of_x => "the sum over all ranks",
        keeps_its_own_gradients => "stay on this rank",
        sends_one_all_reduce => "by one call of `sum_over_ranks`",
        returns_the_error_of_the_sum => "return it";
    "10.2": sums_over_the_inputs_of_all_ranks => "whose inputs are split over the ranks",
        adds_the_bias_once => "added once, not once a rank",
        sends_the_outputs_once => "by one call of `sum_over_ranks`",
        passes_on_the_error => "return it",
        returns_the_gradients_of_its_columns => "those of this rank's columns",
        returns_the_whole_gradient_of_the_bias => "that of the whole bias";
    "10.3": computes_all_forward_passes_first => "First come all forward passes",
        keeps_micro_batches_in_order => "in ascending order of the micro-batches",
        computes_each_pass_once => "has one of each",
        runs_to_its_end => "All stages have the same order",
        is_empty_without_micro_batches => "the order is empty";
    "10.4": warms_up_for_the_stages_that_follow => "one forward pass for each stage that follows",
        warms_up_with_few_micro_batches => "fewer micro-batches than that",
        takes_turns => "take turns",
        finishes_with_backward_passes => "the backward passes that are left",
        counts_micro_batches_up => "in ascending order",
        has_each_pass_once => "has one of each",
        holds_few_activations => "one forward pass for each stage that follows",
        takes_the_least_time => "take turns",
        needs_no_micro_batch => "the order is empty";
    "10.5": divides_idle_by_computing_time => "divided by the time in which it computes",
        agrees_with_a_simulation => "passes through each of the other stages",
        is_zero_for_a_single_stage => "A single stage is never idle",
        may_exceed_one => "the bubble exceeds 1",
        counts_the_most_at_one_time => "at one time",
        counts_any_order => "the order of any schedule",
        counts_what_is_left => "may be missing at the end",
        keeps_none_of_an_empty_order => "An empty order keeps none";
    "10.6": prefers_data_parallelism => "Data parallelism",
        shares_states_next => "then with `Zero2`",
        gathers_parameters_over_fast_links => "with `Zero3`",
        splits_layers_inside_a_node => "each divisor of `ranks_per_node`",
        makes_nodes_the_stages => "each divisor of `nodes`",
        has_at_most_a_stage_a_layer => "up to `layers`",
        uses_all_ranks => "ranks / (`tensor` · `pipeline`)",
        chooses_the_largest_micro_batch => "the largest that fits",
        counts_the_activations_of_a_pipeline => "min(`pipeline`, `micro_batches`)",
        rounds_up => "rounded up",
        fills_the_memory_exactly => "at most the memory of a rank",
        returns_the_smallest_if_none_fits => "the one with the fewest bytes";
};
