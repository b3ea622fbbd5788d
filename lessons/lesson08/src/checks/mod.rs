//! The checks of each answer. Expected numbers are computed here in the most direct way.

mod average;
mod bucket;
mod cost;
mod efficiency;
mod environment;
mod ring;
mod share;

use anyhow::Result;
use grader::{Case, Check, Finding, checks};

use crate::{Lesson08, recorded_group::said};
use average::*;
use bucket::*;
use cost::*;
use efficiency::*;
use environment::*;
use ring::*;
use share::*;

pub const CHECKS: &[Check<Lesson08>] = checks! {
    "8.1": strides_by_world_size, wraps_around_if_uneven, drops_the_tail_if_asked,
        repeats_a_short_order, is_empty_for_an_empty_order;
    "8.2": reduces_each_chunk_at_its_owner, gathers_all_chunks, composes_to_an_all_reduce,
        accepts_uneven_and_empty_chunks, sends_only_to_its_neighbour, sends_the_least_data;
    "8.3": fills_from_the_last_parameter, closes_at_the_byte_limit, keeps_the_first_bucket_small,
        separates_dtypes, counts_the_bytes, orders_the_remaining_buckets;
    "8.4": averages_over_ranks, keeps_ranks_identical_after_a_step, calls_all_reduce_once,
        preserves_shapes_and_dtypes, accepts_non_contiguous_gradients;
    "8.5": reads_each_launcher, prefers_the_inner_launcher, is_a_single_rank_without_launcher, reports_the_missing_variable, ignores_white_space,
        rejects_a_value_that_is_not_a_number, rejects_a_rank_beyond_world_size, chooses_the_gpu_by_local_rank,
        rejects_more_ranks_than_gpus;
    "8.6": weak_scaling_compares_the_times, strong_scaling_divides_by_the_ranks, is_one_without_loss,
        may_exceed_one;
    "8.7": counts_ring_messages, sends_one_chunk_per_message, counts_tree_steps, rounds_up_to_a_power_of_two,
        is_free_for_one_rank;
};

/// The value, or an error as a finding.
fn ok<T>(case: &Case, what: &str, result: Result<T>) -> Result<T, Finding> {
    match result {
        Ok(value) => Ok(value),
        Err(error) => {
            case.require(what, false, format!("Err: {}", said(&error)))?;
            unreachable!("a condition that does not hold is a finding")
        }
    }
}
