//! One submission, from what was handed in to its grade.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{IsTerminal, stderr},
    path::{Path, PathBuf},
    sync::atomic::Ordering::SeqCst,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use grader::{
    Manifest,
    grades::{CheckGrade, Course, ExerciseGrade, Grade, LessonGrade, SCHEMA, Sandbox as Report, Status},
    solution_call,
    source::{Refused, refuse_unsafe},
};
use indicatif::ProgressBar;

use crate::late::Policy;

use super::{
    Clock,
    answer::{Checks, Word},
    build::Toolchain,
    linked::Linked,
    run::STOP,
    sandbox::{Limits, Sandbox},
    sources::{Rejected, Taken, take},
    submissions::Submission,
    tree::Tree,
};

/// What is the same for all submissions of a run.
pub struct Bench {
    pub course: Course,
    pub toolchain: Toolchain,
    pub sandbox: Sandbox,
    /// The course with its stubs, built.
    pub tree: Tree,
    /// All lessons of the course.
    pub manifests: BTreeMap<String, Manifest>,
    pub lessons: BTreeMap<String, Ready>,
    /// Lessons to grade whether or not they were handed in; if empty, those that were handed in.
    pub wanted: Vec<String>,
    pub due: Option<u64>,
    pub late: Option<Policy>,
    pub clock: Clock,
    pub seed: u64,
    pub limits: Limits,
    pub refuse_solution_calls: bool,
    pub work: PathBuf,
}

/// A lesson that can be graded.
pub struct Ready {
    pub manifest: Manifest,
    /// The file name of its checks' program.
    pub program: PathBuf,
    /// What that program has with the stubs.
    pub linked: Linked,
    /// For each exercise, the full names of its checks.
    pub checks: BTreeMap<String, Vec<String>>,
}

/// The result of each check, or why there is none at all.
type Words = Result<BTreeMap<String, Word>, String>;

impl Bench {
    /// Copies the course, builds the stubs of the lessons, and lists their checks.
    pub fn prepare(&mut self, root: &Path, lessons: &BTreeSet<String>) -> Result<()> {
        if lessons.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = lessons.iter().map(String::as_str).collect();
        let bar = spinner(&format!("building lesson {}", names.join(", ")));
        Toolchain::build_checks(root, &names)?;
        self.tree.copy_course(root, &Toolchain::target(root)?)?;
        let mut programs = self.toolchain.build_stubs(&self.tree, &names)?;
        self.tree.empty_sources()?;
        bar.finish_and_clear();
        for lesson in lessons {
            let manifest = self.manifests[lesson].clone();
            let program = programs.remove(lesson).unwrap_or_default();
            let checks = Checks {
                sandbox: &self.sandbox,
                tree: &self.tree,
                program: &self.tree.target().join("debug/deps").join(&program),
                limits: self.limits,
            };
            let mut of_exercises: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for check in checks.list()? {
                if let Some((exercise, _)) = check.split_once("::") {
                    of_exercises.entry(exercise.to_owned()).or_default().push(check);
                }
            }
            let ready = Ready {
                linked: Linked::read(checks.program)?,
                program,
                checks: of_exercises,
                manifest,
            };
            self.lessons.insert(lesson.clone(), ready);
        }
        Ok(())
    }

    /// The lessons of a submission that are graded: those that were asked for, or else those that it has.
    pub fn lessons_of(&self, taken: &Taken) -> BTreeSet<String> {
        let mut lessons = BTreeSet::from_iter(self.wanted.iter().cloned());
        if lessons.is_empty() {
            lessons.extend(taken.lessons.keys().cloned());
        }
        lessons.retain(|lesson| self.manifests.contains_key(lesson));
        lessons
    }

    /// Takes the files of a submission, and returns its grade as far as it is known without running anything.
    pub fn begin(&self, submission: &Submission) -> (Grade, Option<Taken>) {
        let mut grade = Grade {
            schema: SCHEMA,
            submission: submission.name.clone(),
            origin: Default::default(),
            submitted: None,
            digest: String::new(),
            course: self.course.clone(),
            status: Status::Graded,
            reason: None,
            left_out: Vec::new(),
            lessons: Vec::new(),
            late: None,
            seed: self.seed,
            seconds: 0.0,
            sandbox: Report::default(),
        };
        match take(&submission.paths) {
            Ok(taken) => {
                grade.digest = taken.digest();
                grade.left_out = taken.left_out.clone();
                let any = taken.lessons.keys().any(|l| self.manifests.contains_key(l));
                if any || !self.wanted.is_empty() {
                    return (grade, Some(taken));
                }
                grade.status = Status::Unreadable;
                grade.reason = Some("there is no exercises/lessonNN/src/lib.rs of this course in it".into());
            }
            Err(Rejected::Unreadable(why)) => (grade.status, grade.reason) = (Status::Unreadable, Some(why)),
            Err(Rejected::Refused(why)) => (grade.status, grade.reason) = (Status::Refused, Some(why)),
        }
        (grade, None)
    }

