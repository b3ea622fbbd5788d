//! What a run may choose: its number format, and how the loss is scaled.

use std::{fmt, sync::Arc};

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device};
use serde::{Deserialize, Serialize};

use super::{
    Autocast, BF16, DeepSpeedScaler, DynamicScaler, FP16, FP32, Format, LossScale, TF32, update_scale,
};
use crate::kernels::Lowering;

/// What products are computed in; the rest stays fp32.
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
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fp32, Self::Tf32, Self::Bf16, Self::Fp16];

    /// Its number format.
    pub fn format(self) -> Format {
        match self {
            Self::Fp32 => FP32,
            Self::Tf32 => TF32,
            Self::Bf16 => BF16,
            Self::Fp16 => FP16,
        }
    }

    /// Whether `device` has no such arithmetic, so that it is emulated: on the CPU, in all but fp32.
    pub fn is_emulated(self, device: &Device) -> bool {
        self != Self::Fp32 && device.is_cpu()
    }

    /// How the operators of a training pass are to run on `device`; none where they stay as they are.
    ///
    /// tf32 on a GPU is a switch of the whole program's, and this turns it.
    pub fn lowering(self, device: &Device) -> Option<Arc<dyn Lowering>> {
        if self.is_emulated(device) {
            return Some(Arc::new(Autocast::emulated(self.format())));
        }
        match self {
            Self::Fp32 => None,
            Self::Tf32 => {
                candle_core::cuda::set_gemm_reduced_precision_f32(true);
                None
            }
            Self::Bf16 => Some(Arc::new(Autocast::real(DType::BF16))),
            Self::Fp16 => Some(Arc::new(Autocast::real(DType::F16))),
        }
    }

    /// What a person must know of it on `device`; nothing of fp32.
    pub fn told(self, device: &Device) -> Option<String> {
        match self {
            Self::Fp32 => None,
            _ if self.is_emulated(device) => Some(format!(
                "{self}, emulated: shows accuracy, not speed (operators one at a time, rounded; slower than fp32)"
            )),
            Self::Tf32 => Some("tf32 products".into()),
            _ => Some(format!("{self} products, plain operators")),
        }
    }
}

/// The least loss scale: gradients that overflow without any scaling are not the scale's fault.
const LEAST: f64 = 1.0;
/// A scale that stays gives up after so many steps in a row that were left out.
const PATIENCE: u32 = 100;

/// How the loss is scaled, and where that stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossScaler {
    /// PyTorch's rule.
    Dynamic(DynamicScaler),
    /// DeepSpeed's rule.
    DeepSpeed(DeepSpeedScaler),
    /// Always the same.
    Static {
        /// The factor.
        scale: f64,
        /// Steps left out in a row so far.
        left_out: u32,
    },
}

impl LossScaler {
    /// `auto` (dynamic for fp16, else off), `dynamic`, `deepspeed`, `off`, or a number that stays.
    ///
    /// # Errors
    /// Another word, or a number that is not above 0.
    pub fn parse(text: &str, precision: Precision) -> Result<Option<Self>> {
        Ok(match text {
            "auto" if precision == Precision::Fp16 => Some(Self::Dynamic(DynamicScaler::default())),
            "auto" | "off" => None,
            "dynamic" => Some(Self::Dynamic(DynamicScaler::default())),
            "deepspeed" => Some(Self::DeepSpeed(DeepSpeedScaler::default())),
            number => {
                let scale: f64 = number.parse().with_context(|| {
                    format!("loss-scale is '{number}': take auto, dynamic, deepspeed, off, or a number")
                })?;
                ensure!(
                    scale > 0.0 && scale <= f64::from(f32::MAX),
                    "loss-scale is {scale}: it must be above 0 and fit into fp32"
                );
                Some(Self::Static { scale, left_out: 0 })
            }
        })
    }
}

impl LossScale for LossScaler {
    fn scale(&self) -> f64 {
        match self {
            Self::Dynamic(state) => state.scale,
            Self::DeepSpeed(rule) => rule.scale(),
            Self::Static { scale, .. } => *scale,
        }
    }

    /// As each rule has it. PyTorch's would go on for ever; here it ends under a scale of 1, and one that stays after
    /// 100 steps in a row.
    fn update(&mut self, found_inf: bool) -> Result<()> {
        match self {
            Self::Dynamic(state) => {
                update_scale(state, found_inf);
                ensure!(
                    state.scale >= LEAST,
                    "the loss scale has fallen to its least, {LEAST}, and gradients overflow still: they are infinite or \
                     NaN by themselves. Go on from the last checkpoint with a lower --learning-rate, or train with \
                     --precision bf16"
                );
                Ok(())
            }
            Self::DeepSpeed(rule) => rule.update(found_inf),
            Self::Static { scale, left_out } => {
                *left_out = if found_inf { *left_out + 1 } else { 0 };
                ensure!(
                    *left_out < PATIENCE,
                    "gradients overflowed in {PATIENCE} steps in a row at the loss scale {scale}: take a smaller one, or \
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

    #[test]
    fn loss_scales_are_parsed_and_what_is_none_is_refused() {
        let of = |text, precision| LossScaler::parse(text, precision);
        assert_eq!(of("auto", Precision::Bf16).unwrap(), None);
        assert_eq!(of("off", Precision::Fp16).unwrap(), None);
        for (text, first) in [
            ("auto", 65536.0),
            ("dynamic", 65536.0),
            ("deepspeed", 65536.0),
            ("128", 128.0),
        ] {
            assert_eq!(of(text, Precision::Fp16).unwrap().map(|s| s.scale()), Some(first));
        }
        for text in ["fast", "0", "-2", "inf", "NaN", "1e300", ""] {
            let said = format!("{:#}", of(text, Precision::Fp16).unwrap_err());
            assert!(said.contains("loss-scale"), "{said}");
        }
    }

    #[test]
    fn each_scale_ends_where_it_cannot_help() {
        for (text, steps) in [("dynamic", 17), ("deepspeed", 18), ("4", 100)] {
            let mut scaler = LossScaler::parse(text, Precision::Fp16).unwrap().unwrap();
            let ended = (1..=200).find(|_| scaler.update(true).is_err());
            assert_eq!(ended, Some(steps), "{text}");
        }
    }
}
