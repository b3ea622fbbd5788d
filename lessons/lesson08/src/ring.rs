//! 8.2: ring all-reduce.

use std::collections::BTreeSet;

use anyhow::Result;
use canopy::parallel::{Link, chunk};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};
use kit::{Ran, broken, on_ranks};

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

fn run(answer: &Lesson08, ((_, half), data): &Input) -> Ran<Vec<f32>> {
    let (answer, half, data) = (*answer, *half, data.clone());
    on_ranks(data.len(), move |end| {
        let own = data[end.rank()].iter().map(|&v| f32::from(v)).collect();
        half(&answer, end, own)
    })
}

/// Compares facts about what the ranks did with those of canopy's ring.
fn compared(answer: &Lesson08, input: &Input, facts: impl Fn(&Ran<Vec<f32>>) -> Facts) -> Verdict {
    let ((name, _), data) = input;
    let text = format!("{name} on {} ranks with {data:?}", data.len());
    let case = given(&text);
    let got = run(answer, input);
    got.all_well(&text)?;
    case.same(facts(&got), facts(&run(&REFERENCE, input)))
}

fn sums(answer: &Lesson08, input: Input) -> Verdict {
    compared(answer, &input, |ran| {
        let lists = ran.ranks.iter().flatten().enumerate();
        lists.fold(Facts::default(), |facts, (rank, list)| {
            facts.values(format!("complete numbers of rank {rank}"), list)
        })
    })
}

fn receivers(answer: &Lesson08, input: Input) -> Verdict {
    compared(answer, &input, |ran| {
        let of = |rank| ran.sent.iter().filter(move |s| s.from == rank).map(|s| s.to);
        let all = (0..ran.ranks.len()).map(|rank| of(rank).collect::<BTreeSet<_>>());
        Facts::default().items("receivers of rank 0, 1, 2, …", all)
    })
}

fn lengths(answer: &Lesson08, input: Input) -> Verdict {
    compared(answer, &input, |ran| {
        let of = |rank| ran.sent.iter().filter(move |s| s.from == rank).map(|s| s.numbers);
        let all = (0..ran.ranks.len()).map(|rank| of(rank).collect::<Vec<_>>());
        Facts::default().items("lengths of the messages of rank 0, 1, 2, …", all)
    })
}

/// Of two ranks, the other one has ended.
fn fails(answer: &Lesson08, (name, half): Half) -> Verdict {
    let case = given(format!("{name}, rank 0 of 2; link.receive returns an error"));
    let result = half(answer, &broken(), vec![1.0; 8]);
    case.require("result", result.is_err(), "Ok, expected the error")
}

/// All chunks have the same length.
fn even(d: &mut Draw, halves: &[Half]) -> Vec<Input> {
    let sizes = [3, 2, d.whole(4, 8), 9].map(|world| (world, world * d.whole(2, 4)));
    drawn(d, halves, &sizes)
}

pub const CHECKS: &[Check<Lesson08>] = rows! { "8.2";
    by sums {
        reduces_each_chunk_at_its_owner: "the sum of that chunk over all ranks",
            "In p − 1 steps, rank r sends chunk r − 1, then what arrived last, with its own numbers added. Count \
             modulo p, and add p before you subtract." => |d| even(d, &[SCATTER]);
        gathers_all_chunks: "ends with all of `data` complete",
            "In p − 1 steps, rank r sends chunk r, then what arrived last, and copies what arrives. Count modulo p, \
             add p before you subtract, and send before you receive." => |d| even(d, &[GATHER]);
        composes_to_an_all_reduce: "ends with all of `data` complete",
            "The first half must end with chunk r complete at rank r, and the second one must start with it." =>
            |d| even(d, &[BOTH]);
        accepts_uneven_and_empty_chunks: "may differ by one number in length",
            "Take every range, also an empty one, from `chunk`; a buffer is as long as the chunk that arrives." => |d| {
            let (world, more) = (d.whole(5, 9), d.whole(1, 4));
            drawn(d, &[SCATTER, GATHER], &[(4, 10), (3, 7), (world, 3 * world + more), (5, 3), (2, 0)])
        };
    }
    by receivers {
        sends_only_to_its_neighbour: "sends only to rank r + 1",
            "Send only to rank r + 1 and receive only from rank r − 1, modulo p: all numbers come around the ring." =>
            |d| even(d, &[SCATTER, GATHER]);
    }
    by lengths {
        sends_the_least_data: "one chunk in each of p − 1 steps",
            "Send one chunk in each of p − 1 steps, no more and no less, also if it is empty." => |d| {
            let (world, each) = (d.whole(3, 6), d.whole(3, 8));
            drawn(d, &[SCATTER, GATHER], &[(world, each * world), (4, 10), (9, 23), (5, 3), (3, 0)])
        };
    }
    by fails {
        passes_on_errors: "error of the link", "Return each error of the link, with `?`; do not unwrap it." =>
            |_| vec![SCATTER, GATHER];
    }
};

pub const MISTAKES: &[Mistake<Lesson08>] = mistakes! { "8.2" [ring_reduce_scatter, ring_all_gather];
    1 "Every rank waits for a message before it sends one: a deadlock. Send first.";
    2 "The index of a chunk underflows: add p often enough before you subtract.";
    3 "The chunk that arrives replaces the rank's own; add it.";
    4 "No rank completes its own chunk: in step 1 rank r sends chunk r − 1, and adds what arrives to chunk r − 2.";
    5 "An error of the link is ignored: pass it on with `?`.";
    6 "The second half starts with another chunk than the rank's own; start with its own, which is complete.";
    7 "A rank sends its own chunk in every step; it must pass on the others' chunks too.";
    8 "The chunks of the second half are added; they are complete, so copy them.";
};
