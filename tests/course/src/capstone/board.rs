//! The board of a race: `board.json` and `board.html`.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use grader::race::{self, Score};
use minijinja::{context, value::Serde};
use serde::{Deserialize, Serialize};

use crate::marks::{put, render};

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
#[derive(Serialize, Deserialize)]
pub struct Row {
    pub submission: String,
    /// On the hidden site.
    pub score: Option<Score>,
    /// How the training ended, or why there is no score.
    pub how: String,
}

impl Board {
    /// Gives each row with a score its place, and sorts the rows.
    pub fn place(&mut self) {
        let scores = self.rows.iter_mut().flat_map(|row| &mut row.score);
        race::place(&mut scores.collect::<Vec<_>>());
        self.rows
            .sort_by_key(|row| row.score.as_ref().map_or(usize::MAX, |score| score.place));
    }

    pub fn load(file: &Path) -> Result<Self> {
        let named = || format!("{} is not the board of a race", file.display());
        let text = fs::read_to_string(file).with_context(named)?;
        serde_json::from_str(&text).with_context(named)
    }

    /// Writes the files into `out`.
    pub fn write(&self, out: &Path) -> Result<()> {
        let json = serde_json::to_string_pretty(self)? + "\n";
        put(&out.join("board.json"), json)?;
        let page = render(include_str!("board.html"), context! { board => Serde(self) })?;
        put(&out.join("board.html"), page)
    }

    /// The place and the score of a submission. An error says why there are none.
    pub fn line(&self, submission: &str) -> Result<String> {
        let row = self.rows.iter().find(|row| row.submission == submission);
        let row = row.with_context(|| format!("{submission} is not on the board of the race"))?;
        let score = row.score.as_ref();
        let score = score.with_context(|| format!("{submission} has no score: {}", row.how))?;
        let (place, all, value) = (score.place, self.rows.len(), score.value);
        Ok(format!("place {place} of {all}, balanced accuracy {value:.3}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second submission has no score.
    const BOARD: &str = r#"{"minutes": 5.0, "trees": 280, "seed": 7, "rows": [
        {"submission": "anna", "score": {"place": 1, "value": 0.9, "interval": [0.85, 0.95]}, "how": "done"},
        {"submission": "ben", "score": null, "how": "<b>"}]}"#;

    #[test]
    fn a_board_that_was_written_is_read_again_for_certificates() {
        let folder = tempfile::tempdir().unwrap();
        let board: Board = serde_json::from_str(BOARD).unwrap();
        board.write(folder.path()).unwrap();
        let file = folder.path().join("board.json");
        let board = Board::load(&file).unwrap();
        let line = "place 1 of 2, balanced accuracy 0.900";
        assert_eq!(board.line("anna").unwrap(), line);
        for (name, expected) in [
            ("ben", "ben has no score: <b>"),
            ("eve", "eve is not on the board"),
        ] {
            let error = board.line(name).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        fs::write(&file, "{}").unwrap();
        let error = Board::load(&file).err().unwrap().to_string();
        assert!(error.contains("board.json is not the board of a race"), "{error}");
    }
}
