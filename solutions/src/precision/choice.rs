//! The precision and loss scaling that a run can choose.

use std::{fmt, str::FromStr, sync::Arc};

use anyhow::{Context, Error, Result, ensure};
use candle_core::{DType, Device};
use serde::{Deserialize, Serialize};

use super::{Autocast, BF16, DynamicScaler, FP16, FP32, Format, LossScale, TF32, update_scale};
use crate::kernels::Lowering;

/// Number format of matrix products; all other operators stay in fp32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the field's names")]
pub enum Precision {
    #[default]
    Fp32,
    Tf32,
    Bf16,
    Fp16,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.format().name)
    }
}

impl Precision {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::Fp32, Self::Tf32, Self::Bf16, Self::Fp16];

    /// Returns the number format.
    pub fn format(self) -> Format {
        match self {
            Self::Fp32 => FP32,
            Self::Tf32 => TF32,
            Self::Bf16 => BF16,
            Self::Fp16 => FP16,
        }
    }

    /// Returns how the operators of a pass are lowered on `device`; `None` if they run in their own precision. A CPU emulates
    /// all formats except fp32.
    ///
    /// tf32 on a GPU is a process-wide setting, which this function turns on.
    pub fn lowering(self, device: &Device) -> Option<Arc<dyn Lowering>> {
        match self {
            Self::Fp32 => None,
            _ if device.is_cpu() => Some(Arc::new(Autocast::emulated(self.format()))),
            Self::Tf32 => {
                candle_core::cuda::set_gemm_reduced_precision_f32(true);
                None
            }
            Self::Bf16 => Some(Arc::new(Autocast::real(DType::BF16))),
            Self::Fp16 => Some(Arc::new(Autocast::real(DType::F16))),
        }
    }

    /// Describes the precision on `device` for users; `None` for fp32.
    pub fn description(self, device: &Device, plain: bool) -> Option<String> {
        match self {
            Self::Fp32 => None,
            _ if device.is_cpu() => Some(format!(
                "{self}, emulated: shows accuracy, not speed (unfused, rounded operators; slower than fp32)"
            )),
            Self::Tf32 => Some("tf32 products".into()),
            _ if plain => Some(format!("{self} products, unfused operators")),
            _ => Some(format!("{self} products, sums in fp32")),
        }
    }
}

/// The minimum of a dynamic loss scale. If gradients overflow without scaling, a smaller scale does not help.
const MIN_SCALE: f64 = 1.0;
/// A static scale fails after this many skipped steps in a row.
const MAX_SKIPPED: u32 = 100;

/// A loss scaling rule with its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossScaler {
    /// Dynamic, as PyTorch's `GradScaler`.
    Dynamic(DynamicScaler),
    /// Constant.
    Static {
        /// The loss scale.
        scale: f64,
        /// Steps skipped in a row so far.
        left_out: u32,
    },
}

impl LossScaler {
    /// A dynamic scale that begins with 2^`power` and grows after `window` steps in a row without an overflow.
    ///
    /// # Errors
    /// As [`DynamicScaler::new`].
    pub fn dynamic(power: u32, window: u32) -> Result<Self> {
        let scale = 2f64.powi(power.min(1024) as i32);
        DynamicScaler::new(scale, window).map(Self::Dynamic)
    }

    /// A constant scale, before the first step.
    pub fn constant(scale: f64) -> Self {
        Self::Static { scale, left_out: 0 }
    }
}

/// The setting `--loss-scale`.
#[derive(Clone, Debug, PartialEq)]
pub enum LossScaling {
    /// Dynamic for fp16, otherwise off.
    Auto,
    /// No loss scaling.
    Off,
    /// By a rule, in its initial state.
    On(LossScaler),
}

impl LossScaling {
    /// The rule with its initial state; `None` for no scaling.
    pub fn scaler(&self, precision: Precision) -> Option<LossScaler> {
        match self {
            Self::Auto if precision == Precision::Fp16 => Some(LossScaler::Dynamic(DynamicScaler::default())),
            Self::Auto | Self::Off => None,
            Self::On(rule) => Some(rule.clone()),
        }
    }
}

