//! `cargo test -p lessonNN`: the arguments of any Rust test program, and a report for a student.

use std::{
    collections::HashMap,
    fs,
    io::{self, Write},
    process::ExitCode,
};

use anyhow::{Context, Result};
use console::style;
use libtest_mimic::Arguments;
use rayon::prelude::*;

use crate::{
    Check, Exercise, Lesson, Manifest, Outcome,
    cause::cause,
    judge, paths, progress, promise,
    report::report,
    seed, solution_call,
    source::student_sources,
    state::{left, so_far, worst},
    tell::{WIDTH, coloured, paragraph, wrap},
};

/// Grades `student` by the checks of `lesson`. `contract!` calls it for the `main` of a lesson's `grade.rs`.
///
/// It accepts the arguments of a Rust test program: a filter, `--exact`, `--skip`, `--list`, `--test-threads`.
/// `--page` writes a web page for each exercise whose wrong answer has one, such as the accesses of a kernel.
/// `--matrix` prints which check catches which known mistake. `--judge`, for `cargo course grade`, sends verdicts over a
/// channel.
pub fn grade<C: Copy + Send + Sync + 'static>(lesson: &'static Lesson<C>, student: C) -> ExitCode {
    let result = match std::env::args().nth(1).as_deref() {
        Some("--judge") => judge::judge(lesson, student).map(|()| true),
        Some("--matrix") => crate::matrix(lesson).map(|text| show(&text)).map(|()| true),
        _ => graded(lesson, student),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(101),
        Err(error) => {
            warn(&format!("{error:#}"));
            ExitCode::from(102)
        }
    }
}

/// Prints `text`, and ignores a closed pipe (`… | head`). It does not use Rust's handle of standard output, because the
/// student's code may have locked it for ever.
fn show(text: &str) {
    #[cfg(unix)]
    let copy = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned();
    #[cfg(windows)]
    let copy = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned();
    let _ = copy.and_then(|out| fs::File::from(out).write_all(text.as_bytes()));
}

/// Prints each line of `text` to standard error, wrapped.
fn warn(text: &str) {
    for line in text.lines() {
        eprintln!("{}", wrap(line, WIDTH).join("\n"));
    }
}

fn graded<C: Copy + Send + Sync>(lesson: &'static Lesson<C>, student: C) -> Result<bool> {
    let (page, others): (Vec<_>, Vec<_>) = std::env::args_os().partition(|argument| argument == "--page");
    let arguments = Arguments::from_iter(others);
    if arguments.list {
        let chosen = lesson.checks().filter(|check| is_chosen(&arguments, check));
        let lines = chosen.map(|check| check.full_name() + ": test\n");
        show(&lines.collect::<String>());
        return Ok(true);
    }
    let mut grading = Grading::new(lesson, student, seed())?;
    if let Some(root) = paths::root() {
        (grading.sources, grading.refused) = student_sources(&root, &grading.manifest.lesson)?;
    }
    let ran = grading.run(&arguments)?;
    show(&grading.text(&ran));
    if !page.is_empty() {
        show(&write_pages(&ran)?);
    }
    let all: Vec<_> = lesson.checks().map(|c| (c.exercise, c.name)).collect();
    let outcomes = ran.iter().flat_map(|(_, outcomes)| outcomes);
    let words: Vec<_> = outcomes.map(|(c, o)| (c.exercise, c.name, o.word())).collect();
    // A full or read-only disk does not change a verdict.
    if let Err(error) = progress::change(|progress| progress.note(&all, &words)) {
        warn(&format!("your progress could not be saved: {error}"));
    }
    Ok(words.iter().all(|(.., word)| *word == "right"))
}

