//! Runs the checks of an exercise with a student's functions, and receives the verdicts.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};
use grader::{
    judge::{END, Line, START},
    tell,
};

use super::{
    compile::KERNELS,
    run::Ended,
    sandbox::{Limits, Program, Sandbox},
};

/// For each check, its result in a word, and its report.
pub type Words = BTreeMap<String, (String, String)>;

/// The program of a lesson's checks, linked with the functions of a student.
pub struct Checks<'a> {
    pub sandbox: &'a Sandbox,
    pub program: &'a Path,
    pub scratch: PathBuf,
    pub limits: Limits,
}

impl Checks<'_> {
    /// Runs `checks`, all of one exercise, under `seed`. A check that ends its process is wrong, and the rest is not run:
    /// only an exercise of which every check is right has points.
    pub fn run(&self, checks: &[String], seed: u64) -> Result<Words> {
        let (mut words, mut started, mut ended_itself) = (Words::new(), false, false);
        let ended = self.process(&format!("{seed} {}", checks.join(" ")), |line| {
            started |= line.check == START;
            ended_itself |= line.check == END;
            // A kernel could read the secret word: then it can forge no verdict but that of its own exercise.
            if let Some(word) = line.end.filter(|_| checks.contains(&line.check)) {
                words.entry(line.check).or_insert(word);
            }
        })?;
        let how = ended.how(self.limits.wall);
        // The student's code runs only after the start, but its static variables need memory before.
        ensure!(
            started,
            "the checks did not start, because the sandbox failed, or because static variables are larger than the memory \
             limit: {how}\n{}",
            ended.errors.trim()
        );
        let ended_it = format!("the process of the check ended before the check did: {how}");
        let not_run = "not run, because an earlier check of this exercise did not end, or ended the process";
        // The first one without a result was running.
        let mut result = if ended_itself {
            ("not run", not_run)
        } else {
            ("wrong", &*ended_it)
        };
        for check in checks {
            if !words.contains_key(check) {
                let name = check.split("::").nth(1).unwrap_or(check).replace('_', " ");
                let report = tell::wrap(&format!("{name}: {}", result.1), 76).join("\n");
                words.insert(check.clone(), (result.0.to_owned(), report));
                result = ("not run", not_run);
            }
        }
        Ok(words)
    }

    /// The names of the lesson's checks, for each exercise.
    pub fn list(&self) -> Result<BTreeMap<String, Vec<String>>> {
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let ended = self.process("list", |line| {
            if let Some((exercise, _)) = line.check.split_once("::") {
                names.entry(exercise.to_owned()).or_default().push(line.check);
            }
        })?;
        ensure!(
            ended.code == Some(0) && !names.is_empty(),
            "the lesson's own program does not run: {}\n{}",
            ended.how(self.limits.wall),
            ended.errors
        );
        Ok(names)
    }

    /// Runs the program with `args`, which it reads from the channel so that an answer cannot see the names of the
    /// checks. Calls `heard` with each line that it sends.
    fn process(&self, args: &str, heard: impl FnMut(Line)) -> Result<Ended> {
        // The emulated grid starts no compiler here, and takes what was compiled before.
        let kernels = self.program.with_file_name(KERNELS);
        let program = Program {
            command: vec![self.program.display().to_string(), "--judge".into()],
            variables: vec![format!("GRID_COMPILED={}", kernels.display())],
            read: vec![self.program, &kernels],
            write: vec![],
            folder: &self.scratch,
            scratch: &self.scratch,
            limits: self.limits,
            answer: true,
        };
        self.sandbox.run(&program, args, heard)
    }
}
