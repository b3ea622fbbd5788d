//! The checks of each answer. Expected results are computed here in the most direct way, or tested by their properties.

mod buckets;
mod farthest;
mod order;
mod prefetch;
mod ragged;
mod random;
mod together;
mod voxel;
mod window;

use std::panic::{self, AssertUnwindSafe};

use grader::{Check, Finding, Values, Verdict, Wrong, checks};

use crate::Lesson03;
use buckets::*;
use farthest::*;
use order::*;
use prefetch::*;
use ragged::*;
use random::*;
use together::*;
use voxel::*;
use window::*;

pub const CHECKS: &[Check<Lesson03>] = checks! {
    "3.1":
        visits_each_record_once => "each once",
        depends_only_on_seed_and_epoch => "depends only on",
        changes_from_epoch_to_epoch => "Each pair of seed and epoch",
        takes_no_longer_for_a_late_epoch => "takes no longer",
        draws_every_order_equally_often => "Every order is equally likely",
        has_independent_orders_for_seeds_and_epochs => "independent of all others",
        mixes_the_whole_epoch => "Every order is equally likely",
        accepts_zero_and_one_record => "may be 0";
    "3.2":
        random_takes_different_points => "No index occurs twice",
        random_takes_all_of_a_small_cloud => "points, all of them.",
        random_changes_with_the_seed => "Every set of n points",
        random_draws_every_set_equally_often => "Every set of n points",
        voxel_keeps_one_point_of_each_cube => "of each cube that contains points",
        voxel_has_equal_cubes_below_zero => "Cube k along an axis",
        voxel_separates_distant_cubes => "of each cube that contains points",
        voxel_takes_any_edge => "cubes of `edge` metres",
        farthest_takes_the_farthest_each_time => "is the greatest",
        farthest_begins_with_any_point => "every point can be the first",
        farthest_takes_the_first_of_equals => "the one with the lower index",
        farthest_takes_duplicates_once_each => "even if that distance is 0",
        farthest_measures_any_distance => "is the greatest",
        farthest_takes_all_of_a_small_cloud => "all of them, in any order",
        accepts_no_points_and_an_n_of_zero => "may be empty";
    "3.3":
        pads_to_the_longest_cloud => "`[clouds, longest, 3]`",
        puts_points_first_in_their_row => "followed by padding at the origin",
        masks_the_padding => "mask is 1 for a point",
        accepts_a_single_cloud => "`[clouds, longest, 3]`",
        rejects_a_cloud_without_points => "Returns an error for a cloud",
        rejects_a_batch_without_clouds => "a batch without clouds";
    "3.4":
        fills_buckets_by_length => "whose bound is at least its length",
        includes_the_bound_in_its_bucket => "whose bound is at least its length",
        emits_a_batch_when_its_bucket_is_full => "As soon as a bucket has",
        keeps_the_order_within_a_batch => "in the order in which they came",
        emits_the_rest_at_the_end => "the rest of each bucket",
        visits_only_the_records_of_the_order => "it may leave out some",
        accepts_one_bucket_and_batches_of_one => "may be empty";
    "3.5":
        delivers_results_in_order => "in this order",
        runs_workers_in_parallel => "threads in parallel",
        works_while_take_runs => "Workers go on while",
        starts_at_most_ahead_jobs => "At most `ahead` results",
        delivers_an_error_in_its_place => "An `Err` of `make`",
        turns_a_panic_into_an_error => "A panic of `make`",
        calls_make_once_for_each => "once for each number",
        stops_when_take_returns_false => "has returned false",
        ends_idle_workers => "all its threads have ended",
        accepts_a_count_of_zero => "`count` may be 0";
    "3.6":
        keeps_scans_of_a_tree_together => "Records of the same tree",
        keeps_trees_of_a_plot_together => "records of the same plot",
        ignores_unknown_plots => "is an unknown plot",
        joins_connected_components => "connected components",
        joins_long_chains => "over several steps",
        numbers_groups_by_their_first_record => "numbered from 0",
        separates_tree_and_plot_names => "may have the same name",
        accepts_no_records => "There may be no record";
};

/// A wrong answer, described in words. Answers of the same `kind` have the same cause, whatever their numbers are.
fn told(input: String, what: &str, kind: &[usize], lines: Vec<String>) -> Verdict {
    Err(Finding::Wrong(Box::new(Wrong {
        kind: Default::default(),
        input,
        what: what.into(),
        got: Some(Values::from(kind)),
        lines,
    })))
}

/// The value of `call`, or the message of its panic. An answer that is still to do panics on.
fn unless_to_do<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        let message = text.unwrap_or_default();
        if message.starts_with("not yet implemented") {
            panic::resume_unwind(payload);
        }
        std::mem::forget(payload);
        message
    })
}

/// The first of some numbers, as many as fit in a line.
fn listed(numbers: &[usize]) -> String {
    let mut text = String::new();
    for number in numbers {
        let next = format!("{number}, ");
        if text.len() + next.len() > 44 {
            return text + "…";
        }
        text += &next;
    }
    text.trim_end_matches(", ").to_owned()
}

/// What is wrong with indices that should be different, as [`told`] reports it.
pub mod repeats {
    pub const BEYOND: usize = 1;
    pub const TWICE: usize = 2;
    pub const NOT_THE_LAST: usize = 3;
    pub const TOO_FEW: usize = 4;
    pub const TOO_MANY: usize = 5;
}

/// Tests that `got` has `count` different indices below n.
fn each_once(input: &str, what: &str, got: &[usize], n: usize, count: usize) -> Verdict {
    let expected = match count {
        0 => "expected  none".into(),
        _ if count == n => format!("expected  each of 0 to {} once", n - 1),
        _ => format!("expected  {count} different ones of 0 to {}", n - 1),
    };
    let mut times = vec![0usize; n];
    got.iter().filter(|&&i| i < n).for_each(|&i| times[i] += 1);
    let never: Vec<usize> = (0..n).filter(|&i| times[i] == 0).collect();
    let mut lines = vec![expected, format!("got       {}", listed(got))];
    let kind = if let Some((at, &beyond)) = got.iter().enumerate().find(|&(_, &i)| i >= n) {
        lines.push(format!("beyond    {beyond}, at place {at}"));
        repeats::BEYOND
    } else if let Some(twice) = got.iter().copied().find(|&i| times[i] > 1) {
        let places: Vec<usize> = (0..got.len()).filter(|&at| got[at] == twice).collect();
        lines.push(format!("twice     {twice}, at places {}", listed(&places)));
        repeats::TWICE
    } else if got.len() != count {
        lines.push(format!("many      {}, not {count}", got.len()));
        match never[..] {
            _ if got.len() > count => repeats::TOO_MANY,
            [last] if last + 1 == n => repeats::NOT_THE_LAST,
            _ => repeats::TOO_FEW,
        }
    } else {
        return Ok(());
    };
    if count == n && !never.is_empty() {
        lines.push(format!("never     {}", listed(&never)));
    }
    told(input.into(), what, &[kind], lines)
}

/// Whether each count is plausible if `expected` is its mean: 0 never, 1 too seldom, 2 plausible, 3 too often.
fn chances(counts: &[usize], expected: f64) -> Vec<usize> {
    // By chance alone less than once in a million.
    let off = 5.3 * expected.sqrt();
    let class = |&count: &usize| match count as f64 - expected {
        _ if count == 0 => 0,
        d if d < -off => 1,
        d if d > off => 3,
        _ => 2,
    };
    counts.iter().map(class).collect()
}
