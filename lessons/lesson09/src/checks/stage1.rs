use anyhow::{Result, bail};
use canopy::parallel::{Link, chunk};
use grader::{Verdict, draw, given};
use kit::{End, Operation, Ran, broken, on_ranks, refused};

use super::{all_finish, calls_are, lists, mean, ranks, values};
use crate::Lesson09;

/// What a rank has after its steps, and what its optimizer was given.
#[derive(Clone, Default)]
struct Stepped {
    params: Vec<f32>,
    gradients: Vec<f32>,
    /// Parameters and gradients of each call of `update`.
    updates: Vec<(Vec<f32>, Vec<f32>)>,
}

/// One step for each list of gradients in `steps[step][rank]`, by SGD with momentum 0.5 and a learning rate of 0.25.
fn run(answer: &Lesson09, params: &[f32], steps: Vec<Vec<Vec<f32>>>) -> Ran<Stepped> {
    let (answer, params, world) = (*answer, params.to_vec(), steps[0].len());
    on_ranks(world, move |end: &End| {
        let mut after = Stepped {
            params: params.clone(),
            ..Stepped::default()
        };
        let (mut velocity, mut updates) = (Vec::new(), Vec::new());
        for step in &steps {
            after.gradients = step[Link::rank(end)].clone();
            (answer.stage1_step)(end, &mut after.params, &mut after.gradients, &mut |p, g| {
                updates.push((p.to_vec(), g.to_vec()));
                momentum(&mut velocity, p, g)
            })?;
        }
        after.updates = updates;
        Ok(after)
    })
}

fn momentum(velocity: &mut Vec<f32>, params: &mut [f32], gradients: &[f32]) -> Result<()> {
    velocity.resize(gradients.len(), 0.0);
    for ((v, p), g) in velocity.iter_mut().zip(params).zip(gradients) {
        *v = 0.5 * *v + g;
        *p -= 0.25 * *v;
    }
    Ok(())
}

/// The parameters after the same steps without sharding, in f64.
fn expected(params: &[f32], steps: &[Vec<Vec<f32>>]) -> Vec<f64> {
    let mut params: Vec<f64> = params.iter().map(|&p| p.into()).collect();
    let mut velocity = vec![0.0; params.len()];
    for step in steps {
        for ((v, p), g) in velocity.iter_mut().zip(&mut params).zip(mean(step)) {
            *v = 0.5 * *v + g;
            *p -= 0.25 * *v;
        }
    }
    params
}

fn input(world: usize, length: usize, steps: usize) -> String {
    format!("{}, {length} parameters, steps: {steps}", ranks(world))
}

/// Tests the parameters on all ranks after `steps` steps.
fn check(answer: &Lesson09, world: usize, length: usize, steps: usize) -> Verdict {
    let mut draw = draw();
    let params = draw.list(length, -1.0, 1.0);
    let steps: Vec<_> = (0..steps).map(|_| lists(&mut draw, world, length)).collect();
    let input = input(world, length, steps.len());
    let case = given(&input).at_scale(1.0);
    let expected = expected(&params, &steps);
    let ran = run(answer, &params, steps.clone());
    all_finish(&input, &ran)?;
    for (rank, after) in ran.ranks.iter().flatten().enumerate() {
        case.close(
            &format!("params of rank {rank}"),
            &after.params,
            values(&expected),
        )?;
    }
    for (rank, after) in ran.ranks.iter().flatten().enumerate() {
        let mean = mean(&steps[steps.len() - 1]);
        case.close(
            &format!("gradients of rank {rank}"),
            &after.gradients,
            values(&mean),
        )?;
    }
    Ok(())
}

pub fn steps_by_the_mean_gradient(answer: &Lesson09) -> Verdict {
    check(answer, 1, 3, 1)?;
    let each = draw().whole(2, 5);
    check(answer, 2, 2 * each, 1)?;
    check(answer, 3, 3 * each, 1)
}

