//! Operators of fewer bits, emulated: fp32 numbers, rounded where such an operator begins and ends, in the forward pass
//! and in the backward one.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::{BF16, FP8_E4M3, FP8_E5M2, Format, GradientCensus, Overflow, TF32, format::round_all, scale_for};

/// Numbers that one task rounds.
const BLOCK: usize = 1 << 14;

/// Which side of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    Input,
    Output,
}

/// How numbers are rounded.
#[derive(Clone, Debug)]
pub struct Emulation {
    format: Format,
    /// In the place of canopy's own.
    pub round: Option<fn(f32, Format) -> f32>,
    pub scale: fn(f32, Format, u32) -> f32,
    pub census: Option<Arc<GradientCensus>>,
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

    /// What values become at a border, and what the gradients that come back over it do.
    fn formats(&self, border: Border) -> (Option<Format>, Option<Format>) {
        let low = Some(self.format);
        match (border, self.format.bits()) {
            // A tensor core rounds what it takes to tf32, in either direction, and gives fp32.
            (Border::Input, _) if self.format == TF32 => (low, None),
            (Border::Output, _) if self.format == TF32 => (None, low),
            (Border::Input, ..=8) => (Some(FP8_E4M3.with(Overflow::Saturate)), Some(BF16)),
            (Border::Output, ..=8) => (Some(BF16), Some(FP8_E5M2.with(Overflow::Saturate))),
            _ => (low, low),
        }
    }

    /// `x` over a border.
    pub fn border(self: &Arc<Self>, x: &Tensor, border: Border) -> Result<Tensor> {
        let (forward, backward) = self.formats(border);
        x.contiguous()?.apply_op1(Rounded {
            emulation: self.clone(),
            forward,
            backward,
        })
    }

    fn rounded(&self, values: &mut [f32], format: Format) {
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

struct Rounded {
    emulation: Arc<Emulation>,
    forward: Option<Format>,
    backward: Option<Format>,
}

impl CustomOp1 for Rounded {
    fn name(&self) -> &'static str {
        "round to a format"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (CpuStorage::F32(values), Some((from, to))) = (storage, layout.contiguous_offsets()) else {
            bail!("rounding is emulated for contiguous fp32 tensors on the CPU only");
        };
        let mut values = values[from..to].to_vec();
        if let Some(format) = self.forward {
            self.emulation.rounded(&mut values, format);
        }
        Ok((CpuStorage::F32(values), layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let Some(format) = self.backward else {
            return Ok(Some(gradient.clone()));
        };
        let before: Vec<f32> = gradient.flatten_all()?.to_vec1()?;
        let mut after = before.clone();
        self.emulation.rounded(&mut after, format);
        if let Some(census) = &self.emulation.census {
            census.note(&before, &after);
        }
        Tensor::from_vec(after, gradient.shape(), gradient.device()).map(Some)
    }
}
