//! Random inputs: new in each run, and the same again for the same seed.

use crate::run::now;

/// Draws inputs. They depend only on the seed and the name of the check, so that a student's answer and a known mistake get
/// the same ones.
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

    /// A number in `[low, high)`.
    pub fn number(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.f64()
    }

    /// A whole number from `low` to `high`, inclusive.
    pub fn whole(&mut self, low: usize, high: usize) -> usize {
        self.0.usize(low..=high)
    }

    /// `count` numbers between `low` and `high`, with three decimals so that they are short when they are shown.
    pub fn list(&mut self, count: usize, low: f64, high: f64) -> Vec<f32> {
        let mut one = || (self.number(low, high) * 1000.0).round() as f32 / 1000.0;
        (0..count).map(|_| one()).collect()
    }

    /// `count` whole numbers below `below`.
    pub fn below(&mut self, count: usize, below: usize) -> Vec<u32> {
        (0..count).map(|_| self.0.u32(0..below as u32)).collect()
    }
}

/// The random inputs of the check that is running, from their start.
pub fn draw() -> Draw {
    now(|now| Draw::new(now.seed, &now.check)).unwrap_or(Draw::new(0, ""))
}

/// `CANOPY_SEED` if it is set, or else a new seed.
pub fn seed() -> u64 {
    let given = std::env::var("CANOPY_SEED").ok();
    let given = given.and_then(|seed| seed.trim().parse().ok());
    given.unwrap_or_else(|| fastrand::u64(1..1_000_000))
}
