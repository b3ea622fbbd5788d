//! Vectors in metres, x east, y north, z up. `f64` and `libm` only: bit-identical on every machine.

use std::ops::{Add, Mul, Sub};

use crate::Philox;

/// A point or a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vec3 {
    /// East.
    pub x: f64,
    /// North.
    pub y: f64,
    /// Up.
    pub z: f64,
}

impl Vec3 {
    /// Straight up.
    pub const UP: Self = Self::new(0.0, 0.0, 1.0);

    /// The vector (x, y, z).
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    /// The unit vector with these zenith and azimuth angles, in radians.
    pub fn polar(zenith: f64, azimuth: f64) -> Self {
        let s = libm::sin(zenith);
        Self::new(s * libm::cos(azimuth), s * libm::sin(azimuth), libm::cos(zenith))
    }

    /// A vector of independent standard normal components.
    pub fn normal(rng: &mut Philox) -> Self {
        Self::new(rng.normal(), rng.normal(), rng.normal())
    }

    /// The scalar product.
    pub fn dot(self, o: Self) -> f64 {
        self.x * o.x + self.y * o.y + self.z * o.z
    }

    /// The vector product.
    pub fn cross(self, o: Self) -> Self {
        Self::new(
            self.y * o.z - self.z * o.y,
            self.z * o.x - self.x * o.z,
            self.x * o.y - self.y * o.x,
        )
    }

    /// Its length.
    pub fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// Its direction; straight up for a vector of length 0.
    pub fn unit(self) -> Self {
        let l = self.length();
        if l > 1e-9 { self * (1.0 / l) } else { Self::UP }
    }

    /// Two unit vectors orthogonal to `self` (a unit vector) and to each other.
    pub fn sides(self) -> (Self, Self) {
        let other = if self.z.abs() < 0.9 {
            Self::UP
        } else {
            Self::new(1.0, 0.0, 0.0)
        };
        let u = other.cross(self).unit();
        (u, self.cross(u))
    }

    /// This unit vector, rotated by `angle` towards its side at azimuth `turn`; radians.
    pub fn bent(self, angle: f64, turn: f64) -> Self {
        let (u, v) = self.sides();
        let side = u * libm::cos(turn) + v * libm::sin(turn);
        self * libm::cos(angle) + side * libm::sin(angle)
    }

    /// In single precision.
    pub fn single(self) -> [f32; 3] {
        [self.x as f32, self.y as f32, self.z as f32]
    }

    /// Distance from the vertical axis through the origin.
    pub fn horizontal(self) -> f64 {
        (self.x * self.x + self.y * self.y).sqrt()
    }
}

impl Add for Vec3 {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self::new(self.x + o.x, self.y + o.y, self.z + o.z)
    }
}

impl Sub for Vec3 {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self::new(self.x - o.x, self.y - o.y, self.z - o.z)
    }
}

impl Mul<f64> for Vec3 {
    type Output = Self;
    fn mul(self, k: f64) -> Self {
        Self::new(self.x * k, self.y * k, self.z * k)
    }
}
