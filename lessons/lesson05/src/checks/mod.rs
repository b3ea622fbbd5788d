//! What is held of each answer. Expected numbers are found here the long way round.

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
    "5.1": takes_off_what_lies_directly_within, adds_up_the_spans_of_a_name, counts_the_time_within_its_own_name_once,
        takes_spans_in_any_order, keeps_threads_apart, takes_spans_that_touch, begins_with_the_greatest_self_time;
    "5.2": counts_until_the_device_is_done, leaves_out_older_work, leaves_out_the_warm_up, times_each_run_by_itself,
        gives_errors_when_they_surface;
    "5.3": names_each_pattern, counts_kernels_that_overlap_once, measures_by_the_wall, puts_loading_and_copying_together,
        is_compute_from_the_threshold_on, breaks_ties_in_order, says_nothing_of_nothing;
    "5.4": gives_the_limit, gives_the_needed_factor, gives_none_at_the_limit_and_above, takes_a_part_that_is_all,
        needs_nothing_for_nothing;
    "5.5": reads_nsys, reads_nvprof, leaves_the_hosts_calls_out, counts_copies_only, finds_columns_by_their_names,
        adds_up_tables_in_their_units, passes_over_sizes, gives_none_without_a_time;
    "5.6": counts_operations_and_bytes, takes_the_width_of_a_number, is_held_by_memory_under_the_slope,
        is_held_by_arithmetic_past_the_ridge, is_not_memory_bound_at_the_ridge;
};
