use canopy::train::Failure;
use grader::{Verdict, draw, given};

use crate::Lesson04;

/// More attempts than any search needs, to end an endless search.
const MANY: usize = 200;

/// Searches with a limit of `room` clouds; returns the attempts and the result.
fn search(
    answer: &Lesson04,
    (start, least, room): (usize, usize, usize),
    failure: &Failure,
) -> (Vec<usize>, Result<usize, Failure>) {
    let mut tried = Vec::new();
    let found = (answer.executable_batch)(start, least, &mut |batch| {
        tried.push(batch);
        if tried.len() > MANY {
            Err(Failure::Other("that was tried often enough".into()))
        } else if batch > room {
            Err(failure.clone())
        } else {
            Ok(())
        }
    });
    (tried, found)
}

fn check(answer: &Lesson04, numbers: (usize, usize, usize), tries: &[usize], fits: Option<usize>) -> Verdict {
    let (start, least, room) = numbers;
    let case = given(format!("start {start}, least {least}, {room} clouds fit"));
    let (mut tried, found) = search(answer, numbers, &Failure::OutOfMemory);
    tried.truncate(tries.len() + 4);
    case.close("batches tried", &tried, &tries.to_vec())?;
    let expected = fits.ok_or(Failure::OutOfMemory);
    case.require("result", found == expected, format!("{found:?}"))
}

pub fn stops_at_the_first_success(answer: &Lesson04) -> Verdict {
    let start = draw().whole(20, 60);
    check(answer, (start, 2, start), &[start], Some(start))?;
    check(
        answer,
        (start, 2, start - 1),
        &[start, start / 2],
        Some(start / 2),
    )
}

pub fn halves_the_batch_after_each_failure(answer: &Lesson04) -> Verdict {
    let start = 8 * draw().whole(5, 12) + 7;
    let tries = [start, start / 2, start / 4, start / 8];
    check(answer, (start, 2, start / 8), &tries, Some(start / 8))
}

pub fn tries_no_batch_below_the_least(answer: &Lesson04) -> Verdict {
    let least = draw().whole(3, 6);
    let start = 4 * least + 1;
    let tries = [start, start / 2, least];
    check(answer, (start, least, least), &tries, Some(least))?;
    check(answer, (start, least, 0), &tries, None)?;
    check(answer, (start, start + 1, start), &[], None)?;
    check(answer, (2, 0, 0), &[2, 1], None)
}

pub fn returns_other_failures_at_once(answer: &Lesson04) -> Verdict {
    let start = draw().whole(20, 60);
    let failure = Failure::Other("label 9 is no class".into());
    let case = given(format!(
        "start {start}, least 2; each attempt fails, but not for want of memory"
    ));
    let (mut tried, found) = search(answer, (start, 2, 0), &failure);
    tried.truncate(5);
    case.close("batches tried", &tried, &vec![start])?;
    case.require("result", found == Err(failure), format!("{found:?}"))
}
