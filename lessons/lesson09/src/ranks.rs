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

    /// What `answer` does on a rank. The call `fails` returns an error.
    fn run(&self, answer: &Lesson09, end: &End, fails: &str) -> Result<Facts>;
}

/// The error of `call`, if it fails.
pub fn well(fails: &str, call: &str) -> Result<()> {
    ensure!(fails != call, "the error of {call}");
    Ok(())
}

/// Numbers of each rank.
pub fn lists(d: &mut Draw, world: usize, length: usize) -> Vec<Vec<f32>> {
    (0..world).map(|_| d.list(length, -2.0, 2.0)).collect()
}

fn text<I: OnRanks>(rank: usize, input: &I) -> String {
    format!("rank {rank} of {}, {input:?}", input.world())
}

fn ran<I: OnRanks>(answer: &Lesson09, input: &I, fails: &'static str) -> Ran<Facts> {
    let (answer, theirs) = (*answer, input.clone());
    let ran = on_ranks(input.world(), move |end: &End| {
        // Then the collectives of rank 0 fail, too.
        ensure!(end.rank() == 0 || fails != "collective", "rank 1 has ended");
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
