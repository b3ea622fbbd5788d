//! Dropout: forward and backward are the same kernel.

use candle_core::{Result, Tensor};
use canopy_data::Purpose;

use super::launch::{Grid, args, plain};
use super::target::Target;
use crate::kernels::Pass;

impl Target {
    /// As [`crate::kernels::dropout`] in training.
    pub fn dropout(&self, x: &Tensor, p: f32, layer: u64, pass: &Pass) -> Result<Tensor> {
        let (key, stream) = (Purpose::Dropout.key(pass.seed), pass.step << 16 | layer);
        let share = pass.share.as_ref();
        let (rank, world) = share.map_or((0, 1), |share| (share.rank, share.world_size));
        let kernels = self.kernels.clone();
        let masked = move |x: &Tensor| -> Result<Tensor> {
            let (y, rows) = (kernels.output_like(x)?, x.dims().first().copied().unwrap_or(1));
            let width = x.elem_count() / rows.max(1);
            let arguments = args![x, &y, rows, width, p, key, stream, rank, world];
            let grid = Grid::over(x.elem_count().div_ceil(4));
            kernels.launch_for(x.dtype(), "dropout.cu", "dropout", grid, &arguments)?;
            Ok(y)
        };
        let y = masked(&plain(x)?)?;
        Ok(self.record(&[x], y, || Box::new(move |g, _| Ok(vec![Some(masked(g)?)]))))
    }
}
