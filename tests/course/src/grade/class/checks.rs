//! Runs the checks of a submission, exercise by exercise, and receives the verdicts.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Result, anyhow, ensure};
use grader::{
    judge::{END, Line, START},
    tell,
};

use super::{
    run,
    sandbox::{Limits, Program, Sandbox, empty_folder, environment},
    tree::Tree,
};

/// For each check, its result in a word, and its report.
pub type Words = BTreeMap<String, (String, String)>;

/// The checks of a lesson, built with the functions of a student.
pub struct Checks<'a> {
    pub sandbox: &'a Sandbox,
    pub tree: &'a Tree,
    pub program: &'a Path,
    pub limits: Limits,
}

impl Checks<'_> {
    /// Runs `checks`, all of one exercise, under `seed`. A check that ends its process is wrong, and the next ones run
    /// in another process; after one that does not end, the rest is not run.
    pub fn run(&self, checks: &[String], seed: u64) -> Result<Words> {
        let mut words = Words::new();
        let mut left: Vec<&String> = checks.iter().collect();
        while !left.is_empty() {
            let (mut begun, mut started, mut all_ran) = (left[0].clone(), false, false);
            let args = format!(
                "{seed} {}",
                left.iter().map(|c| c.as_str()).collect::<Vec<_>>().join(" ")
            );
            let ended = self.process(&args, |line| {
                started |= line.check == START;
                all_ran |= line.check == END;
                if checks.contains(&line.check) {
                    begun.clone_from(&line.check);
                    if let Some(word) = line.end {
                        words.entry(line.check).or_insert(word);
                    }
                }
            })?;
            let how = ended.how(self.limits.wall);
            // The student's code runs only after the start, but its static variables need memory before.
            ensure!(
                started,
                "the checks did not start, because the sandbox failed, or because static variables are larger \
                 than the memory limit: {how}\n{}",
                ended.errors.trim()
            );
            left.retain(|c| !words.contains_key(*c));
            if !all_ran && !left.is_empty() {
                // The check that began last took the process with it.
                let blamed = if left.contains(&&begun) {
                    begun
                } else {
                    left[0].clone()
                };
                let how = format!("the process of the check ended before the check did: {how}");
                words.insert(blamed.clone(), ("wrong".into(), report(&blamed, &how)));
                left.retain(|c| **c != blamed);
            }
            if all_ran || ended.code.is_none() {
                let why = "not run, because another check of this exercise did not end";
                words.extend(
                    left.drain(..)
                        .map(|c| (c.clone(), ("not run".to_owned(), report(c, why)))),
                );
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
    /// checks. Calls `heard` with each line that has the secret word, which nobody can guess.
    fn process(&self, args: &str, mut heard: impl FnMut(Line)) -> Result<run::Ended> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|e| anyhow!("the operating system provides no random numbers: {e}"))?;
        let nonce = crate::version::hex(&bytes);
        let scratch = empty_folder(&self.tree.scratch())?;
        let mut env = environment(&scratch);
        env.extend([
            ("RAYON_NUM_THREADS", "2".into()),
            ("MALLOC_ARENA_MAX", "2".into()),
        ]);
        let program = Program {
            command: vec![self.program.display().to_string(), "--judge".into()],
            env,
            read: vec![self.program.to_owned()],
            write: vec![],
            folder: &scratch,
            scratch: &scratch,
            limits: self.limits,
            answer: true,
        };
        let first = format!("{nonce} {args}");
        run::run(self.sandbox.command(&program), self.limits.wall, &first, |text| {
            if let Ok(line) = serde_json::from_str::<Line>(text)
                && line.nonce == nonce
            {
                heard(line);
            }
        })
    }
}

fn report(check: &str, how: &str) -> String {
    let name = check.split("::").nth(1).unwrap_or(check).replace('_', " ");
    tell::wrap(&format!("{name}: {how}"), 76).join("\n")
}
