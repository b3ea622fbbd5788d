//! Tests of a lesson itself, so that its grades can be trusted. Each returns its problems, one line for each.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    fs,
    path::Path,
};

use crate::{
    Cause, Check, DEADLINE, Exercise, Lesson, Mistake, Outcome, cause::likely, manifest::Manifest, paths,
    promise, run, solution_call,
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
    pub(crate) fn outcome(&self, check: &Check<C>, answer: C, seed: u64) -> Outcome {
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

    /// canopy's functions, and every right answer written another way, pass. A check that does not run is not counted as
    /// passed: it is returned apart from the problems.
    pub fn right_answers_pass(&self, seed: u64) -> RightAnswers {
        let mut results = RightAnswers::default();
        for check in self.checks() {
            self.must_pass(&mut results, "the reference", check, self.reference, seed);
        }
        for right in self.right {
            for check in self.checks_of(right.exercise) {
                self.must_pass(&mut results, right.way, check, right.answer, seed);
            }
        }
        results
    }

    /// A student who completes the third hints has right answers.
    pub fn third_hints_are_right(&self, seed: u64) -> Vec<String> {
        let mut results = RightAnswers::default();
        for check in self.checks() {
            self.must_pass(&mut results, "the third hint", check, self.third_hints, seed);
        }
        results.problems
    }

    fn must_pass(&self, results: &mut RightAnswers, who: &str, check: &Check<C>, answer: C, seed: u64) {
        let what = format!("{who}, {}", check.full_name());
        match self.outcome(check, answer, seed) {
            Outcome::Passed => {}
            Outcome::NotRun(why) => results.not_run.push(format!("{what}: {why}")),
            other => results.problems.push(format!("{what}, seed {seed}: {other:?}")),
        }
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
            let what = format!("{} \"{}\", seed {seed}", mistake.exercise, mistake.cause);
            let mut checks = self.checks_of(mistake.exercise);
            let Some(check) = checks.find(|check| of(check, mistake).failed()) else {
                return Some(format!("{what}: no check fails"));
            };
            let outcome = of(check, mistake);
            if let Outcome::Wrong(wrong) = &outcome
                && let Some(problem) = wrong.asked.and_then(|words| self.unpromised(check, words))
            {
                return Some(problem);
            }
            let reported = likely(self, check, &outcome, |check| of(check, mistake), of);
            // Systems other than Unix do not report where a thread waits.
            let unknown = !cfg!(unix) && matches!(outcome, Outcome::Stuck { .. });
            let right = unknown || reported == Some(Cause::Likely(mistake.cause));
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
            let mut require = |holds: bool, what: &str| {
                if !holds {
                    problems.push(format!("{} {}: {what}", e.id, e.title));
                }
            };
            self.of_exercise(e, &mut require);
            let (id, title, answer, file) = (&e.id, &e.title, &e.answer, &e.solution);
            let anchor = format!("{{#{}}}", e.anchor());
            require(chapter.contains(&anchor), &format!("the chapter has no {anchor}"));
            let (first, last) = stub_lines(self.stubs_text, id);
            let stubs = paths::stubs(&manifest.lesson);
            let include = format!("{{{{#include ../../{stubs}:{first}:{last}}}}}");
            require(
                chapter.contains(&include),
                &format!("the chapter does not show its stub: {include}"),
            );
            let mut rows = key.lines().filter(|line| line.starts_with(&format!("| {id} |")));
            let has = |row: &str| [title, answer, file].iter().all(|part| row.contains(*part));
            let row = format!("solutions/README.md has no row | {id} | {title} | `{answer}` | {file} |");
            require(rows.any(has), &row);
        }
        problems.extend(self.strays(&manifest));
        problems.extend(
            self.checks()
                .filter_map(|check| self.unpromised(check, check.promise)),
        );
        problems
    }

    fn of_exercise(&self, e: &Exercise, require: &mut impl FnMut(bool, &str)) {
        let (stubs, function) = (self.stubs_text, &e.function);
        let call = solution_call(&[stubs, self.third_hints_text], e);
        require(call.is_none(), "its stub or its third hint calls the solution");
        let long = e.hints.iter().filter(|hint| hint.trim().len() > 10).count();
        require(long == 3 && e.hints.len() == 3, "there must be three hints");
        let code = |hint: &'_ String| -> Vec<String> {
            let code = hint.lines().filter(|line| line.starts_with("    "));
            code.map(str::to_owned).collect()
        };
        let wide = e
            .hints
            .iter()
            .flat_map(code)
            .any(|line| line.chars().count() > 76);
        require(!wide, "a code line of a hint is wider than 76 columns");
        let third = e.hints.last().map(code).unwrap_or_default();
        let absent = line_not_in(self.third_hints_text, function, &third);
        let differs =
            format!("the completed third hint differs: {absent:?} is not there, or not in this order");
        require(absent.is_none(), &differs);
        let known = |name: &String| self.checks_of(&e.id).any(|check| check.name == *name);
        let known = e.looks_at.keys().all(known);
        require(known, "`looks_at` names a check that does not exist");
        require(e.points > 0, "it has no points");
        require(self.checks_of(&e.id).next().is_some(), "no check");
        let mistakes = self.mistakes().filter(|m| m.exercise == e.id).count();
        require(mistakes >= 3, "there must be at least three known mistakes");
        let right = self.right.iter().any(|r| r.exercise == e.id);
        require(right, "no right answer written another way");
    }

    /// A problem if no sentence of the stub's comment contains `words`, which promise what `check` tests.
    fn unpromised(&self, check: &Check<C>, words: &str) -> Option<String> {
        let manifest = self.manifest().ok()?;
        let function = manifest.exercise(check.exercise)?.looked_at(check.name);
        let kept = !words.is_empty() && promise(self.stubs_text, function, words).contains(words);
        let name = check.full_name();
        (!kept).then(|| format!("{name}: no sentence of the stub's comment contains {words:?}"))
    }

    /// Checks, mistakes and right answers of exercises that do not exist, and duplicate names of checks.
    fn strays(&self, manifest: &Manifest) -> Vec<String> {
        let exercises = self.checks().map(|c| c.exercise);
        let all = exercises
            .chain(self.mistakes().map(|m| m.exercise))
            .chain(self.right.iter().map(|r| r.exercise));
        let unknown = all.filter(|id| manifest.exercise(id).is_none());
        let mut problems: Vec<String> = unknown.map(|id| format!("there is no exercise {id}")).collect();
        let mut names = BTreeSet::new();
        let twice = self.checks().filter(|check| !names.insert(check.full_name()));
        problems.extend(twice.map(|check| format!("two checks are named {}", check.full_name())));
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

/// The first and the last line, from 1, of the functions of exercise `id` with their doc comments: the book includes
/// them.
fn stub_lines(stubs: &str, id: &str) -> (usize, usize) {
    let lines: Vec<&str> = stubs.lines().collect();
    let to_do = format!("todo!(\"{id}: ");
    let places = || (0..lines.len()).filter(|&i| lines[i].contains(&to_do));
    let (first, last) = (places().next().unwrap_or(0), places().next_back().unwrap_or(0));
    let head = lines[..first]
        .iter()
        .rposition(|l| l.starts_with("pub fn "))
        .unwrap_or(0);
    let doc = lines[..head]
        .iter()
        .rev()
        .take_while(|l| l.starts_with("///"))
        .count();
    let end = lines[last..].iter().position(|line| *line == "}").unwrap_or(0);
    (head - doc + 1, last + end + 1)
}

/// The first of `lines` that does not follow the ones before it in `text`, from `function` on. It skips lines
/// with `…`.
fn line_not_in<'a>(text: &str, function: &str, lines: &'a [String]) -> Option<&'a str> {
    let begins = |l: &&str| !l.starts_with(&format!("pub fn {function}"));
    let mut rest = text.lines().skip_while(begins).map(str::trim);
    let mut required = lines.iter().map(|l| l.trim()).filter(|line| !line.contains('…'));
    required.find(|line| !rest.any(|l| l == *line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exercise_may_have_several_functions() {
        let stubs = "//! Lesson.\n\n/// One.\n/// More.\npub fn a() {\n    todo!(\"1.1: a\")\n}\n\n/// Two.\n\
                     pub fn b() {\n    match x {\n        1 => todo!(\"1.2: b\"),\n    }\n}\n\n/// Three.\n\
                     pub fn c() {\n    todo!(\"1.2: d\")\n}\n";
        assert_eq!(stub_lines(stubs, "1.1"), (3, 7));
        assert_eq!(stub_lines(stubs, "1.2"), (9, 19));
    }

    #[test]
    fn the_lines_of_a_hint_are_found_in_their_order() {
        let text = "pub fn before() {\n    a();\n}\npub fn one() {\n    b();\n    c();\n}\n";
        let absent = |lines: &[&str]| {
            let lines: Vec<String> = lines.iter().map(|&line| line.into()).collect();
            line_not_in(text, "one", &lines).map(str::to_owned)
        };
        assert_eq!(absent(&["b();", "… d();", "c();"]), None);
        assert_eq!(absent(&["c();", "b();"]), Some("b();".into()));
        assert_eq!(absent(&["a();"]), Some("a();".into()));
    }
}
