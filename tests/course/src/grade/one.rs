//! One submission, from what was handed in to its grade.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    sync::atomic::Ordering::SeqCst,
    time::Instant,
};

use anyhow::{Result, bail};
use grader::grades::{CheckGrade, Course, ExerciseGrade, Grade, LessonGrade, SCHEMA, Sandbox, Status};

use crate::late::{Policy, late};

use super::{
    Clock,
    answer::{self, Word},
    compile::{Compiler, Desk, look_text, main_text},
    hold::{Limits, Report, outside::STOP},
    look,
    named::Submission,
    prepare::{Ready, Toolchain},
    take::{Not, Taken},
};

/// What is the same for all submissions of a run.
pub struct Bench {
    pub course: Course,
    pub toolchain: Toolchain,
    pub lessons: BTreeMap<String, Ready>,
    /// Lessons to grade whether or not they were handed in; where none is named, those handed in.
    pub wanted: Vec<String>,
    pub due: Option<u64>,
    pub late: Option<Policy>,
    pub clock: Clock,
    pub seed: u64,
    pub limits: Limits,
    pub work: PathBuf,
}

/// What came of a program: of each check its word, or why there is none at all.
type Words = Result<BTreeMap<String, Word>, String>;

impl Bench {
    /// What is taken of a submission, and its grade as far as it is known without running anything.
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
            sandbox: Sandbox::default(),
        };
        let lesson = match &self.wanted[..] {
            [one] => Some(one.as_str()),
            _ => None,
        };
        match submission.take(lesson) {
            Ok(taken) => {
                grade.digest = taken.digest();
                grade.left_out = taken.left_out.clone();
                grade.submitted = taken.submitted(self.clock);
                if let (Some(due), Some(policy), Some(at)) = (self.due, &self.late, grade.submitted) {
                    grade.late = late(policy, due, at);
                }
                let any = taken.lessons.keys().any(|l| self.lessons.contains_key(l));
                if any || !self.wanted.is_empty() {
                    return (grade, Some(taken));
                }
                grade.status = Status::Unreadable;
                grade.reason = Some("there is no exercises/lessonNN/src/lib.rs of this course in it".into());
            }
            Err(Not::Readable(why)) => (grade.status, grade.reason) = (Status::Unreadable, Some(why)),
            Err(Not::Allowed(why)) => (grade.status, grade.reason) = (Status::Refused, Some(why)),
        }
        (grade, None)
    }

    /// Runs what was taken, at the desk of that number, and fills its grade.
    pub fn grade(&self, mut grade: Grade, taken: &Taken, desk: usize) -> Result<Grade> {
        let began = Instant::now();
        let mut reports = Vec::new();
        for (name, ready) in &self.lessons {
            let files = taken.lessons.get(name);
            if files.is_none() && !self.wanted.contains(name) {
                continue;
            }
            let words = match files {
                Some(files) => {
                    let desk = Desk::new(self.work.join(format!("desk-{desk}")))?;
                    let words = self.lesson(ready, files, &desk, &mut reports);
                    desk.clear();
                    words?
                }
                None => Err("it was not handed in".into()),
            };
            if STOP.load(SeqCst) {
                bail!("stopped");
            }
            grade.lessons.push(filled(ready, words));
        }
        grade.sandbox = held(&reports);
        grade.seconds = (began.elapsed().as_secs_f64() * 100.0).round() / 100.0;
        Ok(grade)
    }

    fn lesson(
        &self,
        ready: &Ready,
        files: &BTreeMap<String, String>,
        desk: &Desk,
        reports: &mut Vec<Report>,
    ) -> Result<Words> {
        if !files.contains_key("lib.rs") {
            return Ok(Err("src/lib.rs was not handed in, or was left out".into()));
        }
        // The one door to machine code that `forbid(unsafe_code)` does not close.
        if files.values().any(|text| text.contains("naked_asm")) {
            return Ok(Err("`naked_asm` stands in it: machine code is not allowed".into()));
        }
        let source = desk
            .at("in")
            .join(format!("exercises/lesson{}/src", ready.manifest.lesson));
        for (path, text) in files {
            let path = source.join(path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text)?;
        }
        let taken = match looked(self.compiler(ready, desk), reports)? {
            Ok(taken) => taken,
            Err(why) => return Ok(Err(why)),
        };
        let program = match made(self.compiler(ready, desk), reports)? {
            Ok(program) => program,
            Err(why) => return Ok(Err(why)),
        };
        let mut words = BTreeMap::new();
        for (exercise, taken) in ready.manifest.exercises.iter().zip(taken) {
            let checks = ready.checks.get(&exercise.id).map_or(&[][..], Vec::as_slice);
            if let Some(name) = taken {
                let told = format!("`{name}` of canopy's is used, where the code is to be your own");
                words.extend(
                    checks
                        .iter()
                        .map(|c| (c.clone(), ("wrong".to_owned(), told.clone()))),
                );
                continue;
            }
            for seed in [self.seed, second(self.seed)] {
                let heard = answer::run(desk, &program, checks, seed, self.limits)?;
                reports.push(heard.report);
                let all = heard.words.values().all(|(word, _)| word == "right");
                words.extend(heard.words);
                // Inputs that were known beforehand would not be right twice.
                if !all || STOP.load(SeqCst) {
                    break;
                }
            }
        }
        Ok(Ok(words))
    }

    pub fn compiler<'a>(&'a self, ready: &'a Ready, desk: &'a Desk) -> Compiler<'a> {
        Compiler {
            ready,
            toolchain: &self.toolchain,
            desk,
        }
    }
}

