//! The checks of each answer. Expected numbers are computed here in the most direct way.

mod batch;
mod count;
mod engine;
mod engine_run;
mod gradients;
mod layers;
mod slices;
mod stage1;

use grader::{Check, Draw, Values, Verdict, checks};
use kit::{Failed, Operation, Ran, wrong};

use crate::Lesson09;
use batch::*;
use count::*;
use engine::*;
use gradients::*;
use layers::*;
use slices::*;
use stage1::*;

pub const CHECKS: &[Check<Lesson09>] = checks! {
    "9.1": cuts_parameters_where_chunks_end => "in the middle of a parameter",
        counts_from_the_start_of_each_parameter => "counted from the parameter's own first element",
        returns_one_part_for_each_parameter => "one for each parameter that the chunk touches",
        leaves_out_empty_parts => "No part is empty",
        covers_every_element_once => "The rank owns `chunk(total, rank, world_size)`";
    "9.2": steps_by_the_mean_gradient => "the mean over the ranks",
        updates_only_its_own_part => "this rank's `chunk` of the parameters and the same chunk of the mean gradients",
        keeps_optimizer_state_by_part => "keeps state for this part only",
        leaves_all_ranks_equal => "must be equal on all ranks after it",
        sends_one_all_reduce_and_one_all_gather => "Send nothing else",
        accepts_uneven_and_empty_parts => "some may be empty",
        passes_on_errors => "return it";
    "9.3": returns_its_chunk_of_the_mean => "this rank's `chunk` of the mean over the ranks",
        accepts_uneven_and_empty_chunks => "some may be empty",
        sends_only_a_reduce_scatter => "half as much as an all-reduce",
        frees_the_whole_list => "must be free",
        passes_on_the_error => "return it";
    "9.4": forward_uses_each_layer_in_order => "from the first to the last",
        backward_runs_from_the_last_layer => "from the last to the first",
        holds_one_layer_at_a_time => "buffers of more than one layer",
        returns_mean_gradients_in_the_order_of_the_layers => "of the mean gradients over the ranks",
        sends_three_times_a_part => "each layer is gathered again",
        accepts_short_and_empty_layers => "or none; it is gathered and used all the same",
        returns_errors => "return it";
    "9.5": keeps_everything_without_sharding => "Without sharding",
        shares_more_with_each_stage => "Stage 1 shares the optimizer's state",
        rounds_shares_up => "rounded up",
        counts_large_models => "10¹²",
        counts_two_passes => "send one of each",
        gathers_once_more_in_stage_3 => "gathers once more",
        rounds_chunks_up => "rounded up",
        is_free_for_one_rank => "One rank alone sends nothing";
    "9.6": fills_in_the_third_size => "the third follows",
        accumulates_nothing_by_default => "accumulation is 1",
        rejects_contradictions => "contradict each other",
        rejects_remainders => "has a remainder",
        names_the_sizes => "contain all sizes that were given",
        rejects_what_is_missing_or_zero => "neither `train` nor `micro` is given";
    "9.7": averages_over_the_step => "the mean over the micro-batches of a step",
        waits_until_the_step_is_complete => "Before the last micro-batch",
        steps_by_the_unscaled_mean => "divide it by",
        clips_by_the_norm_of_all_gradients => "the norm of all gradients together",
        returns_the_norm_before_clipping => "with the norm before clipping",
        skips_on_every_rank => "no rank calls `update`",
        updates_the_scale_once => "once at the end",
        starts_the_next_step_empty => "is empty from now on",
        sends_little_more_than_stage_2 => "at most two numbers",
        rejects_gradients_that_do_not_fit => "has another length",
        passes_on_errors_of_the_step => "return it";
};

/// f32 numbers that were computed in f64.
fn values(numbers: &[f64]) -> Values {
    Values::tensor(numbers.to_vec(), &[numbers.len()], "f32")
}

/// Numbers of each rank.
fn lists(draw: &mut Draw, world: usize, length: usize) -> Vec<Vec<f32>> {
    (0..world).map(|_| draw.list(length, -2.0, 2.0)).collect()
}

/// The mean over the ranks, in f64.
fn mean(lists: &[Vec<f32>]) -> Vec<f64> {
    let of = |i: usize| lists.iter().map(|l| f64::from(l[i])).sum::<f64>() / lists.len() as f64;
    (0..lists[0].len()).map(of).collect()
}

