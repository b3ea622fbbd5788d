//! A point cloud in memory: struct of arrays, metres, z up.

use anyhow::{Result, ensure};

/// Which of a pulse's returns a point is (LAS: both count from 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Return {
    /// This return's number, 1 being the first the pulse met.
    pub number: u8,
    /// How many returns the pulse gave.
    pub of: u8,
}

/// Points in metres, z up, with the attributes that the file had.
///
/// Coordinates are `f32` relative to `origin`, so that map coordinates (hundreds of kilometres) keep
/// their millimetres. An attribute that the file lacks is an empty vector; one that it has is as long as `xyz`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cloud {
    /// Added to each point of `xyz`, gives the coordinates of the file, in metres.
    pub origin: [f64; 3],
    /// The points, metres from `origin`.
    pub xyz: Vec<[f32; 3]>,
    /// Strength of the echo, in the scanner's own unit.
    pub intensity: Vec<u16>,
    /// ASPRS class: 2 ground, 5 high vegetation, 7 and 18 noise.
    pub class: Vec<u8>,
    /// Number of the return within its pulse.
    pub returns: Vec<Return>,
}

/// An axis-aligned box around a cloud, metres from its origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Least x, y, z.
    pub min: [f32; 3],
    /// Greatest x, y, z.
    pub max: [f32; 3],
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

    /// The box around the points; none for an empty cloud.
    pub fn bounds(&self) -> Option<Bounds> {
        let first = *self.xyz.first()?;
        let mut b = Bounds {
            min: first,
            max: first,
        };
        for p in &self.xyz {
            for a in 0..3 {
                b.min[a] = b.min[a].min(p[a]);
                b.max[a] = b.max[a].max(p[a]);
            }
        }
        Some(b)
    }

    /// The points at `indices`, in that order, with their attributes.
    ///
    /// # Panics
    /// Where an index is out of range.
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

    /// Holds that every attribute is absent or complete and every coordinate finite.
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
            anyhow::bail!(
                "point {i} is {:?}: a coordinate that is not a number",
                self.xyz[i]
            );
        }
        Ok(())
    }
}
