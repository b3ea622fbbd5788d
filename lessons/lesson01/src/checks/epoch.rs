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

/// Full batches, and a rest of one record, of some, and of all but one.
fn check_rests(answer: &Lesson01, drop_last: bool) -> Verdict {
    let mut draw = draw();
    let one_more = usize::from(!drop_last);
    for full in [1, draw.whole(2, 30)] {
        let batch = draw.whole(5, 40);
        let some = draw.whole(2, batch - 2);
        check_iterations(answer, batch * full, batch, drop_last, full)?;
        for rest in [1, some, batch - 1] {
            check_iterations(answer, batch * full + rest, batch, drop_last, full + one_more)?;
        }
    }
    let records = draw.whole(2, 30);
    check_iterations(answer, records, 1, drop_last, records)
}

pub fn counts_the_last_batch(answer: &Lesson01) -> Verdict {
    // 60 of 16 rounds up to 4, 691 of 16 rounds down to 43.
    check_iterations(answer, 60, 16, false, 4)?;
    check_iterations(answer, 691, 16, false, 44)?;
    check_iterations(answer, 64, 16, false, 4)?;
    check_rests(answer, false)
}

pub fn drops_only_an_incomplete_batch(answer: &Lesson01) -> Verdict {
    check_iterations(answer, 691, 16, true, 43)?;
    check_iterations(answer, 60, 16, true, 3)?;
    check_iterations(answer, 64, 16, true, 4)?;
    check_rests(answer, true)
}

pub fn keeps_the_only_batch(answer: &Lesson01) -> Verdict {
    let batch = draw().whole(9, 40);
    for drop_last in [true, false] {
        for records in [1, batch / 2, batch - 1, batch] {
            check_iterations(answer, records, batch, drop_last, 1)?;
        }
        check_iterations(answer, 1, 1, drop_last, 1)?;
    }
    Ok(())
}

pub fn has_no_step_without_records(answer: &Lesson01) -> Verdict {
    for drop_last in [false, true] {
        check_iterations(answer, 0, draw().whole(2, 40), drop_last, 0)?;
        check_iterations(answer, 0, 1, drop_last, 0)?;
    }
    Ok(())
}

pub fn is_exact_for_millions_of_records(answer: &Lesson01) -> Verdict {
    // 2^24 + 1 is the first whole number that f32 does not have.
    let records = (1 << 24) + 1;
    check_iterations(answer, records, 4096, false, 4097)?;
    check_iterations(answer, records, 4096, true, 4096)?;
    check_iterations(answer, records - 2, 4096, true, 4095)?;
    // More than u32 has.
    let records = 5 << 30;
    check_iterations(answer, records, 4096, false, 5 << 18)?;
    check_iterations(answer, records + 1, 4096, false, (5 << 18) + 1)?;
    check_iterations(answer, records + 1, 4096, true, 5 << 18)?;
    // f64 does not have 2^60 + 1.
    let records = (1 << 60) + 1;
    check_iterations(answer, records, 4096, false, (1 << 48) + 1)?;
    check_iterations(answer, records - 2, 4096, true, (1 << 48) - 1)
}
