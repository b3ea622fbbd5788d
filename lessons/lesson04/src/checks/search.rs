use canopy::train::Failure;
use grader::{Verdict, draw, given};

use super::refuse;
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
    let input = format!("start {start}, least {least}, {room} clouds fit");
    let case = given(&input);
    let (mut tried, found) = search(answer, numbers, &Failure::OutOfMemory);
    // What follows one attempt too many depends on how the mistake is written.
    tried.truncate(tries.len() + 1);
    case.close("batches tried", &tried, &tries.to_vec())?;
    same(&input, &found, &fits.ok_or(Failure::OutOfMemory))
}

/// Compares results. A known mistake with other words in its failure is the same mistake.
fn same(input: &str, found: &Result<usize, Failure>, expected: &Result<usize, Failure>) -> Verdict {
    if found == expected {
        return Ok(());
    }
    let code = match found {
        Ok(batch) => vec![1.0, *batch as f64],
        Err(Failure::OutOfMemory) => vec![2.0],
        Err(Failure::Other(_)) => vec![3.0],
    };
    let told = |r: &Result<usize, Failure>| match r {
        Ok(batch) => format!("Ok: {batch}"),
        Err(failure) => format!("Err: {failure:?}"),
    };
    refuse(input, "result", code, &told(expected), &told(found))
}

pub fn stops_at_the_first_success(answer: &Lesson04) -> Verdict {
    let start = 2 * draw().whole(10, 30) + 1;
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
    check(answer, (start, 2, start / 8), &tries, Some(start / 8))?;
    let many = 100_000 + start;
    let tries: Vec<usize> = (0..).map(|k| many >> k).take_while(|&n| n > 0).collect();
    check(answer, (many, 1, 1), &tries, Some(1))
}

pub fn tries_no_batch_below_the_least(answer: &Lesson04) -> Verdict {
    let least = draw().whole(3, 6);
    let start = 4 * least + 1;
    let tries = [start, start / 2, least];
    check(answer, (start, least, least), &tries, Some(least))?;
    check(answer, (start, least, 0), &tries, None)?;
    // Half of the least one tried is below `least`, and the least itself is no half.
    check(answer, (start, least - 1, 0), &tries, None)?;
    check(answer, (start, start + 1, start), &[], None)?;
    check(answer, (5, 1, 1), &[5, 2, 1], Some(1))?;
    check(answer, (2, 0, 0), &[2, 1], None)?;
    check(answer, (0, 0, 9), &[], None)?;
    check(answer, (0, 1, 9), &[], None)
}

pub fn returns_other_failures_at_once(answer: &Lesson04) -> Verdict {
    let start = draw().whole(20, 60);
    for words in ["label 9 is no class", "out of memory is not the reason"] {
        let failure = Failure::Other(words.into());
        let input = format!("start {start}, least 2; each attempt fails: {failure:?}");
        let case = given(&input);
        let (mut tried, found) = search(answer, (start, 2, 0), &failure);
        tried.truncate(5);
        case.close("batches tried", &tried, &vec![start])?;
        same(&input, &found, &Err(failure))?;
    }
    // The first attempt runs out of memory, the second fails for another reason.
    let failure = Failure::Other("shape mismatch".into());
    let input = format!("start {start}, least 2; out of memory, then {failure:?}");
    let case = given(&input);
    let mut tried = Vec::new();
    let found = (answer.executable_batch)(start, 2, &mut |batch| {
        tried.push(batch);
        Err(if tried.len() == 1 {
            Failure::OutOfMemory
        } else {
            failure.clone()
        })
    });
    tried.truncate(6);
    case.close("batches tried", &tried, &vec![start, start / 2])?;
    same(&input, &found, &Err(failure))
}
