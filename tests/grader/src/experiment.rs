//! What the experiments of all lessons share: their options, and whose functions run in them.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use clap::Parser;

use crate::{Contract, DEADLINE, Lesson, Outcome, run};

/// Options of `cargo run -p lessonNN -- …`.
#[derive(Clone, Debug, Parser)]
#[command(
    about = "The experiment of a lesson: your functions at work",
    max_term_width = 80
)]
pub struct Options {
    /// canopy's functions in the place of yours
    #[arg(long)]
    pub reference: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Seed of all that is drawn
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Folder for the plots; otherwise runs/ and the lesson's name
    #[arg(long = "out", value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Where the plots go: the folder asked for, or the lesson's own.
    #[arg(skip)]
    pub out: PathBuf,
}

impl Options {
    /// The program's own, its folder made: `lesson` is `lesson02`.
    ///
    /// # Errors
    /// A folder that cannot be made: better now than after the run.
    pub fn of(lesson: &str) -> Result<Self> {
        let options = Self::parse().placed(lesson);
        fs::create_dir_all(&options.out)
            .with_context(|| format!("the folder {} cannot be made", options.out.display()))?;
        Ok(options)
    }

    /// Prints a line, unless JSON is asked for.
    pub fn say(&self, line: &str) {
        if !self.json {
            println!("{line}");
        }
    }

    /// Says whose function of each exercise runs.
    pub fn say_pieces(&self, pieces: &[Piece]) {
        self.say("The pieces of this run\n");
        for Piece { id, title, whose } in pieces {
            self.say(&format!("  {id}  {title:<40}{whose}"));
        }
    }

    /// Writes plots, name and SVG, and then prints `json` or `tables` and where the plots are.
    ///
    /// # Errors
    /// A plot that cannot be written.
    pub fn finish<N: AsRef<str>>(
        &self,
        plots: impl IntoIterator<Item = (N, String)>,
        json: impl FnOnce() -> String,
        tables: impl FnOnce() -> String,
    ) -> Result<()> {
        let mut written = Vec::new();
        for (name, svg) in plots {
            let path = self.out.join(name.as_ref());
            fs::write(&path, svg).with_context(|| path.display().to_string())?;
            written.push(path);
        }
        if self.json {
            println!("{}", json());
            return Ok(());
        }
        println!("{}", tables());
        for path in written {
            println!("written: {}", path.display());
        }
        Ok(())
    }

    fn placed(mut self, lesson: &str) -> Self {
        self.out = self
            .folder
            .clone()
            .unwrap_or_else(|| PathBuf::from("runs").join(lesson));
        self
    }
}

/// A lesson's program: `run`, and an error told.
pub fn program(lesson: &str, run: fn() -> Result<()>) -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{lesson}: {error:#}");
            ExitCode::FAILURE
        }
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
    /// The functions of `student` that pass all their checks now, and canopy's in the place of the others, or with
    /// `reference` canopy's alone.
    ///
    /// # Errors
    /// Those of [`Lesson::manifest`].
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
        for check in self.checks.iter().filter(|c| c.exercise == exercise) {
            match run(&check.full_name(), check.run, student, 1, DEADLINE) {
                Outcome::Passed | Outcome::NotRun(_) => {}
                Outcome::ToDo => return "canopy's, yours is to do",
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
    fn plots_go_to_the_folder_asked_for_or_else_to_the_lessons_own() {
        let out = |words: &[&str]| Options::try_parse_from(words).unwrap().placed("lesson02").out;
        assert_eq!(out(&["lesson02"]), PathBuf::from("runs/lesson02"));
        assert_eq!(out(&["lesson02", "--out", "plots"]), PathBuf::from("plots"));
    }
}
