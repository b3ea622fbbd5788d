//! Tests of a lesson itself, so that its grades can be trusted. Those of `Lesson` return their problems, one line for each.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    env, fs, iter,
    path::Path,
    process::ExitCode,
};

use anyhow::Result;

use crate::{
    Check, DEADLINE, Exercise, Lesson, Mistake, Outcome,
    cause::{Cause, cause},
    manifest::item,
    paths, promise, run, solution_call,
};

impl<C: Copy + Send> Lesson<C> {
    /// Runs a check of an answer.
    pub fn outcome(&self, check: &Check<C>, answer: C, seed: u64) -> Outcome {
        run(&check.full_name(), check.run, answer, seed, DEADLINE)
    }

    /// Every stub fails each of its checks as "to do", and as nothing else.
    pub fn stubs_are_to_do(&self) -> Vec<String> {
        let odd = |check: &Check<C>| match self.outcome(check, self.stubs, 1) {
            Outcome::ToDo(_) => None,
            other => Some(format!("the stub of {}: {other:?}", check.full_name())),
        };
        self.checks().filter_map(odd).collect()
    }

    /// canopy's functions, the completed third hints, and every right answer written another way, pass.
    pub fn right_answers_pass(&self, seed: u64) -> Vec<String> {
        let problem = |check: &Check<C>, who: &str, answer: C| {
            // Longer than for a student: on a busy machine, a right answer must not count as stuck.
            let outcome = run(&check.full_name(), check.run, answer, seed, 12 * DEADLINE);
            let fine = matches!(outcome, Outcome::Passed) || is_not_run_here(&outcome);
            (!fine).then(|| format!("{who}, {}, seed {seed}: {outcome:?}", check.full_name()))
        };
        let mut problems = Vec::new();
        for check in self.checks() {
            problems.extend(problem(check, "the reference", self.reference));
            problems.extend(problem(check, "the third hint", self.third_hints));
            let others = self.right.iter().filter(|right| right.exercise == check.exercise);
            problems.extend(others.filter_map(|right| problem(check, right.text, right.answer)));
        }
        problems
    }

