//! Numbers with their shape and dtype, as a check compares and shows them.

/// The numbers of a scalar, a list or a tensor. The grader does not depend on candle: lessons convert tensors to this.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// All numbers in row-major order. Integers up to 2^53 are exact.
    pub numbers: Vec<f64>,
    /// The length of each axis; empty for a scalar.
    pub shape: Vec<usize>,
    /// `f32`, `f64`, `f16`, `bf16`, or `integer`.
    pub dtype: &'static str,
}

impl Values {
    /// The numbers of a tensor.
    pub fn tensor(numbers: Vec<f64>, shape: &[usize], dtype: &'static str) -> Self {
        Self {
            numbers,
            shape: shape.to_vec(),
            dtype,
        }
    }

    /// The index along each axis of the number at `flat`, such as `[1, 0]`.
    pub fn index(&self, flat: usize) -> String {
        let (mut rest, mut index) = (flat, self.shape.clone());
        for at in index.iter_mut().rev() {
            let length = (*at).max(1);
            (*at, rest) = (rest % length, rest / length);
        }
        format!("{index:?}")
    }

    /// All numbers in at most `width` columns: `[2, 3] of f32: 0.25, −1, …`, and a list of integers `30 values: 0, 1, …`.
    pub fn short(&self, width: usize) -> String {
        let mut out = match (self.shape.as_slice(), self.dtype) {
            ([], _) => String::new(),
            ([0], "integer") => return "an empty list".into(),
            ([1], "integer") => "1 value: ".to_owned(),
            ([count], "integer") => format!("{count} values: "),
            (shape, dtype) => format!("{shape:?} of {dtype}: "),
        };
        for (i, &value) in self.numbers.iter().enumerate() {
            let comma = if i + 1 < self.numbers.len() { ", " } else { "" };
            let next = number(value);
            if out.chars().count() + next.len() + 3 > width {
                return out + "…";
            }
            out += &(next + comma);
        }
        out
    }

    /// Where the numbers differ from those of `expected`, of the same shape, by more than [`Values::allowed`] there.
    /// Two NaNs do not differ, nor do two equal infinities.
    pub(crate) fn differences(&self, expected: &Values, scale: f64) -> Vec<usize> {
        let allowed = expected.allowed(scale);
        let same = |i: usize| {
            let (got, expected) = (self.numbers[i], expected.numbers[i]);
            let both_nan = got.is_nan() && expected.is_nan();
            // The allowed distance from an infinity is infinite.
            let near = expected.is_finite() && (got - expected).abs() <= allowed(i);
            got == expected || both_nan || near
        };
        (0..self.numbers.len()).filter(|&i| !same(i)).collect()
    }

    /// How far from each of these expected numbers a right answer may be: as far as another order of summation takes
    /// it, but not another formula. If a sum cancels, the rounding of its terms remains, which are as large as the
    /// largest number, or as `scale`.
    pub(crate) fn allowed(&self, scale: f64) -> impl Fn(usize) -> f64 {
        let (relative, absolute) = match self.dtype {
            "f64" => (1e-9, 1e-12),
            "f32" => (2e-5, 1e-7),
            "f16" => (4e-3, 1e-5),
            "bf16" => (3e-2, 1e-4),
            _ => (0.0, 0.0),
        };
        let sizes = self.numbers.iter().map(|x| x.abs()).filter(|x| x.is_finite());
        let least = scale.max(0.01 * sizes.fold(0.0, f64::max));
        move |i| relative * self.numbers[i].abs().max(least) + absolute
    }
}

/// A number with seven digits, a whole one with all.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 || !value.is_finite() {
        return value.to_string();
    }
    if !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.4e}");
    }
    let whole = value.abs().max(1.0).log10() as usize + 1;
    let text = format!("{value:.*}", 7usize.saturating_sub(whole).max(1));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

macro_rules! scalars {
    ($($from:ty => $dtype:literal),*) => {$(
        impl From<$from> for Values {
            fn from(value: $from) -> Self {
                Self::tensor(vec![value as f64], &[], $dtype)
            }
        }
        impl From<&[$from]> for Values {
            fn from(list: &[$from]) -> Self {
                let numbers = list.iter().map(|&v| v as f64).collect();
                Self::tensor(numbers, &[list.len()], $dtype)
            }
        }
        impl From<&Vec<$from>> for Values {
            fn from(list: &Vec<$from>) -> Self {
                list.as_slice().into()
            }
        }
    )*};
}

scalars!(f32 => "f32", f64 => "f64", usize => "integer", u64 => "integer", u32 => "integer", i64 => "integer");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shortened() {
        let numbers = [0.1f32.into(), -1234.5, 1e-9, 123456789.0, 123456789.5, f64::NAN].map(number);
        assert_eq!(numbers.join(" "), "0.1 -1234.5 1.0000e-9 123456789 1.2346e8 NaN");
        let short = Values::from(&Vec::from_iter(0..1000usize)).short(24);
        assert_eq!(short, "1000 values: 0, 1, 2, …");
    }

    #[test]
    fn rounding_is_right_and_a_nan_or_an_infinity_is_never_near_a_number() {
        let differ = |a: f64, b: f64, scale| !Values::from(a).differences(&b.into(), scale).is_empty();
        assert!(!differ(0.1 + 0.2, 0.3, 0.0) && differ(0.3 + 1e-6, 0.3, 0.0));
        assert!(!differ(0.3 + 1e-6, 0.3, 1e4));
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(differ(odd, 1.0, 1e9) && differ(1.0, odd, 1e9) && !differ(odd, odd, 0.0));
        }
        assert!(differ(f64::INFINITY, f64::NEG_INFINITY, 1e9));
        let integer = Values::from(1_000_001usize);
        assert_eq!(integer.differences(&1_000_000usize.into(), 0.0), [0]);
    }
}
