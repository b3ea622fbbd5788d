//! The checks of each answer. Expected numbers are computed here in the most direct way.

mod average;
mod bucket;
mod cost;
mod efficiency;
mod environment;
mod ring;
mod share;

use grader::{Check, checks};
use kit::{ok, refused};

use crate::Lesson08;
use average::*;
use bucket::*;
use cost::*;
use efficiency::*;
use environment::*;
use ring::*;
use share::*;

pub const CHECKS: &[Check<Lesson08>] = checks! {
    "8.1": strides_by_world_size => "every `world_size`-th record",
        drops_the_tail_if_asked => "`drop_tail` drops the rest",
        wraps_around_if_uneven => "extended by its own beginning",
        repeats_a_short_order => "repeated as often as necessary",
        is_empty_for_an_empty_order => "empty order",
        accepts_any_number_of_ranks => "equally many records";
    "8.2": reduces_each_chunk_at_its_owner => "the sum of that chunk over all ranks",
        gathers_all_chunks => "ends with all of `data` complete",
        composes_to_an_all_reduce => "ends with all of `data` complete",
        accepts_uneven_and_empty_chunks => "may differ by one number in length",
        sends_only_to_its_neighbour => "sends only to rank r + 1",
        sends_the_least_data => "one chunk in each of p − 1 steps",
        passes_on_errors => "return it";
    "8.3": fills_from_the_last_parameter => "from the last to the first",
        closes_at_the_byte_limit => "with which its bytes reach the limit",
        keeps_the_first_bucket_small => "`sizes.first` for the first bucket of each kind",
        separates_dtypes => "the open bucket of its `kind`",
        orders_the_remaining_buckets => "in the order in which they last received a parameter",
        keeps_the_order_of_closing => "in the order in which they were closed",
        counts_the_bytes => "the sum of their bytes",
        puts_each_parameter_into_one_bucket => "even one of 0 bytes";
    "8.4": averages_over_ranks => "its mean over all ranks",
        keeps_ranks_identical_after_a_step => "bit-identical on each",
        calls_all_reduce_once => "in one call",
        accepts_any_number_of_axes => "any number of axes",
        preserves_shapes_and_dtypes => "do not change",
        accepts_non_contiguous_gradients => "need not be contiguous",
        does_not_overflow_f16 => "may be too large for f16",
        divides_in_f32 => "Divide in f32",
        passes_on_the_error => "returns an error";
    "8.5": reads_each_launcher => "from the environment variables of its launcher",
        prefers_the_inner_launcher => "first launcher of the table whose rank is set",
        is_a_single_rank_without_launcher => "launcher `alone`",
        reports_the_missing_variable => "is missing",
        ignores_white_space => "White space",
        rejects_a_value_that_is_not_a_number => "is not a whole number",
        rejects_a_rank_beyond_world_size => "not below the world size",
        chooses_the_gpu_by_local_rank => "N is its local rank",
        uses_the_only_gpu_or_the_cpu => "`cuda:0` if it sees one",
        rejects_more_ranks_than_gpus => "not below their number";
    "8.6": weak_scaling_compares_the_times => "as much work as the single rank had",
        strong_scaling_divides_by_the_ranks => "share the work",
        is_one_without_loss => "1 is perfect",
        may_exceed_one => "may exceed 1";
    "8.7": counts_ring_messages => "the messages that one rank sends",
        sends_one_chunk_per_message => "chunks of `bytes`/p",
        counts_tree_steps => "one message of all `bytes`",
        rounds_up_to_a_power_of_two => "need as many steps as 8",
        is_free_for_one_rank => "One rank alone sends nothing";
};
