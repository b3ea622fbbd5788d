//! The maximum of each channel over each cloud's points.

use std::ops::Range;

use candle_core::{DType, Result, Tensor};

use super::launch::{Grid, args, plain, starts};
use super::target::Target;

const SOURCE: &str = "max_points.cu";

impl Target {
    /// x `[points of all clouds, n]` → `[clouds, n]`; of equal points the first takes the gradient.
    pub fn max_points(&self, x: &Tensor, clouds: &[Range<usize>]) -> Result<Tensor> {
        let ((rows, n), xp) = (x.dims2()?, plain(x)?);
        let starts = starts(&self.kernels, clouds, x.device())?;
        let y = self.kernels.output(&[clouds.len(), n], x.dtype())?;
        let at = self.kernels.output(&[clouds.len(), n], DType::I32)?;
        let arguments = args![&xp, &starts, &y, &at, n];
        let grid = Grid::new([n.div_ceil(32), clouds.len(), 1], [32, 8, 1]);
        self.kernels
            .launch_for(x.dtype(), SOURCE, "max_points", grid, &arguments)?;
        let (kernels, clouds) = (self.kernels.clone(), clouds.len());
        Ok(self.record(&[x], y, || {
            Box::new(move |g, _| {
                let dx = kernels.output(&[rows, n], g.dtype())?;
                let arguments = args![g, &at, &starts, &dx, n];
                let blocks = (rows * n).div_ceil(clouds * 1024).min(64);
                let grid = Grid::new([blocks, clouds, 1], [256, 1, 1]);
                kernels.launch_for(g.dtype(), SOURCE, "max_points_backward", grid, &arguments)?;
                Ok(vec![Some(dx)])
            })
        }))
    }
}
