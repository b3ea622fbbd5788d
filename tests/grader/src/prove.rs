//! Tests of a lesson itself, so that its grades can be trusted. Each returns its problems, one line for each.

use std::{cell::RefCell, collections::HashMap, fs, path::Path};

use crate::{
    Cause, Check, DEADLINE, Exercise, Lesson, Mistake, Outcome, cause::likely, contract, manifest::Manifest,
    paths, promise, run, solution_call, stub_lines,
};

/// The result of [`Lesson::right_answers_pass`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RightAnswers {
    /// Right answers that a check rejects.
    pub problems: Vec<String>,
    /// Checks that could not run, with the reason. They prove nothing about the answer.
    pub not_run: Vec<String>,
}

impl<C: Copy + Send> Lesson<C> {
    fn outcome(&self, check: &Check<C>, answer: C, seed: u64) -> Outcome {
        run(&check.full_name(), check.run, answer, seed, DEADLINE)
    }

    fn checks_of<'a>(&self, exercise: &'a str) -> impl Iterator<Item = &'static Check<C>> + use<'a, C> {
        self.checks().filter(move |c| c.exercise == exercise)
    }

    /// Every stub fails each of its checks as "to do", and as nothing else.
    pub fn stubs_are_to_do(&self) -> Vec<String> {
        let odd = |check: &Check<C>| match self.outcome(check, self.stubs, 1) {
            Outcome::ToDo(_) => None,
            other => Some(format!("the stub of {}: {other:?}", check.full_name())),
        };
        self.checks().filter_map(odd).collect()
    }

    /// canopy's functions, and every right answer written another way, pass. A check that does not run is not counted as
    /// passed: it is returned apart from the problems.
    pub fn right_answers_pass(&self, seed: u64) -> RightAnswers {
        let mut results = RightAnswers::default();
        let mut test = |who: &str, check: &Check<C>, answer: C| match self.outcome(check, answer, seed) {
            Outcome::Passed => {}
            Outcome::NotRun(why) => results
                .not_run
                .push(format!("{who}, {}: {why}", check.full_name())),
            other => {
                let problem = format!("{who}, {}, seed {seed}: {other:?}", check.full_name());
                results.problems.push(problem);
            }
        };
        for check in self.checks() {
            test("the reference", check, self.reference);
        }
        for right in self.right {
            for check in self.checks_of(right.exercise) {
                test(right.way, check, right.answer);
            }
        }
        results
    }

    /// A student who completes the third hints has right answers.
    pub fn third_hints_are_right(&self, seed: u64) -> Vec<String> {
        let wrong = |check: &Check<C>| match self.outcome(check, self.third_hints, seed) {
            Outcome::Passed | Outcome::NotRun(_) => None,
            other => Some(format!(
                "the third hint of {}, seed {seed}: {other:?}",
                check.full_name()
            )),
        };
        self.checks().filter_map(wrong).collect()
    }

    /// Every known mistake fails a check, and the report on the first that it fails names its cause.
    pub fn mistakes_are_caught(&self, seed: u64) -> Vec<String> {
        // Each cause is found by comparing with all mistakes: each of them runs once.
        let known: RefCell<HashMap<(&str, usize), Outcome>> = RefCell::default();
        let of = |check: &Check<C>, mistake: &Mistake<C>| {
            let key = (check.name, std::ptr::from_ref(mistake).addr());
            if let Some(outcome) = known.borrow().get(&key) {
                return outcome.clone();
            }
            let outcome = self.outcome(check, mistake.answer, seed);
            known.borrow_mut().insert(key, outcome.clone());
            outcome
        };
        let mut problems = Vec::new();
        for mistake in self.mistakes() {
            let what = format!("{} \"{}\", seed {seed}", mistake.exercise, mistake.cause);
            let fails =
                |check: &&Check<C>| !matches!(of(check, mistake), Outcome::Passed | Outcome::NotRun(_));
            let Some(check) = self.checks_of(mistake.exercise).find(fails) else {
                problems.push(format!("{what}: no check fails"));
                continue;
            };
            let outcome = of(check, mistake);
            // Systems other than Unix do not report where a thread waits.
            if !cfg!(unix) && matches!(outcome, Outcome::Stuck { .. }) {
                continue;
            }
            let reported = likely(self, check, &outcome, |check| of(check, mistake), of);
            if reported != Some(Cause::Likely(mistake.cause)) {
                problems.push(format!("{what}: {} reports {reported:?}", check.name));
            }
        }
        problems
    }

    /// Stubs, hints, points, checks, mistakes, the chapter and the answer key agree.
    pub fn papers_agree(&self, root: &Path) -> Vec<String> {
        let manifest = match self.manifest() {
            Ok(manifest) => manifest,
            Err(error) => return vec![format!("{error:#}")],
        };
        let mut problems = Vec::new();
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let chapter = read(&format!("book/src/{}", manifest.chapter));
        let summary = read("book/src/SUMMARY.md");
        if chapter.is_empty() || !summary.contains(&manifest.chapter) {
            problems.push(format!(
                "the chapter {} is missing, in the book or in its SUMMARY.md",
                manifest.chapter
            ));
        }
        let key = read("solutions/README.md");
        for exercise in &manifest.exercises {
            for (holds, what) in self.of_exercise(exercise, &chapter, &key, &read(&exercise.solution)) {
                if !holds {
                    problems.push(format!("{} {}: {what}", exercise.id, exercise.title));
                }
            }
        }
        problems.extend(self.strays(&manifest));
        problems.extend(self.unpromised(&manifest));
        problems
    }

    fn of_exercise(&self, e: &Exercise, chapter: &str, key: &str, solution: &str) -> Vec<(bool, String)> {
        let doc = contract(self.stubs_text, &e.function);
        let mistakes = self.mistakes().filter(|m| m.exercise == e.id).count();
        let row = key
            .lines()
            .find(|l| l.starts_with(&format!("| {} |", e.id)))
            .unwrap_or_default();
        let looks = e.looks_at.iter().all(|(name, function)| {
            let known = self.checks().any(|c| c.exercise == e.id && c.name == name);
            known && !contract(self.stubs_text, function).is_empty()
        });
        let hints = e.hints.len() == 3 && e.hints.iter().all(|h| h.trim().len() > 10);
        let (first, last) = stub_lines(self.stubs_text, &e.id).unwrap_or_default();
        let number = self.manifest().map(|m| m.lesson).unwrap_or_default();
        let include = format!("{{{{#include ../../{}:{first}:{last}}}}}", paths::stubs(&number));
        let code = |line: &&str| line.starts_with("    ");
        let third = e.hints.get(2).map_or("", String::as_str);
        let shown = third.lines().filter(code).map(str::trim);
        let absent = line_not_in(self.third_hints_text, &e.function, shown);
        let mut of_hints = e.hints.iter().flat_map(|h| h.lines()).filter(code);
        let narrow = of_hints.all(|line| line.chars().count() <= 76);
        vec![
            (!doc.is_empty(), format!("no doc comment over `{}`", e.function)),
            (
                self.stubs_text.contains(&format!("todo!(\"{}: ", e.id)),
                "its stub has no `todo!(\"N.M: …\")`".into(),
            ),
            (
                solution_call(&[self.stubs_text, self.third_hints_text], e).is_none(),
                "its stub or its third hint calls the solution".into(),
            ),
            (hints, "there must be three hints".into()),
            (narrow, "a code line of a hint is wider than 76 columns".into()),
            (
                absent.is_none(),
                format!("the completed third hint differs: {absent:?} is not there, or not in this order"),
            ),
            (
                looks,
                "`looks_at` names a check or a function that does not exist".into(),
            ),
            (e.points > 0, "it has no points".into()),
            (self.checks_of(&e.id).count() > 0, "no check".into()),
            (
                mistakes >= 3,
                format!("{mistakes} known mistakes; there must be at least three"),
            ),
            (
                self.right.iter().any(|r| r.exercise == e.id),
                "no right answer written another way".into(),
            ),
            (
                chapter.contains(&format!("{{#{}}}", e.anchor())),
                format!("the chapter has no {{#{}}}", e.anchor()),
            ),
            (
                chapter.contains(&include),
                format!("the chapter does not show its stub: {include}"),
            ),
            (
                ['(', '<']
                    .iter()
                    .any(|c| solution.contains(&format!("pub fn {}{c}", e.answer))),
                format!("no `pub fn {}` in {}", e.answer, e.solution),
            ),
            (
                row.contains(&e.title) && row.contains(&e.answer) && row.contains(&e.solution),
                format!(
                    "solutions/README.md has no row | {} | {} | `{}` | {} |",
                    e.id, e.title, e.answer, e.solution
                ),
            ),
        ]
    }

    /// Checks of a property that no sentence of the stub's comment promises.
    fn unpromised(&self, manifest: &Manifest) -> Vec<String> {
        let kept = |check: &&Check<C>| {
            let function = manifest
                .exercise(check.exercise)
                .map_or("", |e| e.looked_at(check.name));
            let quoted = promise(self.stubs_text, function, check.promise);
            !check.promise.is_empty() && quoted.contains(check.promise)
        };
        let broken = self.checks().filter(|check| !kept(check));
        let problem = |check: &Check<C>| {
            let (name, words) = (check.full_name(), check.promise);
            format!("{name}: no sentence of the stub's comment contains {words:?}")
        };
        broken.map(problem).collect()
    }

    /// Checks, mistakes and right answers of exercises that do not exist, and duplicate names of checks.
    fn strays(&self, manifest: &Manifest) -> Vec<String> {
        let exercises = self.checks().map(|c| c.exercise);
        let all = exercises
            .chain(self.mistakes().map(|m| m.exercise))
            .chain(self.right.iter().map(|r| r.exercise));
        let mut problems: Vec<String> = all
            .filter(|id| manifest.exercise(id).is_none())
            .map(|id| format!("there is no exercise {id}"))
            .collect();
        let mut names: Vec<String> = self.checks().map(Check::full_name).collect();
        names.sort_unstable();
        for pair in names.windows(2).filter(|p| p[0] == p[1]) {
            problems.push(format!("two checks are named {}", pair[0]));
        }
        problems
    }

    /// Whether the exercise in `root` is still as it was handed out. A student who has begun has changed it.
    pub fn is_handed_out(&self, root: &Path) -> bool {
        let lesson = self.manifest().map(|m| m.lesson).unwrap_or_default();
        let now = fs::read_to_string(root.join(paths::exercises(&lesson))).unwrap_or_default();
        // An editor may have changed how lines end.
        now.replace("\r\n", "\n") == self.stubs_text.replace("\r\n", "\n")
    }
}

