//! Measures the checks of a lesson with a collection of answers: the shares that are caught, and told why.

use std::process::ExitCode;

use crate::{Check, Lesson, Mistake, cause::cause, paths};

/// Tests the lesson itself with more seeds than its tests do. Then it runs wrong answers with two seeds and prints the share that
/// is caught, the answers that are not, and the reported causes that are worded otherwise than in the collection, for a person to
/// judge. Fails if an answer is not caught.
pub fn corpus<C: Copy + Send>(lesson: &Lesson<C>, answers: &[&[Mistake<C>]]) -> ExitCode {
    let mut problems = lesson.stubs_are_to_do();
    problems.extend((1..=40).flat_map(|seed| lesson.right_answers_pass(seed)));
    problems.extend((1..=4).flat_map(|seed| lesson.mistakes_are_caught(seed)));
    problems.extend(paths::root().map_or_else(|| vec!["no root".into()], |root| lesson.papers_agree(&root)));
    for problem in problems.iter().take(60) {
        println!("PROBLEM  {problem}");
    }
    let (mut all, mut caught, mut same, mut none) = (0, 0, 0, 0);
    for answer in answers.iter().copied().flatten() {
        all += 1;
        let (exercise, of_writer) = (answer.exercise, answer.cause);
        let outcome = |check: &Check<C>, seed| lesson.outcome(check, answer.answer, seed);
        let first = [1, 2].map(|seed| lesson.checks_of(exercise).find(|c| outcome(c, seed).failed()));
        let [Some(check), Some(_)] = first else {
            println!("NOT CAUGHT  {exercise} {of_writer}");
            continue;
        };
        caught += 1;
        let cause = cause(lesson, check, &outcome(check, 1), answer.answer, 1);
        same += u32::from(cause.is_some_and(|cause| cause.text == of_writer));
        none += u32::from(cause.is_none());
        if cause.is_none_or(|cause| cause.text != of_writer) {
            println!("{exercise} {of_writer}\n  {}: {cause:?}", check.name);
        }
    }
    let others = caught - same - none;
    println!("{all} wrong answers: {caught} caught");
    println!("told why in the same words {same}, in others (to be judged) {others}, nothing {none}");
    println!("{} problems of the lesson itself", problems.len());
    ExitCode::from(u8::from(caught < all || !problems.is_empty()))
}
