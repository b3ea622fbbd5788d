//! `cargo test -p lessonNN`: the arguments of any Rust test program, and a report for a student.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Write},
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use anyhow::Result;
use libtest_mimic::{Arguments, ColorSetting, Failed, Trial};

use crate::{
    Check, DEADLINE, Exercise, Lesson, Manifest, Outcome, cause, judge, paths, progress, run, seed,
    solution_call,
    source::student_sources,
    state::{left, so_far, state, word},
    tell::{CheckReport, Ink, WIDTH},
};

/// Grades `student` by the checks of `lesson`. This is the whole `main` of a lesson's `grade.rs`.
///
/// It accepts the arguments of a Rust test program: a filter, `--exact`, `--skip`, `--list`, `--test-threads`.
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
            eprintln!("{error:#}");
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
    let arguments = Arguments::from_args();
    let root = paths::root();
    let sources = root.map(|root| student_sources(&root, &lesson.manifest()?.lesson));
    let sources = sources.transpose()?.unwrap_or_default();
    let grading = Grading {
        manifest: lesson.manifest()?,
        lesson,
        student,
        seed: seed(),
        ink: match arguments.color {
            Some(ColorSetting::Always) => Ink { colour: true },
            Some(ColorSetting::Never) => Ink { colour: false },
            _ => Ink::auto(),
        },
        remarks: remarks(&lesson.manifest()?, &sources),
    };
    if arguments.list || arguments.format.is_some() {
        let grading: &'static Grading<C> = Box::leak(Box::new(grading));
        let conclusion = libtest_mimic::run(&arguments, grading.trials());
        return Ok(!conclusion.has_failed());
    }
    let chosen: Vec<&Check<C>> = lesson.checks().filter(|c| wanted(&arguments, c)).collect();
    let threads = arguments
        .test_threads
        .or_else(|| thread::available_parallelism().ok().map(usize::from));
    let outcomes = grading.run_all(&chosen, threads.unwrap_or(2));
    show(&grading.text(&chosen, &outcomes));
    let note = chosen
        .iter()
        .zip(&outcomes)
        .map(|(c, o)| (c.exercise, c.name, word(o)));
    let all = lesson.checks().map(|c| (c.exercise, c.name));
    // A full or read-only disk does not change a verdict.
    if let Err(error) = progress::note_checks(all, note) {
        let lines = crate::tell::wrap(&format!("your progress could not be saved: {error}"), WIDTH);
        eprintln!("{}", lines.join("\n"));
    }
    Ok(outcomes.iter().all(|o| matches!(o, Outcome::Passed)))
}

/// For each exercise for which the student's sources call canopy's own function, a remark that says so.
fn remarks(manifest: &Manifest, sources: &[String]) -> BTreeMap<String, String> {
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let remark = |e: &Exercise| Some((e.id.clone(), solution_call(&sources, e)?));
    manifest.exercises.iter().filter_map(remark).collect()
}

fn next_of<'a, T>(next: &AtomicUsize, all: &'a [T]) -> (usize, Option<&'a T>) {
    let at = next.fetch_add(1, SeqCst);
    (at, all.get(at))
}

/// Whether the check matches the filters, as in libtest.
fn wanted<C>(arguments: &Arguments, check: &Check<C>) -> bool {
    let name = check.full_name();
    let matches = |filter: &String| {
        if arguments.exact {
            name == *filter
        } else {
            name.contains(filter.as_str())
        }
    };
    arguments.filter.as_ref().is_none_or(matches) && !arguments.skip.iter().any(matches) && !arguments.ignored
}

/// Without colour and remarks: for [`crate::judge`].
pub(crate) fn plain<C>(lesson: &'static Lesson<C>, student: C, seed: u64) -> Result<Grading<C>> {
    Ok(Grading {
        manifest: lesson.manifest()?,
        lesson,
        student,
        seed,
        ink: Ink { colour: false },
        remarks: BTreeMap::new(),
    })
}

pub(crate) struct Grading<C: 'static> {
    lesson: &'static Lesson<C>,
    manifest: Manifest,
    student: C,
    seed: u64,
    ink: Ink,
    remarks: BTreeMap<String, String>,
}

impl<C: Copy + Send + Sync> Grading<C> {
    pub(crate) fn outcome(&self, check: &Check<C>) -> Outcome {
        run(&check.full_name(), check.run, self.student, self.seed, DEADLINE)
    }

