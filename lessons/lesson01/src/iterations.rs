//! 1.6: the steps of an epoch.

use grader::{Check, Draw, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson01, REFERENCE, answers};

/// Records, batch, `drop_last`.
type Input = (usize, usize, bool);

fn steps(answer: &Lesson01, (records, batch, drop_last): Input) -> Verdict {
    given(format!("{records} records, batch {batch}, drop_last {drop_last}")).close(
        "steps",
        (answer.iterations)(records, batch, drop_last),
        (REFERENCE.iterations)(records, batch, drop_last),
    )
}

/// Full batches, and a rest of one record, of some, and of all but one.
fn rests(d: &mut Draw, drop_last: bool) -> Vec<Input> {
    let mut all: Vec<Input> = [60, 691, 64].map(|records| (records, 16, drop_last)).to_vec();
    for full in [1, d.whole(2, 30)] {
        let batch = d.whole(5, 40);
        let rests = [0, 1, d.whole(2, batch - 2), batch - 1];
        all.extend(rests.map(|rest| (batch * full + rest, batch, drop_last)));
    }
    all.push((d.whole(2, 30), 1, drop_last));
    all
}

pub const CHECKS: &[Check<Lesson01>] = rows! { "1.6";
    by steps {
        counts_the_last_batch: "an incomplete last batch",
            "Without `drop_last`, a rest is one more batch, and no rest is none: divide and round up." => |d| rests(d, false);
        drops_only_an_incomplete_batch: "`drop_last` drops an incomplete last batch",
            "With `drop_last`, only a batch that is not full is dropped: divide and round down." => |d| rests(d, true);
        keeps_the_only_batch: "unless it is the only one",
            "With fewer records than a batch there is one step, also with `drop_last`." => |d| {
            let batch = d.whole(9, 40);
            let records = [1, batch / 2, batch - 1, batch];
            [true, false].iter().flat_map(|&drop| records.map(|n| (n, batch, drop))).collect()
        };
        has_no_step_without_records: "No records take no steps",
            "Without records there is no step: neither one nor an underflow." => |d| {
            let batch = d.whole(2, 40);
            vec![(0, batch, false), (0, 1, false), (0, batch, true), (0, 1, true)]
        };
        is_exact_for_millions_of_records: "the steps of an epoch",
            "f32 rounds large numbers: divide whole numbers, in usize." => |_| {
            // 2^24 + 1 is the first whole number that f32 does not have.
            let records = [(1 << 24) + 1, (1 << 24) - 1];
            [false, true].iter().flat_map(|&drop| records.map(|n| (n, 4096, drop))).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson01>] = mistakes! { "1.6" iterations;
    1 "The only batch is dropped if it is not full; an epoch must not be empty.";
    8 "`drop_last` is inverted.";
    2 "`drop_last` is ignored.";
    3 "The last batch is always dropped: whole-number division rounds down.";
    4 "There is one step too many if the last batch is full.";
    5 "There is a step without records.";
    6 "f32 has 24 bits, which rounds large numbers of records: divide whole numbers, with `div_ceil`.";
    9 "The number of batches is rounded to the nearest; it is rounded up, or down.";
    7 "A last batch that is full is dropped as well.";
};
