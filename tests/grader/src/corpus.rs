//! Measures the checks of a lesson with a collection of answers: the shares that are caught, and told why.

use std::{collections::BTreeMap, process::ExitCode};

use crate::{Cause, Check, Lesson, Mistake, cause, paths};

/// Tests the lesson itself with more seeds than its tests do. Then it runs wrong answers with two seeds and prints the share that
/// is caught, the answers that are not, and the reported causes that are worded otherwise than in the collection, for a person to
/// judge. Fails if an answer is not caught.
pub fn corpus<C: Copy + Send>(lesson: &Lesson<C>, answers: &[&[Mistake<C>]]) -> ExitCode {
    let mut problems = lesson.stubs_are_to_do();
    problems.extend((1..=200).flat_map(|seed| lesson.third_hints_are_right(seed)));
    problems.extend((1..=40).flat_map(|seed| lesson.right_answers_pass(seed).problems));
    problems.extend((1..=4).flat_map(|seed| lesson.mistakes_are_caught(seed)));
    problems.extend(paths::root().map_or_else(|| vec!["no root".into()], |root| lesson.papers_agree(&root)));
    problems.dedup();
    for problem in problems.iter().take(60) {
        println!("PROBLEM  {problem}");
    }
    let all: Vec<&Mistake<C>> = answers.iter().copied().flatten().collect();
    let (mut caught, mut same, mut none) = (0, 0, 0);
    let mut catches = BTreeMap::new();
    for answer in &all {
        let (exercise, of_writer) = (answer.exercise, answer.cause);
        let outcome = |check: &Check<C>, seed| lesson.outcome(check, answer.answer, seed);
        let fails = |check: &Check<C>, seed| check.exercise == exercise && outcome(check, seed).failed();
        let failing: Vec<&Check<C>> = lesson.checks().filter(|check| fails(check, 1)).collect();
        let again = lesson.checks().any(|check| fails(check, 2));
        let Some(first) = failing.first().filter(|_| again) else {
            println!("NOT CAUGHT  {exercise} {of_writer}");
            continue;
        };
        caught += 1;
        for check in &failing {
            *catches.entry(check.full_name()).or_insert(0) += 1;
        }
        let said = match cause(lesson, first, &outcome(first, 1), answer.answer, 1) {
            Some(Cause::Likely(told) | Cause::Perhaps(told)) if told == of_writer => {
                same += 1;
                continue;
            }
            Some(Cause::Likely(told)) => format!("likely: {told}"),
            Some(Cause::Perhaps(told)) => format!("perhaps ({}): {told}", first.name),
            None => {
                none += 1;
                format!("nothing ({})", first.name)
            }
        };
        println!("{exercise} {of_writer}\n  {said}");
    }
    let others = caught - same - none;
    for name in lesson.checks().map(Check::full_name) {
        println!("{:>4} caught by {name}", catches.get(&name).unwrap_or(&0));
    }
    println!(
        "{} wrong answers: {caught} caught; told why in the same words {same}, in others (to be judged) {others}, nothing {none}",
        all.len()
    );
    println!("{} problems of the lesson itself", problems.len());
    ExitCode::from(u8::from(caught < all.len() || !problems.is_empty()))
}
