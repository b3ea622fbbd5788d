//! One submission, from what was handed in to its grade.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::atomic::Ordering::SeqCst,
    time::Instant,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use grader::{
    Manifest,
    grades::{CheckGrade, Course, ExerciseGrade, Grade, LessonGrade, SCHEMA, Status},
    solution_call,
    source::{Refused, refuse_unsafe},
};

use super::{
    Options,
    build::Toolchain,
    checks::{Checks, Words},
    entries::Entry,
    linked::Linked,
    run::STOP,
    sandbox::{Limits, Sandbox},
    tree::Tree,
};
use crate::{
    late::{self, Policy},
    lessons,
    marks::Roster,
    submission::{Rejected, Submission},
    version,
};

/// What is the same for all submissions of a run.
pub struct Examiner {
    options: Options,
    out: PathBuf,
    roster: Roster,
    course: Course,
    toolchain: Toolchain,
    sandbox: Sandbox,
    /// All lessons of the course.
    manifests: BTreeMap<String, Manifest>,
    /// The lessons that can be graded.
    ready: BTreeMap<String, Ready>,
    seed: u64,
}

/// A lesson that can be graded.
struct Ready {
    /// The program of its checks in the target folder, and what it has with the stubs.
    program: PathBuf,
    linked: Linked,
    /// For each exercise, the full names of its checks.
    checks: BTreeMap<String, Vec<String>>,
}

impl Examiner {
    /// Reads the lessons and the roster, and tests the sandbox. `work` is an empty folder.
    pub fn new(root: &Path, out: &Path, work: &Path, seed: u64, mut options: Options) -> Result<Self> {
        let roster = options.roster.as_deref().map(Roster::load).transpose()?;
        let lessons = lessons::all(root)?;
        for wanted in &mut options.lesson {
            *wanted = lessons::lesson(&lessons, wanted)?.manifest.lesson.clone();
        }
        let manifests = lessons
            .into_iter()
            .map(|l| (l.manifest.lesson.clone(), l.manifest));
        let sandbox = Sandbox::new(work, options.inside_container)?;
        for name in &options.require {
            let why = sandbox
                .report
                .missing
                .iter()
                .find(|m| m.starts_with(&format!("{name}:")));
            ensure!(
                sandbox.report.active.contains(name),
                "{name} is required, but is not provided here: {}",
                why.map_or("it is unknown", String::as_str)
            );
        }
        Ok(Self {
            out: out.to_owned(),
            roster: roster.unwrap_or_default(),
            course: version::course(root)?,
            toolchain: Toolchain::find(root)?,
            sandbox,
            manifests: manifests.collect(),
            ready: BTreeMap::new(),
            seed,
            options,
        })
    }

    /// Copies the course into `count` trees in the folder `work`, builds the stubs of `lessons`, and lists their
    /// checks.
    pub fn prepare(
        &mut self,
        root: &Path,
        work: &Path,
        lessons: &BTreeSet<String>,
        count: usize,
    ) -> Result<Vec<Tree>> {
        let names: Vec<&str> = lessons.iter().map(String::as_str).collect();
        eprintln!("building lesson {}", names.join(", "));
        let (debug, hashes) = Toolchain::build_checks(root, &names)?;
        let tree = Tree::of_course(work.join("tree-0"), root, &debug, &hashes)?;
        let programs = self.toolchain.build_stubs(&tree, &names)?;
        tree.empty_sources()?;
        for lesson in names {
            let program = programs
                .get(lesson)
                .with_context(|| format!("cargo built no checks of lesson {lesson}"))?;
            let path = tree.target().join(program);
            let ready = Ready {
                program: program.clone(),
                linked: Linked::read(&path)?,
                checks: self.checks(&tree, &path).list()?,
            };
            self.ready.insert(lesson.to_owned(), ready);
        }
        let mut trees = vec![tree];
        for number in 1..count {
            trees.push(trees[0].copy(work.join(format!("tree-{number}")))?);
        }
        Ok(trees)
    }

