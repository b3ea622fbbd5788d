//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

mod amdahl;
mod copies;
mod pattern;
mod roof;
mod timing;
mod totals;

use grader::Mistake;

use crate::Lesson05;

const PARTS: [&[Mistake<Lesson05>]; 6] = [
    totals::TOTALS,
    timing::TIMING,
    pattern::PATTERN,
    amdahl::AMDAHL,
    copies::COPIES,
    roof::ROOF,
];

const COUNT: usize = {
    let (mut count, mut part) = (0, 0);
    while part < PARTS.len() {
        count += PARTS[part].len();
        part += 1;
    }
    count
};

pub const MISTAKES: &[Mistake<Lesson05>] = &joined();

const FIRST: Mistake<Lesson05> = copied(&PARTS[0][0]);

const fn joined() -> [Mistake<Lesson05>; COUNT] {
    let mut all = [FIRST; COUNT];
    let (mut at, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut i = 0;
        while i < PARTS[part].len() {
            all[at] = copied(&PARTS[part][i]);
            at += 1;
            i += 1;
        }
        part += 1;
    }
    all
}

const fn copied(mistake: &Mistake<Lesson05>) -> Mistake<Lesson05> {
    Mistake {
        exercise: mistake.exercise,
        caught_by: mistake.caught_by,
        cause: mistake.cause,
        answer: mistake.answer,
    }
}
