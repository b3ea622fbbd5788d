//! 10.3: GPipe's order.

use grader::{Check, Facts, Mistake, Verdict, mistakes, rows};

use crate::{
    Lesson10, REFERENCE, answers,
    order::{Shape, case, empty, kinds, shapes},
};

fn order(answer: &Lesson10, shape: Shape) -> Verdict {
    let case = case(shape);
    let [got, expected] = [answer, &REFERENCE].map(|lesson| {
        let order = (lesson.gpipe_order)(shape.0, shape.1, shape.2);
        Facts::default()
            .text("forward (F) and backward (B) passes", kinds(&order))
            .items("passes", order)
            .cause("Both kinds of passes count up: 0, 1, 2, …, each once.")
    });
    case.same(got, expected)
}

pub const CHECKS: &[Check<Lesson10>] = rows! { "10.3";
    by order {
        computes_all_forward_passes_first: "all forward passes, then all backward passes",
            "On each stage: one forward pass of every micro-batch, then one backward pass of every micro-batch." => shapes;
        is_empty_without_micro_batches: "all forward passes", "Without micro-batches there is no pass." => empty;
    }
};

pub const MISTAKES: &[Mistake<Lesson10>] = mistakes! { "10.3" gpipe_order;
    1 "Each backward pass follows its forward pass; GPipe computes all forward passes first.";
    2 "This is the order of 1F1B.";
    3 "The backward passes are in descending order; here they ascend.";
    4 "The micro-batches are counted from 1; the first is 0.";
    5 "A micro-batch is left out: the first is 0, the last is m − 1.";
    6 "The backward passes are missing.";
};
