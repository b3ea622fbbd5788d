//! Dropout, linear layers and losses. Products of matrices are candle's own (cuBLAS); bias, mask and gradients are our kernels'.

use candle_core::{DType, Result, Tensor};
use canopy_data::Purpose;

use super::launch::{Grid, Kernels, args, plain};
use super::target::Target;
use crate::kernels::Pass;

const SOURCE: &str = "operators.cu";

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
        Ok(self.record(&[x], y, move |g, _| Ok(vec![Some(masked(g)?)])))
    }

    /// As [`crate::kernels::linear`], of which the caller has checked the shapes.
    pub fn linear(&self, x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
        let (xp, wp, bias) = (plain(x)?, plain(w)?, plain(&b.to_dtype(DType::F32)?)?);
        let y = matmul(&xp, &wp.t()?)?;
        let (rows, n) = y.dims2()?;
        let (arguments, grid) = (args![&y, &bias, rows as i64, n], Grid::over(rows * n));
        self.kernels
            .launch_for(y.dtype(), SOURCE, "add_bias", grid, &arguments)?;
        let kernels = self.kernels.clone();
        Ok(self.record(&[x, w, b], y, move |g, wanted| {
            let mut gradients = product_gradients(&xp, &wp, g, wanted)?;
            gradients.push(wanted[2].then(|| column_sums(&kernels, g)).transpose()?);
            Ok(gradients)
        }))
    }

    /// x·wᵀ. x `[rows, in]`, w `[out, in]` → `[rows, out]`.
    pub(super) fn product(&self, x: &Tensor, w: &Tensor) -> Result<Tensor> {
        let (xp, wp) = (plain(x)?, plain(w)?);
        let y = matmul(&xp, &wp.t()?)?;
        Ok(self.record(&[x, w], y, move |g, wanted| {
            product_gradients(&xp, &wp, g, wanted)
        }))
    }

    /// As [`crate::kernels::cross_entropy`], of which the caller has checked the shapes. A label that is not a class makes
    /// the loss NaN, because a check on the host would wait for the device.
    pub fn cross_entropy(
        &self,
        logits: &Tensor,
        labels: &Tensor,
        smoothing: f64,
        weights: Option<&Tensor>,
    ) -> Result<Tensor> {
        let (rows, classes) = logits.dims2()?;
        let (x, labels) = (plain(logits)?, plain(&labels.to_dtype(DType::U32)?)?);
        let weights = weights.map(|w| plain(&w.to_dtype(DType::F32)?)).transpose()?;
        let loss = self.kernels.output(&[], DType::F32)?;
        let gradient = self.kernels.output_like(&x)?;
        let (weights, smoothing) = (weights.as_ref(), smoothing as f32);
        let arguments = args![&x, &labels, weights, smoothing, &loss, &gradient, rows, classes];
        // One block: a warp a row.
        let grid = Grid::of(1, (32 * rows as u32).clamp(128, 1024));
        self.kernels
            .launch_for(x.dtype(), "loss.cu", "cross_entropy", grid, &arguments)?;
        let kernels = self.kernels.clone();
        Ok(self.record(&[logits], loss, move |g, _| {
            Ok(vec![Some(scaled(&kernels, &gradient, g)?)])
        }))
    }
}

fn product_gradients(x: &Tensor, w: &Tensor, g: &Tensor, wanted: &[bool]) -> Result<Vec<Option<Tensor>>> {
    let dx = wanted[0].then(|| matmul(g, w)).transpose()?;
    let dw = wanted[1].then(|| matmul(&g.t()?, x)).transpose()?;
    Ok(vec![dx, dw])
}

/// On the CPU candle has no product of bf16 matrices.
pub(super) fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.device().is_cpu() && a.dtype() != DType::F32 {
        let product = a.to_dtype(DType::F32)?.matmul(&b.to_dtype(DType::F32)?)?;
        return product.to_dtype(a.dtype());
    }
    a.matmul(b)
}

/// The sum of each column of g `[rows, n]`.
fn column_sums(kernels: &Kernels, g: &Tensor) -> Result<Tensor> {
    let (rows, n) = g.dims2()?;
    let sums = kernels.output(&[n], DType::F32)?;
    let arguments = args![g, &sums, rows, n];
    let grid = Grid::new([n.div_ceil(32), 1, 1], [32, 8, 1]);
    kernels.launch_for(g.dtype(), SOURCE, "column_sums", grid, &arguments)?;
    Ok(sums)
}

/// `x` times a scalar on the device.
fn scaled(kernels: &Kernels, x: &Tensor, factor: &Tensor) -> Result<Tensor> {
    let y = kernels.output_like(x)?;
    let arguments = args![x, &y, factor, x.elem_count() as i64];
    let grid = Grid::over(x.elem_count());
    kernels.launch_for(x.dtype(), SOURCE, "scaled", grid, &arguments)?;
    Ok(y)
}
