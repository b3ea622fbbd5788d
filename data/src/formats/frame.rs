//! From a file's coordinates (f64) to a cloud's: an origin in whole metres and f32 offsets.

use anyhow::{Result, bail};

use super::Invalid;

/// Coordinates smaller than this keep the origin 0: an f32 holds them to 0.03 mm, and what was written comes back
/// bit for bit.
const NEAR: f64 = 1000.0;

/// The origin that suits a cloud with the point `p`: 0, or whole metres where `p` is far from 0 along an axis.
pub fn origin_of(p: [f64; 3]) -> [f64; 3] {
    p.map(|c| if c.abs() < NEAR { 0.0 } else { c.floor() })
}

/// Turns a file's coordinates into a cloud's, and deals with those that are not numbers.
#[derive(Debug)]
pub struct Frame {
    origin: Option<[f64; 3]>,
    invalid: Invalid,
    /// Points that were dropped.
    pub dropped: u64,
}

impl Frame {
    pub fn new(invalid: Invalid) -> Self {
        Self {
            origin: None,
            invalid,
            dropped: 0,
        }
    }

    /// The origin: that of the first point that was placed; 0 before.
    pub fn origin(&self) -> [f64; 3] {
        self.origin.unwrap_or_default()
    }

    /// `p` relative to the origin, or none where it is to be dropped. `place` says where it stands in the file.
    ///
    /// # Errors
    /// Where a coordinate is not a finite number and is not to be dropped.
    pub fn place(&mut self, p: [f64; 3], place: impl FnOnce() -> String) -> Result<Option<[f32; 3]>> {
        if p.iter().all(|c| c.is_finite()) {
            let o = *self.origin.get_or_insert_with(|| origin_of(p));
            let q = [0, 1, 2].map(|a| (p[a] - o[a]) as f32);
            if q.iter().all(|c| c.is_finite()) {
                return Ok(Some(q));
            }
        }
        if self.invalid == Invalid::Error {
            bail!(
                "{}: expected finite coordinates, found {p:?}; mend it, or read with such points dropped",
                place()
            );
        }
        self.dropped += 1;
        Ok(None)
    }
}
