//! From a file's coordinates (f64) to those of a cloud: an origin in whole metres and f32 offsets.

use anyhow::{Result, bail};

use super::names::Row;
use crate::Cloud;

/// What to do with a point whose coordinates are not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Invalid {
    /// Refuse the file.
    #[default]
    Error,
    /// Leave the point out and count it: [`Reader::dropped`](super::Reader::dropped).
    Drop,
}

/// Coordinates below this keep the origin 0: an f32 represents them to 0.03 mm, and what was written is read back
/// bit-identical.
const NEAR: f64 = 1000.0;

/// The origin for a cloud with the point `p`: along each axis 0, or whole metres if `p` is far from 0.
pub fn origin_of(p: [f64; 3]) -> [f64; 3] {
    p.map(|c| if c.abs() < NEAR { 0.0 } else { c.floor() })
}

/// The points of a file as they are read: relative to the origin, and without those that are dropped.
#[derive(Debug)]
pub struct Points {
    /// Determined by the first point that is kept.
    origin: Option<[f64; 3]>,
    invalid: Invalid,
    /// Points that were dropped.
    pub dropped: u64,
    cloud: Cloud,
}

impl Points {
    pub fn new(invalid: Invalid) -> Self {
        Self {
            origin: None,
            invalid,
            dropped: 0,
            cloud: Cloud::default(),
        }
    }

    /// Adds a point, or drops it. `place` names its place in the file.
    ///
    /// # Errors
    /// Returns an error if a coordinate is not finite and such points are not dropped.
    pub fn add(&mut self, row: Row, place: impl FnOnce() -> String) -> Result<()> {
        let p = row.xyz;
        if p.iter().all(|c| c.is_finite()) {
            let o = *self.origin.get_or_insert_with(|| origin_of(p));
            let q = [0, 1, 2].map(|a| (p[a] - o[a]) as f32);
            if q.iter().all(|c| c.is_finite()) {
                self.cloud.xyz.push(q);
                self.cloud.intensity.extend(row.intensity);
                self.cloud.class.extend(row.class);
                self.cloud.returns.extend(row.returns);
                return Ok(());
            }
        }
        if self.invalid == Invalid::Error {
            bail!(
                "{}: expected finite coordinates, found {p:?}; correct it, or remove such points with `canopy data convert --drop-invalid`",
                place()
            );
        }
        self.dropped += 1;
        Ok(())
    }

    /// The points since the last call.
    pub fn take(&mut self) -> Cloud {
        let mut cloud = std::mem::take(&mut self.cloud);
        cloud.origin = self.origin.unwrap_or_default();
        cloud
    }
}
