//! Fresh inputs: drawn anew in each run, again the same with the same seed.

use std::time::{SystemTime, UNIX_EPOCH};

/// Draws inputs. The same seed and name of a check give the same inputs, for a student's answer and for a mistake.
pub struct Draw(fastrand::Rng);

impl Draw {
    /// The stream of `check` under `seed`.
    pub fn new(seed: u64, check: &str) -> Self {
        // FNV-1a: stable over versions, unlike the standard library's hash.
        let hash = check.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
        });
        Self(fastrand::Rng::with_seed(seed ^ hash))
    }

    /// A number from `low` up to `high`.
    pub fn number(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.f64()
    }

    /// A whole number from `low` to `high`, both possible.
    pub fn whole(&mut self, low: usize, high: usize) -> usize {
        self.0.usize(low..=high)
    }

    /// `count` numbers from `low` up to `high`, with three decimals so that they are short to show.
    pub fn list(&mut self, count: usize, low: f64, high: f64) -> Vec<f32> {
        let mut one = || (self.number(low, high) * 1000.0).round() as f32 / 1000.0;
        (0..count).map(|_| one()).collect()
    }

    /// `count` whole numbers below `below`.
    pub fn below(&mut self, count: usize, below: usize) -> Vec<u32> {
        (0..count).map(|_| self.0.u32(0..below as u32)).collect()
    }
}

/// The draw of the check that is running.
pub fn draw() -> Draw {
    crate::run::draw_now()
}

/// `CANOPY_SEED` where it is set, else one that no run before had.
pub fn seed() -> u64 {
    let given = std::env::var("CANOPY_SEED")
        .ok()
        .and_then(|s| s.trim().parse().ok());
    given.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        fastrand::Rng::with_seed(now.as_nanos() as u64).u64(1..1_000_000)
    })
}