    fn checks<'a>(&'a self, tree: &'a Tree, program: &'a Path) -> Checks<'a> {
        let limits = Limits {
            wall: self.options.seconds,
            cpu: self.options.seconds,
            memory: self.options.memory,
            disk: 16,
            tasks: 64,
        };
        Checks {
            sandbox: &self.sandbox,
            tree,
            program,
            limits,
        }
    }

    /// The lessons of a submission that are graded: those of `--lesson`, or else those that it has.
    pub fn lessons_of(&self, submission: &Submission) -> BTreeSet<String> {
        let mut lessons = BTreeSet::from_iter(self.options.lesson.iter().cloned());
        if lessons.is_empty() {
            lessons = submission.lessons();
        }
        lessons.retain(|lesson| self.manifests.contains_key(lesson));
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
            status: Status::Unreadable,
            ..Grade::default()
        };
        grade.origin.student = entry.student.clone();
        grade.origin.late = entry.late;
        let read = caught(|| Ok(Submission::read(&entry.paths)));
        let read = read.unwrap_or_else(|panic| Err(Rejected(Status::Unreadable, panic.to_string())));
        let submission = match read {
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
        let lessons = self.lessons_of(&submission);
        if lessons.is_empty() {
            grade.reason = Some("there is no exercises/lessonNN/src/lib.rs of this course in it".into());
            self.save(&mut grade)?;
            return Ok((grade, None));
        }
        // The saved grade, if nothing has changed.
        let earlier = Grade::load(&self.out.join(&entry.name).join("grade.json")).ok();
        let earlier = earlier.filter(|earlier| {
            let same = earlier.digest == grade.digest
                && earlier.course == grade.course
                && earlier.seed == grade.seed;
            let mut required = self.options.require.iter();
            let safe = required.all(|name| earlier.sandbox.active.contains(name));
            let graded = earlier.lessons.iter().map(|l| &l.lesson);
            same && safe && earlier.status == Status::Graded && graded.eq(&lessons)
        });
        let mut again = self.options.again.iter();
        let again = again.any(|name| *name == entry.name || name == "all");
        grade.status = Status::NotGraded;
        grade.reason = Some("not yet graded, because grading was interrupted; the next run grades it".into());
        match earlier {
            // An interrupt does not cost the grade of an earlier run.
            Some(_) if again => Ok((grade, Some(submission))),
            Some(mut earlier) => {
                let exercises = earlier.lessons.iter_mut().flat_map(|l| &mut l.exercises);
                exercises.for_each(|exercise| self.count(exercise));
                // What is not in the digest: the time, the penalty for lateness, other files.
                (earlier.submitted, earlier.origin) = (grade.submitted, grade.origin);
                earlier.left_out = grade.left_out;
                self.save(&mut earlier)?;
                Ok((earlier, None))
            }
            None => {
                self.save(&mut grade)?;
                Ok((grade, Some(submission)))
            }
        }
    }

    /// Grades a submission in the copy of the course `tree`.
    pub fn grade(&self, mut grade: Grade, submission: &Submission, tree: &Tree) -> Result<Grade> {
        let began = Instant::now();
        for lesson in self.lessons_of(submission) {
            let (manifest, ready) = (&self.manifests[&lesson], &self.ready[&lesson]);
            let files = submission.of_lesson(&lesson);
            let words = match files.is_empty() {
                true => Err("it was not handed in".into()),
                false => self.words(&lesson, ready, &files, tree)?,
            };
            if STOP.load(SeqCst) {
                bail!("interrupted");
            }
            grade.lessons.push(self.filled(manifest, ready, words, &files));
        }
        (grade.status, grade.reason) = (Status::Graded, None);
        grade.sandbox = self.sandbox.report.clone();
        grade.seconds = (began.elapsed().as_secs_f64() * 100.0).round() / 100.0;
        Ok(grade)
    }

    /// The result of each check, or why there is none at all.
    fn words(
        &self,
        lesson: &str,
        ready: &Ready,
        files: &BTreeMap<&str, &str>,
        tree: &Tree,
    ) -> Result<Result<Words, String>> {
        if !files.contains_key("lib.rs") {
            return Ok(Err("src/lib.rs was not handed in, or was left out".into()));
        }
        // Before the compiler's message, because this one says what to do.
        let mut refused = files
            .iter()
            .filter_map(|(path, text)| refuse_unsafe(&format!("src/{path}"), text).err());
        let refused = refused.next();
        if let Some(Refused::Unsafe(why)) = refused {
            return Ok(Err(why));
        }
        let program = tree.target().join(&ready.program);
        let _ = fs::remove_file(&program);
        let put = tree.put_source(lesson, files);
        let built = put.and_then(|()| self.toolchain.build(&self.sandbox, tree, lesson));
        // The next submission cannot include these files.
        tree.put_source(lesson, &[("lib.rs", "")].into())?;
        if let Err(why) = built? {
            return Ok(Err(format!("it does not compile:\n{why}")));
        }
        let changes = Linked::read(&program)?.beyond(&ready.linked);
        if let Some(why) = refused.map(|r| r.message().to_owned()).or(changes) {
            return Ok(Err(why));
        }
        let mut words = Words::new();
        for names in ready.checks.values() {
            // An answer that was written for the inputs of one seed fails with the second, which is computed from the
            // first.
            let second = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) % 1_000_000_007;
            for seed in [self.seed, second] {
                let results = self.checks(tree, &program).run(names, seed)?;
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
        ready: &Ready,
        words: Result<Words, String>,
        files: &BTreeMap<&str, &str>,
    ) -> LessonGrade {
        let stopped = words.as_ref().err().cloned();
        let words = words.unwrap_or_default();
        let sources: Vec<&str> = files.values().copied().collect();
        let exercises = manifest.exercises.iter().map(|exercise| {
            let checks = ready.checks.get(&exercise.id).into_iter().flatten().map(|check| {
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
        let policy = self.options.late.map(|policy| Policy {
            grace: self.options.grace,
            ..policy
        });
        late::settle(grade, policy.as_ref().zip(self.options.due));
        let folder = self.out.join(&grade.submission);
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        grade.save(&folder.join("grade.json"))
    }
}

/// Runs `work`; its panic is an error, so that one submission does not cost the others their rows.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // What a panic leaves half done is not used again: each submission begins with its own files.
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(anyhow!("the grader panicked, please report it")))
}
