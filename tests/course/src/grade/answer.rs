//! Runs the program made of a submission, exercise by exercise, and hears the verdicts.

use std::{collections::BTreeMap, path::Path};

use anyhow::Result;
use grader::{
    judge::{END, Line},
    tell,
};

use super::{
    compile::{Desk, environment},
    hold::{Bind, Limits, Report, Spec, outside},
};

/// A check's word and what is told of it.
pub type Word = (String, String);

/// What became of some checks.
pub struct Heard {
    pub words: BTreeMap<String, Word>,
    pub report: Report,
}

/// Runs `checks`, all of one exercise, under `seed`. One that ends its process is wrong, and the next have another
/// process; after one that does not end, the rest is not run.
pub fn run(desk: &Desk, program: &Path, checks: &[String], seed: u64, limits: Limits) -> Result<Heard> {
    let mut heard = Heard {
        words: BTreeMap::new(),
        report: Report::default(),
    };
    let mut left: Vec<&String> = checks.iter().collect();
    while !left.is_empty() {
        let once = once(desk, program, &left, seed, limits, &mut heard.words)?;
        let over = once.ended.code.is_none();
        heard.report = once.ended.report.clone();
        left.retain(|c| !heard.words.contains_key(*c));
        if !once.all_said && !left.is_empty() {
            // The one that began and said no more took the process with it.
            let blamed = once.begun.unwrap_or_else(|| left[0].clone());
            let how = once.ended.how(limits.wall);
            let how = format!("the process of the check ended before the check did: {how}");
            heard
                .words
                .insert(blamed.clone(), ("wrong".into(), told(&blamed, &how)));
            left.retain(|c| **c != blamed);
        }
        if once.all_said || over {
            let why = "not run, because another check of this exercise did not end";
            let word = |c: &String| (c.clone(), ("not run".to_owned(), told(c, why)));
            heard.words.extend(left.drain(..).map(word));
        }
    }
    Ok(heard)
}

fn told(check: &str, how: &str) -> String {
    let name = check.split("::").nth(1).unwrap_or(check).replace('_', " ");
    tell::wrap(&format!("{name}: {how}"), 76).join("\n")
}

/// What one process said.
struct Once {
    /// The check that began and did not end.
    begun: Option<String>,
    /// All that it was asked for had their turn.
    all_said: bool,
    ended: outside::Ended,
}

/// The lesson's program with a student's functions, held in.
fn spec(desk: &Desk, program: &Path, args: Vec<String>, limits: Limits) -> Spec {
    Spec {
        binds: vec![Bind::read("answer", program)],
        root: desk.at("root"),
        args,
        start_in: "@scratch".into(),
        env: environment("@scratch"),
        spawns: false,
        speaks: true,
        limits,
        user: Spec::someone(),
    }
}

/// One process.
fn once(
    desk: &Desk,
    program: &Path,
    checks: &[&String],
    seed: u64,
    limits: Limits,
    words: &mut BTreeMap<String, Word>,
) -> Result<Once> {
    let nonce = nonce()?;
    let mut args = vec!["@answer".to_owned(), seed.to_string()];
    args.extend(checks.iter().map(|c| (*c).clone()));
    let spec = spec(desk, program, args, limits);
    let (mut begun, mut all_said) = (None, false);
    let ended = outside::run(&spec, &nonce, |text| {
        let Ok(line) = serde_json::from_str::<Line>(text) else {
            return;
        };
        if line.nonce != nonce {
            return;
        }
        all_said |= line.check == END;
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
    Ok(Once {
        begun,
        all_said,
        ended,
    })
}

/// The names of a lesson's checks, as its own program says them.
pub fn list(desk: &Desk, program: &Path, limits: Limits) -> Result<(Vec<String>, Report)> {
    let nonce = nonce()?;
    let spec = spec(desk, program, vec!["@answer".into(), "list".into()], limits);
    let mut names = Vec::new();
    let ended = outside::run(&spec, &nonce, |text| {
        names.extend(serde_json::from_str::<Line>(text).ok().map(|l| l.check));
    })?;
    anyhow::ensure!(
        ended.code == Some(0) && !names.is_empty(),
        "the lesson's own program does not run: {}\n{}",
        ended.how(limits.wall),
        ended.errors
    );
    Ok((names, ended.report))
}

/// A word that nobody can guess.
fn nonce() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| anyhow::anyhow!("the system gives no random numbers: {e}"))?;
    Ok(crate::submission::hex(&bytes))
}
