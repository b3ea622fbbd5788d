//! The board of a race: `board.json`, `board.html`, and a table.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use grader::{race, tell::Ink};
use minijinja::{context, value::Serde};
use serde::{Deserialize, Serialize};

use crate::marks::{clean, put, render};

/// The results of all submissions, the best one first.
#[derive(Serialize, Deserialize)]
pub struct Board {
    /// CPU time of each training.
    pub minutes: f64,
    /// Trees of the hidden site, and its seed.
    pub trees: u64,
    pub seed: u64,
    pub rows: Vec<Row>,
}

/// The result of one submission.
#[derive(Default, Serialize, Deserialize)]
pub struct Row {
    pub submission: String,
    pub place: Option<usize>,
    /// Balanced accuracy on the hidden site, and its 95 % interval.
    pub score: Option<[f64; 3]>,
    /// How the training ended, or why there is no score.
    pub how: String,
}

impl Board {
    /// Gives each row with a score its place, and sorts the rows.
    pub fn place(&mut self, scores: &[Option<race::Score>]) {
        let known: Vec<race::Score> = scores.iter().flatten().cloned().collect();
        let mut places = race::places(&known).into_iter();
        for (row, score) in self.rows.iter_mut().zip(scores) {
            row.place = score.as_ref().and_then(|_| places.next());
            row.score = score.as_ref().map(race::Score::with_interval);
        }
        let score = |row: &Row| row.score.map_or(0.0, |[score, ..]| score);
        self.rows.sort_by(|a, b| score(b).total_cmp(&score(a)));
        self.rows.sort_by_key(|row| row.place.unwrap_or(usize::MAX));
    }

    pub fn load(file: &Path) -> Result<Self> {
        let named = || format!("{} is not the board of a race", file.display());
        let text = fs::read_to_string(file).with_context(named)?;
        serde_json::from_str(&text).with_context(named)
    }

    /// Writes the files into `out`, and returns the JSON.
    pub fn write(&self, out: &Path) -> Result<String> {
        let json = serde_json::to_string_pretty(self)? + "\n";
        put(&out.join("board.json"), &json)?;
        let page = render(include_str!("board.html"), context! { board => Serde(self) })?;
        put(&out.join("board.html"), page)?;
        Ok(json)
    }

    /// The table, within 80 columns.
    pub fn text(&self) -> String {
        let mut text = Ink::auto().bold("place  student                      score   95 % interval") + "\n";
        for row in &self.rows {
            let name = clean::padded(&row.submission, 26);
            text += &match (row.place, row.score) {
                (Some(place), Some([score, low, high])) => {
                    format!("{place:>5}  {name}{score:>8.3}   {low:.3} to {high:.3}\n")
                }
                _ => format!("    –  {name}  none   {}\n", clean::cut(&row.how, 38)),
            };
        }
        let Self {
            minutes, trees, seed, ..
        } = self;
        text + &format!("\nseed {seed} · {trees} trees · {minutes} CPU minutes each\n")
    }

    /// What a certificate says of a submission.
    pub fn line(&self, submission: &str) -> Result<String> {
        let mut rows = self.rows.iter().filter(|row| row.submission == submission);
        let row = rows.find_map(|row| Some((row.place?, row.score?[0])));
        let (place, score) = row.with_context(|| format!("the race has no score of {submission}"))?;
        let all = self.rows.len();
        Ok(format!(
            "The budget race: place {place} of {all}, balanced accuracy {score:.3}"
        ))
    }
}
