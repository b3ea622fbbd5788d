//! Layers of linear+BN+ReLU: a product by cuBLAS, and batch norm with ReLU by our kernels.

use std::ops::Range;

use candle_core::{Result, Tensor};

use super::batch_norm::{normalise, running_factors};
use super::target::Target;
use crate::kernels::{MlpLayer, Pass};

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
}
