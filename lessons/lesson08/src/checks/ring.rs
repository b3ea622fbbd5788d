use anyhow::Result;
use canopy::parallel::{Link, chunk};
use grader::{Case, Draw, Values, Verdict, draw, given};

use crate::{
    Lesson08,
    recorded_group::{Ran, on_ranks},
};

/// Numbers of each rank.
fn numbers(draw: &mut Draw, world: usize, length: usize) -> Vec<Vec<f32>> {
    (0..world).map(|_| draw.list(length, -9.0, 9.0)).collect()
}

/// Their sums, in f64.
fn sums(data: &[Vec<f32>]) -> Vec<f64> {
    let of = |i: usize| data.iter().map(|rank| f64::from(rank[i])).sum();
    (0..data[0].len()).map(of).collect()
}

fn values(numbers: &[f64]) -> Values {
    Values::tensor(numbers.to_vec(), &[numbers.len()], "f32")
}

/// One rank has nothing to do. A stub panics here, on the thread of the check.
fn alone(answer: &Lesson08, both: [bool; 2]) -> Verdict {
    let case = given("one rank alone, data [2, -3]");
    let run = ring(*answer, both, vec![vec![2.0, -3.0]]);
    run.all_well(&case)?;
    case.close(
        "data",
        run.ranks[0].as_deref().unwrap_or_default(),
        [2.0f32, -3.0].as_slice(),
    )
}

/// The halves that `both` says, one after the other, each rank with its own of `data`.
fn ring(answer: Lesson08, both: [bool; 2], data: Vec<Vec<f32>>) -> Ran<Vec<f32>> {
    on_ranks(data.len(), move |end| -> Result<Vec<f32>> {
        let mut own = data[Link::rank(end)].clone();
        if both[0] {
            (answer.ring_reduce_scatter)(end, &mut own)?;
        }
        if both[1] {
            (answer.ring_all_gather)(end, &mut own)?;
        }
        Ok(own)
    })
}

fn case(world: usize, length: usize, what: &str) -> Case {
    given(format!("{world} ranks, {length} numbers each; {what}"))
}

pub fn reduces_each_chunk_at_its_owner(answer: &Lesson08) -> Verdict {
    alone(answer, [true, false])?;
    let mut draw = draw();
    for world in [2, 3, 5] {
        let length = world * draw.whole(2, 4);
        let data = numbers(&mut draw, world, length);
        let expected = sums(&data);
        let case = case(world, length, "ring_reduce_scatter").at_scale(9.0);
        let run = ring(*answer, [true, false], data);
        run.all_well(&case)?;
        for (rank, got) in run.ranks.iter().enumerate() {
            let own = chunk(length, rank, world);
            let got = got.as_deref().unwrap_or_default().get(own.clone());
            let what = format!("rank {rank}'s chunk {own:?}");
            case.close(&what, got.unwrap_or_default(), values(&expected[own]))?;
        }
    }
    Ok(())
}

pub fn gathers_all_chunks(answer: &Lesson08) -> Verdict {
    alone(answer, [false, true])?;
    let mut draw = draw();
    for world in [2, 3, 5] {
        let length = world * draw.whole(2, 4);
        let whole = draw.list(length, -9.0, 9.0);
        let own = |rank: usize| {
            let mine = chunk(length, rank, world);
            let keep = |(i, v): (usize, &f32)| if mine.contains(&i) { *v } else { 77.0 };
            whole.iter().enumerate().map(keep).collect()
        };
        let case = case(world, length, "ring_all_gather");
        let run = ring(*answer, [false, true], (0..world).map(own).collect());
        all_are(
            &case,
            &run,
            &whole.iter().map(|&v| f64::from(v)).collect::<Vec<_>>(),
        )?;
    }
    Ok(())
}

/// Tests that every rank has `expected`.
fn all_are(case: &Case, run: &Ran<Vec<f32>>, expected: &[f64]) -> Verdict {
    run.all_well(case)?;
    for (rank, got) in run.ranks.iter().enumerate() {
        let got = got.as_deref().unwrap_or_default();
        case.close(&format!("data of rank {rank}"), got, values(expected))?;
    }
    Ok(())
}

fn all_reduced(answer: &Lesson08, draw: &mut Draw, world: usize, length: usize) -> Verdict {
    let data = numbers(draw, world, length);
    let expected = sums(&data);
    let case = case(world, length, "one half after the other").at_scale(9.0);
    all_are(&case, &ring(*answer, [true, true], data), &expected)
}

pub fn composes_to_an_all_reduce(answer: &Lesson08) -> Verdict {
    alone(answer, [true, true])?;
    let mut draw = draw();
    let world = draw.whole(3, 6);
    let length = world * draw.whole(3, 9);
    all_reduced(answer, &mut draw, world, length)
}

pub fn accepts_uneven_and_empty_chunks(answer: &Lesson08) -> Verdict {
    alone(answer, [true, true])?;
    let mut draw = draw();
    let over = draw.whole(1, 3);
    all_reduced(answer, &mut draw, 4, 8 + over)?;
    all_reduced(answer, &mut draw, 3, 7)?;
    all_reduced(answer, &mut draw, 5, 3)?;
    all_reduced(answer, &mut draw, 2, 0)
}

pub fn sends_only_to_its_neighbour(answer: &Lesson08) -> Verdict {
    alone(answer, [true, true])?;
    let mut draw = draw();
    let world = draw.whole(4, 6);
    for (half, what) in [
        ([true, false], "ring_reduce_scatter"),
        ([false, true], "ring_all_gather"),
    ] {
        let data = numbers(&mut draw, world, 2 * world);
        let case = case(world, 2 * world, what);
        let run = ring(*answer, half, data);
        run.all_well(&case)?;
        let mut stray: Vec<_> = run.sent.iter().filter(|s| s.to != (s.from + 1) % world).collect();
        stray.sort_unstable_by_key(|s| (s.from, s.to));
        let said = stray.first().map_or(String::new(), |s| {
            format!(
                "rank {} sent to rank {}, expected: to rank {} alone",
                s.from,
                s.to,
                (s.from + 1) % world
            )
        });
        case.require("receivers of messages", stray.is_empty(), said)?;
    }
    Ok(())
}

pub fn sends_the_least_data(answer: &Lesson08) -> Verdict {
    alone(answer, [true, true])?;
    let mut draw = draw();
    let world = draw.whole(3, 6);
    let each = draw.whole(3, 8);
    for (half, what) in [
        ([true, false], "ring_reduce_scatter"),
        ([false, true], "ring_all_gather"),
    ] {
        let data = numbers(&mut draw, world, each * world);
        let case = case(world, each * world, what);
        let run = ring(*answer, half, data);
        run.all_well(&case)?;
        let total = |of: &dyn Fn(usize) -> usize| -> Vec<usize> {
            let own = |rank: usize| {
                run.sent
                    .iter()
                    .filter(|s| s.from == rank)
                    .map(|s| of(s.numbers))
                    .sum()
            };
            (0..world).map(own).collect()
        };
        case.close(
            "numbers that each rank sent",
            &total(&|n| n),
            &vec![(world - 1) * each; world],
        )?;
        case.close(
            "messages that each rank sent",
            &total(&|_| 1),
            &vec![world - 1; world],
        )?;
    }
    Ok(())
}
