//! Numbers with their shape and dtype, as a check compares and shows them.

use std::fmt::Write;

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
        let shape = shape.to_vec();
        Self {
            numbers,
            shape,
            dtype,
        }
    }

    /// The index along each axis of the number at `flat`, such as `[1, 0]`; empty for a scalar.
    pub fn index(&self, flat: usize) -> String {
        if self.shape.is_empty() {
            return String::new();
        }
        let mut rest = flat;
        let mut index: Vec<usize> = Vec::new();
        for &length in self.shape.iter().rev() {
            index.push(rest % length.max(1));
            rest /= length.max(1);
        }
        index.reverse();
        format!("{index:?}")
    }

    /// The number at `flat`, shortened.
    pub fn text(&self, flat: usize) -> String {
        self.numbers.get(flat).map_or("–".into(), |&v| number(v))
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
        for i in 0..self.numbers.len() {
            let next = self.text(i);
            if out.chars().count() + next.chars().count() + 3 > width {
                out.push('…');
                return out;
            }
            let comma = if i + 1 < self.numbers.len() { ", " } else { "" };
            let _ = write!(out, "{next}{comma}");
        }
        out
    }
}

/// A number in at most 11 columns, with seven digits.
pub fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    if value != 0.0 && !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.4e}");
    }
    let whole = value.abs().max(1.0).log10() as usize + 1;
    let text = format!("{value:.*}", 7usize.saturating_sub(whole));
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Two numbers that are not equal, with as many digits as they need to look different.
pub fn apart(a: f64, b: f64) -> [String; 2] {
    let same = |[a, b]: &[String; 2]| a == b;
    let short = [number(a), number(b)];
    if a == b || !a.is_finite() || !b.is_finite() || !same(&short) {
        return short;
    }
    let with = |digits: usize| [a, b].map(|v| format!("{v:.digits$e}"));
    (7..17).map(with).find(|both| !same(both)).unwrap_or(short)
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
    fn an_index_runs_along_every_axis() {
        let values = Values::tensor(vec![0.0; 24], &[2, 3, 4], "f32");
        assert_eq!(values.index(0), "[0, 0, 0]");
        assert_eq!(values.index(17), "[1, 1, 1]");
        assert_eq!(Values::from(3.0f32).index(0), "");
    }

    #[test]
    fn numbers_are_shortened() {
        for (value, text) in [
            (0.1, "0.1"),
            (f64::from(0.1f32), "0.1"),
            (-1234.5, "-1234.5"),
            (1e-9, "1.0000e-9"),
            (123456789.0, "1.2346e8"),
            (0.0, "0"),
            (100.0, "100"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn numbers_that_differ_look_different() {
        assert_eq!(apart(2.0, 3.0), ["2", "3"]);
        assert_eq!(
            apart(8.4e11, 8.4e11 + 1.0),
            ["8.40000000000e11", "8.40000000001e11"]
        );
        assert_eq!(apart(0.25, 0.250_000_01), ["2.5000000e-1", "2.5000001e-1"]);
        assert_eq!(apart(1.0, f64::NAN), ["1", "NaN"]);
    }

    #[test]
    fn long_lists_are_cut_to_the_width() {
        let list: Vec<usize> = (0..1000).collect();
        let short = Values::from(&list).short(40);
        assert!(
            short.starts_with("1000 values: 0, 1, ") && short.ends_with('…'),
            "{short}"
        );
        assert!(short.chars().count() <= 40, "{short}");
    }
}
