//! Emulation of low-precision operators: fp32 values are rounded at the inputs and outputs of an operator, in the forward
//! and in the backward pass.

use std::{fmt::Debug, sync::Arc};

use candle_core::{Result, Tensor};
use rayon::prelude::*;

use super::{BF16, FP8_E4M3, FP8_E5M2, Format, Overflow, TF32, format::round_all, scale_for};
use crate::kernels::{Pass, each};

/// How many numbers one task rounds.
const BLOCK: usize = 1 << 14;

/// Sees every gradient that is rounded.
pub trait GradientCensus: Debug + Send + Sync {
    /// Takes gradients before and after rounding.
    fn note(&self, before: &[f32], after: &[f32]);
}

/// The side of an operator at which values are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    Input,
    Output,
}

/// How numbers are rounded.
#[derive(Clone, Debug)]
pub struct Emulation {
    format: Format,
    /// Used in place of [`round_all`].
    pub round: Option<fn(f32, Format) -> f32>,
    pub scale: fn(f32, Format, u32) -> f32,
    pub census: Option<Arc<dyn GradientCensus>>,
}

impl Emulation {
    pub fn of(format: Format) -> Self {
        Self {
            format,
            round: None,
            scale: scale_for,
            census: None,
        }
    }

    /// Returns the formats that values and their gradients are rounded to at a border; `None`: not rounded.
    fn formats(&self, border: Border) -> (Option<Format>, Option<Format>) {
        let low = Some(self.format);
        match (border, self.format.bits()) {
            // Tensor cores round inputs to tf32, in the forward and the backward pass, and return fp32.
            (Border::Input, _) if self.format == TF32 => (low, None),
            (Border::Output, _) if self.format == TF32 => (None, low),
            (Border::Input, ..=8) => (Some(FP8_E4M3.with(Overflow::Saturate)), Some(BF16)),
            (Border::Output, ..=8) => (Some(BF16), Some(FP8_E5M2.with(Overflow::Saturate))),
            _ => (low, low),
        }
    }

    /// Rounds `x` at a border, and its gradient in the backward pass.
    pub fn border(self: &Arc<Self>, pass: &Pass, x: &Tensor, border: Border) -> Result<Tensor> {
        let (forward, backward) = self.formats(border);
        let (of_values, of_gradients) = (self.clone(), self.clone());
        let round_values = move |values: &mut [f32]| {
            if let Some(format) = forward {
                of_values.round_values(values, format);
            }
        };
        each(x, pass, round_values, move |gradients| {
            if let Some(format) = backward {
                of_gradients.round_gradients(gradients, format);
            }
        })
    }

    fn round_gradients(&self, gradients: &mut [f32], format: Format) {
        let Some(census) = &self.census else {
            return self.round_values(gradients, format);
        };
        let before = gradients.to_vec();
        self.round_values(gradients, format);
        census.note(&before, gradients);
    }

    fn round_values(&self, values: &mut [f32], format: Format) {
        let scale = if format.bits() > 8 {
            1.0
        } else {
            let amax = values.par_iter().map(|v| v.abs()).reduce(|| 0.0, f32::max);
            (self.scale)(amax, format, 0)
        };
        values.par_chunks_mut(BLOCK).for_each(|values| {
            if scale != 1.0 {
                values.iter_mut().for_each(|v| *v *= scale);
            }
            match self.round {
                Some(round) => values.iter_mut().for_each(|v| *v = round(*v, format)),
                None => round_all(values, format),
            }
            if scale != 1.0 {
                values.iter_mut().for_each(|v| *v /= scale);
            }
        });
    }
}
