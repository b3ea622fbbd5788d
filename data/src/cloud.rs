//! A point cloud in memory: struct of arrays, metres, z up.

use anyhow::{Result, ensure};

use crate::sample;

/// Which of a pulse's returns a point is; both numbers count from 1, as in LAS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Return {
    /// This return's number; the first is 1.
    pub number: u8,
    /// How many returns the pulse had.
    pub of: u8,
}

/// Points in metres, z up, with the attributes that the file had.
///
/// Coordinates are `f32` relative to `origin`, so that map coordinates (hundreds of kilometres) keep
/// millimetres. An attribute that the file lacks is an empty vector; the others are as long as `xyz`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cloud {
    /// The file's coordinates are this plus `xyz`, metres.
    pub origin: [f64; 3],
    /// The points, metres relative to `origin`.
    pub xyz: Vec<[f32; 3]>,
    /// Intensity of the return, in the scanner's own unit.
    pub intensity: Vec<u16>,
    /// ASPRS class: 2 ground, 5 high vegetation, 7 and 18 noise.
    pub class: Vec<u8>,
    /// Number of the return within its pulse.
    pub returns: Vec<Return>,
}

impl Cloud {
    /// A cloud of bare points around the origin.
    pub fn from_points(xyz: Vec<[f32; 3]>) -> Self {
        Self {
            xyz,
            ..Self::default()
        }
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.xyz.len()
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.xyz.is_empty()
    }

    /// Whether there are points at two places or more.
    pub fn has_extent(&self) -> bool {
        self.xyz.iter().any(|p| *p != self.xyz[0])
    }

    /// Checks that the cloud has an extent: the shape of a tree cannot be seen otherwise.
    ///
    /// # Errors
    /// Returns an error with the number of points if there are none, or if all are at the same place.
    pub fn check_extent(&self) -> Result<()> {
        let n = self.len();
        ensure!(n > 0, "the cloud has no points");
        ensure!(
            n > 1 || self.has_extent(),
            "the cloud has only one point, and so an extent of 0 m"
        );
        ensure!(
            self.has_extent(),
            "all of the cloud's {n} points are at the same place, an extent of 0 m"
        );
        Ok(())
    }

    /// The least and the greatest x, y and z, with the origin added; `None` without points.
    pub(crate) fn bounds(&self) -> Option<[[f64; 3]; 2]> {
        let mut bounds = None;
        for p in &self.xyz {
            let at = [0, 1, 2].map(|a| f64::from(p[a]) + self.origin[a]);
            let [low, high] = bounds.get_or_insert([at, at]);
            for a in 0..3 {
                low[a] = low[a].min(at[a]);
                high[a] = high[a].max(at[a]);
            }
        }
        bounds
    }

    /// `n` of the points at random, in their order; all if there are at most `n`. The same seed gives the same points.
    #[must_use]
    pub fn thinned(self, n: usize, seed: u64) -> Self {
        if self.len() <= n {
            return self;
        }
        let mut kept = sample::random(self.len(), n, seed);
        kept.sort_unstable();
        self.select(&kept)
    }

    /// The points at `indices`, in that order, with their attributes.
    ///
    /// # Panics
    /// Panics if an index is out of range.
    pub fn select(&self, indices: &[usize]) -> Self {
        fn pick<T: Copy>(from: &[T], indices: &[usize]) -> Vec<T> {
            if from.is_empty() {
                Vec::new()
            } else {
                indices.iter().map(|&i| from[i]).collect()
            }
        }
        Self {
            origin: self.origin,
            xyz: pick(&self.xyz, indices),
            intensity: pick(&self.intensity, indices),
            class: pick(&self.class, indices),
            returns: pick(&self.returns, indices),
        }
    }

    /// Adds the points of `other`, which must have the origin and attributes of this cloud unless this one is empty.
    pub fn append(&mut self, mut other: Self) {
        if self.is_empty() {
            *self = other;
            return;
        }
        self.xyz.append(&mut other.xyz);
        self.intensity.append(&mut other.intensity);
        self.class.append(&mut other.class);
        self.returns.append(&mut other.returns);
    }

    /// Checks that every attribute is absent or complete and every coordinate finite.
    ///
    /// # Errors
    /// Names the first point or attribute that is wrong.
    pub fn validate(&self) -> Result<()> {
        let n = self.len();
        for (name, len) in [
            ("intensity", self.intensity.len()),
            ("class", self.class.len()),
            ("returns", self.returns.len()),
        ] {
            ensure!(len == 0 || len == n, "{name} has {len} values for {n} points");
        }
        if let Some(i) = self.xyz.iter().position(|p| p.iter().any(|c| !c.is_finite())) {
            anyhow::bail!("point {i} is {:?}: expected finite coordinates", self.xyz[i]);
        }
        Ok(())
    }
}
