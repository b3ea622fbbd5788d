//! Counts gradients that underflow.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use canopy::precision::GradientCensus;

/// Counts gradients while they are rounded. All operators of a training share it.
#[derive(Debug, Default)]
pub struct Census {
    /// Gradients that are not 0 before rounding.
    seen: AtomicU64,
    /// Those of them that are rounded to 0.
    lost: AtomicU64,
}

impl GradientCensus for Census {
    fn note(&self, before: &[f32], after: &[f32]) {
        let pairs = before.iter().zip(after);
        let seen = pairs.filter(|(before, _)| **before != 0.0 && before.is_finite());
        self.seen.fetch_add(seen.clone().count() as u64, Relaxed);
        let lost = seen.filter(|(_, after)| **after == 0.0);
        self.lost.fetch_add(lost.count() as u64, Relaxed);
    }
}

impl Census {
    /// The share of the gradients that were rounded to 0; none if none was rounded.
    pub fn underflow(&self) -> Option<f64> {
        let seen = self.seen.load(Relaxed);
        (seen > 0).then(|| self.lost.load(Relaxed) as f64 / seen as f64)
    }
}