    /// Grades what was taken, in the copy of the course `tree`.
    pub fn grade(&self, mut grade: Grade, taken: &Taken, tree: &Tree) -> Result<Grade> {
        let began = Instant::now();
        let graded = self.lessons_of(taken);
        for (name, ready) in self.lessons.iter().filter(|(name, _)| graded.contains(*name)) {
            let files = taken.lessons.get(name);
            let lesson = match files {
                Some(files) => {
                    let words = self.lesson(ready, files, tree)?;
                    // The next submission cannot include these files.
                    tree.put_source(name, [("lib.rs", "")])?;
                    self.remarked(filled(ready, words), ready, files)
                }
                None => filled(ready, Err("it was not handed in".into())),
            };
            if STOP.load(SeqCst) {
                bail!("stopped");
            }
            grade.lessons.push(lesson);
        }
        grade.sandbox = self.sandbox.report.clone();
        grade.seconds = (began.elapsed().as_secs_f64() * 100.0).round() / 100.0;
        Ok(grade)
    }

    fn lesson(&self, ready: &Ready, files: &BTreeMap<String, String>, tree: &Tree) -> Result<Words> {
        if !files.contains_key("lib.rs") {
            return Ok(Err("src/lib.rs was not handed in, or was left out".into()));
        }
        // Before the compiler's message, because this one says what to do.
        let refused = files
            .iter()
            .find_map(|(path, text)| refuse_unsafe(&format!("src/{path}"), text).err());
        if let Some(Refused::Unsafe(why)) = refused {
            return Ok(Err(why));
        }
        let lesson = &ready.manifest.lesson;
        let sources = files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        tree.put_source(lesson, sources)?;
        let program = tree.target().join("debug/deps").join(&ready.program);
        let _ = fs::remove_file(&program);
        if let Err(why) = self.toolchain.build(&self.sandbox, tree, lesson)? {
            return Ok(Err(format!("it does not compile:\n{why}")));
        }
        let changes = Linked::read(&program)?.beyond(&ready.linked);
        if let Some(why) = refused.map(|r| r.message().to_owned()).or(changes) {
            return Ok(Err(why));
        }
        let checks = Checks {
            sandbox: &self.sandbox,
            tree,
            program: &program,
            limits: self.limits,
        };
        let mut words = BTreeMap::new();
        for names in ready.checks.values() {
            for seed in [self.seed, second(self.seed)] {
                let now = checks.run(names, seed)?;
                let all = now.values().all(|(word, _)| word == "right");
                words.extend(now);
                // An answer that was written for the inputs of one seed fails with the second.
                if !all || STOP.load(SeqCst) {
                    break;
                }
            }
        }
        Ok(Ok(words))
    }

    /// Adds remarks on calls of the solution; such an exercise has no points if these calls are to be refused.
    fn remarked(
        &self,
        mut grade: LessonGrade,
        ready: &Ready,
        files: &BTreeMap<String, String>,
    ) -> LessonGrade {
        let sources: Vec<&str> = files.values().map(String::as_str).collect();
        for (exercise, of) in grade.exercises.iter_mut().zip(&ready.manifest.exercises) {
            exercise.remark = solution_call(&sources, of);
            self.count(exercise);
        }
        grade
    }

    /// Counts the points of an exercise: all if each of its checks is right, else none.
    pub fn count(&self, exercise: &mut ExerciseGrade) {
        let right = !exercise.checks.is_empty() && exercise.checks.iter().all(|c| c.word == "right");
        let refused = self.refuse_solution_calls && exercise.remark.is_some();
        exercise.points = if right && !refused { exercise.of } else { 0 };
    }
}

/// A second seed, computed from the first.
fn second(seed: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) % 1_000_000_007
}

fn filled(ready: &Ready, words: Words) -> LessonGrade {
    let manifest = &ready.manifest;
    let stopped = words.as_ref().err().cloned();
    let words = words.unwrap_or_default();
    let exercises = manifest.exercises.iter().map(|e| {
        let names = ready.checks.get(&e.id).into_iter().flatten();
        let checks: Vec<CheckGrade> = names
            .map(|full| {
                let (word, report) = words
                    .get(full)
                    .cloned()
                    .unwrap_or(("not run".into(), String::new()));
                let name = full.split("::").nth(1).unwrap_or(full).to_owned();
                CheckGrade { name, word, report }
            })
            .collect();
        ExerciseGrade {
            id: e.id.clone(),
            title: e.title.clone(),
            points: 0,
            of: e.points,
            checks,
            remark: None,
        }
    });
    LessonGrade {
        lesson: manifest.lesson.clone(),
        title: manifest.title.clone(),
        stopped,
        exercises: exercises.collect(),
    }
}

/// A spinner on a terminal, a line elsewhere.
fn spinner(message: &str) -> ProgressBar {
    if !stderr().is_terminal() {
        eprintln!("{message}");
    }
    let bar = ProgressBar::new_spinner().with_message(message.to_owned());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
