//! Known wrong answers to exercise 10.4.

use super::*;

/// The right order with its backward passes numbered anew.
fn renumbered(order: &[Action], number: impl Fn(usize, usize) -> usize) -> Vec<Action> {
    let count = order.len() / 2;
    let of = |action: &Action| match *action {
        Forward(i) => Forward(i),
        Backward(i) => Backward(number(i, count)),
    };
    order.iter().map(of).collect()
}

pub const MISTAKES: &[Mistake<Lesson10>] = &[
    wrong!("10.4", warms_up_for_the_stages_that_follow, "All forward passes come first: that is GPipe's order.",
        one_f_one_b_order: |s, p, m| (REFERENCE.gpipe_order)(s, p, m)),
    wrong!("10.4", warms_up_for_the_stages_that_follow, "There is no warm-up: each backward pass follows its forward pass, and the stages wait for each other.",
        one_f_one_b_order: |_, _, m| one_f_one_b(0, m)),
    wrong!("10.4", warms_up_for_the_stages_that_follow, "The warm-up counts this stage, too: one forward pass for each stage that follows is enough.",
        one_f_one_b_order: |s, p, m| one_f_one_b(p - s, m)),
    wrong!("10.4", warms_up_for_the_stages_that_follow, "There is one forward pass too few before the first backward pass: after the warm-up, the forward pass of each turn comes first.",
        one_f_one_b_order: |s, p, m| one_f_one_b((p - s).saturating_sub(2), m)),
    wrong!("10.4", warms_up_for_the_stages_that_follow, "Every stage warms up as the first one does; count the stages that follow this one.",
        one_f_one_b_order: |_, p, m| one_f_one_b(p - 1, m)),
    wrong!("10.4", warms_up_for_the_stages_that_follow, "The warm-up counts the stages before this one; it is for those that follow.",
        one_f_one_b_order: |s, _, m| one_f_one_b(s, m)),
    wrong!("10.4", warms_up_for_the_stages_that_follow, "The warm-up has two forward passes for each stage that follows; one is enough.",
        one_f_one_b_order: |s, p, m| one_f_one_b(2 * (p - s - 1), m)),
    wrong!("10.4", warms_up_with_few_micro_batches, "With few micro-batches the warm-up goes on beyond the last one: limit it to `micro_batches`.",
    one_f_one_b_order: |s, p, m| {
        let follow = p - s - 1;
        if m > follow {
            return one_f_one_b(follow, m);
        }
        (0..follow).map(Forward).chain((0..m).map(Backward)).collect()
    }),
    wrong!("10.4", warms_up_with_few_micro_batches, "With few micro-batches the subtraction underflows: limit the warm-up to `micro_batches`.",
    one_f_one_b_order: |s, p, m| {
        assert!(m >= p - s - 1, "attempt to subtract with overflow");
        (REFERENCE.one_f_one_b_order)(s, p, m)
    }),
    wrong!("10.4", warms_up_with_few_micro_batches, "With fewer micro-batches than stages, each backward pass follows its forward pass.",
        one_f_one_b_order: |s, p, m| if m < p { one_f_one_b(0, m) } else { one_f_one_b(p - s - 1, m) }),
    wrong!("10.4", warms_up_for_the_stages_that_follow, "With fewer micro-batches than stages, all stages have GPipe's order; on the last stages, the passes take turns even then.",
        one_f_one_b_order: |s, p, m| if m < p { (REFERENCE.gpipe_order)(s, p, m) } else { one_f_one_b(p - s - 1, m) }),
    wrong!("10.4", finishes_with_backward_passes, "With few micro-batches the backward passes are missing.",
        one_f_one_b_order: |s, p, m| if m < p - s { (0..m).map(Forward).collect() } else { one_f_one_b(p - s - 1, m) }),
    wrong!("10.4", finishes_with_backward_passes, "There is a turn for each micro-batch, also for those of the warm-up: the turns end when no forward pass is left.",
    one_f_one_b_order: |s, p, m| {
        let warm_up = (p - s - 1).min(m);
        let turns = (0..m).flat_map(|i| [Forward(warm_up + i), Backward(i)]);
        (0..warm_up).map(Forward).chain(turns).collect()
    }),
    wrong!("10.4", takes_turns, "After the warm-up, all other forward passes come before the backward passes.",
    one_f_one_b_order: |s, p, m| {
        let warm_up = (p - s - 1).min(m);
        let turns = if m > warm_up { 1 } else { 0 };
        let head = (0..warm_up + turns).map(Forward).chain((0..turns).map(Backward));
        head.chain((warm_up + turns..m).map(Forward)).chain((turns..m).map(Backward)).collect()
    }),
    wrong!("10.4", finishes_with_backward_passes, "The backward passes that are left at the end are missing.",
    one_f_one_b_order: |s, p, m| {
        let mut order = (REFERENCE.one_f_one_b_order)(s, p, m);
        order.truncate(2 * m - (p - s - 1).min(m));
        order
    }),
    wrong!("10.4", finishes_with_backward_passes, "At the end is one backward pass too few.",
    one_f_one_b_order: |s, p, m| {
        let mut order = (REFERENCE.one_f_one_b_order)(s, p, m);
        if s + 1 < p {
            order.pop();
        }
        order
    }),
    wrong!("10.4", finishes_with_backward_passes, "The backward passes at the end begin with the length of the warm-up; they go on after the last turn.",
    one_f_one_b_order: |s, p, m| {
        let warm_up = (p - s - 1).min(m);
        let mut order = one_f_one_b(warm_up, m);
        order.truncate(2 * m - warm_up);
        order.extend((warm_up..m).map(Backward));
        order
    }),
    wrong!("10.4", finishes_with_backward_passes, "All backward passes are repeated at the end; only those are left that have not been.",
    one_f_one_b_order: |s, p, m| {
        let warm_up = (p - s - 1).min(m);
        let mut order = (REFERENCE.one_f_one_b_order)(s, p, m);
        order.truncate(2 * m - warm_up);
        order.extend((0..m).map(Backward));
        order
    }),
    wrong!("10.4", counts_micro_batches_up, "The backward passes are in descending order at the end; they ascend.",
    one_f_one_b_order: |s, p, m| {
        let mut order = (REFERENCE.one_f_one_b_order)(s, p, m);
        order[2 * m - (p - s - 1).min(m)..].reverse();
        order
    }),
    wrong!("10.4", counts_micro_batches_up, "The backward pass of a turn has the number of its forward pass; the oldest micro-batch is next.",
    one_f_one_b_order: |s, p, m| {
        let warm_up = (p - s - 1).min(m);
        let turns = (warm_up..m).flat_map(|i| [Forward(i), Backward(i)]);
        (0..warm_up).map(Forward).chain(turns).chain((0..warm_up).map(Backward)).collect()
    }),
    wrong!("10.4", counts_micro_batches_up, "The backward pass is that of the latest forward pass; the oldest micro-batch is next.",
    one_f_one_b_order: |s, p, m| {
        let mut kept = Vec::new();
        let mut order = (REFERENCE.one_f_one_b_order)(s, p, m);
        for action in &mut order {
            match *action {
                Forward(i) => kept.push(i),
                Backward(_) => *action = Backward(kept.pop().unwrap_or(0)),
            }
        }
        order
    }),
    wrong!("10.4", counts_micro_batches_up, "All backward passes are in descending order; they ascend.",
        one_f_one_b_order: |s, p, m| renumbered(&one_f_one_b((p - s - 1).min(m), m), |i, count| count - 1 - i)),
    wrong!("10.4", has_each_pass_once, "The backward pass of a turn has the number of its forward pass; it is that of an earlier micro-batch.",
    one_f_one_b_order: |s, p, m| {
        let warm_up = (p - s - 1).min(m);
        let mut order: Vec<Action> = (0..warm_up).map(Forward).collect();
        order.extend((warm_up..m).flat_map(|i| [Forward(i), Backward(i)]));
        order.extend((m - warm_up..m).map(Backward));
        order
    }),
    wrong!("10.4", has_each_pass_once, "The micro-batches are counted from 1; the first is 0.",
        one_f_one_b_order: |s, p, m| (REFERENCE.one_f_one_b_order)(s, p, m).into_iter().map(|a| match a {
            Forward(i) => Forward(i + 1),
            Backward(i) => Backward(i + 1),
        }).collect()),
    wrong!("10.4", has_each_pass_once, "The forward passes after the warm-up start at 0 again; they go on with the next micro-batch.",
    one_f_one_b_order: |s, p, m| {
        let warm_up = (p - s - 1).min(m);
        let mut order: Vec<Action> = (0..warm_up).map(Forward).collect();
        order.extend((0..m - warm_up).flat_map(|i| [Forward(i), Backward(i)]));
        order.extend((m - warm_up..m).map(Backward));
        order
    }),
    wrong!("10.4", needs_no_micro_batch, "Without micro-batches there is still one; the order must be empty.",
        one_f_one_b_order: |s, p, m| (REFERENCE.one_f_one_b_order)(s, p, m.max(1))),
];
