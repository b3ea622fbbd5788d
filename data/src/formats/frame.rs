//! From a file's coordinates (f64) to those of a cloud: an origin in whole metres and f32 offsets.

use anyhow::{Result, bail};

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

/// Turns a file's coordinates into those of a cloud, and handles coordinates that are not finite.
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

    /// The origin, which the first placed point determines; 0 before.
    pub fn origin(&self) -> [f64; 3] {
        self.origin.unwrap_or_default()
    }

    /// `p` relative to the origin, or `None` if it is dropped. `place` names its place in the file.
    ///
    /// # Errors
    /// Returns an error if a coordinate is not finite and such points are not dropped.
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
                "{}: expected finite coordinates, found {p:?}; correct it, or remove such points with `canopy data convert --drop-invalid`",
                place()
            );
        }
        self.dropped += 1;
        Ok(None)
    }
}
