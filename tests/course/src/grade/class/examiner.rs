//! One submission, from what was handed in to its grade.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::atomic::Ordering::SeqCst,
    time::Instant,
};

use anyhow::{Result, anyhow, bail};
use grader::{
    Manifest,
    grades::{CheckGrade, Course, ExerciseGrade, Grade, LessonGrade, SCHEMA, Status},
    solution_call,
};
use rayon::prelude::*;

use super::{
    super::Options,
    checks::{Checks, Words},
    compile::Compiler,
    entries::Entry,
    run::STOP,
    sandbox::{Limits, Sandbox},
};
use crate::{
    late,
    lessons::{self, Lesson},
    marks::{Roster, clean, put},
    submission::{Rejected, Submission},
    version,
};

/// What is the same for all submissions of a run.
pub struct Examiner {
    options: Options,
    out: PathBuf,
    /// The folder for builds: one for each thread.
    work: PathBuf,
    seed: u64,
    roster: Roster,
    course: Course,
    sandbox: Sandbox,
    /// All lessons of the course.
    lessons: BTreeMap<String, Lesson>,
}

/// The lessons that can be graded.
pub struct Ready {
    compiler: Compiler,
    /// For each lesson and exercise, the full names of the checks.
    checks: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

impl Examiner {
    /// Reads the lessons and the roster, and tests the sandbox. `work` is an empty folder.
    pub fn new(root: &Path, out: PathBuf, work: PathBuf, seed: u64, mut options: Options) -> Result<Self> {
        let roster = options.roster.as_deref().map(Roster::load).transpose()?;
        let lessons = lessons::all(root)?;
        for wanted in &mut options.lesson {
            *wanted = lessons::lesson(&lessons, wanted)?.manifest.lesson.clone();
        }
        let sandbox = Sandbox::new(&work, options.inside_container)?;
        let limits = [("--memory", options.memory), ("--seconds", options.seconds)];
        Ok(Self {
            course: version::course(root, &limits)?,
            lessons: lessons
                .into_iter()
                .map(|l| (l.manifest.lesson.clone(), l))
                .collect(),
            roster: roster.unwrap_or_default(),
            options,
            out,
            work,
            seed,
            sandbox,
        })
    }

    /// Builds `lessons`, and lists their checks. Their stubs are compiled as submissions are.
    pub fn prepare(&self, root: &Path, lessons: &BTreeSet<String>) -> Result<Ready> {
        let names: Vec<&str> = lessons.iter().map(String::as_str).collect();
        eprintln!("building lesson {}", names.join(", "));
        let mut files = names.iter().flat_map(|&name| self.lessons[name].stubs.keys());
        let grid = files.any(|file| file.ends_with(".cu")).then_some("grid");
        let compiler = Compiler::new(root, self.work.join("libraries"), &names, grid)?;
        let listed = names.par_iter().map(|&name| {
            let stubs = self.lessons[name].stubs.iter();
            let stubs = stubs.map(|(file, text)| (&**file, &**text)).collect();
            let built = compiler.compile(&self.sandbox, &self.folder(), name, &stubs)?;
            let program = built.map_err(|why| anyhow!("the stubs of lesson {name}: {why}"))?;
            Ok((name.to_owned(), self.checks(&program, &self.folder()).list()?))
        });
        Ok(Ready {
            checks: listed.collect::<Result<_>>()?,
            compiler,
        })
    }

    /// The folder of this thread.
    fn folder(&self) -> PathBuf {
        self.work.join(format!(
            "job-{}",
            rayon::current_thread_index().unwrap_or_default()
        ))
    }

    fn checks<'a>(&'a self, program: &'a Path, folder: &Path) -> Checks<'a> {
        Checks {
            sandbox: &self.sandbox,
            program,
            scratch: folder.join("scratch"),
            limits: Limits {
                wall: self.options.seconds,
                cpu: self.options.seconds,
                memory: self.options.memory,
                disk: 16,
                tasks: 64,
            },
        }
    }

    /// The lessons of a submission that are graded: those of `--lesson`, or else those that it has.
    pub fn lessons_of(&self, submission: &Submission) -> BTreeSet<String> {
        let mut lessons = BTreeSet::from_iter(self.options.lesson.iter().cloned());
        if lessons.is_empty() {
            lessons = submission.lessons();
        }
        lessons.retain(|lesson| self.lessons.contains_key(lesson));
        lessons
    }

    /// The grade of a submission before its checks run, and the submission if they are to run. The grade is saved
    /// already, so that each submission has a row in the tables even if grading is interrupted.
    pub fn begin(&self, entry: &Entry) -> Result<(Grade, Option<Submission>)> {
        let mut grade = Grade {
            schema: SCHEMA,
            submission: entry.name.clone(),
            course: self.course.clone(),
            seed: self.seed,
            ..Grade::default()
        };
        grade.origin.student = entry.student.clone();
        grade.origin.late = entry.late;
        let read = caught(|| Ok(Submission::read(&entry.path)));
        let read = read.unwrap_or_else(|panic| Err(Rejected(Status::Unreadable, panic.to_string())));
        let submission = read.and_then(|submission| match self.lessons_of(&submission).is_empty() {
            true => {
                let why = "there is no exercises/lessonNN/src/lib.rs of this course in it";
                Err(Rejected(Status::Unreadable, why.into()))
            }
            false => Ok(submission),
        });
        let submission = match submission {
            Ok(submission) => submission,
            Err(Rejected(status, why)) => {
                (grade.status, grade.reason) = (status, Some(why));
                self.save(&mut grade)?;
                return Ok((grade, None));
            }
        };
        grade.digest = submission.digest();
        grade.left_out = submission.left_out.iter().cloned().collect();
        grade.submitted = submission.packed;
        if grade.submitted.is_some() {
            grade.origin.dated = "the student's clock when it was packed".into();
        }
        grade.reason = Some("not yet graded, because grading was interrupted; the next run grades it".into());
        let Some(mut earlier) = self.earlier(&grade, &submission) else {
            self.save(&mut grade)?;
            return Ok((grade, Some(submission)));
        };
        let mut again = self.options.again.iter();
        if again.any(|name| *name == entry.name || name == "all") {
            // The earlier grade stays in its file until there is a new one.
            return Ok((grade, Some(submission)));
        }
        let exercises = earlier.lessons.iter_mut().flat_map(|l| &mut l.exercises);
        exercises.for_each(|exercise| self.count(exercise));
        // What is not in the digest: the time, the penalty for lateness, other files.
        (earlier.submitted, earlier.origin) = (grade.submitted, grade.origin);
        earlier.left_out = grade.left_out;
        self.save(&mut earlier)?;
        Ok((earlier, None))
    }

