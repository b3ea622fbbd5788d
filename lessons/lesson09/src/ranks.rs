//! An answer and canopy's functions on the same ranks, and what the checks compare.

use std::fmt::Debug;

use anyhow::{Result, ensure};
pub use canopy::parallel::Link;
use grader::{Draw, Facts, Verdict, given};
pub use kit::End;
use kit::{Call, Failed, Operation, Ran, broken, on_ranks};

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

fn ran<I: OnRanks>(answer: &Lesson09, input: &I) -> Ran<Facts> {
    let (answer, theirs) = (*answer, input.clone());
    on_ranks(input.world(), move |end| theirs.run(&answer, end, ""))
}

/// Compares the facts of each rank, then its calls.
pub fn results<I: OnRanks>(answer: &Lesson09, input: I) -> Verdict {
    given(text(0, &input));
    let got = ran(answer, &input);
    got.all_well(&text(0, &input))?;
    let [got, expected] = [got, ran(&REFERENCE, &input)].map(|ran| {
        let calls: Vec<Facts> = (0..input.world()).map(|rank| calls_of(&ran, rank)).collect();
        ran.ranks.into_iter().flatten().zip(calls)
    });
    for (rank, ((got, calls), (expected, right))) in got.zip(expected).enumerate() {
        // The numbers are about 1, and differences of them contain their rounding.
        let case = given(text(rank, &input)).at_scale(1.0);
        case.same(got, expected)?;
        case.same(calls, right)?;
    }
    Ok(())
}

/// The collectives that a rank called, and the messages that it sent. A rank alone may call them or not.
fn calls_of<T>(ran: &Ran<T>, rank: usize) -> Facts {
    if ran.ranks.len() == 1 {
        return Facts::default();
    }
    // The ranks of an engine may agree by one number or by two.
    let length = |call: &Call| match call.operation {
        Operation::AllReduce => call.numbers.max(2),
        _ => call.numbers,
    };
    let own = ran.calls.iter().filter(|call| call.rank == rank);
    let calls = own.map(|call| (call.operation, length(call)));
    // A barrier, a broadcast and a single message are no calls of these.
    let sent = ran.sent.iter().filter(|sent| sent.from == rank).count();
    let cause = "Make the calls that the comment lists, in this order, once each, also with an empty list; send nothing else.";
    Facts::default()
        .items("collective calls", calls)
        .cause(cause)
        .items("messages sent", [sent])
        .cause(cause)
}

/// Tests that rank 0 returns an error if a call does: on one rank `fails`; on two a collective, because rank 1 is missing,
/// or because it has ended with the error of its own call `fails`. After the error, rank 0 calls no collective.
pub fn errors<I: OnRanks>(answer: &Lesson09, (input, fails): (I, &'static str)) -> Verdict {
    let (answer, last) = (*answer, input.world() - 1);
    let why = if fails.is_empty() {
        "rank 1 is missing".to_owned()
    } else {
        format!("{fails} returns an error on rank {last}")
    };
    let case = given(format!("{why}, {}", text(0, &input)));
    if fails.is_empty() {
        // On this thread, where the panic of a stub is noticed.
        case.require("result", input.run(&answer, &broken(), "").is_err(), "no error")?;
    }
    let ran = on_ranks(input.world(), move |end| {
        if end.rank() != last {
            return input.run(&answer, end, "");
        }
        well(fails, "")?;
        input.run(if last == 0 { &answer } else { &REFERENCE }, end, fails)
    });
    let is_error = matches!(ran.ranks[0], Err(Failed::Message(_) | Failed::Error(_)));
    case.require("result", is_error, "no error")?;
    let goes_on = ran.calls.iter().any(|call| call.rank == 0 && call.after_error);
    case.require("collective calls after an error", !goes_on, "a call")
}
