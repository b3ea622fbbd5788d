//! What the experiments of all lessons share: their options, whose functions run in them, and their report.

use std::{fs, path::PathBuf, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use clap::Parser;
use serde_json::Map;

use crate::table::Table;

use grader::{
    Contract, Exercise, Lesson, Outcome,
    tell::{WIDTH, wrap},
};

pub use crate::table::{Value, json};

/// Options of `cargo run -p lessonNN -- …`.
#[derive(Clone, Debug, Parser)]
#[command(
    about = "The experiment of a lesson: your functions at work",
    max_term_width = 80
)]
struct Options {
    /// Use canopy's functions instead of yours
    #[arg(long)]
    reference: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Seeds to repeat the trainings of lessons 06, 07, 12 and 13 with, from --seed on
    #[arg(long, default_value_t = 1, value_name = "N")]
    seeds: u64,
    /// Folder for the plots [default: runs/ and the lesson's name]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// An experiment, over the functions of a lesson.
type Experiment<C> = fn(&C, &mut Report) -> Result<()>;

/// The whole `main` of a lesson's experiment: reads the options, chooses the functions, prints whose they are, and runs
/// `experiment`. An error is printed, and the exit code says so.
pub fn run<C: Contract>(lesson: &Lesson<C>, student: C, experiment: Experiment<C>) -> ExitCode {
    run_as(lesson, student, experiment, false)
}

/// The same for a process that takes part in an experiment of several processes, and leaves the report to another one.
pub fn run_quietly<C: Contract>(lesson: &Lesson<C>, student: C, experiment: Experiment<C>) -> ExitCode {
    run_as(lesson, student, experiment, true)
}

fn run_as<C: Contract>(lesson: &Lesson<C>, student: C, experiment: Experiment<C>, quiet: bool) -> ExitCode {
    let result = Report::begin(lesson, Options::parse(), quiet).and_then(|mut report| {
        let answer = report.pieces(lesson, student)?;
        let result = experiment(&answer, &mut report);
        // What was measured before an error is not lost.
        report.finish();
        result
    });
    if let Err(error) = result {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// The results of an experiment. Text and tables are printed as they come, or with `--json` one object at the end.
pub struct Report {
    options: Options,
    quiet: bool,
    out: PathBuf,
    began: Instant,
    json: Map<String, Value>,
    /// The names of the plots that were written.
    files: Vec<String>,
}

impl Report {
    fn begin<C>(lesson: &Lesson<C>, options: Options, quiet: bool) -> Result<Self> {
        let own = format!("runs/lesson{}", lesson.manifest()?.lesson);
        Ok(Self {
            quiet,
            out: options.out.clone().unwrap_or(own.into()),
            began: Instant::now(),
            json: Map::from_iter([("seed".into(), options.seed.into())]),
            files: Vec::new(),
            options,
        })
    }

    /// The seed of all random numbers.
    pub fn seed(&self) -> u64 {
        self.options.seed
    }

    /// The seeds with which trainings are repeated, at least one.
    pub fn seeds(&self) -> std::ops::Range<u64> {
        self.options.seed..self.options.seed.saturating_add(self.options.seeds.max(1))
    }

    /// Prints `text`, with lines of prose wrapped at 80 columns.
    pub fn say(&self, text: impl AsRef<str>) {
        let silent = self.quiet || self.options.json;
        for line in text.as_ref().split('\n').filter(|_| !silent) {
            if line.starts_with(' ') {
                println!("{line}");
            } else {
                println!("{}", wrap(line, WIDTH).join("\n"));
            }
        }
    }

    /// Prints to standard error that a part of a longer experiment is done.
    pub fn done(&self, part: &str) {
        eprintln!("{part}: done after {:.0} s", self.began.elapsed().as_secs_f64());
    }

    /// Adds `value` to the JSON.
    pub fn json(&mut self, key: &str, value: impl Into<Value>) {
        self.json.insert(key.into(), value.into());
    }

    /// Prints `title` and `table`, and adds its rows to the JSON as `key`.
    pub fn table(&mut self, key: &str, title: &str, table: &Table) {
        let text = format!("{title}\n\n{}", table.text().trim_end());
        self.say(format!("\n{}", text.trim_start_matches('\n')));
        self.json(key, table.json());
    }

    /// Writes a plot or another file.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn file(&mut self, name: &str, text: String) -> Result<()> {
        if self.quiet {
            return Ok(());
        }
        let path = self.out.join(name);
        let written = fs::create_dir_all(&self.out).and_then(|()| fs::write(&path, text));
        self.files.push(name.to_owned());
        written.with_context(|| format!("{} cannot be written", path.display()))
    }

    /// The functions of `student` that pass all their checks now, and canopy's instead of the others; with
    /// `--reference` canopy's alone. Prints whose function of each exercise runs.
    fn pieces<C: Contract>(&mut self, lesson: &Lesson<C>, student: C) -> Result<C> {
        let (mut answer, mut functions) = (lesson.reference, Vec::new());
        self.say("The functions of this run\n");
        for Exercise { id, title, .. } in lesson.manifest()?.exercises {
            let whose = whose(lesson, student, &id, self.options.reference);
            if whose == "yours" {
                answer.take(&student, &id);
            }
            self.say(format!("  {id}  {title:<40}{whose}"));
            functions.push(json!({ "exercise": id, "whose": whose }));
        }
        self.json("functions", functions);
        Ok(answer)
    }

    fn finish(mut self) {
        let seconds = self.began.elapsed().as_secs_f64();
        self.say(format!("\n{seconds:.0} s in all.\n"));
        if !self.files.is_empty() {
            let (names, folder) = (self.files.join(", "), self.out.display());
            self.say(format!("written: {names} in {folder}"));
        }
        self.json("seconds", seconds);
        if self.options.json && !self.quiet {
            println!("{:#}", Value::Object(self.json));
        }
    }
}

/// `yours` if the student's function of `exercise` passes all its checks, or `canopy's` and why.
fn whose<C: Contract>(lesson: &Lesson<C>, student: C, exercise: &str, reference: bool) -> &'static str {
    if reference {
        return "canopy's";
    }
    let checks = lesson.checks_of(exercise);
    let mut outcomes = checks.map(|check| lesson.outcome(check, student, 1));
    match outcomes.find(|outcome| !matches!(outcome, Outcome::Passed)) {
        None => "yours",
        Some(Outcome::ToDo(_)) => "canopy's, yours is to do",
        Some(Outcome::NotRun(_)) => "canopy's, a check of yours did not run",
        Some(_) => "canopy's, yours is not right yet",
    }
}