/// Writes the page of the first wrong result of each exercise that has one, and names the files.
fn write_pages<C>(ran: &[Ran<C>]) -> Result<String> {
    let folder = paths::root().unwrap_or_default().join("runs/pages");
    let mut text = String::new();
    for (exercise, outcomes) in ran {
        let mut wrong = outcomes.iter().filter_map(|(_, outcome)| outcome.wrong());
        if let Some(page) = wrong.find_map(|wrong| wrong.page.as_ref()) {
            let path = folder.join(format!("{}.html", exercise.id));
            let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, page));
            written.with_context(|| path.display().to_string())?;
            text += &format!("Page: {}\n", path.display());
        }
    }
    if text.is_empty() {
        text = "--page: no result of this run has a page\n".into();
    }
    Ok(text)
}

/// Whether the check matches the filters, as in libtest.
fn is_chosen<C>(arguments: &Arguments, check: &Check<C>) -> bool {
    let name = check.full_name();
    let matches = |filter: &String| name == *filter || !arguments.exact && name.contains(&**filter);
    arguments.filter.as_ref().is_none_or(matches) && !arguments.skip.iter().any(matches) && !arguments.ignored
}

/// An exercise, and the outcomes of those of its checks that were chosen.
type Ran<'a, C> = (&'a Exercise, Vec<(&'static Check<C>, Outcome)>);

pub(crate) struct Grading<C: 'static> {
    lesson: &'static Lesson<C>,
    manifest: Manifest,
    student: C,
    seed: u64,
    /// The student's files, in which calls of canopy's own functions are looked for.
    sources: Vec<String>,
    /// Why a kernel may not run, by its file.
    refused: HashMap<String, String>,
}

impl<C: Copy + Send + Sync> Grading<C> {
    /// Without remarks.
    pub(crate) fn new(lesson: &'static Lesson<C>, student: C, seed: u64) -> Result<Self> {
        Ok(Self {
            lesson,
            manifest: lesson.manifest()?,
            student,
            seed,
            sources: Vec::new(),
            refused: HashMap::new(),
        })
    }

    pub(crate) fn outcome(&self, check: &Check<C>) -> Outcome {
        self.lesson.outcome(check, self.student, self.seed)
    }

