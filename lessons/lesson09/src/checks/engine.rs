use anyhow::bail;
use grader::{Verdict, draw, given};
use kit::{End, Operation, broken, ok, on_ranks, refused};

use super::{
    all_finish, calls_are,
    engine_run::{Run, recorder, state},
    lists, values,
};
use crate::Lesson09;

/// One rank, one micro-batch a step. A stub panics here, on the thread of the check.
fn alone(answer: &Lesson09) -> Verdict {
    Run::new(1, 3, 1, 1).on_ranks(answer);
    Ok(())
}

pub fn averages_over_the_step(answer: &Lesson09) -> Verdict {
    let mut draw = draw();
    for accumulation in [1, 3, draw.whole(4, 6)] {
        let length = draw.whole(2, 5);
        let micro = lists(&mut draw, accumulation, length);
        let mut state = state(accumulation, recorder(8.0).0, 0.0);
        for (i, gradients) in micro.iter().enumerate() {
            let case = given(format!(
                "accumulation {accumulation}, {length} gradients, micro-batch {} of the step",
                i + 1
            ))
            .at_scale(1.0);
            ok(
                "engine_backward",
                "result",
                (answer.engine_backward)(&mut state, gradients),
            )?;
            let so_far = |g: usize| {
                let sum: f64 = micro[..=i].iter().map(|m| f64::from(m[g])).sum();
                sum / accumulation as f64
            };
            let expected: Vec<f64> = (0..length).map(so_far).collect();
            case.close("state.gradients", &state.gradients, values(&expected))?;
            case.close("state.micro_batches", state.micro_batches, i + 1)?;
        }
    }
    Ok(())
}

pub fn waits_until_the_step_is_complete(answer: &Lesson09) -> Verdict {
    alone(answer)?;
    // One step, then two: a first step that is not taken is not told by the micro-batch after it.
    for (world, steps) in [(1, 1), (2, 1), (1, 2), (2, 2), (3, 2)] {
        let run = Run::new(world, 2 * world, 3, steps);
        let input = run.input();
        let case = given(&input);
        let ran = run.on_ranks(answer);
        all_finish(&input, &ran)?;
        for (rank, all) in ran.ranks.iter().flatten().enumerate() {
            for (i, after) in all.iter().enumerate() {
                let expected = if i % 3 == 2 { "Taken" } else { "Accumulating" };
                let what = format!("outcome after micro-batch {} on rank {rank}", i + 1);
                case.equal(&what, after.name(), expected)?;
                let what = format!("calls of update after micro-batch {} on rank {rank}", i + 1);
                case.close(&what, after.updates, (i + 1) / 3)?;
            }
        }
    }
    // Only the first micro-batches of a step: nothing may be sent.
    let mut run = Run::new(2, 4, 3, 1);
    run.micro.truncate(2);
    let input = run.input();
    given(&input);
    let ran = run.on_ranks(answer);
    all_finish(&input, &ran)?;
    calls_are(&input, &ran, &[])
}

/// Trainings without clipping, the first on one rank, on whose thread a stub panics.
fn unclipped() -> Vec<Run> {
    let mut runs = vec![Run::new(1, 3, 1, 1)];
    for (world, length) in [(2, 6), (3, 7), (4, 10), (4, 3)] {
        runs.push(Run::new(world, length, 1, 1));
        runs.push(Run {
            scale: 65536.0,
            ..Run::new(world, length, 2, 1)
        });
    }
    runs
}

/// Trainings that are clipped at 0.25, and others at 100, which clips nothing. Nearly all of the first norm is on the last rank.
fn clipped() -> Vec<Run> {
    let of = |world: usize, length: usize, clip: f64| {
        let run = Run {
            clip,
            ..Run::new(world, length, 1, 2)
        };
        run.with(0, 0, length - 1, 9.0)
    };
    let shapes = [(1, 4), (2, 6), (3, 7), (4, 12)];
    shapes
        .iter()
        .flat_map(|&(world, length)| [0.25, 100.0].map(|clip| of(world, length, clip)))
        .collect()
}

pub fn steps_by_the_unscaled_mean(answer: &Lesson09) -> Verdict {
    unclipped().iter().try_for_each(|run| run.check(answer))
}

pub fn clips_by_the_norm_of_all_gradients(answer: &Lesson09) -> Verdict {
    alone(answer)?;
    clipped().iter().try_for_each(|run| run.check(answer))
}

pub fn returns_the_norm_before_clipping(answer: &Lesson09) -> Verdict {
    let runs = [unclipped(), clipped()].concat();
    runs.iter().try_for_each(|run| run.check_norm(answer))
}

pub fn skips_on_every_rank(answer: &Lesson09) -> Verdict {
    alone(answer)?;
    let mut draw = draw();
    for value in [f32::INFINITY, f32::NAN, f32::NEG_INFINITY] {
        for world in [1, 2, 3] {
            let length = 3 * world;
            let (rank, at) = (draw.whole(0, world - 1), draw.whole(0, length - 1));
            let run = Run::new(world, length, 1, 2).with(0, rank, at, value);
            let input = run.input();
            run.check(answer)?;
            let case = given(format!("{input}; gradient {at} of rank {rank} is {value}"));
            let ran = run.on_ranks(answer);
            all_finish(&input, &ran)?;
            for (rank, all) in ran.ranks.iter().flatten().enumerate() {
                let what = format!("calls of update on rank {rank} in the skipped step");
                case.close(&what, all[0].updates, 0usize)?;
            }
        }
    }
    // Infinities of both signs: their sum is NaN.
    let run = Run::new(2, 4, 1, 1).with(0, 0, 1, f32::INFINITY);
    run.with(0, 1, 1, f32::NEG_INFINITY).check(answer)
}