    fn trials(&'static self) -> Vec<Trial> {
        let trial = |check: &'static Check<C>| {
            Trial::test(check.full_name(), move || match self.outcome(check) {
                Outcome::Passed => Ok(()),
                outcome => Err(Failed::from(self.report(check, &outcome))),
            })
        };
        self.lesson.checks().map(trial).collect()
    }

    /// All outcomes, in the order of `chosen`. When a check of an exercise did not end, its further checks do not start.
    fn run_all(&self, chosen: &[&Check<C>], threads: usize) -> Vec<Outcome> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(vec![None; chosen.len()]);
        let stuck: Mutex<BTreeSet<&str>> = Mutex::default();
        let work = || {
            while let (at, Some(check)) = next_of(&next, chosen) {
                let given_up = stuck
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .contains(check.exercise);
                let outcome = if given_up {
                    Outcome::NotRun("another check of this exercise did not end".into())
                } else {
                    self.outcome(check)
                };
                if matches!(outcome, Outcome::Stuck { .. }) {
                    stuck
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(check.exercise);
                }
                done.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(outcome);
            }
        };
        thread::scope(|scope| {
            for _ in 0..threads.clamp(1, 64) {
                scope.spawn(work);
            }
        });
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.into_iter()
            .map(|o| o.unwrap_or(Outcome::NotRun("it was not started".into())))
            .collect()
    }

    pub(crate) fn report(&self, check: &Check<C>, outcome: &Outcome) -> String {
        let exercise = self.manifest.exercise(check.exercise);
        let (title, function) = exercise.map_or(("", ""), |e| (e.title.as_str(), e.function.as_str()));
        if let Outcome::ToDo(called) = outcome {
            let called = called.as_deref().and_then(|id| self.manifest.exercise(id));
            let function = called.map_or(function, |e| e.function.as_str());
            let head = format!("{} {title}", check.exercise);
            let file = paths::exercises(&self.manifest.lesson);
            return format!(
                "{}: {}. Write `{function}` in {file}",
                self.ink.bold(&head),
                self.ink.blue("to do")
            );
        }
        let anchor = exercise.map(crate::Exercise::anchor).unwrap_or_default();
        CheckReport {
            exercise: (check.exercise, title),
            check: &check.sentence(),
            asked: &crate::promise(
                self.lesson.stubs_text,
                exercise.map_or("", |e| e.looked_at(check.name)),
                check.promise,
            ),
            outcome,
            cause: cause(self.lesson, check, outcome, self.student, self.seed),
            chapter: (&self.manifest.chapter, &anchor),
        }
        .text(self.ink)
    }

    fn text(&self, chosen: &[&Check<C>], outcomes: &[Outcome]) -> String {
        let ink = self.ink;
        let head = format!("Lesson {} · {}", self.manifest.lesson, self.manifest.title);
        let seed = format!("seed {}", self.seed);
        let gap = WIDTH.saturating_sub(head.chars().count() + seed.len());
        let mut out = format!("\n{}{}{}\n\n", ink.bold(&head), " ".repeat(gap), ink.faint(&seed));
        let (mut details, mut points, mut of, mut right, mut shown, mut next) =
            (String::new(), 0, 0, 0, 0, None);
        for exercise in &self.manifest.exercises {
            let own: Vec<(&&Check<C>, &Outcome)> = chosen
                .iter()
                .zip(outcomes)
                .filter(|(c, _)| c.exercise == exercise.id)
                .collect();
            if own.is_empty() {
                continue;
            }
            shown += 1;
            of += exercise.points;
            let passed = own.iter().filter(|(_, o)| matches!(o, Outcome::Passed)).count();
            let state = state(own.iter().map(|(_, o)| *o));
            if state == "right" {
                right += 1;
                points += exercise.points;
            } else {
                next = next.or(Some((exercise, left(exercise, &own))));
            }
            let painted = match state {
                "right" => ink.green(&format!("{state:<8}")),
                "to do" => ink.blue(&format!("{state:<8}")),
                "not run" => ink.yellow(&format!("{state:<8}")),
                _ => ink.red(&format!("{state:<8}")),
            };
            let line = format!(
                "  {:<5}{:<40}{painted}  {passed} of {} checks",
                exercise.id,
                exercise.title,
                own.len()
            );
            out.push_str(&line);
            out.push('\n');
            self.details(&mut details, &own);
            if state == "to do"
                && let Some(said) = so_far(exercise, &own)
            {
                details.push_str(&format!("{said}\n\n"));
            }
            if let Some(remark) = self.remarks.get(&exercise.id) {
                details.push_str(&crate::tell::paragraph("note", remark));
                details.push('\n');
            }
        }
        if !details.is_empty() {
            out.push_str(&format!("\n{}\n", details.trim_end()));
        }
        if shown == 0 {
            out.push_str("  no check matches that name; `cargo test -p … -- --list` lists all\n");
        }
        out.push_str(&format!(
            "\n{right} of {shown} exercises right, {points} of {of} points."
        ));
        if let Some((exercise, function)) = next {
            let file = paths::exercises(&self.manifest.lesson);
            let only = if shown == 1 {
                format!(" {}", exercise.id)
            } else {
                String::new()
            };
            out.push_str(&format!(
                "\nNext: {} `{function}` in {file}\nThe same inputs again: CANOPY_SEED={} cargo test -p lesson{}{only}",
                exercise.id, self.seed, self.manifest.lesson
            ));
        }
        out.push('\n');
        out
    }

    /// The first check of an exercise that did not pass, in full, and the names of the others.
    fn details(&self, out: &mut String, own: &[(&&Check<C>, &Outcome)]) {
        let mut not = own
            .iter()
            .filter(|(_, o)| !matches!(o, Outcome::Passed | Outcome::ToDo(_)));
        if let Some((check, outcome)) = not.next() {
            out.push_str(&self.report(check, outcome));
            let others: Vec<String> = not
                .map(|(c, o)| match o {
                    Outcome::NotRun(_) => format!("{} (not run)", c.sentence()),
                    _ => c.sentence(),
                })
                .collect();
            if !others.is_empty() {
                out.push_str(&crate::tell::paragraph("also", &others.join("; ")));
            }
            out.push('\n');
        }
    }
}
