//! 10.4: the 1F1B order.

use grader::{Check, Draw, Mistake, Verdict, mistakes, rows};

use crate::{
    Lesson10, REFERENCE, answers,
    order::{Shape, case, empty, kinds, same_numbers, shapes},
};

/// The passes before the first backward pass, then the turns of a forward and a backward pass, then the rest.
fn parts(lesson: &Lesson10, (stage, stages, m): Shape) -> [String; 3] {
    let all = kinds(&(lesson.one_f_one_b_order)(stage, stages, m));
    let warm_up = (stages - stage - 1).min(m);
    let turns = warm_up + 2 * (m - warm_up);
    let part = |from: usize, to: usize| all.chars().take(to).skip(from).collect();
    [
        part(0, warm_up + 1),
        part(warm_up, turns),
        part(turns, usize::MAX),
    ]
}

fn part<const PART: usize>(answer: &Lesson10, shape: Shape) -> Verdict {
    let case = case(shape);
    let [got, expected] = [answer, &REFERENCE].map(|lesson| parts(lesson, shape)[PART].clone());
    let what = [
        "from the beginning to the first turn",
        "after the warm-up",
        "at the end",
    ][PART];
    case.equal(&format!("F and B {what}"), got, expected)
}

fn numbers(answer: &Lesson10, shape: Shape) -> Verdict {
    case(shape);
    same_numbers(
        shape,
        [answer, &REFERENCE].map(|l| (l.one_f_one_b_order)(shape.0, shape.1, shape.2)),
    )
}

/// With as many micro-batches as follow this stage, or fewer; or with more.
fn some(d: &mut Draw, few: bool) -> Vec<Shape> {
    let mut all = shapes(d);
    all.retain(|(stage, stages, m)| few == (m + stage < *stages));
    all
}

pub const CHECKS: &[Check<Lesson10>] = rows! { "10.4";
    by part::<0> {
        warms_up_for_the_stages_that_follow: "one forward pass for each stage that follows",
            "Begin with one forward pass for each stage that follows this one; then the first turn begins with one more." =>
            |d| some(d, false);
        warms_up_with_few_micro_batches: "fewer micro-batches than that",
            "With fewer micro-batches than stages that follow, begin with the forward passes of all of them." => |d| some(d, true);
    }
    by part::<1> {
        takes_turns: "take turns", "After the warm-up, one forward and one backward pass take turns until no forward pass is left." =>
            shapes;
    }
    by part::<2> {
        finishes_with_backward_passes: "the backward passes that are left",
            "At the end come the backward passes that are left, as many as the warm-up had forward passes." => shapes;
    }
    by numbers {
        counts_micro_batches_up: "in ascending order", "Forward passes count up, and so do backward passes: 0, 1, 2, …, each once." =>
            shapes;
        needs_no_micro_batch: "the order is empty", "Without micro-batches there is no pass." => empty;
    }
};

pub const MISTAKES: &[Mistake<Lesson10>] = mistakes! { "10.4" one_f_one_b_order;
    1 "All forward passes come first: that is GPipe's order.";
    2 "There is no warm-up: each backward pass follows its forward pass, and the stages wait for each other.";
    3 "The warm-up counts this stage, too: one forward pass for each stage that follows is enough.";
    4 "The warm-up counts the stages before this one; it is for those that follow.";
    5 "With few micro-batches the warm-up goes on beyond the last one: limit it to `micro_batches`.";
    6 "The backward passes that are left at the end are missing.";
    7 "The backward pass of a turn has the number of its forward pass; the oldest micro-batch is next.";
    8 "The backward passes are in descending order at the end; they ascend.";
};
