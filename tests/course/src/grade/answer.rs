//! Runs the checks of a submission, exercise by exercise, and receives the verdicts.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Result, ensure};
use grader::{
    judge::{END, Line, START},
    tell,
};

use super::{
    run,
    sandbox::{Limits, Program, Sandbox, empty_folder, environment},
    tree::Tree,
};

/// The result of a check in a word, and its report.
pub type Word = (String, String);

/// The checks of a lesson, built with the functions of a student.
pub struct Checks<'a> {
    pub sandbox: &'a Sandbox,
    pub tree: &'a Tree,
    pub program: &'a Path,
    pub limits: Limits,
}

impl Checks<'_> {
    /// Runs `checks`, all of one exercise, under `seed`. A check that ends its process is wrong, and the next ones run in
    /// another process; after one that does not end, the rest is not run.
    pub fn run(&self, checks: &[String], seed: u64) -> Result<BTreeMap<String, Word>> {
        let mut words = BTreeMap::new();
        let mut left: Vec<&String> = checks.iter().collect();
        while !left.is_empty() {
            let once = self.once(&left, seed, &mut words)?;
            left.retain(|c| !words.contains_key(*c));
            if !once.all_ran && !left.is_empty() {
                // The check that began last took the process with it.
                let blamed = once.begun.unwrap_or_else(|| left[0].clone());
                let how = format!(
                    "the process of the check ended before the check did: {}",
                    once.how
                );
                words.insert(blamed.clone(), ("wrong".into(), report(&blamed, &how)));
                left.retain(|c| **c != blamed);
            }
            if once.all_ran || once.over {
                let why = "not run, because another check of this exercise did not end";
                let word = |c: &String| (c.clone(), ("not run".to_owned(), report(c, why)));
                words.extend(left.drain(..).map(word));
            }
        }
        Ok(words)
    }

    /// The names of the lesson's checks.
    pub fn list(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let ended = self.process(vec!["list".into()], &nonce()?, |line| names.push(line.check))?;
        ensure!(
            ended.code == Some(0) && !names.is_empty(),
            "the lesson's own program does not run: {}\n{}",
            ended.how(self.limits.wall),
            ended.errors
        );
        Ok(names)
    }

    /// Runs one process.
    fn once(&self, checks: &[&String], seed: u64, words: &mut BTreeMap<String, Word>) -> Result<Once> {
        let nonce = nonce()?;
        let (mut begun, mut started, mut all_ran) = (None, false, false);
        let args = [seed.to_string()]
            .into_iter()
            .chain(checks.iter().map(|c| (*c).clone()));
        let ended = self.process(args.collect(), &nonce, |line| {
            started |= line.check == START;
            all_ran |= line.check == END;
            if !checks.contains(&&line.check) {
                return;
            }
            match line.end {
                None => begun = Some(line.check),
                Some(word) => {
                    begun = None;
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
        Ok(Once {
            begun,
            all_ran,
            over: ended.code.is_none(),
            how,
        })
    }

    /// Runs the program with `args`, which it reads from the channel so that an answer cannot see the names of the checks.
    /// Calls `heard` with each line that has the nonce.
    fn process(&self, args: Vec<String>, nonce: &str, mut heard: impl FnMut(Line)) -> Result<run::Ended> {
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
        let first = format!("{nonce} {}", args.join(" "));
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

/// The result of one process.
struct Once {
    /// The check that began and did not end.
    begun: Option<String>,
    /// Whether all requested checks have run.
    all_ran: bool,
    /// Whether it reached its time limit.
    over: bool,
    /// How it ended, in words.
    how: String,
}

/// A random word that nobody can guess.
fn nonce() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| anyhow::anyhow!("the operating system provides no random numbers: {e}"))?;
    Ok(crate::submission::hex(&bytes))
}
