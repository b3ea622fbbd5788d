//! Measures the checks of a lesson with a collection of answers: the shares that are caught, and told why.

use std::process::ExitCode;

use crate::{Cause, Check, DEADLINE, Lesson, Mistake, Outcome, cause, paths, run};

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
    problems
        .iter()
        .take(60)
        .for_each(|problem| println!("PROBLEM  {problem}"));
    let all: Vec<&Mistake<C>> = answers.iter().copied().flatten().collect();
    let (mut caught, mut same, mut perhaps, mut none) = (0, 0, 0, 0);
    let mut catches = vec![0; lesson.checks().count()];
    for answer in &all {
        let outcome =
            |check: &Check<C>, seed| run(&check.full_name(), check.run, answer.answer, seed, DEADLINE);
        let fails = |(_, check): &(usize, &Check<C>), seed| {
            check.exercise == answer.exercise
                && !matches!(outcome(check, seed), Outcome::Passed | Outcome::NotRun(_))
        };
        let failing: Vec<(usize, &Check<C>)> = lesson.checks().enumerate().filter(|c| fails(c, 1)).collect();
        let again = lesson.checks().enumerate().any(|c| fails(&c, 2));
        let ([(_, first), ..], true) = (&failing[..], again) else {
            println!("NOT CAUGHT  {} {}", answer.exercise, answer.cause);
            continue;
        };
        caught += 1;
        failing.iter().for_each(|&(at, _)| catches[at] += 1);
        match cause(lesson, first, &outcome(first, 1), answer.answer, 1) {
            Some(Cause::Likely(told) | Cause::Perhaps(told)) if told == answer.cause => same += 1,
            Some(Cause::Likely(told)) => {
                perhaps += 1;
                println!("{} {}\n  likely: {told}", answer.exercise, answer.cause);
            }
            Some(Cause::Perhaps(told)) => {
                perhaps += 1;
                println!(
                    "{} {}\n  perhaps ({}): {told}",
                    answer.exercise, answer.cause, first.name
                );
            }
            None => {
                none += 1;
                println!("{} {}\n  nothing ({})", answer.exercise, answer.cause, first.name);
            }
        }
    }
    for (check, count) in lesson.checks().zip(catches) {
        println!("{count:>4} caught by {}", check.full_name());
    }
    println!(
        "{} wrong answers: {caught} caught; told why in the same words {same}, in others (to be judged) {perhaps}, nothing {none}",
        all.len()
    );
    println!("{} problems of the lesson itself", problems.len());
    ExitCode::from(u8::from(caught < all.len() || !problems.is_empty()))
}