    /// Runs the chosen checks. When a check of an exercise did not end, its further checks do not start.
    fn run<'a>(&'a self, arguments: &Arguments) -> Result<Vec<Ran<'a, C>>> {
        let of_exercise = |exercise: &'a Exercise| {
            let Exercise { id, file, .. } = exercise;
            let mut not_run = self.refused.get(file).cloned();
            let mut outcomes = Vec::new();
            let checks = self.lesson.checks_of(id);
            for check in checks.filter(|check| is_chosen(arguments, check)) {
                let run = || self.outcome(check);
                let outcome = not_run.clone().map_or_else(run, Outcome::NotRun);
                if matches!(outcome, Outcome::Stuck(_)) {
                    not_run = Some("another check of this exercise did not end".into());
                }
                outcomes.push((check, outcome));
            }
            (exercise, outcomes)
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(arguments.test_threads.unwrap_or_default());
        let exercises = self.manifest.exercises.par_iter();
        let mut ran: Vec<Ran<C>> = pool.build()?.install(|| exercises.map(of_exercise).collect());
        ran.retain(|(_, outcomes)| !outcomes.is_empty());
        Ok(ran)
    }

    pub(crate) fn report(&self, check: &Check<C>, outcome: &Outcome) -> String {
        let Some(exercise) = self.manifest.exercise(check.exercise) else {
            return format!("lesson.toml has no exercise {}", check.exercise);
        };
        if let Outcome::ToDo(called) = outcome {
            let called = called.as_deref().and_then(|id| self.manifest.exercise(id));
            let Exercise { function, file, .. } = called.unwrap_or(exercise);
            let head = style(exercise.name()).bold();
            let file = paths::exercises(&self.manifest.lesson, file);
            let state = coloured("to do", "to do");
            return format!("{head}: {state}. Write `{function}` in {file}");
        }
        let (stubs, function) = (self.lesson.text(exercise).stubs, exercise.looked_at(check.name));
        let words = outcome.wrong().and_then(|wrong| wrong.asked);
        let asked = promise(stubs, function, words.unwrap_or(check.promise));
        let cause = cause(self.lesson, check, outcome, |check, mistake| {
            let answer = mistake.map_or(self.student, |mistake| mistake.answer);
            self.lesson.outcome(check, answer, self.seed)
        });
        let (chapter, sentence) = (&self.manifest.chapter, check.sentence());
        report(exercise, chapter, &sentence, &asked, outcome, cause)
    }

    fn text(&self, ran: &[Ran<C>]) -> String {
        let lesson = &self.manifest.lesson;
        let head = format!("Lesson {lesson} · {}", self.manifest.title);
        let seed = format!("seed {}", self.seed);
        let gap = " ".repeat(WIDTH.saturating_sub(head.chars().count() + seed.len()));
        let mut out = format!("\n{}{gap}{}\n\n", style(&head).bold(), style(&seed).dim());
        let (mut details, mut next) = (String::new(), None);
        let (mut right, mut points) = (0, 0);
        for (exercise, outcomes) in ran {
            let state = worst(outcomes.iter().map(|(_, outcome)| outcome.word()));
            let passed = outcomes.iter().filter(|(_, o)| o.word() == "right").count();
            let (Exercise { id, title, .. }, all) = (exercise, outcomes.len());
            let shown = coloured(state, state);
            out += &format!("  {id:<5}{title:<40}{shown:<8}  {passed} of {all} checks\n");
            details += &self.details(exercise, outcomes);
            match state {
                "right" => (right, points) = (right + 1, points + exercise.points),
                _ => next = next.or(Some((exercise, left(exercise, outcomes)))),
            }
            if state == "to do" {
                details += &so_far(exercise, outcomes);
            }
        }
        if !details.is_empty() {
            out += &format!("\n{}\n", details.trim_end());
        }
        if ran.is_empty() {
            out += "  no check matches that name; `cargo test -p … -- --list` lists all\n";
        }
        let (shown, of) = (ran.len(), ran.iter().map(|(e, _)| e.points).sum::<u32>());
        out += &format!("\n{right} of {shown} exercises right, {points} of {of} points.\n");
        if let Some((Exercise { id, file, .. }, function)) = next {
            let (file, seed) = (paths::exercises(lesson, file), self.seed);
            let only = if shown == 1 { &*format!(" {id}") } else { "" };
            out += &format!(
                "Next: {id} `{function}` in {file}\n\
                 The same inputs again: CANOPY_SEED={seed} cargo test -p lesson{lesson}{only}\n"
            );
        }
        out
    }

    /// The first check of an exercise that did not pass, in full, and the names of the others, unless the same result of the
    /// function differs in them: what they are named for may be right; and whether the student's sources call canopy's own
    /// function.
    fn details(&self, exercise: &Exercise, outcomes: &[(&Check<C>, Outcome)]) -> String {
        let mut out = String::new();
        let is_done = |outcome: &Outcome| matches!(outcome, Outcome::Passed | Outcome::ToDo(_));
        let mut not = outcomes.iter().filter(|(_, outcome)| !is_done(outcome));
        if let Some((check, outcome)) = not.next() {
            out += &self.report(check, outcome);
            let others = not.filter_map(|(check, other)| match (outcome, other) {
                (_, Outcome::NotRun(_)) => Some(check.sentence() + " (not run)"),
                (Outcome::Wrong(first), Outcome::Wrong(wrong)) if first.what == wrong.what => None,
                _ => Some(check.sentence()),
            });
            let others: Vec<String> = others.collect();
            if !others.is_empty() {
                out += &paragraph("also", &others.join("; "));
            }
            out.push('\n');
        }
        if let Some(remark) = solution_call(&self.sources, exercise) {
            out += &(paragraph("note", &remark) + "\n");
        }
        out
    }
}