pub fn updates_only_its_own_part(answer: &Lesson09) -> Verdict {
    check(answer, 1, 3, 1)?;
    let mut draw = draw();
    for world in [2, 3, 4] {
        let length = world * draw.whole(2, 4);
        let params = draw.list(length, -1.0, 1.0);
        let steps = vec![lists(&mut draw, world, length)];
        let input = input(world, length, 1);
        let case = given(&input).at_scale(1.0);
        let mean = mean(&steps[0]);
        let ran = run(answer, &params, steps);
        all_finish(&input, &ran)?;
        for (rank, after) in ran.ranks.iter().flatten().enumerate() {
            let part = chunk(length, rank, world);
            case.close("calls of update on a rank", after.updates.len(), 1usize)?;
            let (own_params, own_gradients) = &after.updates[0];
            let what = format!("params given to update on rank {rank}");
            case.close(&what, own_params, &params[part.clone()].to_vec())?;
            let what = format!("gradients given to update on rank {rank}");
            case.close(&what, own_gradients, values(&mean[part]))?;
        }
    }
    Ok(())
}

pub fn keeps_optimizer_state_by_part(answer: &Lesson09) -> Verdict {
    check(answer, 1, 3, 2)?;
    check(answer, 2, 6, 2)?;
    check(answer, 4, 11, 3)
}

pub fn leaves_all_ranks_equal(answer: &Lesson09) -> Verdict {
    check(answer, 1, 3, 1)?;
    let mut draw = draw();
    let (world, length) = (draw.whole(2, 4), draw.whole(9, 20));
    let params = draw.list(length, -1.0, 1.0);
    let steps: Vec<_> = (0..3).map(|_| lists(&mut draw, world, length)).collect();
    let input = input(world, length, 3);
    let case = given(&input);
    let ran = run(answer, &params, steps);
    all_finish(&input, &ran)?;
    let all: Vec<&Stepped> = ran.ranks.iter().flatten().collect();
    for (rank, after) in all.iter().enumerate().skip(1) {
        let bits = |s: &Stepped| s.params.iter().map(|p| p.to_bits()).collect::<Vec<u32>>();
        case.require(
            "params, bit-identical to rank 0's",
            bits(after) == bits(all[0]),
            format!("other bits on rank {rank}"),
        )?;
    }
    Ok(())
}

pub fn sends_one_all_reduce_and_one_all_gather(answer: &Lesson09) -> Verdict {
    check(answer, 1, 3, 1)?;
    let mut draw = draw();
    for world in [2, 3, 4] {
        let length = draw.whole(5, 20);
        let steps = vec![lists(&mut draw, world, length)];
        let input = input(world, length, 1);
        given(&input);
        let ran = run(answer, &vec![0.5; length], steps);
        all_finish(&input, &ran)?;
        let expected = [(Operation::AllReduce, length), (Operation::AllGather, length)];
        calls_are(&input, &ran, &expected)?;
    }
    Ok(())
}

pub fn accepts_uneven_and_empty_parts(answer: &Lesson09) -> Verdict {
    check(answer, 1, 3, 1)?;
    for (world, length) in [(2, 5), (3, 7), (4, 10), (4, 3), (3, 1), (2, 0)] {
        check(answer, world, length, 1)?;
    }
    Ok(())
}

pub fn passes_on_errors(answer: &Lesson09) -> Verdict {
    let input = "rank 0 of 2, 4 parameters; all_reduce returns an error";
    given(input);
    let mut gradients = [1.0; 4];
    let end = broken();
    if (answer.stage1_step)(&end, &mut [1.0; 4], &mut gradients, &mut |_, _| Ok(())).is_ok() {
        refused(input, "result", "Ok, expected the error")?;
    }
    let input = "1 rank, 4 parameters; update returns an error";
    given(input);
    let answer = *answer;
    let ran = on_ranks(1, move |end: &End| {
        let (mut params, mut gradients) = (vec![1.0; 4], vec![1.0; 4]);
        let update = &mut |_: &mut [f32], _: &[f32]| bail!("the optimizer's error");
        Ok((answer.stage1_step)(end, &mut params, &mut gradients, update).is_ok())
    });
    match ran.ranks[0] {
        Ok(true) => refused(input, "result", "Ok, expected the error"),
        _ => Ok(()),
    }
}
