//! What became of a group.

use grader::Verdict;

use crate::{Call, Operation, Sent, refused, wrong};

/// Why a rank has no result.
#[derive(Clone, Debug)]
pub enum Failed {
    /// A message could not be sent or received. The text is the same for all answers with the same mistake.
    Message(String),
    /// The function returned an error of its own.
    Error(String),
    /// The function panicked; the message, and the line if it is one of the exercises.
    Panic(String, Option<String>),
    /// It did not end in time.
    NoReturn,
}

/// What became of a group.
pub struct Ran<T> {
    /// Of each rank: its result.
    pub ranks: Vec<Result<T, Failed>>,
    /// All messages, in the order in which they were sent.
    pub sent: Vec<Sent>,
    /// The calls of all ranks, those of each rank in their order.
    pub calls: Vec<Call>,
}

impl<T> Ran<T> {
    /// The length of the list in each call of `operation`, on all ranks.
    pub fn lengths(&self, operation: Operation) -> Vec<usize> {
        let of = self.calls.iter().filter(|c| c.operation == operation);
        of.map(|c| c.numbers).collect()
    }

    /// Tests that every rank finished; reports the first that did not.
    pub fn all_well(&self, input: &str) -> Verdict {
        let failed =
            |(rank, result): (usize, &Result<T, Failed>)| Some((rank, result.as_ref().err()?.clone()));
        let Some((rank, failed)) = self.ranks.iter().enumerate().find_map(failed) else {
            return Ok(());
        };
        let what = "each rank finishes";
        match failed {
            Failed::Message(text) => wrong(input, what, None, vec![format!("got       {text}")]),
            Failed::Error(text) => refused(input, what, &format!("rank {rank}: Err: {text}")),
            Failed::NoReturn => wrong(
                input,
                what,
                None,
                vec![format!("got       rank {rank} did not end")],
            ),
            Failed::Panic(message, place) => {
                let mut lines = vec![format!("got       rank {rank} panicked: {message}")];
                lines.extend(place.map(|place| format!("at        {place}")));
                let bytes: Vec<u32> = message.bytes().map(u32::from).collect();
                // A known mistake panics with the same message on another line.
                wrong(input, what, Some(bytes.as_slice().into()), lines)
            }
        }
    }
}
