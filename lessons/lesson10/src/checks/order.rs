use canopy::split::Action;
use grader::{Case, Finding, Verdict, draw, given};

use crate::{
    Lesson10,
    simulate::{finish, name, simulate},
};

type Order = fn(usize, usize, usize) -> Vec<Action>;

fn case(stage: usize, stages: usize, micro_batches: usize) -> Case {
    given(format!(
        "stage {stage} of {stages}, {micro_batches} micro-batches"
    ))
}

/// Stages and micro-batches: more, as many, and fewer micro-batches than stages, and a single one of each.
fn shapes() -> Vec<(usize, usize)> {
    let mut draw = draw();
    let stages = draw.whole(2, 4);
    vec![
        (3, 6),
        (4, 4),
        (5, 2),
        (1, 3),
        (3, 1),
        (stages, stages + draw.whole(1, 4)),
    ]
}

/// Tests the order of each stage of some pipelines.
fn each(order: Order, test: impl Fn(&Case, &[Action], [usize; 3]) -> Verdict) -> Verdict {
    for (stages, micro_batches) in shapes() {
        for stage in 0..stages {
            let case = case(stage, stages, micro_batches);
            test(
                &case,
                &order(stage, stages, micro_batches),
                [stage, stages, micro_batches],
            )?;
        }
    }
    Ok(())
}

/// `FFBFB`.
fn kinds(order: &[Action]) -> String {
    let kind = |action: &Action| {
        if matches!(action, Action::Forward(_)) {
            'F'
        } else {
            'B'
        }
    };
    order.iter().map(kind).collect()
}

/// The micro-batches of the forward and of the backward passes.
fn numbers(order: &[Action]) -> [Vec<usize>; 2] {
    let mut lists = [Vec::new(), Vec::new()];
    for action in order {
        match *action {
            Action::Forward(i) => lists[0].push(i),
            Action::Backward(i) => lists[1].push(i),
        }
    }
    lists
}

fn ascending(case: &Case, order: &[Action]) -> Verdict {
    for (list, what) in numbers(order)
        .into_iter()
        .zip(["forward passes", "backward passes"])
    {
        let mut sorted = list.clone();
        sorted.sort_unstable();
        case.close(
            &format!("micro-batches of the {what}, with the same sorted"),
            &list,
            &sorted,
        )?;
    }
    Ok(())
}

fn once(case: &Case, order: &[Action], micro_batches: usize) -> Verdict {
    let all: Vec<usize> = (0..micro_batches).collect();
    for (mut list, what) in numbers(order)
        .into_iter()
        .zip(["forward passes", "backward passes"])
    {
        list.sort_unstable();
        case.close(&format!("micro-batches of the {what}, sorted"), &list, &all)?;
    }
    Ok(())
}

fn text(order: &[Action]) -> String {
    order.iter().map(|&a| name(a)).collect::<Vec<_>>().join(" ")
}

/// The length of an order, and a number for each of its passes.
fn codes(order: &[Action]) -> Vec<usize> {
    let code = |action: &Action| match *action {
        Action::Forward(i) => 2 * i,
        Action::Backward(i) => 2 * i + 1,
    };
    [order.len()].into_iter().chain(order.iter().map(code)).collect()
}

/// Simulates all stages, forward passes of 1 and backward passes of 2, and returns the time.
fn simulated(order: Order, stages: usize, micro_batches: usize) -> Result<f64, Finding> {
    let case = given(format!(
        "{stages} stages, {micro_batches} micro-batches; a forward pass takes 1, a backward pass 2"
    ));
    let orders: Vec<Vec<Action>> = (0..stages).map(|s| order(s, stages, micro_batches)).collect();
    match simulate(&orders, 1.0, 2.0) {
        Ok(passes) => Ok(finish(&passes)),
        // The whole orders tell the causes apart: many orders wait before the same pass.
        Err(stuck) => Err(match case.require("all stages finish", false, stuck) {
            Err(Finding::Wrong(mut wrong)) => {
                wrong.got = Some(
                    orders
                        .iter()
                        .flat_map(|order| codes(order))
                        .collect::<Vec<_>>()
                        .as_slice()
                        .into(),
                );
                Finding::Wrong(wrong)
            }
            other => other.expect_err("always a finding"),
        }),
    }
}

fn least_time(order: Order) -> Verdict {
    for (stages, micro_batches) in shapes() {
        let time = simulated(order, stages, micro_batches)?;
        let case = given(format!(
            "{stages} stages, {micro_batches} micro-batches; a forward pass takes 1, a backward pass 2"
        ));
        case.close(
            "time of all stages",
            time,
            3.0 * (micro_batches + stages - 1) as f64,
        )?;
    }
    Ok(())
}

