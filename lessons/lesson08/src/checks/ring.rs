use std::cell::Cell;

use anyhow::{Result, bail};
use canopy::parallel::{Link, chunk};
use grader::{Case, Draw, Values, Verdict, draw, given};
use kit::{Ran, on_ranks};

use super::refused;
use crate::Lesson08;

const HALVES: [([bool; 2], &str); 2] = [
    ([true, false], "ring_reduce_scatter"),
    ([false, true], "ring_all_gather"),
];

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
    let input = "one rank alone, data [2, -3]";
    let case = given(input);
    let run = ring(*answer, both, vec![vec![2.0, -3.0]]);
    run.all_well(input)?;
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

fn input(world: usize, length: usize, what: &str) -> String {
    format!("{world} ranks, {length} numbers each; {what}")
}

fn reduce_scattered(answer: &Lesson08, draw: &mut Draw, world: usize, length: usize) -> Verdict {
    let data = numbers(draw, world, length);
    let expected = sums(&data);
    let input = input(world, length, "ring_reduce_scatter");
    let case = given(&input).at_scale(9.0);
    let run = ring(*answer, [true, false], data);
    run.all_well(&input)?;
    for (rank, got) in run.ranks.iter().enumerate() {
        let own = chunk(length, rank, world);
        let got = got.as_deref().unwrap_or_default().get(own.clone());
        let what = format!("rank {rank}'s chunk {own:?}");
        case.close(&what, got.unwrap_or_default(), values(&expected[own]))?;
    }
    Ok(())
}

fn gathered(answer: &Lesson08, draw: &mut Draw, world: usize, length: usize) -> Verdict {
    let whole = draw.list(length, -9.0, 9.0);
    let own = |rank: usize| {
        let mine = chunk(length, rank, world);
        let keep = |(i, v): (usize, &f32)| if mine.contains(&i) { *v } else { 77.0 };
        whole.iter().enumerate().map(keep).collect()
    };
    let input = input(world, length, "ring_all_gather");
    let case = given(&input);
    let run = ring(*answer, [false, true], (0..world).map(own).collect());
    let expected: Vec<f64> = whole.iter().map(|&v| f64::from(v)).collect();
    run.all_well(&input)?;
    all_are(&case, &run, &expected)
}

/// Tests that every rank has `expected`.
fn all_are(case: &Case, run: &Ran<Vec<f32>>, expected: &[f64]) -> Verdict {
    for (rank, got) in run.ranks.iter().enumerate() {
        let got = got.as_deref().unwrap_or_default();
        case.close(&format!("data of rank {rank}"), got, values(expected))?;
    }
    Ok(())
}

fn all_reduced(answer: &Lesson08, draw: &mut Draw, world: usize, length: usize) -> Verdict {
    let data = numbers(draw, world, length);
    let expected = sums(&data);
    let input = input(world, length, "one half after the other");
    let case = given(&input).at_scale(9.0);
    let run = ring(*answer, [true, true], data);
    run.all_well(&input)?;
    all_are(&case, &run, &expected)
}

pub fn reduces_each_chunk_at_its_owner(answer: &Lesson08) -> Verdict {
    alone(answer, [true, false])?;
    let mut draw = draw();
    for world in [3, 2, draw.whole(4, 8), 9] {
        let length = world * draw.whole(2, 4);
        reduce_scattered(answer, &mut draw, world, length)?;
    }
    Ok(())
}

pub fn gathers_all_chunks(answer: &Lesson08) -> Verdict {
    alone(answer, [false, true])?;
    let mut draw = draw();
    for world in [3, 2, draw.whole(4, 8), 9] {
        let length = world * draw.whole(2, 4);
        gathered(answer, &mut draw, world, length)?;
    }
    Ok(())
}

pub fn composes_to_an_all_reduce(answer: &Lesson08) -> Verdict {
    alone(answer, [true, true])?;
    let mut draw = draw();
    for world in [draw.whole(3, 6), 9] {
        let length = world * draw.whole(3, 9);
        all_reduced(answer, &mut draw, world, length)?;
    }
    Ok(())
}

