//! An answer and canopy's functions on the same ranks, and what the checks compare.

use std::fmt::Debug;

use anyhow::Result;
pub use canopy::parallel::Link;
use grader::{Draw, Facts, Finding, Verdict, given};
use kit::{Call, End, Failed, Operation, Ran, on_ranks};

pub use crate::rank::Rank;
use crate::{Lesson09, REFERENCE};

/// An input on ranks, whose fields are shown to the student.
pub trait OnRanks: Clone + Debug + Send + Sync + 'static {
    fn world(&self) -> usize;

    /// What `answer` does on a rank: the facts that checks compare, each some of them.
    fn run(&self, answer: &Lesson09, rank: &Rank) -> Result<Vec<Facts>>;
}

/// Numbers of each rank.
pub fn lists(d: &mut Draw, world: usize, length: usize) -> Vec<Vec<f32>> {
    (0..world).map(|_| d.list(length, -2.0, 2.0)).collect()
}

fn text<I: OnRanks>(rank: usize, input: &I) -> String {
    format!("rank {rank} of {}, {input:?}", input.world())
}

fn ran<I: OnRanks>(answer: &Lesson09, input: &I, fails: &'static str) -> Ran<Vec<Facts>> {
    let (answer, theirs) = (*answer, input.clone());
    let ran = on_ranks(input.world(), move |end: &End| {
        theirs.run(&answer, &Rank(end, fails))
    });
    for result in &ran.ranks {
        if let Err(Failed::Panic(message, _)) = result
            && message.starts_with("not yet implemented")
        {
            // The grader sees a stub on the thread of the check alone, and not on that of a rank.
            panic!("{message}");
        }
    }
    ran
}

/// Inputs of which the facts at `part` are compared.
pub fn part<I>(part: usize, inputs: impl IntoIterator<Item = I>) -> Vec<(usize, I)> {
    inputs.into_iter().map(|input| (part, input)).collect()
}

/// Compares the facts of each rank at `part`.
pub fn results<I: OnRanks>(answer: &Lesson09, (part, input): (usize, I)) -> Verdict {
    let [got, expected] = both(answer, &input)?.map(|ran| ran.ranks.into_iter().flatten());
    (0..)
        .zip(got.zip(expected))
        .try_for_each(|(rank, (mut got, mut expected))| {
            // The numbers are about 1, and differences of them contain their rounding.
            let case = given(text(rank, &input)).at_scale(1.0);
            case.same(got.swap_remove(part), expected.swap_remove(part))
        })
}

/// Compares the calls and the messages of each rank.
pub fn calls<I: OnRanks>(answer: &Lesson09, input: I) -> Verdict {
    let [got, expected] = both(answer, &input)?;
    (0..input.world())
        .try_for_each(|rank| given(text(rank, &input)).same(calls_of(&got, rank), calls_of(&expected, rank)))
}

/// The answer's run, in which every rank has finished, and canopy's.
fn both<I: OnRanks>(answer: &Lesson09, input: &I) -> Result<[Ran<Vec<Facts>>; 2], Finding> {
    given(text(0, input));
    let got = ran(answer, input, "");
    got.all_well(&text(0, input))?;
    Ok([got, ran(&REFERENCE, input, "")])
}

fn calls_of<T>(ran: &Ran<T>, rank: usize) -> Facts {
    // The ranks of an engine may agree by one number or by two.
    let length = |call: &Call| match call.operation {
        Operation::AllReduce => call.numbers.max(2),
        _ => call.numbers,
    };
    let own = ran.calls.iter().filter(|call| call.rank == rank);
    let calls = own.map(|call| (call.operation, length(call)));
    // A barrier, a broadcast and a single message are no calls of these.
    let sent = ran.sent.iter().filter(|sent| sent.from == rank).count();
    Facts::default()
        .items("collective calls", calls)
        .values("messages sent", sent)
}

/// Tests that rank 0 ends with an error if a call fails. Before that, compares the calls without it.
pub fn errors<I: OnRanks>(answer: &Lesson09, (input, fails): (I, &'static str)) -> Verdict {
    calls(answer, input.clone())?;
    let case = given(format!("{fails} returns an error, {}", text(0, &input)));
    let result = &ran(answer, &input, fails).ranks[0];
    let error = matches!(result, Err(Failed::Message(_) | Failed::Error(_)));
    case.require("result", error, "no error, or a panic")
}
