//! The checks of each answer. Expected results are computed here in the most direct way, or tested by their properties.

mod buckets;
mod order;
mod prefetch;
mod ragged;
mod subsample;
mod together;

use grader::{Check, Finding, Values, Verdict, Wrong, checks};

use crate::Lesson03;
use buckets::*;
use order::*;
use prefetch::*;
use ragged::*;
use subsample::*;
use together::*;

pub const CHECKS: &[Check<Lesson03>] = checks! {
    "3.1": visits_each_record_once, depends_only_on_seed_and_epoch, draws_every_order_equally_often,
        changes_from_epoch_to_epoch, has_independent_orders_for_seeds_and_epochs, accepts_zero_and_one_record;
    "3.2": random_takes_different_points, random_draws_every_point_equally_often, voxel_keeps_one_point_of_each_cube,
        voxel_has_equal_cubes_below_zero, farthest_takes_the_farthest_each_time, farthest_takes_the_first_of_equals,
        farthest_takes_duplicates_once_each;
    "3.3": pads_to_the_longest_cloud, puts_points_first_in_their_row, masks_the_padding,
        rejects_a_cloud_without_points;
    "3.4": fills_buckets_by_length, includes_the_bound_in_its_bucket, emits_a_batch_when_its_bucket_is_full,
        keeps_the_order_within_a_batch, emits_the_rest_at_the_end;
    "3.5": delivers_results_in_order, runs_workers_in_parallel, starts_at_most_ahead_jobs, calls_make_once_for_each,
        delivers_an_error_in_its_place, turns_a_panic_into_an_error, stops_when_take_returns_false;
    "3.6": keeps_scans_of_a_tree_together, keeps_trees_of_a_plot_together, joins_connected_components,
        ignores_unknown_plots, numbers_groups_by_their_first_record, separates_tree_and_plot_names;
};

/// A wrong answer, described in words. Answers of the same `kind` have the same cause, whatever their numbers are.
fn told(input: String, what: &str, kind: &[usize], lines: Vec<String>) -> Verdict {
    Err(Finding::Wrong(Box::new(Wrong {
        input,
        what: what.into(),
        got: Some(Values::from(kind)),
        lines,
    })))
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

/// Tests that each of 0..n occurs at most once, or with `all` exactly once.
fn each_once(input: &str, what: &str, got: &[usize], n: usize, count: usize) -> Verdict {
    let expected = if count == n {
        format!("expected  each of 0 to {} once", n.saturating_sub(1))
    } else {
        format!("expected  {count} different ones of 0 to {}", n - 1)
    };
    let mut lines = vec![expected, format!("got       {}", listed(got))];
    if let Some((at, &beyond)) = got.iter().enumerate().find(|&(_, &i)| i >= n) {
        lines.push(format!("beyond    {beyond}, at place {at}"));
        return told(input.into(), what, &[1], lines);
    }
    let places = |i: usize| -> Vec<usize> { (0..got.len()).filter(|&at| got[at] == i).collect() };
    let never: Vec<usize> = (0..n).filter(|&i| places(i).is_empty()).collect();
    let first_twice = (0..got.len()).find(|&at| got[..at].contains(&got[at]));
    if let Some(at) = first_twice {
        lines.push(format!(
            "twice     {}, at places {}",
            got[at],
            listed(&places(got[at]))
        ));
        if count == n {
            lines.push(format!("never     {}", listed(&never)));
        }
        return told(input.into(), what, &[2], lines);
    }
    if got.len() != count {
        lines.push(format!("many      {} of {count}", got.len()));
        if count == n {
            lines.push(format!("never     {}", listed(&never)));
        }
        return told(input.into(), what, &[3], lines);
    }
    Ok(())
}

/// Whether each count is plausible if `expected` is its mean: 0 never, 1 too seldom, 2 plausible, 3 too often.
fn chances(counts: &[usize], expected: f64) -> Vec<usize> {
    // Five standard deviations of a count: by chance alone once in two million.
    let off = 5.0 * expected.sqrt();
    let class = |&count: &usize| match count as f64 - expected {
        _ if count == 0 => 0,
        d if d < -off => 1,
        d if d > off => 3,
        _ => 2,
    };
    counts.iter().map(class).collect()
}