pub fn accepts_uneven_and_empty_chunks(answer: &Lesson08) -> Verdict {
    alone(answer, [true, true])?;
    let mut draw = draw();
    let (world, more) = (draw.whole(5, 9), draw.whole(1, 4));
    for (world, length) in [(4, 10), (3, 7), (world, 3 * world + more), (5, 3), (2, 0)] {
        reduce_scattered(answer, &mut draw, world, length)?;
        gathered(answer, &mut draw, world, length)?;
    }
    Ok(())
}

pub fn sends_only_to_its_neighbour(answer: &Lesson08) -> Verdict {
    alone(answer, [true, true])?;
    let mut draw = draw();
    for world in [4, draw.whole(5, 9)] {
        for (half, what) in HALVES {
            let data = numbers(&mut draw, world, 2 * world);
            let input = input(world, 2 * world, what);
            let case = given(&input);
            let run = ring(*answer, half, data);
            run.all_well(&input)?;
            for rank in [2, 1, 0, 3] {
                let mut to: Vec<usize> = run.sent.iter().filter(|s| s.from == rank).map(|s| s.to).collect();
                to.sort_unstable();
                to.dedup();
                let expected = vec![(rank + 1) % world];
                case.close(&format!("the ranks to which rank {rank} sent"), &to, &expected)?;
            }
        }
    }
    Ok(())
}

pub fn sends_the_least_data(answer: &Lesson08) -> Verdict {
    alone(answer, [true, true])?;
    let mut draw = draw();
    let (world, each) = (draw.whole(3, 6), draw.whole(3, 8));
    for (world, length) in [(world, each * world), (4, 10), (9, 23), (5, 3), (3, 0)] {
        for (half, (both, what)) in HALVES.into_iter().enumerate() {
            let data = numbers(&mut draw, world, length);
            let input = input(world, length, what);
            let case = given(&input);
            let run = ring(*answer, both, data);
            run.all_well(&input)?;
            for rank in 0..world {
                let own = run.sent.iter().filter(|s| s.from == rank);
                let lengths: Vec<usize> = own.map(|s| s.numbers).collect();
                // The first half starts with chunk r − 1, the second with chunk r.
                let first = rank + 2 * world + half - 1;
                let sent = (0..world - 1).map(|step| chunk(length, (first - step) % world, world).len());
                let what = format!("numbers in each message of rank {rank}");
                case.close(&what, &lengths, &sent.collect::<Vec<_>>())?;
            }
        }
    }
    Ok(())
}

/// A link whose messages all arrive, except one.
struct Failing {
    rank: usize,
    world: usize,
    /// How many calls of `send` and `receive` still succeed.
    left: [Cell<usize>; 2],
}

impl Failing {
    fn call(&self, of: usize) -> Result<()> {
        match self.left[of].get() {
            0 => bail!("the other rank has ended"),
            left => self.left[of].set(left - 1),
        }
        Ok(())
    }
}

impl Link for Failing {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world_size(&self) -> usize {
        self.world
    }

    fn send(&self, _: usize, _: &[f32]) -> Result<()> {
        self.call(0)
    }

    fn receive(&self, _: usize, into: &mut [f32]) -> Result<()> {
        into.fill(1.0);
        self.call(1)
    }
}

pub fn passes_on_errors(answer: &Lesson08) -> Verdict {
    let world = 4;
    let rank = draw().whole(1, 3);
    for (half, (_, name)) in HALVES.into_iter().enumerate() {
        for step in 0..world - 1 {
            for (of, call) in ["link.send", "link.receive"].into_iter().enumerate() {
                let link = Failing {
                    rank,
                    world,
                    left: [Cell::new(usize::MAX), Cell::new(usize::MAX)],
                };
                link.left[of].set(step);
                let input = format!(
                    "{name} on rank {rank} of {world}; {call} returns an error in step {}",
                    step + 1
                );
                given(&input);
                let function = [answer.ring_reduce_scatter, answer.ring_all_gather][half];
                if function(&link, &mut [1.0; 8]).is_ok() {
                    refused(&input, "result", "Ok, expected the error")?;
                }
            }
        }
    }
    Ok(())
}
