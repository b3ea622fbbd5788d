//! Known wrong answers to exercise 10.3.

use super::*;

pub const MISTAKES: &[Mistake<Lesson10>] = &[
    wrong!("10.3", computes_all_forward_passes_first, "Each backward pass follows its forward pass; GPipe computes all forward passes first.",
        gpipe_order: |_, _, m| (0..m).flat_map(|i| [Forward(i), Backward(i)]).collect()),
    wrong!("10.3", computes_all_forward_passes_first, "This is the order of 1F1B.",
        gpipe_order: |s, p, m| (REFERENCE.one_f_one_b_order)(s, p, m)),
    wrong!("10.3", computes_all_forward_passes_first, "The last stage has another order: on all stages, all forward passes come first.",
    gpipe_order: |s, p, m| match s + 1 == p {
        true => one_f_one_b(0, m),
        false => (REFERENCE.gpipe_order)(s, p, m),
    }),
    wrong!("10.3", computes_all_forward_passes_first, "The backward passes of a group of `stages` micro-batches come before the next forward passes; all forward passes come first.",
    gpipe_order: |_, p, m| {
        let group = |first: usize| {
            let end = m.min(first + p);
            (first..end).map(Forward).chain((first..end).map(Backward))
        };
        (0..m).step_by(p).flat_map(group).collect()
    }),
    wrong!("10.3", computes_all_forward_passes_first, "The last micro-batch has no backward pass.",
    gpipe_order: |s, p, m| {
        let mut order = (REFERENCE.gpipe_order)(s, p, m);
        order.pop();
        order
    }),
    wrong!("10.3", keeps_micro_batches_in_order, "The backward passes begin with the last micro-batch; they begin with 0.",
    gpipe_order: |s, p, m| {
        let mut order = (REFERENCE.gpipe_order)(s, p, m);
        if m > 0 {
            order[m..].rotate_right(1);
        }
        order
    }),
    wrong!("10.3", computes_all_forward_passes_first, "The backward passes come before the forward passes.",
        gpipe_order: |_, _, m| (0..m).map(Backward).chain((0..m).map(Forward)).collect()),
    wrong!("10.3", computes_all_forward_passes_first, "The backward passes are missing.",
        gpipe_order: |_, _, m| (0..m).map(Forward).collect()),
    wrong!("10.3", keeps_micro_batches_in_order, "The backward passes are in descending order; here they ascend.",
        gpipe_order: |_, _, m| (0..m).map(Forward).chain((0..m).rev().map(Backward)).collect()),
    wrong!("10.3", keeps_micro_batches_in_order, "The forward passes are in descending order; they ascend.",
        gpipe_order: |_, _, m| (0..m).rev().map(Forward).chain((0..m).map(Backward)).collect()),
    wrong!("10.3", computes_each_pass_once, "The micro-batches are counted from 1; the first is 0.",
        gpipe_order: |_, _, m| (1..=m).map(Forward).chain((1..=m).map(Backward)).collect()),
    wrong!("10.3", computes_each_pass_once, "The last micro-batch is left out.",
        gpipe_order: |s, p, m| (REFERENCE.gpipe_order)(s, p, m.saturating_sub(1))),
    wrong!("10.3", computes_each_pass_once, "The first micro-batch is left out; its number is 0.",
        gpipe_order: |_, _, m| (1..m).map(Forward).chain((1..m).map(Backward)).collect()),
    wrong!("10.3", computes_each_pass_once, "There is a micro-batch too many.",
        gpipe_order: |s, p, m| (REFERENCE.gpipe_order)(s, p, m + 1)),
    wrong!("10.3", computes_each_pass_once, "There is a pass for each stage instead of one for each micro-batch.",
        gpipe_order: |s, p, _| (REFERENCE.gpipe_order)(s, p, p)),
    wrong!("10.3", runs_to_its_end, "Every other stage computes the backward passes in descending order, so that the stages wait for each other for ever.",
    gpipe_order: |s, p, m| {
        let mut order = (REFERENCE.gpipe_order)(s, p, m);
        if s % 2 == 1 {
            order[m..].reverse();
        }
        order
    }),
    wrong!("10.3", is_empty_without_micro_batches, "Without micro-batches there is still one; the order must be empty.",
        gpipe_order: |s, p, m| (REFERENCE.gpipe_order)(s, p, m.max(1))),
    wrong!("10.3", is_empty_without_micro_batches, "`micro_batches - 1` underflows if there is none: use `0..micro_batches`.",
    gpipe_order: |s, p, m| {
        assert!(m > 0, "attempt to subtract with overflow");
        (REFERENCE.gpipe_order)(s, p, m)
    }),
];