pub fn updates_the_scale_once(answer: &Lesson09) -> Verdict {
    alone(answer)?;
    for world in [1, 2, 3] {
        let run = Run::new(world, 2 * world, 2, 3).with(2, 0, 0, f32::INFINITY);
        let input = run.input();
        let case = given(format!("{input}; the second step overflows"));
        let ran = run.on_ranks(answer);
        all_finish(&input, &ran)?;
        for all in ran.ranks.iter().flatten() {
            let updates: Vec<Vec<bool>> = all.iter().map(|a| a.scale_updates.clone()).collect();
            let expected = [
                &[][..],
                &[false],
                &[false],
                &[false, true],
                &[false, true],
                &[false, true, false],
            ];
            for (i, (got, expected)) in updates.iter().zip(expected).enumerate() {
                let what = format!("scaler.update(…) calls after micro-batch {}", i + 1);
                case.equal(&what, got.as_slice(), expected)?;
            }
        }
    }
    Ok(())
}

pub fn starts_the_next_step_empty(answer: &Lesson09) -> Verdict {
    alone(answer)?;
    for world in [1, 2, 3] {
        let run = Run::new(world, 2 * world, 2, 3).with(2, 0, 0, f32::NAN);
        run.check(answer)?;
        let input = run.input();
        let case = given(&input);
        let ran = run.on_ranks(answer);
        all_finish(&input, &ran)?;
        for (rank, all) in ran.ranks.iter().flatten().enumerate() {
            for (i, after) in all.iter().enumerate().filter(|(i, _)| i % 2 == 1) {
                let what = format!(
                    "gradients, micro-batches left after micro-batch {} on rank {rank}",
                    i + 1
                );
                case.close(&what, &after.left.to_vec(), &vec![0usize, 0])?;
            }
        }
    }
    Ok(())
}

pub fn sends_little_more_than_stage_2(answer: &Lesson09) -> Verdict {
    alone(answer)?;
    let mut draw = draw();
    for world in [2, 3, 4] {
        let length = world * draw.whole(3, 6);
        for overflow in [false, true] {
            let mut run = Run::new(world, length, 2, 1);
            run.clip = 1.0;
            let run = if overflow {
                run.with(0, 0, 0, f32::NAN)
            } else {
                run
            };
            let input = run.input();
            let case = given(&input);
            let ran = run.on_ranks(answer);
            all_finish(&input, &ran)?;
            let agreed = ran.lengths(Operation::AllReduce);
            let least = agreed.first().copied().unwrap_or(1);
            case.require(
                "numbers in the all-reduce",
                (1..=2).contains(&least),
                format!("{least}, expected 1 or 2"),
            )?;
            let mut expected = vec![(Operation::ReduceScatter, length), (Operation::AllReduce, least)];
            if !overflow {
                expected.push((Operation::AllGather, length));
            }
            calls_are(&input, &ran, &expected)?;
        }
    }
    Ok(())
}

pub fn rejects_gradients_that_do_not_fit(answer: &Lesson09) -> Verdict {
    let backward = answer.engine_backward;
    let mut full = state(2, recorder(8.0).0, 0.0);
    let input = "accumulation 2, a third micro-batch without engine_step";
    given(input);
    for _ in 0..2 {
        ok(input, "result of the first two", backward(&mut full, &[1.0, 2.0]))?;
    }
    if backward(&mut full, &[1.0, 2.0]).is_ok() {
        refused(input, "result of the third", "Ok, expected an error")?;
    }
    for other in [&[1.0, 2.0, 3.0][..], &[1.0]] {
        let mut begun = state(2, recorder(8.0).0, 0.0);
        let input = format!("2 gradients, then {} in the same step", other.len());
        given(&input);
        ok(&input, "result of the first", backward(&mut begun, &[1.0, 2.0]))?;
        if backward(&mut begun, other).is_ok() {
            refused(&input, "result of the second", "Ok, expected an error")?;
        }
    }
    Ok(())
}

pub fn passes_on_errors_of_the_step(answer: &Lesson09) -> Verdict {
    let (backward, step) = (answer.engine_backward, answer.engine_step);
    let input = "rank 0 of 2, 4 parameters; reduce_scatter returns an error";
    given(input);
    let mut alone = state(1, recorder(8.0).0, 0.0);
    ok(input, "engine_backward", backward(&mut alone, &[1.0; 4]))?;
    if step(&mut alone, &broken(), &mut [1.0; 4], &mut |_, _| Ok(())).is_ok() {
        refused(input, "result", "Ok, expected the error")?;
    }
    for (fails, input) in [
        ("update", "1 rank, 4 parameters; update returns an error"),
        ("scaler", "1 rank, 4 parameters; scaler.update returns an error"),
    ] {
        given(input);
        let ran = on_ranks(1, move |end: &End| {
            let (mut scaler, _) = recorder(8.0);
            scaler.fails = fails == "scaler";
            let mut state = state(1, scaler, 0.0);
            backward(&mut state, &[1.0; 4])?;
            let update = &mut |_: &mut [f32], _: &[f32]| {
                if fails == "update" {
                    bail!("the optimizer's error");
                }
                Ok(())
            };
            Ok(step(&mut state, end, &mut [1.0; 4], update).is_ok())
        });
        if matches!(ran.ranks[0], Ok(true)) {
            refused(input, "result", "Ok, expected the error")?;
        }
    }
    Ok(())
}
