//! What the experiments of all lessons share: their options, whose functions run in them, and their report.

use std::{fs, path::PathBuf, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use clap::Parser;
use serde_json::Map;

use crate::{
    Contract, DEADLINE, Lesson, Outcome, run as run_check,
    table::Table,
    tell::{WIDTH, wrap},
};

pub use serde_json::{Value, json};

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
    /// Seeds to repeat the trainings of lessons 06, 07 and 12 with, from --seed on
    #[arg(long, default_value_t = 1, value_name = "N")]
    seeds: u64,
    /// Folder for the plots [default: runs/ and the lesson's name]
    #[arg(long = "out", value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Options {
    fn out(&self, lesson: &str) -> PathBuf {
        let own = || PathBuf::from("runs").join(lesson);
        self.folder.clone().unwrap_or_else(own)
    }
}

/// The whole `main` of a lesson's experiment: reads the options, chooses the functions by [`Lesson::pieces`], prints whose
/// they are, runs `experiment`, and writes its plots. An error is printed, and the exit code says so.
pub fn run<C: Contract>(
    lesson: &Lesson<C>,
    student: C,
    experiment: fn(&C, &mut Report) -> Result<()>,
) -> ExitCode {
    run_as(lesson, student, experiment, false)
}

/// The same for a process that takes part in an experiment of several processes, and leaves the report to another one.
pub fn run_quietly<C: Contract>(
    lesson: &Lesson<C>,
    student: C,
    experiment: fn(&C, &mut Report) -> Result<()>,
) -> ExitCode {
    run_as(lesson, student, experiment, true)
}

fn run_as<C: Contract>(
    lesson: &Lesson<C>,
    student: C,
    experiment: fn(&C, &mut Report) -> Result<()>,
    quiet: bool,
) -> ExitCode {
    let number = lesson.manifest().map(|m| m.lesson).unwrap_or_default();
    let name = format!("lesson{number}");
    let whole = || -> Result<()> {
        let mut report = Report::begin(&name, Options::parse(), quiet)?;
        let (answer, pieces) = lesson.pieces(student, report.options.reference)?;
        report.pieces(&pieces);
        experiment(&answer, &mut report)?;
        report.finish()
    };
    match whole() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The results of an experiment. Text and tables are printed as they come, or with `--json` one object at the end; the
/// plots are written at the end.
pub struct Report {
    options: Options,
    quiet: bool,
    out: PathBuf,
    began: Instant,
    json: Map<String, Value>,
    files: Vec<(String, String)>,
}

impl Report {
    /// Creates the folder for the plots: better an error now than after the run.
    fn begin(lesson: &str, options: Options, quiet: bool) -> Result<Self> {
        let out = options.out(lesson);
        fs::create_dir_all(&out)
            .with_context(|| format!("the folder {} cannot be created", out.display()))?;
        let mut json = Map::new();
        json.insert("seed".into(), options.seed.into());
        Ok(Self {
            options,
            quiet,
            out,
            began: Instant::now(),
            json,
            files: Vec::new(),
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

    /// Whether canopy's functions run instead of the student's.
    pub fn reference(&self) -> bool {
        self.options.reference
    }

    /// Prints `text`, with lines of prose wrapped at 80 columns.
    pub fn say(&self, text: impl AsRef<str>) {
        let silent = self.quiet || self.options.json;
        for line in text.as_ref().split('\n').filter(|_| !silent) {
            if line.starts_with(' ') || line.chars().count() <= WIDTH {
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
        let title = if title.is_empty() {
            String::new()
        } else {
            format!("{title}\n\n")
        };
        self.say(format!("\n{title}{}", table.text().trim_end()));
        self.json(key, table.json());
    }

    /// Adds a plot or another file, which is written at the end of the experiment.
    pub fn file(&mut self, name: impl Into<String>, text: String) {
        self.files.push((name.into(), text));
    }

    /// Prints whose function of each exercise runs.
    fn pieces(&mut self, pieces: &[Piece]) {
        self.say("The functions of this run\n");
        for Piece { id, title, whose } in pieces {
            self.say(format!("  {id}  {title:<40}{whose}"));
        }
        let pieces = pieces.iter();
        let pieces = pieces.map(|p| json!({ "exercise": p.id, "whose": p.whose }));
        self.json("functions", pieces.collect::<Vec<_>>());
    }

    fn finish(mut self) -> Result<()> {
        if self.quiet {
            return Ok(());
        }
        let seconds = self.began.elapsed().as_secs_f64();
        for (name, text) in &self.files {
            let path = self.out.join(name);
            fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
        self.say(format!("\n{seconds:.0} s in all.\n"));
        if self.files.len() > 4 {
            self.say(format!(
                "written: {} files in {}",
                self.files.len(),
                self.out.display()
            ));
        } else {
            for (name, _) in &self.files {
                self.say(format!("written: {}", self.out.join(name).display()));
            }
        }
        if self.options.json {
            self.json("seconds", seconds);
            println!("{:#}", Value::Object(self.json));
        }
        Ok(())
    }
}

/// An exercise, and whose function of it runs.
#[derive(Clone, Debug)]
pub struct Piece {
    /// `2.1`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// `yours`, or `canopy's` and why.
    pub whose: &'static str,
}

impl<C: Contract> Lesson<C> {
    /// The functions of `student` that pass all their checks now, and canopy's instead of the others; with `reference`
    /// canopy's alone.
    ///
    /// # Errors
    /// Returns the errors of [`Lesson::manifest`].
    pub fn pieces(&self, student: C, reference: bool) -> Result<(C, Vec<Piece>)> {
        let (mut answer, mut pieces) = (self.reference, Vec::new());
        for exercise in self.manifest()?.exercises {
            let whose = if reference {
                "canopy's"
            } else {
                self.whose(student, &exercise.id)
            };
            if whose == "yours" {
                answer.take(&student, &exercise.id);
            }
            pieces.push(Piece {
                id: exercise.id,
                title: exercise.title,
                whose,
            });
        }
        Ok((answer, pieces))
    }

    fn whose(&self, student: C, exercise: &str) -> &'static str {
        for check in self.checks().filter(|c| c.exercise == exercise) {
            match run_check(&check.full_name(), check.run, student, 1, DEADLINE) {
                Outcome::Passed => {}
                Outcome::NotRun(_) => return "canopy's, a check of yours did not run",
                Outcome::ToDo(_) => return "canopy's, yours is to do",
                _ => return "canopy's, yours is not right yet",
            }
        }
        "yours"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_go_to_the_given_folder_or_to_the_lessons_own() {
        let out = |words: &[&str]| Options::try_parse_from(words).unwrap().out("lesson02");
        assert_eq!(out(&["lesson02"]), PathBuf::from("runs/lesson02"));
        assert_eq!(out(&["lesson02", "--out", "plots"]), PathBuf::from("plots"));
    }
}
