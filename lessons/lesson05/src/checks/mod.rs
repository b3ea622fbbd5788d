//! The checks of each answer. Expected numbers are computed here in the most direct way.

mod amdahl;
mod copies;
mod pattern;
mod refuse;
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
    "5.1": subtracts_direct_children_from_self_time => "minus that of its direct children",
        sums_spans_of_the_same_name => "of each name",
        counts_recursive_time_once => "at any depth",
        accepts_spans_in_any_order => "in any order",
        separates_threads => "do not contain each other",
        accepts_adjacent_spans => "next to each other",
        nests_equal_spans_in_list_order => "the first in the list",
        counts_spans_of_no_length => "a span of no length",
        is_exact_for_long_times => "exact",
        sorts_by_self_time => "sorted by descending self time",
        adds_up_deep_and_many_spans => "takes minutes";
    "5.2": times_until_the_device_is_done => "includes exactly one wait",
        excludes_older_work => "older work",
        excludes_the_warm_up => "that are not timed",
        times_each_run_in_order => "in the order of the runs",
        returns_errors_of_work => "return its error",
        returns_errors_of_waits => "return its error";
    "5.3": recognises_each_pattern => "the greatest of three sums",
        counts_overlapping_kernels_once => "counts once",
        measures_against_wall_time => "of `wall`, the pattern is",
        adds_loading_and_copying => "`Kind::Copy` together",
        sums_many_short_spans => "over all spans",
        is_compute_from_the_threshold_on => "at least `COMPUTE_BOUND`",
        breaks_ties_in_order => "the first of these three",
        is_none_without_evidence => "all three are 0";
    "5.4": computes_the_limit => "if the part took no time",
        computes_the_needed_factor => "that the part needs",
        is_none_at_the_limit_and_above => "at the limit or above it",
        is_none_at_a_rounded_limit => "one part in 10⁹",
        is_infinite_for_the_whole_run => "the part is the whole run",
        needs_factor_1_without_speed_up => "is 1 or less";
    "5.5": reads_nsys => "`Total Time (ns)`",
        reads_nvprof => "`Time(%)` (no space)",
        excludes_host_calls => "`GPU activities`",
        counts_copies_only => "whatever its name",
        counts_copies_in_any_direction => "in any direction",
        finds_columns_by_their_names => "in any order",
        sums_tables_with_their_own_columns => "sum over all of them",
        converts_each_table_by_its_unit => "its own columns and units",
        skips_tables_of_sizes => "contains sizes",
        skips_lines_outside_of_tables => "outside of tables",
        is_none_without_a_time => "no time in any table",
        is_zero_without_a_copy => "Some(0)";
    "5.6": counts_operations => "`flops` counts",
        counts_bytes => "read once and the result is written once",
        divides_operations_by_bytes => "`intensity` is FLOP per byte",
        counts_large_products => "more than 10¹²",
        uses_the_width_of_a_number => "of `width` bytes",
        is_limited_by_memory_below_the_ridge => "the lower of its arithmetic and its memory limit",
        is_limited_by_arithmetic_above_the_ridge => "the lower of its arithmetic and its memory limit",
        is_not_memory_bound_at_the_ridge => "at the ridge";
};
