//! 8.2: ring all-reduce.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use canopy::parallel::{Link, chunk};
use grader::{Check, Draw, Facts, Finding, Mistake, Verdict, given, mistakes, rows};
use kit::on_ranks;

use crate::{Lesson08, REFERENCE, answers};

/// What runs: its name, and what is complete after it.
type Half = (
    &'static str,
    fn(&Lesson08, &dyn Link, Vec<f32>) -> Result<Vec<f32>>,
);

const SCATTER: Half = ("ring_reduce_scatter", |lesson, link, mut data| {
    (lesson.ring_reduce_scatter)(link, &mut data)?;
    Ok(data[chunk(data.len(), link.rank(), link.world_size())].to_vec())
});
const GATHER: Half = ("ring_all_gather", |lesson, link, mut data| {
    (lesson.ring_all_gather)(link, &mut data)?;
    Ok(data)
});
const BOTH: Half = ("one half after the other", |lesson, link, mut data| {
    (lesson.ring_reduce_scatter)(link, &mut data)?;
    GATHER.1(lesson, link, data)
});

/// Causes of an answer whose sums are right.
const STEPS: &str = "Send one chunk in each of p − 1 steps, no more and no less, also if it is empty.";
const NEIGHBOURS: &str =
    "Send only to rank r + 1 and receive only from rank r − 1, modulo p: all numbers come around the ring.";

/// What runs, and the numbers with which each rank begins.
type Input = (Half, Vec<Vec<u8>>);

/// On a single rank, then on others. The numbers are whole, so that their sums are exact in any order.
fn drawn(d: &mut Draw, halves: &[Half], sizes: &[(usize, usize)]) -> Vec<Input> {
    let mut all = Vec::new();
    for &(world, length) in [(1, 2)].iter().chain(sizes) {
        for &half in halves {
            let mut list = |_| (0..length).map(|_| d.whole(1, 99) as u8).collect();
            all.push((half, (0..world).map(&mut list).collect()));
        }
    }
    all
}

fn ring(answer: &Lesson08, ((name, half), data): Input) -> Verdict {
    let text = format!("{name} on {} ranks with {data:?}", data.len());
    let case = given(&text);
    let facts = |lesson: &Lesson08| -> Result<Facts, Finding> {
        let (lesson, world, data) = (*lesson, data.len(), data.clone());
        let ran = on_ranks(world, move |end| {
            let own = data[end.rank()].iter().map(|&v| f32::from(v)).collect();
            half(&lesson, end, own)
        });
        ran.all_well(&text)?;
        let sent = |rank| ran.sent.iter().filter(move |s| s.from == rank);
        let lengths = (0..world).map(|rank| sent(rank).map(|s| s.numbers).collect::<Vec<_>>());
        let receivers = (0..world).map(|rank| sent(rank).map(|s| s.to).collect::<BTreeSet<_>>());
        let lists = ran.ranks.iter().flatten().enumerate();
        let sums = lists.fold(Facts::default(), |facts, (rank, list)| {
            facts.values(format!("complete numbers of rank {rank}"), list)
        });
        Ok(sums
            .items("lengths of the messages of rank 0, 1, 2, …", lengths)
            .cause(STEPS)
            .asked("In each of `p − 1` steps")
            .items("receivers of rank 0, 1, 2, …", receivers)
            .cause(NEIGHBOURS)
            .asked("In each of `p − 1` steps"))
    };
    case.same(facts(answer)?, facts(&REFERENCE)?)
}

/// The function of a link that fails, on rank 0 of 2.
struct Failing(&'static str);

impl Link for Failing {
    fn rank(&self) -> usize {
        0
    }
    fn world_size(&self) -> usize {
        2
    }
    fn send(&self, _to: usize, _data: &[f32]) -> Result<()> {
        ensure!(self.0 != "send", "rank 1 has ended");
        Ok(())
    }
    fn receive(&self, _from: usize, _into: &mut [f32]) -> Result<()> {
        ensure!(self.0 != "receive", "rank 1 has ended");
        Ok(())
    }
}

fn fails(answer: &Lesson08, ((name, half), function): (Half, &'static str)) -> Verdict {
    let case = given(format!("{name}, rank 0 of 2; link.{function} returns an error"));
    let result = half(answer, &Failing(function), vec![1.0; 8]);
    case.require("result", result.is_err(), "Ok, expected the error")
}

/// All chunks have the same length.
fn even(d: &mut Draw, halves: &[Half]) -> Vec<Input> {
    let sizes = [3, 2, d.whole(4, 8), 9].map(|world| (world, world * d.whole(2, 4)));
    drawn(d, halves, &sizes)
}

pub const CHECKS: &[Check<Lesson08>] = rows! { "8.2";
    by ring {
        reduces_each_chunk_at_its_owner: "its sum over all ranks",
            "In p − 1 steps, rank r sends chunk r − 1, then what arrived last, with its own numbers added. Count \
             modulo p, add p before you subtract, and send before you receive." => |d| even(d, &[SCATTER]);
        gathers_all_chunks: "`data` is complete",
            "In p − 1 steps, rank r sends chunk r, then what arrived last, and copies what arrives. Count modulo p, \
             add p before you subtract, and send before you receive." => |d| even(d, &[GATHER]);
        composes_to_an_all_reduce: "`data` is complete",
            "The first half must end with chunk r complete at rank r, and the second one must start with it." =>
            |d| even(d, &[BOTH]);
        accepts_uneven_and_empty_chunks: "`chunk(data.len(), r, p)`",
            "Take every range, also an empty one, from `chunk`; a buffer is as long as the chunk that arrives." => |d| {
            let (world, more) = (d.whole(5, 9), d.whole(1, 4));
            drawn(d, &[SCATTER, GATHER], &[(4, 10), (3, 7), (world, 3 * world + more), (9, 23), (5, 3), (3, 0)])
        };
    }
    by fails {
        passes_on_errors: "Returns an error at once", "Return each error of the link, with `?`; do not unwrap it." =>
            |_| vec![(SCATTER, "receive"), (GATHER, "receive"), (SCATTER, "send"), (GATHER, "send")];
    }
};

pub const MISTAKES: &[Mistake<Lesson08>] = mistakes! { "8.2" [ring_reduce_scatter, ring_all_gather];
    1 "Every rank waits for a message before it sends one: a deadlock. Send first.";
    2 "The index of a chunk underflows: add p often enough before you subtract.";
    3 "The chunk that arrives replaces the rank's own; add it.";
    4 "No rank completes its own chunk: that takes p − 1 steps, and in the first, rank r sends chunk r − 1 and adds \
       what arrives to chunk r − 2.";
    5 "The second half starts with another chunk than the rank's own; start with its own, which is complete.";
    6 "A rank sends its own chunk in every step; it must pass on the others' chunks too.";
    7 "The chunks of the second half are added; they are complete, so copy them.";
};
