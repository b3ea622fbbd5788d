//! Layers of linear+BN+ReLU and the maximum after them: products by cuBLAS, all else by our kernels.

use std::ops::Range;

use candle_core::{DType, Result, Tensor};

use super::batch_norm::{normalise, running_factors};
use super::launch::{Grid, args, plain, starts};
use super::target::Target;
use crate::kernels::{MlpLayer, Pass};

const MAX_POINTS: &str = "max_points.cu";

impl Target {
    /// As [`crate::kernels::shared_mlp`] or, with clouds, [`crate::kernels::shared_mlp_max`]; the caller has checked the
    /// shapes. The output of the last layer before the maximum is not stored.
    pub fn layers(
        &self,
        x: &Tensor,
        layers: &[MlpLayer],
        clouds: Option<&[Range<usize>]>,
        pass: &Pass,
    ) -> Result<Tensor> {
        let mut y = self.lowered(x)?;
        for (i, layer) in layers.iter().enumerate() {
            let weight = self.lowered(layer.weight)?;
            let layer = &MlpLayer {
                weight: &weight,
                ..*layer
            };
            // Beyond as many inputs as outputs, the closed form of the widest layer would cost more than the stored product. Its
            // statistics come from the covariance of the inputs, which would be much more to sum over ranks.
            let is_widest = i + 1 == layers.len() && y.dims()[1] <= layer.weight.dims()[0];
            let widest = clouds.filter(|_| is_widest && self.sums.is_none());
            if let Some(clouds) = widest {
                return self.widest(&y, layer, clouds, pass);
            }
            y = self.layer(&y, layer, pass)?;
        }
        match clouds {
            None => Ok(y),
            Some(clouds) => self.max_points(&y, clouds),
        }
    }

    fn layer(&self, x: &Tensor, layer: &MlpLayer, pass: &Pass) -> Result<Tensor> {
        let y = self.product(x, layer.weight)?;
        match pass.train {
            true => self.batch_norm(&y, layer.bn, layer.relu),
            false => normalise(
                &self.kernels,
                &y,
                &running_factors(&self.kernels, layer.bn)?,
                layer.relu,
            ),
        }
    }

    /// x `[points of all clouds, n]` → `[clouds, n]`; of equal points the first takes the gradient.
    fn max_points(&self, x: &Tensor, clouds: &[Range<usize>]) -> Result<Tensor> {
        let ((rows, n), xp) = (x.dims2()?, plain(x)?);
        let starts = starts(clouds, x.device())?;
        let y = self.kernels.output(&[clouds.len(), n], x.dtype())?;
        let at = self.kernels.output(&[clouds.len(), n], DType::I32)?;
        let arguments = args![&xp, &starts, &y, &at, n];
        let grid = Grid::new([n.div_ceil(32), clouds.len(), 1], [32, 8, 1]);
        self.kernels
            .launch_for(x.dtype(), MAX_POINTS, "max_points", grid, &arguments)?;
        let (kernels, clouds) = (self.kernels.clone(), clouds.len());
        Ok(self.record(&[x], y, move |g, _| {
            let dx = kernels.output(&[rows, n], g.dtype())?;
            let arguments = args![g, &at, &starts, &dx, n];
            let blocks = (rows * n).div_ceil(clouds * 1024).min(64);
            let grid = Grid::new([blocks, clouds, 1], [256, 1, 1]);
            kernels.launch_for(g.dtype(), MAX_POINTS, "max_points_backward", grid, &arguments)?;
            Ok(vec![Some(dx)])
        }))
    }
}
