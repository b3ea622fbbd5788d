//! Tests of a lesson itself, so that its grades can be trusted. Each returns its problems, one line for each.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    env, fs, iter,
    path::Path,
};

use crate::{
    Check, DEADLINE, Exercise, Lesson, Mistake, Outcome,
    cause::{Cause, likely},
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
        let mut problems = Vec::new();
        for check in self.checks() {
            let others = self.right.iter().filter(|right| right.exercise == check.exercise);
            let others = others.map(|right| (right.way, right.answer));
            let own = [
                ("the reference", self.reference),
                ("the third hint", self.third_hints),
            ];
            for (who, answer) in own.into_iter().chain(others) {
                let outcome = self.outcome(check, answer, seed);
                if !matches!(outcome, Outcome::Passed) && !is_not_run_here(&outcome) {
                    problems.push(format!("{who}, {}, seed {seed}: {outcome:?}", check.full_name()));
                }
            }
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
            let text = mistake.cause;
            let what = format!("{} \"{text}\", seed {seed}", mistake.exercise);
            let mut checks = self.checks_of(mistake.exercise);
            let Some(check) = checks.find(|check| of(check, mistake).failed()) else {
                let is_not_run = |check| is_not_run_here(&of(check, mistake));
                if self.checks_of(mistake.exercise).any(is_not_run) {
                    return None;
                }
                return Some(format!("{what}: no check fails"));
            };
            let outcome = of(check, mistake);
            if let Outcome::Wrong(wrong) = &outcome
                && let Some(problem) = wrong.asked.and_then(|words| self.unpromised(check, words))
            {
                return Some(problem);
            }
            let reported = likely(self, check, &outcome, |check| of(check, mistake), of);
            let right = reported == Some(Cause { likely: true, text });
            (!right).then(|| format!("{what}: {} reports {reported:?}", check.name))
        };
        self.mistakes().filter_map(problem).collect()
    }

    /// Stubs, hints, points, checks, mistakes, the chapter and the answer key agree.
    pub fn papers_agree(&self, root: &Path) -> Vec<String> {
        let manifest = match self.manifest() {
            Ok(manifest) => manifest,
            Err(error) => return vec![format!("{error:#}")],
        };
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let (name, key) = (&manifest.chapter, read("solutions/README.md"));
        let chapter = read(&format!("book/src/{name}"));
        let mut problems = Vec::new();
        if chapter.is_empty() || !read("book/src/SUMMARY.md").contains(name) {
            problems.push(format!("{name} is missing, in the book or in its SUMMARY.md"));
        }
        for e in &manifest.exercises {
            let (
                Exercise {
                    id, title, points, ..
                },
                stubs,
            ) = (e, paths::stubs(&manifest.lesson, &e.file));
            let mut require = |holds: bool, what: &str| {
                if !holds {
                    problems.push(format!("{id} {title}: {what}"));
                }
            };
            self.of_exercise(e, &mut require);
            let anchor = format!("{{#{}}}", e.anchor());
            require(chapter.contains(&anchor), &format!("the chapter has no {anchor}"));
            let functions = iter::once(&e.function).chain(e.looks_at.values());
            let lines = functions.flat_map(|function| item(self.text(e).stubs, function));
            let (first, last) = lines.fold((usize::MAX, 0), |(first, last), lines| {
                (first.min(lines.start + 1), last.max(lines.end))
            });
            let include = format!("{{{{#include ../../{stubs}:{first}:{last}}}}}");
            let what = format!("the chapter does not show its stub: {include}");
            require(chapter.contains(&include), &what);
            let row = format!(
                "| {id} | {title} | `{}` | `{}` | {points} |",
                e.answer, e.solution
            );
            let what = format!("solutions/README.md has no row {row}");
            require(key.contains(&row), &what);
        }
        let mistakes = self.mistakes().map(|mistake| mistake.exercise);
        let named = mistakes.chain(self.right.iter().map(|right| right.exercise));
        let unknown = named.filter(|id| manifest.exercise(id).is_none());
        problems.extend(unknown.map(|id| format!("there is no exercise {id}")));
        let mut names = BTreeSet::new();
        let twice = self.checks().filter(|check| !names.insert(check.full_name()));
        problems.extend(twice.map(|check| format!("two checks are named {}", check.full_name())));
        let unpromised = |check| self.unpromised(check, check.promise);
        problems.extend(self.checks().filter_map(unpromised));
        problems
    }

    fn of_exercise(&self, e: &Exercise, require: &mut impl FnMut(bool, &str)) {
        let text = self.text(e);
        let call = solution_call(&[text.stubs, text.third_hints], e);
        require(call.is_none(), "its stub or its third hint calls the solution");
        let long = e.hints.iter().filter(|hint| hint.trim().len() > 10).count();
        require(long == 3 && e.hints.len() == 3, "there must be three hints");
        fn code(hint: &str) -> impl Iterator<Item = &str> {
            hint.lines().filter(|line| line.starts_with("    "))
        }
        let mut lines = e.hints.iter().flat_map(|hint| code(hint));
        let wide = lines.any(|line| line.chars().count() > 76);
        require(!wide, "a code line of a hint is wider than 76 columns");
        let third: Vec<&str> = e.hints.iter().skip(2).flat_map(|hint| code(hint)).collect();
        let absent = line_not_in(text.third_hints, &e.function, &third);
        let differs = format!("the completed third hint has no {absent:?}, or not in this order");
        require(absent.is_none(), &differs);
        let known = |name: &String| self.checks_of(&e.id).any(|check| check.name == *name);
        require(e.looks_at.keys().all(known), "`looks_at` names an unknown check");
        let mistakes = self.mistakes().filter(|m| m.exercise == e.id).count();
        require(mistakes >= 3, "there must be at least three known mistakes");
        let right = self.right.iter().any(|r| r.exercise == e.id);
        require(right, "no right answer written another way");
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

/// Whether a check cannot run on this machine. Where changes are checked before they land, every check must run.
fn is_not_run_here(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::NotRun(_)) && env::var_os("CANOPY_HANDED_OUT").is_none()
}

/// The first of `lines` that does not follow the ones before it in `text`, from `function` on. It skips lines
/// with `…`.
fn line_not_in<'a>(text: &str, function: &str, lines: &[&'a str]) -> Option<&'a str> {
    let begin = item(text, function).map_or(usize::MAX, |lines| lines.start);
    let mut rest = text.lines().skip(begin).map(str::trim);
    let mut required = lines
        .iter()
        .map(|line| line.trim())
        .filter(|line| !line.contains('…'));
    required.find(|line| !rest.any(|l| l == *line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_hint_are_found_in_their_order() {
        let text = "pub fn before() {\n    a();\n}\npub fn one() {\n    b();\n    c();\n}\n";
        for (lines, absent) in [
            (["b();", "… d();", "c();"], None),
            (["c();", "b();", "c();"], Some("b();")),
            (["a();", "b();", "c();"], Some("a();")),
        ] {
            assert_eq!(line_not_in(text, "one", &lines), absent);
        }
    }
}