pub fn computes_all_forward_passes_first(answer: &Lesson10) -> Verdict {
    each(answer.gpipe_order, |case, order, [.., m]| {
        let expected = "F".repeat(m) + &"B".repeat(m);
        case.equal("forward (F) and backward (B) passes", kinds(order), expected)
    })
}

pub fn keeps_micro_batches_in_order(answer: &Lesson10) -> Verdict {
    each(answer.gpipe_order, |case, order, _| ascending(case, order))
}

pub fn computes_each_pass_once(answer: &Lesson10) -> Verdict {
    each(answer.gpipe_order, |case, order, [.., m]| once(case, order, m))
}

pub fn runs_to_its_end(answer: &Lesson10) -> Verdict {
    each(answer.gpipe_order, |case, order, [_, stages, m]| {
        let first = text(&(answer.gpipe_order)(0, stages, m));
        case.equal("order, as that of stage 0", text(order), first)
    })?;
    least_time(answer.gpipe_order)
}

pub fn is_empty_without_micro_batches(answer: &Lesson10) -> Verdict {
    empty(answer.gpipe_order)
}

fn empty(order: Order) -> Verdict {
    for (stage, stages) in [(0, 1), (0, 3), (2, 3)] {
        case(stage, stages, 0).equal("order", text(&order(stage, stages, 0)), String::new())?;
    }
    Ok(())
}

/// Tests the forward passes before the first backward pass, if there are enough micro-batches or if there are not.
fn warm_up(answer: &Lesson10, few: bool) -> Verdict {
    each(answer.one_f_one_b_order, |case, order, [stage, stages, m]| {
        let follow = stages - stage - 1;
        if (m <= follow) != few {
            return Ok(());
        }
        let begin = kinds(order).chars().take_while(|&kind| kind == 'F').count();
        // The first of those that take turns is a forward pass, too.
        let expected = if few { m } else { follow + 1 };
        case.close("forward passes before the first backward pass", begin, expected)
    })
}

pub fn warms_up_for_the_stages_that_follow(answer: &Lesson10) -> Verdict {
    warm_up(answer, false)
}

pub fn warms_up_with_few_micro_batches(answer: &Lesson10) -> Verdict {
    warm_up(answer, true)
}

/// Warm-up, turns, rest.
fn parts([stage, stages, m]: [usize; 3]) -> [String; 3] {
    let warm_up = (stages - stage - 1).min(m);
    ["F".repeat(warm_up), "FB".repeat(m - warm_up), "B".repeat(warm_up)]
}

pub fn takes_turns(answer: &Lesson10) -> Verdict {
    each(answer.one_f_one_b_order, |case, order, shape| {
        let [warm_up, turns, _] = parts(shape);
        let got: String = kinds(order)
            .chars()
            .skip(warm_up.len())
            .take(turns.len())
            .collect();
        case.equal("F and B after the warm-up", got, turns)
    })
}

pub fn finishes_with_backward_passes(answer: &Lesson10) -> Verdict {
    each(answer.one_f_one_b_order, |case, order, shape| {
        let [warm_up, turns, rest] = parts(shape);
        let got: String = kinds(order).chars().skip(warm_up.len() + turns.len()).collect();
        case.equal("F and B at the end", got, rest)
    })
}

pub fn counts_micro_batches_up(answer: &Lesson10) -> Verdict {
    each(answer.one_f_one_b_order, |case, order, _| ascending(case, order))
}

pub fn has_each_pass_once(answer: &Lesson10) -> Verdict {
    each(answer.one_f_one_b_order, |case, order, [.., m]| {
        once(case, order, m)
    })
}

pub fn holds_few_activations(answer: &Lesson10) -> Verdict {
    each(answer.one_f_one_b_order, |case, order, [stage, stages, m]| {
        let mut held = 0;
        let mut most = 0_i64;
        for kind in kinds(order).chars() {
            held += if kind == 'F' { 1 } else { -1 };
            most = most.max(held);
        }
        let expected = m.min(stages - stage) as i64;
        case.require(
            "micro-batches whose activations are kept at one time",
            most <= expected,
            format!("{most}, expected at most {expected}"),
        )
    })
}

pub fn takes_the_least_time(answer: &Lesson10) -> Verdict {
    least_time(answer.one_f_one_b_order)
}

pub fn needs_no_micro_batch(answer: &Lesson10) -> Verdict {
    empty(answer.one_f_one_b_order)
}
