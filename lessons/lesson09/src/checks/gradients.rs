use canopy::parallel::{Link, chunk};
use grader::{Verdict, draw, given};
use kit::{End, Operation, Ran, broken, on_ranks, refused};

use super::{all_finish, calls_are, lists, mean, ranks, values};
use crate::Lesson09;

/// Each rank's result, and the room that its list has.
fn run(answer: &Lesson09, all: &[Vec<f32>]) -> Ran<(Vec<f32>, usize)> {
    let (answer, all) = (*answer, all.to_vec());
    on_ranks(all.len(), move |end: &End| {
        let got = (answer.reduce_gradients)(end, all[Link::rank(end)].clone())?;
        let capacity = got.capacity();
        Ok((got, capacity))
    })
}

fn input(world: usize, length: usize) -> String {
    format!("{}, {length} gradients", ranks(world))
}

fn check(answer: &Lesson09, all: &[Vec<f32>]) -> Verdict {
    let (world, length) = (all.len(), all[0].len());
    let input = input(world, length);
    let case = given(&input).at_scale(1.0);
    let ran = run(answer, all);
    all_finish(&input, &ran)?;
    let mean = mean(all);
    for (rank, (got, _)) in ran.ranks.iter().flatten().enumerate() {
        let own = chunk(length, rank, world);
        case.close(&format!("result of rank {rank}"), got, values(&mean[own]))?;
    }
    Ok(())
}

/// One rank alone has the gradients as they are. A stub panics here, on the thread of the check.
fn alone(answer: &Lesson09) -> Verdict {
    check(answer, &[vec![0.5, -2.0, 4.0]])
}

pub fn returns_its_chunk_of_the_mean(answer: &Lesson09) -> Verdict {
    alone(answer)?;
    let mut draw = draw();
    for world in [3, 2, draw.whole(4, 9)] {
        let length = world * draw.whole(2, 5);
        check(answer, &lists(&mut draw, world, length))?;
    }
    Ok(())
}

pub fn sends_only_a_reduce_scatter(answer: &Lesson09) -> Verdict {
    alone(answer)?;
    let mut draw = draw();
    for world in [2, 3, 4] {
        let length = draw.whole(8, 30);
        let input = input(world, length);
        given(&input);
        let ran = run(answer, &lists(&mut draw, world, length));
        all_finish(&input, &ran)?;
        calls_are(&input, &ran, &[(Operation::ReduceScatter, length)])?;
    }
    Ok(())
}

pub fn frees_the_whole_list(answer: &Lesson09) -> Verdict {
    alone(answer)?;
    let mut draw = draw();
    let world = 4;
    let length = world * draw.whole(250, 400);
    let all = lists(&mut draw, world, length);
    check(answer, &all)?;
    let input = input(world, length);
    let case = given(&input);
    let ran = run(answer, &all);
    all_finish(&input, &ran)?;
    for (rank, (got, capacity)) in ran.ranks.iter().flatten().enumerate() {
        case.require(
            &format!("room in the list of rank {rank}"),
            *capacity <= 2 * got.len(),
            format!("room for {capacity} numbers, {} are used", got.len()),
        )?;
    }
    Ok(())
}

pub fn accepts_uneven_and_empty_chunks(answer: &Lesson09) -> Verdict {
    alone(answer)?;
    let mut draw = draw();
    for (world, length) in [(2, 5), (3, 7), (4, 10), (4, 3), (3, 1), (2, 0)] {
        check(answer, &lists(&mut draw, world, length))?;
    }
    Ok(())
}

pub fn passes_on_the_error(answer: &Lesson09) -> Verdict {
    let input = "rank 0 of 2, gradients [1, 2, 3, 4]; reduce_scatter returns an error";
    given(input);
    match (answer.reduce_gradients)(&broken(), vec![1.0, 2.0, 3.0, 4.0]) {
        Ok(_) => refused(input, "result", "Ok, expected the error"),
        Err(_) => Ok(()),
    }
}