/// `auto`, `off`, `dynamic`, `dynamic:POWER:WINDOW` (see [`LossScaler::dynamic`]), or a number.
impl FromStr for LossScaling {
    type Err = Error;

    /// # Errors
    /// Returns an error for any other text, and for a scale that is not above 0 or not finite in fp32.
    fn from_str(text: &str) -> Result<Self> {
        let wrong =
            || format!("loss-scale is '{text}', expected auto, dynamic[:POWER:WINDOW], off, or a number");
        let parts: Vec<&str> = text.split(':').collect();
        let rule = match parts[..] {
            ["auto"] => return Ok(Self::Auto),
            ["off"] => return Ok(Self::Off),
            ["dynamic"] => LossScaler::Dynamic(DynamicScaler::default()),
            ["dynamic", power, window] => {
                let (power, window) = (
                    power.parse().with_context(wrong)?,
                    window.parse().with_context(wrong)?,
                );
                LossScaler::dynamic(power, window).with_context(wrong)?
            }
            _ => {
                let scale: f64 = text.parse().with_context(wrong)?;
                ensure!(
                    scale > 0.0 && scale <= f64::from(f32::MAX),
                    "loss-scale is {scale}: it must be above 0 and finite in fp32"
                );
                LossScaler::constant(scale)
            }
        };
        Ok(Self::On(rule))
    }
}

impl fmt::Display for LossScaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Off => f.write_str("off"),
            Self::On(LossScaler::Dynamic(state)) if *state == DynamicScaler::default() => {
                f.write_str("dynamic")
            }
            Self::On(LossScaler::Dynamic(state)) => {
                write!(f, "dynamic:{}:{}", state.scale.log2(), state.interval)
            }
            Self::On(LossScaler::Static { scale, .. }) => write!(f, "{scale}"),
        }
    }
}

impl LossScale for LossScaler {
    fn scale(&self) -> f64 {
        match self {
            Self::Dynamic(state) => state.scale,
            Self::Static { scale, .. } => *scale,
        }
    }

    /// Updates the scale by the rule. Unlike PyTorch, returns an error if the dynamic scale falls below 1; a static scale
    /// fails after 100 skipped steps in a row.
    fn update(&mut self, found_inf: bool) -> Result<()> {
        match self {
            Self::Dynamic(state) => {
                update_scale(state, found_inf);
                ensure!(
                    state.scale >= MIN_SCALE,
                    "gradients still overflow at the minimum loss scale, {MIN_SCALE}: they are infinite or NaN without \
                     scaling, too. Resume from the last checkpoint with a lower --learning-rate, or train with \
                     --precision bf16"
                );
                Ok(())
            }
            Self::Static { scale, left_out } => {
                *left_out = if found_inf { *left_out + 1 } else { 0 };
                ensure!(
                    *left_out < MAX_SKIPPED,
                    "gradients overflowed in {MAX_SKIPPED} steps in a row at loss scale {scale}: use a smaller one, or \
                     --loss-scale dynamic"
                );
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cli/settings.txt` lists how a loss scale is read.
    #[test]
    fn a_loss_scale_begins_with_its_first_scale() {
        for (text, precision, first) in [
            ("auto", Precision::Bf16, None),
            ("auto", Precision::Fp16, Some(65536.0)),
            ("off", Precision::Fp16, None),
            ("dynamic", Precision::Bf16, Some(65536.0)),
            ("dynamic:4:1000", Precision::Fp16, Some(16.0)),
            ("128", Precision::Fp16, Some(128.0)),
        ] {
            let scaling: LossScaling = text.parse().unwrap();
            assert_eq!(scaling.scaler(precision).map(|s| s.scale()), first, "{text}");
        }
    }

    #[test]
    fn endless_overflow_is_an_error() {
        for (text, steps) in [("dynamic", 17), ("dynamic:3:9", 4), ("4", 100)] {
            let setting: LossScaling = text.parse().unwrap();
            let mut scaler = setting.scaler(Precision::Fp16).unwrap();
            let ended = (1..=200).find(|_| scaler.update(true).is_err());
            assert_eq!(ended, Some(steps), "{text}");
        }
    }
}
