//! An answer and canopy's functions on the same ranks, and what the checks compare.

use std::fmt::Debug;

use anyhow::{Result, ensure};
pub use canopy::parallel::Link;
use grader::{Draw, Facts, Finding, Verdict, given};
pub use kit::End;
use kit::{Call, Failed, Operation, Ran, on_ranks};

use crate::{Lesson09, REFERENCE};

/// An input on ranks, whose fields are shown to the student.
pub trait OnRanks: Clone + Debug + Send + Sync + 'static {
    fn world(&self) -> usize;

    /// What `answer` does on a rank, where one call may fail.
    fn run(&self, answer: &Lesson09, end: &End, fails: Fails) -> Result<Facts>;
}

const NONE: Fails = Fails("", 0);

/// The call that returns an error, and on which rank. On rank 1, the collective that follows on rank 0 returns an error, too.
#[derive(Clone, Copy)]
pub struct Fails(pub &'static str, pub usize);

impl Fails {
    /// The error of `call`, if it fails on this rank.
    pub fn well(self, end: &End, call: &str) -> Result<()> {
        ensure!(self.0 != call || self.1 != end.rank(), "the error of {call}");
        Ok(())
    }
}

/// Numbers of each rank.
pub fn lists(d: &mut Draw, world: usize, length: usize) -> Vec<Vec<f32>> {
    (0..world).map(|_| d.list(length, -2.0, 2.0)).collect()
}

fn text<I: OnRanks>(rank: usize, input: &I) -> String {
    format!("rank {rank} of {}, {input:?}", input.world())
}

fn ran<I: OnRanks>(answer: &Lesson09, input: &I, fails: Fails) -> Ran<Facts> {
    let (answer, theirs) = (*answer, input.clone());
    let ran = on_ranks(input.world(), move |end: &End| {
        fails.well(end, "start")?;
        theirs.run(&answer, end, fails)
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

/// Compares the facts of each rank.
pub fn results<I: OnRanks>(answer: &Lesson09, input: I) -> Verdict {
    let [got, expected] = both(answer, &input)?.map(|ran| ran.ranks.into_iter().flatten());
    for (rank, (got, expected)) in got.zip(expected).enumerate() {
        // The numbers are about 1, and differences of them contain their rounding.
        let case = given(text(rank, &input)).at_scale(1.0);
        case.same(got, expected)?;
    }
    Ok(())
}

/// Compares the calls and the messages of each rank.
pub fn calls<I: OnRanks>(answer: &Lesson09, input: I) -> Verdict {
    let [got, expected] = both(answer, &input)?;
    (0..input.world())
        .try_for_each(|rank| given(text(rank, &input)).same(calls_of(&got, rank), calls_of(&expected, rank)))
}

/// The answer's run, in which every rank has finished, and canopy's.
fn both<I: OnRanks>(answer: &Lesson09, input: &I) -> Result<[Ran<Facts>; 2], Finding> {
    given(text(0, input));
    let got = ran(answer, input, NONE);
    got.all_well(&text(0, input))?;
    Ok([got, ran(&REFERENCE, input, NONE)])
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
pub fn errors<I: OnRanks>(answer: &Lesson09, (input, call, rank): (I, &'static str, usize)) -> Verdict {
    calls(answer, input.clone())?;
    let case = given(format!("an error on rank {rank}: {call}, {}", text(0, &input)));
    let result = &ran(answer, &input, Fails(call, rank)).ranks[0];
    let error = matches!(result, Err(Failed::Message(_) | Failed::Error(_)));
    case.require("result", error, "no error, or a panic")
}
