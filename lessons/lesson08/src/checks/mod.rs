//! What is held of each answer. Expected numbers are computed here the long way round.

mod average;
mod bucket;
mod cost;
mod efficiency;
mod place;
mod ring;
mod share;

use anyhow::Result;
use grader::{Case, Check, Finding, checks};

use crate::{Lesson08, net::said};
use average::*;
use bucket::*;
use cost::*;
use efficiency::*;
use place::*;
use ring::*;
use share::*;

pub const CHECKS: &[Check<Lesson08>] = checks! {
    "8.1": takes_every_so_many_th, begins_again_where_it_does_not_divide, drops_the_tail_where_asked,
        repeats_an_order_that_is_too_short, has_no_share_of_nothing;
    "8.2": sums_each_chunk_where_it_belongs, passes_chunks_on_to_all, adds_up_to_an_all_reduce,
        takes_chunks_that_are_uneven_or_empty, speaks_to_its_neighbours_alone, sends_no_more_than_it_must;
    "8.3": fills_from_the_end, closes_at_the_parameter_that_fills_it, keeps_the_first_bucket_small,
        keeps_kinds_apart, counts_the_bytes, sends_the_rest_in_order;
    "8.4": gives_every_rank_the_mean, lets_ranks_agree_after_a_step, sends_all_in_one_sum,
        keeps_shapes_and_number_types, takes_gradients_that_are_not_contiguous;
    "8.5": reads_each_launcher, takes_the_inner_launcher, is_alone_without_one, names_what_is_missing, reads_past_white_space,
        refuses_what_is_no_number, refuses_a_rank_beyond_the_world, takes_the_gpu_of_its_local_rank,
        needs_a_gpu_for_each_rank_of_a_node;
    "8.6": weak_scaling_compares_the_times, strong_scaling_divides_by_the_ranks, is_one_where_nothing_is_lost,
        is_not_cut_off_above_one;
    "8.7": counts_the_rings_messages, sends_a_part_in_each, counts_the_trees_steps, climbs_for_ranks_that_are_no_power_of_two,
        costs_nothing_alone;
};

/// The value, or the finding that an error came.
fn ok<T>(case: &Case, what: &str, result: Result<T>) -> Result<T, Finding> {
    match result {
        Ok(value) => Ok(value),
        Err(error) => {
            case.holds(what, false, format!("Err: {}", said(&error)))?;
            unreachable!("a condition that does not hold is a finding")
        }
    }
}