    /// Every known mistake fails a check, and the report on the first that it fails names its cause.
    pub fn mistakes_are_caught(&self, seed: u64) -> Vec<String> {
        // Each cause is found by comparing with all mistakes: each of them runs once.
        let known: RefCell<HashMap<(&str, usize), Outcome>> = RefCell::default();
        let of = |check: &Check<C>, mistake: &Mistake<C>| {
            let key = (check.name, std::ptr::from_ref(mistake).addr());
            let run = || self.outcome(check, mistake.answer, seed);
            known.borrow_mut().entry(key).or_insert_with(run).clone()
        };
        let problem = |mistake: &'static Mistake<C>| {
            let text = mistake.text;
            let what = format!("{} \"{text}\", seed {seed}", mistake.exercise);
            let mut checks = self.checks_of(mistake.exercise);
            let Some(check) = checks.find(|check| of(check, mistake).failed()) else {
                let mut checks = self.checks_of(mistake.exercise);
                let is_not_run = checks.any(|check| is_not_run_here(&of(check, mistake)));
                return (!is_not_run).then(|| format!("{what}: no check fails"));
            };
            let outcome = of(check, mistake);
            let asked = outcome.wrong().and_then(|wrong| wrong.asked);
            if let Some(problem) = asked.and_then(|words| self.unpromised(check, words)) {
                return Some(problem);
            }
            let reported = cause(self, check, &outcome, |check, other| {
                of(check, other.unwrap_or(mistake))
            });
            let right = reported == Some(Cause { likely: true, text });
            (!right).then(|| format!("{what}: {} reports {reported:?}", check.name))
        };
        self.mistakes().filter_map(problem).collect()
    }

    /// Stubs, hints, points, checks, mistakes, the chapter and the answer key agree.
    ///
    /// # Panics
    /// Panics if `lesson.toml` is not valid.
    pub fn papers_agree(&self, root: &Path) -> Vec<String> {
        let manifest = self.manifest().expect("lesson.toml is valid");
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let chapter = format!("book/src/{}", manifest.chapter);
        let mut problems = Vec::new();
        for e in &manifest.exercises {
            let (id, title, text) = (&e.id, &e.title, self.text(e));
            let functions = iter::once(&e.function).chain(e.looks_at.values());
            let items: Vec<_> = functions.flat_map(|name| item(text.stubs, name)).collect();
            let first = items.iter().map(|lines| lines.start + 1).min().unwrap_or(0);
            let last = items.iter().map(|lines| lines.end).max().unwrap_or(0);
            let stubs = paths::stubs(&manifest.lesson, &e.file);
            let (answer, solution, points) = (&e.answer, &e.solution, e.points);
            let anchor = format!("{{#{}}}", e.anchor());
            let include = format!("{{{{#include ../../{stubs}:{first}:{last}}}}}");
            let row = format!("| {id} | {title} | `{answer}` | `{solution}` | {points} |");
            for (file, part) in [
                ("book/src/SUMMARY.md", &manifest.chapter),
                (&chapter, &anchor),
                (&chapter, &include),
                ("solutions/README.md", &row),
            ] {
                if !read(file).contains(part) {
                    problems.push(format!("{id} {title}: {file} does not have {part}"));
                }
            }
            if let Some(line) = line_not_in(text.third_hints, &e.function, &e.hints[2]) {
                problems.push(format!(
                    "{id}: the completed third hint does not have {line:?} here"
                ));
            }
            let mut lines = e.hints.iter().flat_map(|hint| code(hint));
            let wide = lines.any(|line| line.chars().count() > 76);
            let call = solution_call(&[text.stubs, text.third_hints], e);
            let known = |name: &String| self.checks_of(id).any(|check| check.name == *name);
            let mistakes = self.mistakes().filter(|m| m.exercise == *id).count();
            let right = self.right.iter().any(|right| right.exercise == id);
            for (is_wrong, what) in [
                (call.is_some(), "a stub or a third hint calls the solution"),
                (wide, "a code line of a hint is wider than 76 columns"),
                (!e.looks_at.keys().all(known), "`looks_at` names no check"),
                (mistakes < 3, "there must be three known mistakes"),
                (!right, "no right answer written another way"),
            ] {
                problems.extend(is_wrong.then(|| format!("{id} {title}: {what}")));
            }
        }
        let known = self.mistakes().chain(self.right);
        let unknown = known.filter(|known| manifest.exercise(known.exercise).is_none());
        problems.extend(unknown.map(|known| format!("there is no exercise {}", known.exercise)));
        let mut names = BTreeSet::new();
        let twice = self.checks().filter(|check| !names.insert(check.full_name()));
        problems.extend(twice.map(|check| format!("two checks are named {}", check.full_name())));
        let unpromised = |check| self.unpromised(check, check.promise);
        problems.extend(self.checks().filter_map(unpromised));
        problems
    }

    /// A problem if no sentence of the stub's comment contains `words`, which promise what `check` tests.
    fn unpromised(&self, check: &Check<C>, words: &str) -> Option<String> {
        let (manifest, name) = (self.manifest().ok()?, check.full_name());
        let Some(exercise) = manifest.exercise(check.exercise) else {
            return Some(format!("{name}: there is no such exercise"));
        };
        let sentence = promise(self.text(exercise).stubs, exercise.looked_at(check.name), words);
        let kept = !words.is_empty() && sentence.contains(words);
        (!kept).then(|| format!("{name}: no sentence of the stub's comment contains {words:?}"))
    }

    /// Whether the exercise in `root` is still as it was handed out. A student who has begun has changed it.
    pub fn is_handed_out(&self, root: &Path) -> bool {
        let lesson = self.manifest().map(|m| m.lesson).unwrap_or_default();
        self.texts.iter().all(|text| {
            let now = fs::read_to_string(root.join(paths::exercises(&lesson, text.file)));
            // An editor may have changed how lines end.
            now.unwrap_or_default().replace("\r\n", "\n") == text.stubs.replace("\r\n", "\n")
        })
    }
}

