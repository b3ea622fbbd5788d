//! The setting `points`: a number above 0, or `all`, which is 0 in [`Config`].

use anyhow::{Result, ensure};

use super::Config;
use crate::loader::Points;

/// The kernels count the row of a maximum in f32, which is exact up to this one.
const MOST_ROWS: usize = 1 << 24;

impl Config {
    /// How many points of a cloud the network sees.
    pub fn cloud_points(&self) -> Points {
        match self.points {
            0 => Points::All { max: self.max_points },
            n => Points::Fixed(n),
        }
    }

    /// The largest number of points of a cloud that the network sees.
    pub fn most_points(&self) -> usize {
        match self.cloud_points() {
            Points::Fixed(n) | Points::All { max: n } => n,
        }
    }

    /// The number of points of a cloud, for people.
    pub fn points_text(&self) -> String {
        match self.cloud_points() {
            Points::Fixed(n) => n.to_string(),
            Points::All { max } => format!("all, at most {max}"),
        }
    }

    /// Checks the settings of points against their ranges and against each other.
    pub(super) fn validate_points(&self) -> Result<()> {
        for (name, points, least) in [("max-points", self.max_points, 1), ("points", self.points, 0)] {
            ensure!(
                (least..=MOST_ROWS).contains(&points),
                "{name} is {points}: expected {least} to {MOST_ROWS} points of a cloud"
            );
        }
        ensure!(
            self.points > 0 || self.ranks == 1,
            "points is all and ranks is {}: clouds of different lengths are trained by one rank",
            self.ranks
        );
        Ok(())
    }
}
