//! 10.4: the 1F1B order.

use grader::{Check, Draw, Facts, Mistake, Verdict, mistakes, rows};

use crate::{
    Lesson10, REFERENCE, answers,
    order::{Shape, case, empty, kinds, shapes},
};

fn order(answer: &Lesson10, shape: Shape) -> Verdict {
    let (case, (stage, stages, m)) = (case(shape), shape);
    let [got, expected] = [answer, &REFERENCE].map(|lesson| {
        let order = (lesson.one_f_one_b_order)(stage, stages, m);
        let warm_up = (stages - stage - 1).min(m);
        let turns = warm_up + 2 * (m - warm_up);
        let part = |from, to| kinds(&order).chars().take(to).skip(from).collect::<String>();
        Facts::default()
            .text("F and B from the beginning to the first turn", part(0, warm_up + 1))
            .text("F and B after the warm-up", part(warm_up, turns))
            .cause("After the warm-up, one forward and one backward pass take turns until no forward pass is left.")
            .asked("in turns")
            .text("F and B at the end", part(turns, usize::MAX))
            .cause("At the end come the backward passes that are left, as many as the warm-up had forward passes.")
            .asked("The remaining backward passes")
            .items("passes", order)
            .cause("Both kinds of passes count up: 0, 1, 2, …, each once.")
            .asked("in ascending order")
    });
    case.same(got, expected)
}

/// With as many micro-batches as follow this stage, or fewer; or with more.
fn some(d: &mut Draw, few: bool) -> Vec<Shape> {
    let mut all = shapes(d);
    all.retain(|(stage, stages, m)| few == (m + stage < *stages));
    all
}

pub const CHECKS: &[Check<Lesson10>] = rows! { "10.4";
    by order {
        warms_up_for_the_stages_that_follow: "One forward pass for each stage that follows",
            "Begin with one forward pass for each stage that follows this one; then the first turn begins with one more." =>
            |d| some(d, false);
        warms_up_with_few_micro_batches: "at most `micro_batches`",
            "With fewer micro-batches than stages that follow, begin with the forward passes of all of them." => |d| some(d, true);
        is_empty_without_micro_batches: "at most `micro_batches`", "Without micro-batches there is no pass." => empty;
    }
};

pub const MISTAKES: &[Mistake<Lesson10>] = mistakes! { "10.4" one_f_one_b_order;
    1 "All forward passes come first: that is GPipe's order.";
    2 "There is no warm-up: each backward pass follows its forward pass, and the stages wait for each other.";
    3 "The warm-up is too long: it has one forward pass for each stage that follows this one, and no more.";
    4 "The warm-up counts the stages before this one; it is for those that follow.";
    5 "With few micro-batches the warm-up goes on beyond the last one: limit it to `micro_batches`.";
    6 "The backward passes that are left at the end are missing.";
    7 "The backward pass of a turn has the number of its forward pass; the oldest micro-batch is next.";
    8 "The backward passes are in descending order at the end; they ascend.";
};