/// A Markdown table for each exercise of a lesson, with a row for each mistake and a column for each check: ● is a check
/// that catches the mistake.
///
/// # Errors
/// Those of the manifest.
pub fn matrix<C: Copy + Send>(lesson: &Lesson<C>) -> Result<String> {
    let manifest = lesson.manifest()?;
    let mut out = format!("## Lesson {} · {}\n", manifest.lesson, manifest.title);
    for Exercise { id, title, .. } in &manifest.exercises {
        let checks: Vec<_> = lesson.checks_of(id).collect();
        let heads: Vec<String> = checks.iter().map(|check| check.sentence()).collect();
        let heads = heads.join(" | ");
        let rule = ":-:|".repeat(checks.len());
        out += &format!("\n### {id} {title}\n\n| known mistake | {heads} |\n|---|{rule}\n");
        for mistake in lesson.mistakes().filter(|mistake| mistake.exercise == id) {
            let fails = |check: &Check<C>| lesson.outcome(check, mistake.answer, 1).failed();
            out += &format!("| {} |", mistake.text.replace('|', "\\|"));
            out.extend(checks.iter().map(|c| if fails(c) { " ● |" } else { "   |" }));
            out.push('\n');
        }
    }
    Ok(out)
}

/// Measures the checks of a lesson with a collection of wrong answers: which are caught, and told why. Runs the lesson's right
/// answers with more seeds than its tests do, and each wrong one with two. Prints the wrong answers that are not caught, and
/// the reported causes that are worded otherwise than in the collection, for a person to judge. Fails if a right answer does not
/// pass, or a wrong one is not caught.
pub fn corpus<C: Copy + Send>(lesson: &Lesson<C>, answers: &[&[Mistake<C>]]) -> ExitCode {
    let mut problems = 0;
    for problem in (1..=40).flat_map(|seed| lesson.right_answers_pass(seed)) {
        problems += 1;
        println!("PROBLEM  {problem}");
    }
    let (mut all, mut caught, mut same) = (0, 0, 0);
    for mistake in answers.iter().copied().flatten() {
        let (id, text) = (mistake.exercise, mistake.text);
        let outcome = |check: &Check<C>, seed| lesson.outcome(check, mistake.answer, seed);
        let first = [1, 2].map(|seed| lesson.checks_of(id).find(|c| outcome(c, seed).failed()));
        all += 1;
        let [Some(check), Some(_)] = first else {
            println!("NOT CAUGHT  {id} {text}");
            continue;
        };
        caught += 1;
        let cause = cause(lesson, check, &outcome(check, 1), |check, other| {
            lesson.outcome(check, other.unwrap_or(mistake).answer, 1)
        });
        match cause.is_some_and(|cause| cause.text == text) {
            true => same += 1,
            false => println!("{id} {text}\n  {}: {cause:?}", check.name),
        }
    }
    println!("{all} wrong answers: {caught} caught, {same} told why in the same words");
    ExitCode::from(u8::from(caught < all || problems > 0))
}

/// Whether a check cannot run on this machine. Where changes are checked before they land, every check must run.
fn is_not_run_here(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::NotRun(_)) && env::var_os("CANOPY_HANDED_OUT").is_none()
}

fn code(hint: &str) -> impl Iterator<Item = &str> {
    hint.lines().filter(|line| line.starts_with("    "))
}

/// The first code line of `hint` that does not follow the ones before it in `text`, from `function` on. It skips lines with `…`.
fn line_not_in<'a>(text: &str, function: &str, hint: &'a str) -> Option<&'a str> {
    let begin = item(text, function).map_or(usize::MAX, |lines| lines.start);
    let mut rest = text.lines().skip(begin).map(str::trim);
    let mut required = code(hint).map(str::trim).filter(|line| !line.contains('…'));
    required.find(|line| !rest.any(|l| l == *line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_hint_are_found_in_their_order() {
        let text = "pub fn before() {\n    a();\n}\npub fn one() {\n    b();\n    c();\n}\n";
        for (lines, absent) in [
            ("The calls:\n\n    b();\n    … d();\n    c();", None),
            ("    c();\n    b();\n    c();", Some("b();")),
            ("    a();\n    b();\n    c();", Some("a();")),
        ] {
            assert_eq!(line_not_in(text, "one", lines), absent);
        }
    }
}
