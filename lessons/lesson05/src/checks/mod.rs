//! The checks of each answer. Expected numbers are computed here in the most direct way.

mod amdahl;
mod copies;
mod pattern;
mod roof;
mod timing;
mod totals;

use grader::{Check, checks};

use crate::Lesson05;
use amdahl::*;
use copies::*;
use pattern::*;
use roof::*;
use timing::*;
use totals::*;

pub const CHECKS: &[Check<Lesson05>] = checks! {
    "5.1": subtracts_direct_children_from_self_time, sums_spans_of_the_same_name, counts_recursive_time_once,
        accepts_spans_in_any_order, separates_threads, accepts_adjacent_spans, sorts_by_self_time;
    "5.2": times_until_the_device_is_done, excludes_older_work, excludes_the_warm_up, times_each_run_separately,
        returns_errors_of_work_and_waits;
    "5.3": recognises_each_pattern, counts_overlapping_kernels_once, measures_against_wall_time, adds_loading_and_copying,
        is_compute_from_the_threshold_on, breaks_ties_in_order, is_none_without_evidence;
    "5.4": computes_the_limit, computes_the_needed_factor, is_none_at_the_limit_and_above, is_infinite_for_the_whole_run,
        needs_factor_1_without_speed_up;
    "5.5": reads_nsys, reads_nvprof, excludes_host_calls, counts_copies_only, finds_columns_by_their_names,
        sums_tables_in_their_units, skips_tables_of_sizes, is_none_without_a_time;
    "5.6": counts_operations_and_bytes, uses_the_width_of_a_number, is_limited_by_memory_below_the_ridge,
        is_limited_by_arithmetic_above_the_ridge, is_not_memory_bound_at_the_ridge;
};
