//! What is held of each answer. What is expected is found here the long way round, or told by what must hold of it.

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
    "3.1": visits_each_record_once, goes_on_where_it_was_broken_off, gives_every_order_its_chance,
        changes_from_epoch_to_epoch, keeps_seeds_and_epochs_apart, takes_no_record_and_one;
    "3.2": random_takes_different_points, random_gives_every_point_its_chance, voxel_keeps_one_point_of_each_cube,
        voxel_cuts_below_zero_as_above, farthest_takes_the_farthest_each_time, farthest_takes_the_first_of_equals,
        farthest_takes_copies_once_each;
    "3.3": is_as_wide_as_the_longest, puts_points_first_in_their_row, marks_what_is_real,
        refuses_a_cloud_without_points;
    "3.4": fills_buckets_by_length, gives_a_bucket_its_bound, gives_out_a_batch_when_it_is_full,
        keeps_the_order_within_a_batch, gives_out_what_is_left;
    "3.5": gives_all_in_order, makes_several_at_a_time, begins_no_more_than_ahead, asks_for_each_once,
        gives_an_error_in_its_place, turns_a_panic_into_an_error, stops_when_told;
    "3.6": keeps_scans_of_a_tree_together, keeps_trees_of_a_plot_together, follows_what_hangs_together,
        knows_plots_from_no_plot, numbers_groups_by_their_first_record, keeps_trees_and_plots_apart;
};

/// A wrong answer told in words. Answers with one `kind` have one cause, whatever numbers they drew.
fn told(input: String, what: &str, kind: &[usize], lines: Vec<String>) -> Verdict {
    Err(Finding::Wrong(Box::new(Wrong {
        input,
        what: what.into(),
        got: Some(Values::from(kind)),
        lines,
    })))
}

/// The first of some numbers, as many as fit a line.
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

/// Each of 0..n once: otherwise which came twice, and which never. `all`: none may lack.
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

/// Whether each of some counts is what chance gives, `expected` of each: 0 never, 1 too seldom, 2 right, 3 too often.
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
