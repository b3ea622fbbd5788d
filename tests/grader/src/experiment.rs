//! What the experiments of all lessons share: their options, and whose functions run in them.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use clap::Parser;

use crate::{DEADLINE, Lesson, Outcome, run};

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
    #[arg(long, value_name = "FOLDER", default_value = "", value_parser = folder, hide_default_value = true)]
    pub out: PathBuf,
}

/// clap's own reading of a path takes no empty one, and that is the default here.
fn folder(name: &str) -> std::result::Result<PathBuf, std::convert::Infallible> {
    Ok(name.into())
}

impl Options {
    /// The program's own, its folder made: `lesson` is `lesson02`.
    ///
    /// # Errors
    /// A folder that cannot be made: better now than after the run.
    pub fn of(lesson: &str) -> Result<Self> {
        let mut options = Self::parse();
        if options.out.as_os_str().is_empty() {
            options.out = PathBuf::from("runs").join(lesson);
        }
        fs::create_dir_all(&options.out)
            .with_context(|| format!("the folder {} cannot be made", options.out.display()))?;
        Ok(options)
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

impl<C: Copy + Send + 'static> Lesson<C> {
    /// The functions of `student` that pass all their checks now, and canopy's in the place of the others, or with
    /// `reference` canopy's alone. `take` puts the student's function of an exercise into a contract.
    ///
    /// # Errors
    /// Those of [`Lesson::manifest`].
    pub fn pieces(&self, student: C, reference: bool, take: fn(&mut C, &str)) -> Result<(C, Vec<Piece>)> {
        let (mut answer, mut pieces) = (self.reference, Vec::new());
        for exercise in self.manifest()?.exercises {
            let whose = if reference {
                "canopy's"
            } else {
                self.whose(student, &exercise.id)
            };
            if whose == "yours" {
                take(&mut answer, &exercise.id);
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
