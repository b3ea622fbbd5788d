use grader::{Verdict, draw, given};

use crate::Lesson01;

fn check_iterations(
    answer: &Lesson01,
    records: usize,
    batch: usize,
    drop_last: bool,
    expected: usize,
) -> Verdict {
    given(format!("{records} records, batch {batch}, drop_last {drop_last}")).close(
        "steps",
        (answer.iterations)(records, batch, drop_last),
        expected,
    )
}

pub fn counts_the_last_batch(answer: &Lesson01) -> Verdict {
    check_iterations(answer, 691, 16, false, 44)?;
    check_iterations(answer, 64, 16, false, 4)?;
    let mut draw = draw();
    let (batch, full) = (draw.whole(5, 40), draw.whole(2, 30));
    check_iterations(answer, batch * full, batch, false, full)?;
    check_iterations(
        answer,
        batch * full + draw.whole(1, batch - 1),
        batch,
        false,
        full + 1,
    )
}

pub fn drops_only_an_incomplete_batch(answer: &Lesson01) -> Verdict {
    check_iterations(answer, 691, 16, true, 43)?;
    check_iterations(answer, 64, 16, true, 4)?;
    let mut draw = draw();
    let (batch, full) = (draw.whole(5, 40), draw.whole(2, 30));
    check_iterations(answer, batch * full, batch, true, full)?;
    check_iterations(answer, batch * full + draw.whole(1, batch - 1), batch, true, full)
}

pub fn keeps_the_only_batch(answer: &Lesson01) -> Verdict {
    let batch = draw().whole(9, 40);
    check_iterations(answer, 1, batch, true, 1)?;
    check_iterations(answer, batch - 1, batch, true, 1)?;
    check_iterations(answer, batch, batch, true, 1)?;
    check_iterations(answer, batch - 1, batch, false, 1)
}

pub fn has_no_step_without_records(answer: &Lesson01) -> Verdict {
    for drop_last in [false, true] {
        check_iterations(answer, 0, draw().whole(1, 40), drop_last, 0)?;
    }
    Ok(())
}
