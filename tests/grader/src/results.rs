//! The results of a run for `cargo course watch`: as data, next to the text that a student reads.

use std::{env, fs, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::grades::ExerciseGrade;

/// The environment variable with the path of the file that a run writes its results to.
pub const RESULTS_FILE: &str = "CANOPY_RESULTS";

/// The results of one run of `cargo test -p lessonNN`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResults {
    /// The seed of the checks' inputs.
    pub seed: u64,
    /// The exercises that were checked. For each, the first check that did not pass has its report.
    pub exercises: Vec<ExerciseGrade>,
}

impl RunResults {
    /// Writes the results to the file that [`RESULTS_FILE`] names, if it is set.
    pub(crate) fn write(&self) -> io::Result<()> {
        match env::var_os(RESULTS_FILE) {
            Some(path) => fs::write(path, serde_json::to_string(self)?),
            None => Ok(()),
        }
    }

    /// Reads the results in `path`; `None` if the run did not finish.
    pub fn load(path: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
    }
}