/// "1 rank", "2 ranks".
fn ranks(n: usize) -> String {
    format!("{n} rank{}", if n == 1 { "" } else { "s" })
}

/// Tests that every rank finished. If ranks failed because one made other calls than the others, reports these calls.
fn all_finish<T>(input: &str, run: &Ran<T>) -> Verdict {
    let message = |r: &Result<T, Failed>| matches!(r, Ok(_) | Err(Failed::Message(_)));
    if run.ranks.iter().all(Result::is_ok) || !run.ranks.iter().all(message) {
        return run.all_well(input);
    }
    let of = |rank: usize| -> Vec<(Operation, usize)> {
        let own = run.calls.iter().filter(|c| c.rank == rank);
        own.map(|c| (c.operation, c.numbers)).collect()
    };
    let kinds = |calls: &[(Operation, usize)]| calls.iter().map(|c| c.0 as u32).collect::<Vec<u32>>();
    let first = of(0);
    let Some((rank, other)) = (1..run.ranks.len())
        .map(|rank| (rank, of(rank)))
        .find(|(_, other)| *other != first)
    else {
        return run.all_well(input);
    };
    // The call before the first one that differs, and some after it.
    let same = first.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let shown = |rank: usize, calls: &[(Operation, usize)]| {
        let from = same.saturating_sub(1).min(calls.len());
        let one = |&(operation, n): &(Operation, usize)| format!("{} of {n}", named(operation));
        let mut list: Vec<String> = calls[from..].iter().take(3).map(one).collect();
        if from > 0 {
            list.insert(0, "…".to_owned());
        }
        let list = if list.is_empty() {
            "none".to_owned()
        } else {
            list.join(", ")
        };
        format!("rank {rank}: {list}")
    };
    let lines = vec![
        "expected  the same calls on every rank".to_owned(),
        format!("got       {}", shown(0, &first)),
        format!("          {}", shown(rank, &other)),
    ];
    // The lengths may depend on the answer: an all-reduce of one number or of two.
    let got = [kinds(&first), vec![9], kinds(&other)].concat();
    wrong(input, "calls, by rank", Some(got.as_slice().into()), lines)
}

/// Tests that each rank made exactly the calls in `expected`: the operation and the length of the whole list. It sends
/// no other message.
fn calls_are<T>(input: &str, run: &Ran<T>, expected: &[(Operation, usize)]) -> Verdict {
    for rank in 0..run.ranks.len() {
        let text = |calls: &[(Operation, usize)]| {
            let one = |&(operation, n): &(Operation, usize)| format!("{} of {n}", named(operation));
            calls.iter().map(one).collect::<Vec<String>>()
        };
        let made = run.calls.iter().filter(|c| c.rank == rank);
        let made: Vec<(Operation, usize)> = made.map(|c| (c.operation, c.numbers)).collect();
        let (got, expected) = (text(&made), text(expected));
        if got != expected {
            let said = |calls: &[String]| match calls {
                [] => "none".to_owned(),
                calls if calls.len() < 5 => calls.join(", "),
                _ => format!("{}, … ({} calls)", calls[..4].join(", "), calls.len()),
            };
            let lines = vec![
                format!("expected  {}", said(&expected)),
                format!("got       {}", said(&got)),
            ];
            return wrong(input, "collective calls of a rank", None, lines);
        }
    }
    let p = run.ranks.len();
    let messages = |&(operation, _): &(Operation, usize)| match operation {
        Operation::AllReduce => 2 * (p - 1),
        _ => p - 1,
    };
    let right: usize = expected.iter().map(messages).sum();
    for rank in 0..p {
        let sent = run.sent.iter().filter(|s| s.from == rank).count();
        if sent != right {
            let lines = vec![
                format!("expected  {right}, those of these calls"),
                format!("got       {sent}, from a barrier, a broadcast or a send"),
            ];
            return wrong(input, "messages that a rank sends", Some(sent.into()), lines);
        }
    }
    Ok(())
}

fn named(operation: Operation) -> &'static str {
    match operation {
        Operation::AllReduce => "all_reduce",
        Operation::ReduceScatter => "reduce_scatter",
        Operation::AllGather => "all_gather",
    }
}
