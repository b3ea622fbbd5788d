//! Scores submissions to the budget race. Each is trained in a sandbox that has the training forest, and nothing of the
//! hidden site: neither its files nor its seed. Its model is scored outside, without code of the student's.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use base64::{Engine, engine::general_purpose::STANDARD};
use grader::{judge::Line, paths::CAPSTONE, race::Score};
use serde_json::Value;

use super::{
    checks::random,
    compile::Compiler,
    entries::{Entry, entries},
    examiner::caught,
    sandbox::{Limits, Program, Sandbox, empty_folder},
};
use crate::{
    capstone::{Board, Options, board::Row},
    cargo,
    marks::clean,
    submission::{Rejected, Submission},
    version::hex,
};

/// Seconds of wall-clock time beside the budget, which pass while a training starts.
const STARTUP: u64 = 20;

/// What is the same for all submissions.
struct Race {
    /// CPU time of a training in seconds.
    budget: u64,
    sandbox: Sandbox,
    compiler: Compiler,
    /// The program `canopy`.
    canopy: PathBuf,
    work: PathBuf,
}

/// Trains and scores all submissions.
pub fn score(root: &Path, options: &Options) -> Result<Board> {
    fs::create_dir_all(&options.out).with_context(|| options.out.display().to_string())?;
    let out = fs::canonicalize(&options.out)?;
    let work = empty_folder(&out.join(".work"))?;
    let (entries, skipped) = entries(&options.submissions, &out)?;
    for line in skipped {
        eprintln!("skipped: {}", clean::line(&line));
    }
    let sandbox = Sandbox::new(&work, false)?;
    eprintln!("building the program of the race");
    let canopy = cargo::program(root, &["build", "-p", "canopy"], "canopy")?;
    let race = Race {
        budget: (options.minutes * 60.0).ceil() as u64,
        compiler: Compiler::new(root, work.join("libraries"), &[CAPSTONE], false)?,
        canopy: canopy.context("canopy does not build, so nothing can be scored")?,
        work,
        sandbox,
    };
    // Readers of JSON may round a number above 2⁵³.
    let drawn = u64::from_le_bytes(random()?[..8].try_into()?) >> 11;
    let mut board = Board {
        minutes: options.minutes,
        trees: options.trees,
        seed: options.seed.unwrap_or(drawn),
        rows: Vec::new(),
    };
    race.grow("training", 1, options.forest)?;
    race.grow("hidden", board.seed, options.trees)?;
    let mut scores = Vec::new();
    let models = empty_folder(&out.join("models"))?;
    for entry in &entries {
        eprintln!("{} of {} · {}", scores.len() + 1, entries.len(), entry.name);
        let model = models.join(format!("{}.safetensors", entry.name));
        let result = caught(|| race.result(entry, &model));
        let (score, how) = result.unwrap_or_else(|why| (None, format!("{why:#}")));
        scores.push(score);
        board.rows.push(Row {
            submission: entry.name.clone(),
            how: clean::short(&how, 2_000),
            ..Row::default()
        });
    }
    board.place(&scores);
    let _ = fs::remove_dir_all(&race.work);
    Ok(board)
}

impl Race {
    /// Grows a forest into a folder of that name, and keeps it nowhere else.
    fn grow(&self, name: &str, seed: u64, trees: u64) -> Result<()> {
        let folder = self.work.join(name);
        let [seed, trees] = [seed, trees].map(|number| number.to_string());
        let mut canopy = Command::new(&self.canopy);
        canopy.args(["data", "grow", "--seed", &seed, "--trees", &trees, "--out"]);
        canopy.arg(&folder).env("CANOPY_CACHE", self.work.join("cache"));
        let status = canopy.stdout(Stdio::null()).status()?;
        ensure!(status.success(), "no forest was grown");
        // A training may run as a user of its own.
        Ok(fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?)
    }

    /// The score of a submission and how its training ended. An error says why there is no score.
    fn result(&self, entry: &Entry, model: &Path) -> Result<(Option<Score>, String)> {
        let submission = Submission::read(&entry.path).map_err(|Rejected(_, why)| anyhow!(why))?;
        let files = submission.of_lesson(CAPSTONE);
        let compiled = self
            .compiler
            .compile(&self.sandbox, &self.work.join("job"), CAPSTONE, &files)?;
        let how = self.train(&compiled.map_err(|why| anyhow!(why))?, model)?;
        Ok((Some(self.score(model)?), how))
    }

    /// Trains within the budget, and writes the last model that was the best so far. Returns how the training ended.
    fn train(&self, program: &Path, model: &Path) -> Result<String> {
        let (training, scratch) = (self.work.join("training"), self.work.join("scratch"));
        let limits = Limits {
            // As if it had half a core: a machine that is busy costs no submission its budget, and one that sleeps is ended.
            wall: 2 * self.budget + STARTUP,
            cpu: self.budget,
            memory: 4 << 10,
            disk: 256,
            tasks: 64,
        };
        let command = [program, Path::new("--race"), &training];
        let program = Program {
            variables: vec![],
            command: command.map(|word| word.display().to_string()).into(),
            read: vec![program, &training],
            write: vec![],
            folder: &scratch,
            scratch: &scratch,
            limits,
            answer: true,
        };
        let (nonce, mut last) = (hex(&random()?), None);
        let ended = self.sandbox.run(&program, &nonce, |text| {
            if let Ok(line) = serde_json::from_str::<Line>(text)
                && line.nonce == nonce
            {
                last = line.end;
            }
        })?;
        let how = ended.how(limits.wall);
        let Some((bytes, _)) = last else {
            let error = ended.errors.lines().rfind(|line| line.starts_with("error: "));
            bail!("it saved no model: {}", error.unwrap_or(&how));
        };
        fs::write(model, STANDARD.decode(bytes)?)?;
        Ok(match ended.code {
            Some(0) => "it did all its epochs".into(),
            _ => format!("its last saved model counts: {how}"),
        })
    }

    /// Scores a model on the hidden site. It needs no sandbox: canopy's own code has sent it.
    fn score(&self, model: &Path) -> Result<Score> {
        let mut canopy = Command::new(&self.canopy);
        canopy.arg("predict").args([model, &self.work.join("hidden")]);
        let out = canopy.args(["--format", "json", "--device", "cpu"]).output()?;
        let errors = clean::short(&String::from_utf8_lossy(&out.stderr), 1_000);
        ensure!(out.status.success(), "the model could not be scored: {errors}");
        let predicted: Value = serde_json::from_slice(&out.stdout)?;
        let answer = |cloud: &Value| {
            ["file", "label", "species"].map(|key| cloud[key].as_str().unwrap_or_default().to_owned())
        };
        let clouds = predicted["clouds"].as_array().into_iter().flatten();
        Ok(Score::new(&clouds.map(answer).collect::<Vec<_>>()))
    }
}
