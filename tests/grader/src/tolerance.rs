//! How far an answer may be from the reference, for each dtype. All tolerances are defined here.

use crate::Values;

/// The difference that is still right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Multiplied by the expected number.
    pub relative: f64,
    /// Added to the product.
    pub absolute: f64,
}

impl Tolerance {
    /// Allows another order of summation, but not another formula.
    pub fn of(dtype: &str) -> Self {
        let (relative, absolute) = match dtype {
            "f64" => (1e-9, 1e-12),
            "f32" => (2e-5, 1e-7),
            "f16" => (4e-3, 1e-5),
            "bf16" => (3e-2, 1e-4),
            _ => (0.0, 0.0),
        };
        Self { relative, absolute }
    }

    /// The greatest allowed distance from `expected`. `greatest` is the largest absolute value of the same tensor: if a
    /// sum cancels, the rounding of its terms remains.
    pub fn allowed(&self, expected: f64, greatest: f64) -> f64 {
        self.relative * expected.abs().max(0.01 * greatest) + self.absolute
    }
}

/// The largest absolute value of the finite numbers in `values`.
pub fn greatest(values: &Values) -> f64 {
    let sizes = values.numbers.iter().map(|v| v.abs());
    sizes.filter(|v| v.is_finite()).fold(0.0, f64::max)
}

/// Whether `got` is close enough to `expected`. Two NaNs are, and so are two equal infinities.
pub fn same(got: f64, expected: f64, allowed: f64) -> bool {
    // The allowed distance from an infinity is infinite.
    let near = || expected.is_finite() && (got - expected).abs() <= allowed;
    got == expected || (got.is_nan() && expected.is_nan()) || near()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_or_an_infinity_is_never_near_a_number() {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!same(odd, 1.0, 1e9) && !same(1.0, odd, 1e9), "{odd}");
            assert!(same(odd, odd, 0.0));
        }
        assert!(!same(f64::INFINITY, f64::NEG_INFINITY, 1e9));
        assert!(!same(1.0, f64::INFINITY, f64::INFINITY));
    }

    #[test]
    fn integers_are_compared_exactly() {
        assert_eq!(Tolerance::of("integer").allowed(1e6, 1e6), 0.0);
    }
}
