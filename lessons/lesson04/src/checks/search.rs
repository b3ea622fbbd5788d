use canopy::train::Failure;
use grader::{Verdict, draw, given};

use crate::Lesson04;

/// More attempts than any search needs: whoever never ends ends here.
const MANY: usize = 200;

/// Searches where `room` clouds fit and larger batches fail; gives what was tried, and what came.
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

fn hold(answer: &Lesson04, numbers: (usize, usize, usize), tries: &[usize], fits: Option<usize>) -> Verdict {
    let (start, least, room) = numbers;
    let case = given(format!("start {start}, least {least}, {room} clouds fit"));
    let (mut tried, found) = search(answer, numbers, &Failure::OutOfMemory);
    tried.truncate(tries.len() + 4);
    case.close("batches tried", &tried, &tries.to_vec())?;
    let expected = fits.ok_or(Failure::OutOfMemory);
    case.holds("result", found == expected, format!("{found:?}"))
}

pub fn stops_at_the_first_that_fits(answer: &Lesson04) -> Verdict {
    let start = draw().whole(20, 60);
    hold(answer, (start, 2, start), &[start], Some(start))?;
    hold(
        answer,
        (start, 2, start - 1),
        &[start, start / 2],
        Some(start / 2),
    )
}

pub fn halves_on_the_way_down(answer: &Lesson04) -> Verdict {
    let start = 8 * draw().whole(5, 12) + 7;
    let tries = [start, start / 2, start / 4, start / 8];
    hold(answer, (start, 2, start / 8), &tries, Some(start / 8))
}

pub fn tries_the_least_and_none_below(answer: &Lesson04) -> Verdict {
    let least = draw().whole(3, 6);
    let start = 4 * least + 1;
    let tries = [start, start / 2, least];
    hold(answer, (start, least, least), &tries, Some(least))?;
    hold(answer, (start, least, 0), &tries, None)?;
    hold(answer, (start, start + 1, start), &[], None)?;
    hold(answer, (2, 0, 0), &[2, 1], None)
}

pub fn passes_another_failure_on_at_once(answer: &Lesson04) -> Verdict {
    let start = draw().whole(20, 60);
    let failure = Failure::Other("label 9 is no class".into());
    let case = given(format!(
        "start {start}, least 2; each attempt fails, but not for want of memory"
    ));
    let (mut tried, found) = search(answer, (start, 2, 0), &failure);
    tried.truncate(5);
    case.close("batches tried", &tried, &vec![start])?;
    case.holds("result", found == Err(failure), format!("{found:?}"))
}
