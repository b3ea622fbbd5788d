//! The space of hyper-parameters, and random draws from it.

use canopy_data::Philox;
use serde::{Deserialize, Serialize};

// ANCHOR: Value
/// A value of a hyper-parameter, as `canopy train` takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number or a text, such as \"true\"")]
pub enum Value {
    /// A number: `0.001`, `64`.
    Number(f64),
    /// A name: `adamw`, `step:20:0.7`, `true`.
    Word(String),
}
// ANCHOR_END: Value

// ANCHOR: Range
/// What the values of a hyper-parameter are drawn from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Range {
    /// Log-uniform: the logarithm is uniform, so each factor of 10 is equally likely.
    Log {
        /// Smallest value, above 0.
        low: f64,
        /// Largest value.
        high: f64,
    },
    /// Uniform.
    Uniform {
        /// Smallest value.
        low: f64,
        /// Largest value.
        high: f64,
    },
    /// One of these, all equally likely; at least one.
    Choice(Vec<Value>),
}
// ANCHOR_END: Range

impl Range {
    /// The value at `u`, which is at least 0 and below 1.
    fn at(&self, u: f64) -> Value {
        match self {
            // libm's power is the same on every machine.
            Self::Log { low, high } => Value::Number(low * libm::pow(high / low, u)),
            Self::Uniform { low, high } => Value::Number(low + u * (high - low)),
            Self::Choice(values) => values[(u * values.len() as f64) as usize].clone(),
        }
    }

    /// The middle of the numbers u that have this value; NaN for a value of another kind.
    pub fn u(&self, value: &Value) -> f64 {
        match (self, value) {
            (Self::Log { low, high }, Value::Number(number)) => (number / low).ln() / (high / low).ln(),
            (Self::Uniform { low, high }, Value::Number(number)) => (number - low) / (high - low),
            (Self::Choice(values), _) => {
                let index = values.iter().position(|other| other == value);
                index.map_or(f64::NAN, |index| (index as f64 + 0.5) / values.len() as f64)
            }
            _ => f64::NAN,
        }
    }
}

// ANCHOR: Parameter
/// A hyper-parameter of the space.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, as a setting of `canopy train`.
    pub name: String,
    /// What its values are drawn from.
    pub range: Range,
    /// Drawn only if this earlier parameter has this value.
    pub only_if: Option<(String, Value)>,
}
// ANCHOR_END: Parameter

/// Draws the hyper-parameters of trial `trial` in the order of `space` (random search; Bergstra and Bengio 2012). A parameter is
/// left out if its condition does not hold, which includes that the condition's own parameter is left out.
///
/// The random numbers are those of `Philox::new(seed, trial)`. Each parameter, also one that is left out, takes one
/// `uniform` number u, so that no value depends on the condition of another parameter. Log-uniform: low·(high/low)^u. Uniform:
/// low + u·(high − low). Choice of n values: the one with index ⌊u·n⌋.
pub fn draw(space: &[Parameter], seed: u64, trial: u64) -> Vec<(String, Value)> {
    let mut random = Philox::new(seed, trial);
    drawn(space, |_| f64::from(random.uniform()))
}

/// As [`draw`], with the number u of each parameter.
pub fn drawn(space: &[Parameter], mut u: impl FnMut(&Parameter) -> f64) -> Vec<(String, Value)> {
    let mut drawn = Vec::new();
    for parameter in space {
        let Parameter { name, range, only_if } = parameter;
        let u = u(parameter);
        let applies = only_if.as_ref().is_none_or(|condition| drawn.contains(condition));
        if applies {
            drawn.push((name.clone(), range.at(u)));
        }
    }
    drawn
}