    /// The grade of an earlier run, if nothing on which it depends has changed.
    fn earlier(&self, grade: &Grade, submission: &Submission) -> Option<Grade> {
        let earlier = Grade::load(&self.out.join(&grade.submission).join("grade.json")).ok()?;
        let depends = |grade: &Grade| (grade.digest.clone(), grade.course.clone(), grade.seed);
        let same = earlier.status == Status::Graded
            && depends(&earlier) == depends(grade)
            && earlier.sandbox == self.sandbox.report
            && earlier
                .lessons
                .iter()
                .map(|l| &l.lesson)
                .eq(&self.lessons_of(submission));
        same.then_some(earlier)
    }

    /// Grades a submission.
    pub fn grade(&self, mut grade: Grade, submission: &Submission, ready: &Ready) -> Result<Grade> {
        let began = Instant::now();
        for lesson in self.lessons_of(submission) {
            let files = submission.of_lesson(&lesson);
            let words = self.words(&lesson, &files, ready)?;
            if STOP.load(SeqCst) {
                bail!("interrupted");
            }
            let (manifest, checks) = (&self.lessons[&lesson].manifest, &ready.checks[&lesson]);
            grade.lessons.push(self.filled(manifest, checks, words, &files));
        }
        (grade.status, grade.reason) = (Status::Graded, None);
        grade.sandbox = self.sandbox.report.clone();
        grade.seconds = clean::rounded(began.elapsed().as_secs_f64());
        Ok(grade)
    }

    /// The result of each check, or why there is none at all.
    fn words(
        &self,
        lesson: &str,
        files: &BTreeMap<&str, &str>,
        ready: &Ready,
    ) -> Result<Result<Words, String>> {
        let folder = self.folder();
        let program = match ready.compiler.compile(&self.sandbox, &folder, lesson, files)? {
            Ok(program) => program,
            Err(why) => return Ok(Err(why)),
        };
        // An answer that was written for the inputs of one seed fails with the second, which is computed from the first.
        let second = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) % 1_000_000_007;
        let mut words = Words::new();
        for names in ready.checks[lesson].values() {
            for seed in [self.seed, second] {
                let results = self.checks(&program, &folder).run(names, seed)?;
                let right = results.values().all(|(word, _)| word == "right");
                words.extend(results);
                if !right || STOP.load(SeqCst) {
                    break;
                }
            }
        }
        Ok(Ok(words))
    }

    fn filled(
        &self,
        manifest: &Manifest,
        checks: &BTreeMap<String, Vec<String>>,
        words: Result<Words, String>,
        files: &BTreeMap<&str, &str>,
    ) -> LessonGrade {
        let stopped = words.as_ref().err().cloned();
        let words = words.unwrap_or_default();
        let sources: Vec<&str> = files.values().copied().collect();
        let exercises = manifest.exercises.iter().map(|exercise| {
            let checks = checks.get(&exercise.id).into_iter().flatten().map(|check| {
                let not_run = || ("not run".to_owned(), String::new());
                let (word, report) = words.get(check).cloned().unwrap_or_else(not_run);
                let name = check.split("::").nth(1).unwrap_or(check).to_owned();
                CheckGrade { name, word, report }
            });
            let mut grade = ExerciseGrade {
                id: exercise.id.clone(),
                title: exercise.title.clone(),
                points: 0,
                of: exercise.points,
                checks: checks.collect(),
                remark: solution_call(&sources, exercise),
            };
            self.count(&mut grade);
            grade
        });
        LessonGrade {
            lesson: manifest.lesson.clone(),
            title: manifest.title.clone(),
            stopped,
            exercises: exercises.collect(),
        }
    }

    /// Counts the points of an exercise: all if each of its checks is right, else none. An exercise with a remark,
    /// because it calls the solution, has no points if such calls are refused.
    fn count(&self, exercise: &mut ExerciseGrade) {
        let right = !exercise.checks.is_empty() && exercise.checks.iter().all(|c| c.word == "right");
        let refused = self.options.refuse_solution_calls && exercise.remark.is_some();
        exercise.points = if right && !refused { exercise.of } else { 0 };
    }

    /// Completes a grade with the roster and the penalty for lateness, and writes it.
    pub fn save(&self, grade: &mut Grade) -> Result<()> {
        self.roster.sign(grade);
        late::settle(grade, self.options.due.zip(self.options.late));
        let path = self.out.join(&grade.submission).join("grade.json");
        put(&path, serde_json::to_string_pretty(grade)?)
    }
}

/// Runs `work`; its panic is an error, so that one submission does not cost the others their rows.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // What a panic leaves half done is not used again: each submission begins with its own files.
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(anyhow!("the grader panicked, please report it")))
}
