//! Known wrong answers to exercise 10.5.

use super::*;

/// As many as a counter of `up` forward and `down` backward passes says at its greatest.
fn counted(order: &[Action], up: i64, down: i64) -> usize {
    let (mut held, mut most) = (0, 0);
    for action in order {
        held += if matches!(action, Forward(_)) { up } else { down };
        most = most.max(held);
    }
    most as usize
}

fn forward(order: &[Action]) -> usize {
    order.iter().filter(|a| matches!(a, Forward(_))).count()
}

pub const MISTAKES: &[Mistake<Lesson10>] = &[
    wrong!("10.5", divides_idle_by_computing_time, "The idle time is divided by the whole time, (p − 1)/(m + p − 1); divide it by the time in which a stage computes.",
        bubble: |p, m| (p - 1) as f64 / (m + p - 1) as f64),
    wrong!("10.5", divides_idle_by_computing_time, "A stage is idle for all p stages; it computes for one of them itself: p − 1.",
        bubble: |p, m| p as f64 / m as f64),
    wrong!("10.5", divides_idle_by_computing_time, "The bubble is in percent; it is a fraction.",
        bubble: |p, m| 100.0 * (p - 1) as f64 / m as f64),
    wrong!("10.5", divides_idle_by_computing_time, "The fraction is upside down.",
        bubble: |p, m| if p > 1 { m as f64 / (p - 1) as f64 } else { 0.0 }),
    wrong!("10.5", divides_idle_by_computing_time, "Whole numbers are divided, which rounds down: convert them to f64 first.",
        bubble: |p, m| ((p - 1) / m) as f64),
    wrong!("10.5", divides_idle_by_computing_time, "The idle time is counted twice: (p − 1) micro-batches contain the forward and the backward pass.",
        bubble: |p, m| 2.0 * (p - 1) as f64 / m as f64),
    wrong!("10.5", divides_idle_by_computing_time, "The idle time of all stages is added; the bubble is that of one stage.",
        bubble: |p, m| (p * (p - 1)) as f64 / m as f64),
    wrong!("10.5", divides_idle_by_computing_time, "The divisor is m − 1; a stage computes m micro-batches.",
        bubble: |p, m| if m > 1 { (p - 1) as f64 / (m - 1) as f64 } else { (p - 1) as f64 }),
    wrong!("10.5", divides_idle_by_computing_time, "The efficiency is returned, m/(m + p − 1); the bubble is idle over computing time.",
        bubble: |p, m| if p > 1 { m as f64 / (m + p - 1) as f64 } else { 0.0 }),
    wrong!("10.5", may_exceed_one, "The bubble is limited to 1; with few micro-batches a stage is idle for longer than it computes.",
        bubble: |p, m| ((p - 1) as f64 / m as f64).min(1.0)),
    wrong!("10.5", is_zero_for_a_single_stage, "A single stage has a bubble; it is never idle.",
        bubble: |p, m| p.max(2).saturating_sub(1) as f64 / m as f64),
    wrong!("10.5", counts_the_most_at_one_time, "All forward passes are counted; a backward pass releases activations.",
        activations_held: forward),
    wrong!("10.5", counts_the_most_at_one_time, "What is left at the end is returned; return the greatest number on the way.",
        activations_held: |order| 2 * forward(order) - order.len()),
    wrong!("10.5", counts_any_order, "The forward passes before the first backward pass are counted; later there may be more.",
        activations_held: |order| order.iter().take_while(|a| matches!(a, Forward(_))).count()),
    wrong!("10.5", counts_the_most_at_one_time, "The number is compared only after backward passes, when it is already one smaller: compare it after each pass.",
    activations_held: |order| {
        let (mut held, mut most) = (0_usize, 0);
        for action in order {
            if matches!(action, Backward(_)) {
                held -= 1;
                most = most.max(held);
            } else {
                held += 1;
            }
        }
        most
    }),
    wrong!("10.5", counts_the_most_at_one_time, "The passes themselves are counted, twice as many: a backward pass stores nothing.",
        activations_held: |order| counted(order, 2, -2)),
    wrong!("10.5", counts_the_most_at_one_time, "It is one too many: before the first pass, a stage keeps nothing.",
        activations_held: |order| (REFERENCE.activations_held)(order) + usize::from(!order.is_empty())),
    wrong!("10.5", counts_any_order, "The longest run of forward passes is counted; the activations before it may still be kept.",
    activations_held: |order| {
        let runs = order.split(|a| matches!(a, Backward(_))).map(<[Action]>::len);
        runs.max().unwrap_or(0)
    }),
    wrong!("10.5", counts_any_order, "The number of the micro-batch is used; count the passes.",
    activations_held: |order| {
        let mut most = 0;
        let mut done = 0;
        for action in order {
            match *action {
                Forward(i) => most = most.max((i + 1).saturating_sub(done)),
                Backward(i) => done = i + 1,
            }
        }
        most
    }),
    wrong!("10.5", counts_what_is_left, "The number is compared only at a backward pass; an order may end with a forward pass.",
    activations_held: |order| {
        let (mut held, mut most) = (0_usize, 0);
        for action in order {
            match action {
                Forward(_) => held += 1,
                Backward(_) => {
                    most = most.max(held);
                    held -= 1;
                }
            }
        }
        most
    }),
    wrong!("10.5", counts_what_is_left, "An order with passes left at the end panics; it may be cut off.",
    activations_held: |order| {
        assert!(2 * forward(order) == order.len(), "the order is not complete");
        (REFERENCE.activations_held)(order)
    }),
    wrong!("10.5", keeps_none_of_an_empty_order, "An empty order keeps one; it keeps none.",
        activations_held: |order| (REFERENCE.activations_held)(order).max(1)),
    wrong!("10.5", keeps_none_of_an_empty_order, "An empty order panics: its maximum is None.",
    activations_held: |order| {
        assert!(!order.is_empty(), "called `Option::unwrap()` on a `None` value");
        (REFERENCE.activations_held)(order)
    }),
];
