//! __N__.1: an example.

use grader::{Check, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson__NN__, REFERENCE, answers};

/// Runs an answer on one input, and compares it with canopy's function.
fn steps(answer: &Lesson__NN__, (records, batch, drop_last): (usize, usize, bool)) -> Verdict {
    given(format!("{records} records, batch {batch}, drop_last {drop_last}")).close(
        "steps",
        (answer.iterations)(records, batch, drop_last),
        (REFERENCE.iterations)(records, batch, drop_last),
    )
}

/// A row: its name, words of the contract that promise it, what a student reads if no mistake below is like the answer, inputs.
pub const CHECKS: &[Check<Lesson__NN__>] = rows! { "__N__.1";
    by steps {
        counts_the_last_batch: "The last batch may not be full",
            "Without `drop_last`, records that do not fill a batch are one more: divide and round up." => |d| {
            let (batch, full) = (d.whole(5, 40), d.whole(2, 30));
            vec![(batch * full, batch, false), (batch * full + 1, batch, false), (0, batch, false)]
        };
        drops_the_last_batch: "unless it is the only one",
            "With `drop_last`, a batch that is not full is dropped, but not the only one." => |d| {
            let (batch, full) = (d.whole(5, 40), d.whole(2, 30));
            vec![(batch * full, batch, true), (batch * full + 1, batch, true), (batch - 1, batch, true)]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson__NN__>] = mistakes! { "__N__.1" iterations;
    1 "The last batch is always dropped: whole-number division rounds down.";
    2 "`drop_last` is ignored.";
    3 "There is a step without records.";
    4 "The only batch is dropped if it is not full.";
};