/// The first of `lines` that does not follow the ones before it in `text`, from `function` on. It skips lines
/// with `…`.
fn line_not_in<'a>(text: &str, function: &str, lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let begins = |l: &&str| !l.starts_with(&format!("pub fn {function}"));
    let mut rest = text.lines().skip_while(begins).map(str::trim);
    let mut required = lines.filter(|line| !line.contains('…'));
    required.find(|line| !rest.any(|l| l == *line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Verdict, not_run};

    #[test]
    fn the_lines_of_a_hint_are_found_in_their_order() {
        let text = "pub fn before() {\n    a();\n}\npub fn one() {\n    b();\n    c();\n}\n";
        assert_eq!(
            line_not_in(text, "one", ["b();", "… d();", "c();"].into_iter()),
            None
        );
        assert_eq!(
            line_not_in(text, "one", ["c();", "b();"].into_iter()),
            Some("b();")
        );
        assert_eq!(line_not_in(text, "one", ["a();"].into_iter()), Some("a();"));
    }

    fn needs_a_gpu(_: &fn()) -> Verdict {
        not_run("there is no GPU")
    }

    #[test]
    fn a_check_that_does_not_run_is_not_a_passed_reference() {
        static LESSON: Lesson<fn()> = Lesson {
            manifest: "",
            stubs_text: "",
            stubs: || (),
            third_hints_text: "",
            third_hints: || (),
            reference: || (),
            checks: &[&[Check {
                exercise: "1.1",
                name: "needs_a_gpu",
                promise: "",
                cause: "",
                run: needs_a_gpu,
            }]],
            mistakes: &[],
            right: &[],
        };
        let results = LESSON.right_answers_pass(1);
        assert_eq!(
            results.not_run,
            ["the reference, 1.1::needs_a_gpu: there is no GPU"]
        );
        assert!(results.problems.is_empty(), "{results:?}");
    }
}
