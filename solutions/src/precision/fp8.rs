//! Scales for fp8: each tensor is multiplied by a factor, so that its largest magnitude is near the format's largest value.

use std::collections::VecDeque;

use super::Format;

/// Returns the scale of a tensor with the largest magnitude `amax`: the format's largest value divided by `amax`, rounded
/// down to a power of two so that scaling is exact, and halved `margin` times. Returns 1 if `amax` is 0 or not finite.
pub fn scale_for(amax: f32, format: Format, margin: u32) -> f32 {
    if amax == 0.0 || !amax.is_finite() {
        return 1.0;
    }
    let exponent = (format.max / f64::from(amax)).log2().floor() as i32 - margin as i32;
    // The exponents of normal f32 numbers.
    2f32.powi(exponent.clamp(-126, 127))
}

/// Delayed scaling (Micikevicius et al. 2022, section 4): the scale follows from the largest magnitudes of previous steps,
/// so the current tensor is read only once.
#[derive(Clone, Debug)]
pub struct DelayedScale {
    format: Format,
    margin: u32,
    length: usize,
    history: VecDeque<f32>,
}

impl DelayedScale {
    /// Creates a scale for `format` from the last `length` steps (at least one), halved `margin` times.
    pub fn new(format: Format, length: usize, margin: u32) -> Self {
        Self {
            format,
            margin,
            length: length.max(1),
            history: VecDeque::new(),
        }
    }

    /// Returns the scale for the next step.
    pub fn scale(&self) -> f32 {
        let amax = self.history.iter().copied().fold(0.0, f32::max);
        scale_for(amax, self.format, self.margin)
    }

    /// Adds the largest magnitude of a step to the history. A value that is not finite is ignored.
    pub fn note(&mut self, amax: f32) {
        if !amax.is_finite() {
            return;
        }
        if self.history.len() == self.length {
            self.history.pop_front();
        }
        self.history.push_back(amax);
    }
}

#[cfg(test)]
mod tests {
    use super::super::FP8_E4M3;
    use super::*;

    #[test]
    fn the_delayed_scale_forgets_old_steps() {
        let mut scale = DelayedScale::new(FP8_E4M3, 2, 0);
        assert_eq!(scale.scale(), 1.0);
        scale.note(448.0);
        scale.note(7.0);
        assert_eq!(scale.scale(), 1.0);
        scale.note(f32::NAN);
        scale.note(7.0);
        assert_eq!(scale.scale(), 64.0);
        assert_eq!(DelayedScale::new(FP8_E4M3, 0, 1).scale(), 1.0);
    }
}
