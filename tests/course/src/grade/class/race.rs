//! Scores submissions to the budget race. Each is trained in a sandbox that has the training forest, and nothing of the
//! hidden site: neither its files nor its seed. Its model is scored outside, without code of the student's.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::Ordering::SeqCst,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use base64::{Engine, engine::general_purpose::STANDARD};
use grader::{paths::CAPSTONE, race::Score};
use serde_json::Value;

use super::{
    compile::Compiler,
    entries::{Entry, entries},
    examiner::caught,
    run::STOP,
    sandbox::{Limits, Program, Sandbox, empty_folder, random},
};
use crate::{
    capstone::{Board, Options, board::Row},
    marks::clean,
    submission::{Rejected, Submission},
};

/// What is the same for all submissions.
struct Race {
    /// CPU time of a training in seconds.
    budget: u64,
    sandbox: Sandbox,
    compiler: Compiler,
    work: PathBuf,
}

impl Drop for Race {
    /// Removes the hidden site, even if scoring fails.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.work);
    }
}

/// Trains and scores all submissions.
pub fn score(root: &Path, options: &Options) -> Result<Board> {
    fs::create_dir_all(&options.out).with_context(|| options.out.display().to_string())?;
    let out = fs::canonicalize(&options.out)?;
    let work = empty_folder(&out.join(".work"))?;
    // An interrupt ends what is running.
    ctrlc::set_handler(|| STOP.store(true, SeqCst)).context("the handler of Ctrl-C")?;
    let (entries, skipped) = entries(&options.submissions, &out)?;
    for line in skipped {
        eprintln!("skipped: {}", clean::line(&line));
    }
    let sandbox = Sandbox::new(&work, false)?;
    eprintln!("building the program of the race");
    let race = Race {
        budget: (options.minutes * 60.0).ceil() as u64,
        compiler: Compiler::new(root, work.join("libraries"), &[CAPSTONE], Some("canopy"))?,
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
    let models = empty_folder(&out.join("models"))?;
    for entry in &entries {
        eprintln!("{} of {} · {}", board.rows.len() + 1, entries.len(), entry.name);
        let model = models.join(format!("{}.safetensors", entry.name));
        let result = caught(|| race.result(entry, &model));
        ensure!(!STOP.load(SeqCst), "interrupted, so there is no board");
        let (score, how) = result.unwrap_or_else(|why| (None, format!("{why:#}")));
        let (submission, how) = (entry.name.clone(), clean::short(&how, 2_000));
        board.rows.push(Row {
            submission,
            score,
            how,
        });
    }
    board.place();
    Ok(board)
}

impl Race {
    /// Runs canopy, and returns what it prints.
    fn canopy(&self, command: &str, paths: [&Path; 2]) -> Result<Vec<u8>> {
        let mut canopy = Command::new(self.work.join("libraries/canopy"));
        canopy.args(command.split(' ')).args(paths);
        let out = canopy.env("CANOPY_CACHE", self.work.join("cache")).output()?;
        let errors = clean::short(&String::from_utf8_lossy(&out.stderr), 1_000);
        ensure!(out.status.success(), "canopy {command}: {errors}");
        Ok(out.stdout)
    }

    /// Grows a forest into a folder of that name, and keeps it nowhere else.
    fn grow(&self, name: &str, seed: u64, trees: u64) -> Result<()> {
        let folder = self.work.join(name);
        let command = format!("data grow --seed {seed} --trees {trees}");
        self.canopy(&command, [Path::new("--out"), &folder])?;
        // A training may run as a user of its own.
        Ok(fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?)
    }

    /// Trains a submission within the budget, and writes the last model that was the best so far. Returns its score and how the
    /// training ended. An error says why there is no score.
    fn result(&self, entry: &Entry, model: &Path) -> Result<(Option<Score>, String)> {
        let submission = Submission::read(&entry.path).map_err(|Rejected(_, why)| anyhow!(why))?;
        let (files, folder) = (submission.of_lesson(CAPSTONE), self.work.join("job"));
        let compiled = self.compiler.compile(&self.sandbox, &folder, CAPSTONE, &files)?;
        let program = &*compiled.map_err(|why| anyhow!(why))?;
        let (training, scratch) = (self.work.join("training"), self.work.join("scratch"));
        let limits = Limits {
            // Half a core, and 20 s to start: a busy machine costs no submission its budget, and one that sleeps is ended.
            wall: 2 * self.budget + 20,
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
        let mut last = None;
        let ended = self.sandbox.run(&program, "", |line| last = line.end)?;
        let how = ended.how(limits.wall);
        let Some((bytes, _)) = last else {
            let error = ended.errors.lines().rfind(|line| line.starts_with("error: "));
            bail!("it saved no model: {}", error.unwrap_or(&how));
        };
        fs::write(model, STANDARD.decode(bytes)?)?;
        let how = match ended.code {
            Some(0) => "it did all its epochs".into(),
            _ => format!("its last saved model counts: {how}"),
        };
        Ok((Some(self.score(model)?), how))
    }

    /// Scores a model on the hidden site. It needs no sandbox: canopy's own code has sent it.
    fn score(&self, model: &Path) -> Result<Score> {
        let hidden = self.work.join("hidden");
        let out = self.canopy("predict --format json --device cpu", [model, &hidden])?;
        let predicted: Value = serde_json::from_slice(&out)?;
        let answer = |cloud: &Value| {
            ["file", "label", "species"].map(|key| cloud[key].as_str().unwrap_or_default().to_owned())
        };
        let clouds = predicted["clouds"].as_array().into_iter().flatten();
        Ok(Score::new(&clouds.map(answer).collect::<Vec<_>>()))
    }
}
