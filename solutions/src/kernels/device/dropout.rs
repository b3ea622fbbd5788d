//! Dropout: forward and backward are the same kernel.

use candle_core::{Result, Tensor};
use canopy_data::Purpose;

use super::launch::{Argument, Grid, Kernels, plain};
use super::target::Target;
use crate::kernels::Pass;

/// What a layer's mask depends on.
struct Mask {
    p: f32,
    key: u64,
    stream: u64,
    rank: usize,
    world_size: usize,
}

impl Target {
    /// As [`crate::kernels::dropout`] in training.
    pub fn dropout(&self, x: &Tensor, p: f32, layer: u64, pass: &Pass) -> Result<Tensor> {
        let share = pass.share.as_ref();
        let mask = Mask {
            p,
            key: Purpose::Dropout.key(pass.seed),
            stream: pass.step << 16 | layer,
            rank: share.map_or(0, |share| share.rank),
            world_size: share.map_or(1, |share| share.world_size),
        };
        let y = mask.apply(&self.kernels, &plain(x)?)?;
        let kernels = self.kernels.clone();
        Ok(self.record(&[x], y, || {
            Box::new(move |g, _| Ok(vec![Some(mask.apply(&kernels, g)?)]))
        }))
    }
}

impl Mask {
    fn apply(&self, kernels: &Kernels, x: &Tensor) -> Result<Tensor> {
        let rows = x.dims().first().copied().unwrap_or(1);
        let y = kernels.output_like(x)?;
        let arguments = [
            Argument::Read(x),
            Argument::Write(&y),
            Argument::int(rows),
            Argument::int(x.elem_count() / rows.max(1)),
            Argument::F32(self.p),
            Argument::U64(self.key),
            Argument::U64(self.stream),
            Argument::int(self.rank),
            Argument::int(self.world_size),
        ];
        let grid = Grid::over(x.elem_count().div_ceil(4));
        kernels.launch_for(x.dtype(), "dropout.cu", "dropout", grid, &arguments)?;
        Ok(y)
    }
}
