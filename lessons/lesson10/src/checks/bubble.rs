use canopy::split::Action::{self, Backward, Forward};
use grader::{Verdict, draw, given};

use crate::{
    Lesson10,
    simulate::{Pass, finish, name, simulate},
};

fn check(answer: &Lesson10, stages: usize, micro_batches: usize, expected: f64) -> Verdict {
    let case = given(format!("{stages} stages, {micro_batches} micro-batches"));
    case.close("bubble", (answer.bubble)(stages, micro_batches), expected)
}

pub fn divides_idle_by_computing_time(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    check(answer, 4, 12, 0.25)?;
    check(answer, 5, 32, 0.125)?;
    let stages = draw.whole(6, 40);
    check(answer, stages, 4 * (stages - 1), 0.25)?;
    check(answer, stages, 2 * (stages - 1), 0.5)
}

pub fn agrees_with_a_simulation(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    for (forward, backward) in [(1.0, 2.0), (1.0, 1.0)] {
        let (stages, m) = (draw.whole(3, 6), draw.whole(7, 12));
        let order: Vec<Action> = (0..m).map(Forward).chain((0..m).map(Backward)).collect();
        let passes = simulate(&vec![order; stages], forward, backward).unwrap_or_default();
        let computes = |stage: usize| -> f64 {
            let own = passes.iter().filter(|pass: &&Pass| pass.stage == stage);
            own.map(|pass| pass.end - pass.start).sum()
        };
        let expected = (finish(&passes) - computes(0)) / computes(0);
        check(answer, stages, m, expected)?;
    }
    Ok(())
}

pub fn is_zero_for_a_single_stage(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    check(answer, 1, 1, 0.0)?;
    check(answer, 1, draw.whole(2, 20), 0.0)
}

pub fn may_exceed_one(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    check(answer, 4, 1, 3.0)?;
    let m = draw.whole(2, 9);
    check(answer, 3 * m + 1, m, 3.0)
}

fn held(answer: &Lesson10, order: &[Action], expected: usize) -> Verdict {
    let text: Vec<String> = order.iter().map(|&action| name(action)).collect();
    let case = given(format!("order {}", text.join(" ")));
    case.close(
        "micro-batches kept at one time",
        (answer.activations_held)(order),
        expected,
    )
}

/// Warm-up of `warm_up`, then turns, then the rest.
fn order(warm_up: usize, micro_batches: usize) -> Vec<Action> {
    let mut order: Vec<Action> = (0..warm_up).map(Forward).collect();
    for i in warm_up..micro_batches {
        order.extend([Forward(i), Backward(i - warm_up)]);
    }
    order.extend((micro_batches - warm_up..micro_batches).map(Backward));
    order
}

pub fn counts_the_most_at_one_time(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    held(answer, &order(0, 4), 1)?;
    let warm_up = draw.whole(2, 4);
    held(answer, &order(warm_up, warm_up + 3), warm_up + 1)?;
    let m = draw.whole(3, 6);
    held(answer, &order(m, m), m)
}

pub fn counts_any_order(answer: &Lesson10) -> Verdict {
    // Micro-batches in any order; then two waves of different height.
    let high_first = [
        Forward(7),
        Forward(5),
        Forward(9),
        Backward(9),
        Backward(5),
        Backward(7),
        Forward(8),
        Backward(8),
    ];
    held(answer, &high_first, 3)?;
    let high_last = [
        Forward(0),
        Backward(0),
        Forward(1),
        Forward(2),
        Backward(2),
        Forward(3),
        Forward(4),
        Backward(4),
        Backward(3),
        Backward(1),
    ];
    held(answer, &high_last, 3)
}

pub fn counts_what_is_left(answer: &Lesson10) -> Verdict {
    held(answer, &[Forward(0)], 1)?;
    held(answer, &[Forward(0), Backward(0), Forward(1), Forward(2)], 2)?;
    held(answer, &[Forward(0), Forward(1), Backward(0)], 2)
}

pub fn keeps_none_of_an_empty_order(answer: &Lesson10) -> Verdict {
    held(answer, &[], 0)
}