/// Another seed, which the first does not tell.
fn second(seed: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) % 1_000_000_007
}

/// Of each answer, what of canopy's it leads to.
fn looked(by: Compiler, reports: &mut Vec<Report>) -> Result<Result<Vec<Option<String>>, String>> {
    match by.student("look", false)? {
        Ok(report) => reports.push(report),
        Err(why) => return Ok(Err(format!("it does not compile:\n{why}"))),
    }
    match by.ours("look", &look_text(by.ready), "look", false)? {
        Ok(report) => reports.push(report),
        Err(why) => return Ok(Err(format!("it does not keep the lesson's functions:\n{why}"))),
    }
    let student = by
        .desk
        .at("look")
        .join(format!("exercise{}.o", by.ready.manifest.lesson));
    let objects = [by.desk.at("look").join("look.o"), student];
    let objects: Vec<_> = objects.iter().map(PathBuf::as_path).collect();
    let manifest = &by.ready.manifest;
    Ok(Ok(look::taken(
        &objects,
        manifest.exercises.len(),
        &manifest.sees,
    )?))
}

/// The program that judges it.
pub fn made(by: Compiler, reports: &mut Vec<Report>) -> Result<Result<PathBuf, String>> {
    match by.student("out", true)? {
        Ok(report) => reports.push(report),
        Err(why) => return Ok(Err(format!("it does not compile:\n{why}"))),
    }
    let library = format!("libexercise{}.rlib", by.ready.manifest.lesson);
    if let Some(name) = look::stray(&by.desk.at("out").join(library))? {
        return Ok(Err(format!(
            "`{name}` stands in its object file, which no safe Rust has"
        )));
    }
    match by.ours("main", &main_text(by.ready), "out", true)? {
        Ok(report) => reports.push(report),
        Err(why) => return Ok(Err(format!("it cannot be linked:\n{why}"))),
    }
    Ok(Ok(by.desk.at("out").join("main")))
}

fn filled(ready: &Ready, words: Words) -> LessonGrade {
    let manifest = &ready.manifest;
    let stopped = words.as_ref().err().cloned();
    let words = words.unwrap_or_default();
    let exercises = manifest.exercises.iter().map(|e| {
        let names = ready.checks.get(&e.id).into_iter().flatten();
        let checks: Vec<CheckGrade> = names
            .map(|full| {
                let (word, told) = words
                    .get(full)
                    .cloned()
                    .unwrap_or(("not run".into(), String::new()));
                let name = full.split("::").nth(1).unwrap_or(full).to_owned();
                CheckGrade { name, word, told }
            })
            .collect();
        let right = !checks.is_empty() && checks.iter().all(|c| c.word == "right");
        ExerciseGrade {
            id: e.id.clone(),
            title: e.title.clone(),
            points: if right { e.points } else { 0 },
            of: e.points,
            checks,
        }
    });
    LessonGrade {
        lesson: manifest.lesson.clone(),
        title: manifest.title.clone(),
        stopped,
        exercises: exercises.collect(),
    }
}

/// What held each process of it, and what was missing in any.
fn held(reports: &[Report]) -> Sandbox {
    let missing: BTreeSet<&String> = reports.iter().flat_map(|r| &r.missing).collect();
    let every = |name: &&String| reports.iter().all(|r| r.held.contains(name));
    let first = reports.first().map_or(&[][..], |r| &r.held);
    Sandbox {
        held: first.iter().filter(every).cloned().collect(),
        missing: missing.into_iter().cloned().collect(),
    }
}
