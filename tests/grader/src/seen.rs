//! What a run saw, for `cargo course watch`: as data, beside the text that a student reads.

use std::{env, fs, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::grades::ExerciseGrade;

/// Names the file that a run leaves what it saw in.
pub const SEEN: &str = "CANOPY_SEEN";

/// What one run of `cargo test -p lessonNN` saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Of the checks' inputs.
    pub seed: u64,
    /// Those that were checked. Of each, the first check that does not hold is told in full.
    pub exercises: Vec<ExerciseGrade>,
}

impl Seen {
    /// Leaves it where [`SEEN`] says, if it says anything.
    pub(crate) fn leave(&self) -> io::Result<()> {
        match env::var_os(SEEN) {
            Some(path) => fs::write(path, serde_json::to_string(self)?),
            None => Ok(()),
        }
    }

    /// What a run left in `path`; nothing where it did not come to its end.
    pub fn load(path: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
    }
}
