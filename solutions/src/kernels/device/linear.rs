//! Products of matrices by candle's own matmul (cuBLAS), with bias and gradients by our kernels.

use candle_core::{DType, Result, Tensor};

use super::launch::{Grid, Kernels, args, plain};
use super::target::Target;

impl Target {
    /// As [`crate::kernels::linear`], of which the caller has checked the shapes.
    pub fn linear(&self, x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
        let (xp, wp, bias) = (plain(x)?, plain(w)?, plain(&b.to_dtype(DType::F32)?)?);
        let y = matmul(&xp, &wp.t()?)?;
        let (rows, n) = y.dims2()?;
        let (arguments, grid) = (args![&y, &bias, rows as i64, n], Grid::over(rows * n));
        self.kernels
            .launch_for(y.dtype(), "operators.cu", "add_bias", grid, &arguments)?;
        let kernels = self.kernels.clone();
        Ok(self.record(&[x, w, b], y, || {
            Box::new(move |g, wanted| {
                let mut gradients = product_gradients(&xp, &wp, g, wanted)?;
                gradients.push(wanted[2].then(|| column_sums(&kernels, g)).transpose()?);
                Ok(gradients)
            })
        }))
    }

    /// x·wᵀ. x `[rows, in]`, w `[out, in]` → `[rows, out]`.
    pub(super) fn product(&self, x: &Tensor, w: &Tensor) -> Result<Tensor> {
        let (xp, wp) = (plain(x)?, plain(w)?);
        let y = matmul(&xp, &wp.t()?)?;
        Ok(self.record(&[x, w], y, || {
            Box::new(move |g, wanted| product_gradients(&xp, &wp, g, wanted))
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
    kernels.launch_for(g.dtype(), "operators.cu", "column_sums", grid, &arguments)?;
    Ok(sums)
}
