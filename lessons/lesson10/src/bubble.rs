//! 10.5: the bubble of a pipeline, and the activations that it keeps.

use canopy::split::Action::{self, Backward, Forward};
use grader::{Check, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson10, REFERENCE, answers, simulate::name};

fn bubble(answer: &Lesson10, (stages, micro_batches): (usize, usize)) -> Verdict {
    let case = given(format!("{stages} stages, {micro_batches} micro-batches"));
    case.close(
        "bubble",
        (answer.bubble)(stages, micro_batches),
        (REFERENCE.bubble)(stages, micro_batches),
    )
}

fn held(answer: &Lesson10, order: Vec<Action>) -> Verdict {
    let text: Vec<String> = order.iter().map(|&action| name(action)).collect();
    let case = given(format!("order {}", text.join(" ")));
    case.close(
        "micro-batches kept at one time",
        (answer.activations_held)(&order),
        (REFERENCE.activations_held)(&order),
    )
}

/// The 1F1B order of a stage with a warm-up of `warm_up`.
fn order(warm_up: usize, micro_batches: usize) -> Vec<Action> {
    (REFERENCE.one_f_one_b_order)(0, warm_up + 1, micro_batches)
}

/// `+7` is the forward pass of micro-batch 6, `-7` for its backward pass.
fn passes(signs: &[i32]) -> Vec<Action> {
    let pass = |&sign: &i32| {
        let i = sign.unsigned_abs() as usize - 1;
        if sign > 0 { Forward(i) } else { Backward(i) }
    };
    signs.iter().map(pass).collect()
}

pub const CHECKS: &[Check<Lesson10>] = rows! { "10.5";
    by bubble {
        divides_idle_by_computing_time: "divided by the time in which it computes",
            "A stage is idle for p − 1 micro-batches and computes for m: (p − 1)/m, as f64." => |d| {
            let stages = d.whole(6, 40);
            vec![(4, 12), (5, 32), (stages, 4 * (stages - 1)), (stages, 2 * (stages - 1)), (d.whole(3, 6), d.whole(7, 12))]
        };
        is_zero_for_a_single_stage: "the idle time of a stage", "With one stage the bubble is 0." =>
            |d| vec![(1, 1), (1, d.whole(2, 20))];
        may_exceed_one: "It may exceed 1",
            "With few micro-batches a stage is idle for longer than it computes." => |d| {
            let m = d.whole(2, 9);
            vec![(4, 1), (3 * m + 1, m)]
        };
    }
    by held {
        counts_the_most_at_one_time: "at one time",
            "Begin with 0, count up at a forward pass and down at a backward pass, and look for the greatest count after every pass." => |d| {
            let (warm_up, m) = (d.whole(2, 4), d.whole(3, 6));
            vec![order(0, 4), order(warm_up, warm_up + 3), order(m, m)]
        };
        counts_any_order: "may be any schedule",
            "The greatest count may be anywhere; a backward pass takes off one, not all, and the numbers of the micro-batches do not matter." =>
            |_| vec![passes(&[8, 6, 10, -10, -6, -8, 9, -9]), passes(&[1, -1, 2, 3, -3, 4, 5, -5, -4, -2])];
        counts_what_is_left: "the beginning of one",
            "Compare the count after each pass: an order may end with a forward pass." =>
            |_| vec![passes(&[1]), passes(&[1, -1, 2, 3]), passes(&[1, 2, -1])];
        keeps_none_of_an_empty_order: "the beginning of one",
            "Begin with 0: without passes nothing is kept." => |_| vec![Vec::new()];
    }
};

pub const MISTAKES: &[Mistake<Lesson10>] = mistakes! { "10.5" [bubble, activations_held];
    1 "The idle time is divided by the whole time, (p − 1)/(m + p − 1); divide it by the time in which a stage computes.";
    2 "A stage is idle for all p stages; it computes for one of them itself: p − 1.";
    3 "The fraction is upside down.";
    4 "Whole numbers are divided, which rounds down: convert them to f64 first.";
    5 "The bubble is limited to 1; with few micro-batches a stage is idle for longer than it computes.";
    6 "All forward passes are counted; a backward pass releases activations.";
    7 "What is left at the end is returned; return the greatest number on the way.";
    8 "The forward passes before the first backward pass are counted; later there may be more.";
};
