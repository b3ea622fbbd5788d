//! `cargo test -p lessonNN`: the arguments of any Rust test program, and a report for a student.

use std::{
    collections::HashMap,
    fs,
    io::{self, Write},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
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
    tell::{Ink, WIDTH, paragraph, wrap},
};

/// The argument for web pages.
const PAGE: &str = "--page";

/// Grades `student` by the checks of `lesson`. `contract!` calls it for the `main` of a lesson's `grade.rs`.
///
/// It accepts the arguments of a Rust test program: a filter, `--exact`, `--skip`, `--list`, `--test-threads`.
/// `--page` writes a web page for each exercise whose wrong answer has one, such as the accesses of a kernel.
/// `--matrix` prints which check catches which known mistake. `--judge`, for `cargo course grade`, sends verdicts over a
/// channel.
pub fn grade<C: Copy + Send + Sync + 'static>(lesson: &'static Lesson<C>, student: C) -> ExitCode {
    let result = match std::env::args().nth(1).as_deref() {
        Some("--judge") => judge::judge(lesson, student).map(|()| true),
        Some("--matrix") => crate::matrix(lesson).map(|text| {
            show(&format!("{}\n", text.trim_end()));
            true
        }),
        _ => graded(lesson, student),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(101),
        Err(error) => {
            for line in format!("{error:#}").lines() {
                eprintln!("{}", wrap(line, WIDTH).join("\n"));
            }
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

fn graded<C: Copy + Send + Sync>(lesson: &'static Lesson<C>, student: C) -> Result<bool> {
    let (pages, others): (Vec<_>, Vec<_>) = std::env::args_os().partition(|argument| argument == PAGE);
    let arguments = Arguments::from_iter(others);
    let chosen: Vec<&Check<C>> = lesson.checks().filter(|c| wanted(&arguments, c)).collect();
    if arguments.list {
        let lines = chosen.iter().map(|check| check.full_name() + ": test\n");
        show(&lines.collect::<String>());
        return Ok(true);
    }
    let mut grading = Grading::new(lesson, student, seed())?;
    grading.ink = Ink::auto();
    if let Some(root) = paths::root() {
        (grading.sources, grading.refused) = student_sources(&root, &grading.manifest.lesson)?;
        let kernels: Vec<&str> = grading.manifest.exercises.iter().map(|e| &*e.file).collect();
        if let Some((_, why)) = grading
            .refused
            .iter()
            .find(|(file, _)| !kernels.contains(&&***file))
        {
            bail!("{why}");
        }
    }
    let outcomes = grading.run_all(&chosen, arguments.test_threads)?;
    let ran: Vec<(&Check<C>, &Outcome)> = chosen.into_iter().zip(&outcomes).collect();
    show(&grading.text(&ran));
    if !pages.is_empty() {
        show(&write_pages(&ran)?);
    }
    let all: Vec<_> = lesson.checks().map(|c| (c.exercise, c.name)).collect();
    let words: Vec<_> = ran.iter().map(|(c, o)| (c.exercise, c.name, o.word())).collect();
    // A full or read-only disk does not change a verdict.
    if let Err(error) = progress::change(|progress| progress.note(&all, &words)) {
        let lines = wrap(&format!("your progress could not be saved: {error}"), WIDTH);
        eprintln!("{}", lines.join("\n"));
    }
    Ok(outcomes.iter().all(|o| matches!(o, Outcome::Passed)))
}

/// Writes the page of the first wrong result of each exercise that has one, and names the files.
fn write_pages<C>(ran: &[(&Check<C>, &Outcome)]) -> Result<String> {
    let folder = paths::root().unwrap_or_default().join("runs/pages");
    let mut text = String::new();
    for own in ran.chunk_by(|(a, _), (b, _)| a.exercise == b.exercise) {
        let page = own.iter().find_map(|(check, outcome)| match outcome {
            Outcome::Wrong(wrong) => Some((check, wrong.page.as_ref()?)),
            _ => None,
        });
        if let Some((check, page)) = page {
            fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
            let path = folder.join(format!("{}.html", check.exercise));
            fs::write(&path, page).with_context(|| path.display().to_string())?;
            text += &format!("Page: {}\n", path.display());
        }
    }
    if text.is_empty() {
        text = "--page: no result of this run has a page\n".into();
    }
    Ok(text)
}

/// Whether the check matches the filters, as in libtest.
fn wanted<C>(arguments: &Arguments, check: &Check<C>) -> bool {
    let name = check.full_name();
    let matches = |filter: &String| name == *filter || !arguments.exact && name.contains(&**filter);
    arguments.filter.as_ref().is_none_or(matches) && !arguments.skip.iter().any(matches) && !arguments.ignored
}

pub(crate) struct Grading<C: 'static> {
    lesson: &'static Lesson<C>,
    manifest: Manifest,
    student: C,
    seed: u64,
    ink: Ink,
    /// The student's files, in which calls of canopy's own functions are looked for.
    sources: Vec<String>,
    /// Why a kernel may not run, by its file.
    refused: HashMap<String, String>,
}

impl<C: Copy + Send + Sync> Grading<C> {
    /// Without colour and remarks.
    pub(crate) fn new(lesson: &'static Lesson<C>, student: C, seed: u64) -> Result<Self> {
        Ok(Self {
            lesson,
            manifest: lesson.manifest()?,
            student,
            seed,
            ink: Ink { colour: false },
            sources: Vec::new(),
            refused: HashMap::new(),
        })
    }

    pub(crate) fn outcome(&self, check: &Check<C>) -> Outcome {
        self.lesson.outcome(check, self.student, self.seed)
    }

    /// All outcomes, in the order of `chosen`. When a check of an exercise did not end, its further checks do not start.
    fn run_all(&self, chosen: &[&Check<C>], threads: Option<usize>) -> Result<Vec<Outcome>> {
        let of_exercise = |checks: &&[&Check<C>]| {
            let mut is_stuck = false;
            let exercise = checks
                .first()
                .and_then(|check| self.manifest.exercise(check.exercise));
            let refused = exercise.and_then(|exercise| self.refused.get(&exercise.file));
            let one = |check: &&Check<C>| {
                if let Some(why) = refused {
                    return Outcome::NotRun(why.clone());
                }
                if is_stuck {
                    return Outcome::NotRun("another check of this exercise did not end".into());
                }
                let outcome = self.outcome(check);
                is_stuck = matches!(outcome, Outcome::Stuck(_));
                outcome
            };
            checks.iter().map(one).collect()
        };
        let exercises: Vec<&[&Check<C>]> = chosen.chunk_by(|a, b| a.exercise == b.exercise).collect();
        let pool = rayon::ThreadPoolBuilder::new();
        let pool = pool.num_threads(threads.unwrap_or_default()).build()?;
        let outcomes: Vec<Vec<Outcome>> = pool.install(|| exercises.par_iter().map(of_exercise).collect());
        Ok(outcomes.concat())
    }

    pub(crate) fn report(&self, check: &Check<C>, outcome: &Outcome) -> String {
        let Some(exercise) = self.manifest.exercise(check.exercise) else {
            return format!("lesson.toml has no exercise {}", check.exercise);
        };
        if let Outcome::ToDo(called) = outcome {
            let called = called.as_deref().and_then(|id| self.manifest.exercise(id));
            let Exercise { function, file, .. } = called.unwrap_or(exercise);
            let head = self.ink.bold(&format!("{} {}", exercise.id, exercise.title));
            let file = paths::exercises(&self.manifest.lesson, file);
            return format!("{head}: {}. Write `{function}` in {file}", self.ink.blue("to do"));
        }
        let asked = match outcome {
            Outcome::Wrong(wrong) => wrong.asked.unwrap_or(check.promise),
            _ => check.promise,
        };
        let asked = promise(
            self.lesson.text(exercise).stubs,
            exercise.looked_at(check.name),
            asked,
        );
        let cause = cause(self.lesson, check, outcome, self.student, self.seed);
        let (chapter, sentence) = (&self.manifest.chapter, check.sentence());
        report(self.ink, exercise, chapter, &sentence, &asked, outcome, cause)
    }

    fn text(&self, ran: &[(&Check<C>, &Outcome)]) -> String {
        let (ink, lesson) = (self.ink, &self.manifest.lesson);
        let head = format!("Lesson {lesson} · {}", self.manifest.title);
        let seed = format!("seed {}", self.seed);
        let gap = " ".repeat(WIDTH.saturating_sub(head.chars().count() + seed.len()));
        let mut out = format!("\n{}{gap}{}\n\n", ink.bold(&head), ink.faint(&seed));
        let (mut details, mut next) = (String::new(), None);
        let (mut shown, mut right, mut points, mut of) = (0, 0, 0, 0);
        for own in ran.chunk_by(|(a, _), (b, _)| a.exercise == b.exercise) {
            let Some(exercise) = self.manifest.exercise(own[0].0.exercise) else {
                continue;
            };
            let state = worst(own.iter().map(|(_, outcome)| outcome.word()));
            shown += 1;
            of += exercise.points;
            if state == "right" {
                right += 1;
                points += exercise.points;
            } else {
                next = next.or(Some((exercise, left(exercise, own))));
            }
            let padded = format!("{state:<8}");
            let painted = match state {
                "right" => ink.green(&padded),
                "to do" => ink.blue(&padded),
                "not run" => ink.yellow(&padded),
                _ => ink.red(&padded),
            };
            let passed = own.iter().filter(|(_, o)| matches!(o, Outcome::Passed)).count();
            let (id, title, all) = (&exercise.id, &exercise.title, own.len());
            out += &format!("  {id:<5}{title:<40}{painted}  {passed} of {all} checks\n");
            details += &self.details(exercise, own);
            if state == "to do" {
                details += &so_far(exercise, own);
            }
        }
        if !details.is_empty() {
            out += &format!("\n{}\n", details.trim_end());
        }
        if shown == 0 {
            out += "  no check matches that name; `cargo test -p … -- --list` lists all\n";
        }
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
    fn details(&self, exercise: &Exercise, own: &[(&Check<C>, &Outcome)]) -> String {
        let mut out = String::new();
        let mut not = own
            .iter()
            .filter(|(_, o)| !matches!(o, Outcome::Passed | Outcome::ToDo(_)));
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
        let sources: Vec<&str> = self.sources.iter().map(String::as_str).collect();
        if let Some(remark) = solution_call(&sources, exercise) {
            out += &(paragraph("note", &remark) + "\n");
        }
        out
    }
}
