//! The checks of each exercise. Inputs are drawn anew in each run; expected values are computed here, not by canopy.

use grader::{Check, Verdict, checks, draw, given};

use crate::Lesson__NN__;

pub const CHECKS: &[Check<Lesson__NN__>] = checks! {
    "__N__.1": counts_the_last_batch => "The last batch may not be full",
        drops_the_last_batch => "unless it is the only one";
};

fn check_iterations(
    answer: &Lesson__NN__,
    (records, batch): (usize, usize),
    drop_last: bool,
    expected: usize,
) -> Verdict {
    let case = given(format!("{records} records, batch {batch}, drop_last {drop_last}"));
    case.close(
        "steps",
        (answer.iterations)(records, batch, drop_last),
        expected,
    )
}

pub fn counts_the_last_batch(answer: &Lesson__NN__) -> Verdict {
    let mut draw = draw();
    let (batch, full) = (draw.whole(5, 40), draw.whole(2, 30));
    check_iterations(answer, (batch * full, batch), false, full)?;
    check_iterations(answer, (batch * full + 1, batch), false, full + 1)?;
    check_iterations(answer, (0, batch), false, 0)
}

pub fn drops_the_last_batch(answer: &Lesson__NN__) -> Verdict {
    let mut draw = draw();
    let (batch, full) = (draw.whole(5, 40), draw.whole(2, 30));
    check_iterations(answer, (batch * full, batch), true, full)?;
    check_iterations(answer, (batch * full + 1, batch), true, full)?;
    check_iterations(answer, (batch - 1, batch), true, 1)
}
