//! The operators of the T-Nets, and rows taken out of a padded batch.

use std::ops::Range;

use candle_core::{DType, Result, Tensor};

use super::launch::{Grid, Kernels, args, longest, plain, starts};
use super::target::Target;

const SOURCE: &str = "transform.cu";

/// Rows and columns of a block's tile.
const TILE: usize = 32;

impl Target {
    /// As [`crate::kernels::transform`], of which the caller has checked the shapes.
    pub fn transform(&self, x: &Tensor, t: &Tensor, clouds: &[Range<usize>]) -> Result<Tensor> {
        let (xp, tp) = (plain(x)?, plain(t)?);
        let starts = starts(clouds, x.device())?;
        let tall = longest(clouds).div_ceil(TILE);
        let y = product(&self.kernels, &xp, &tp, &starts, tall, false)?;
        let kernels = self.kernels.clone();
        Ok(self.record(&[x, t], y, move |g, wanted| {
            let dx = wanted[0].then(|| product(&kernels, g, &tp, &starts, tall, true));
            let dt = wanted[1].then(|| matrix_gradient(&kernels, &xp, g, &tp, &starts));
            Ok(vec![dx.transpose()?, dt.transpose()?])
        }))
    }

    /// As [`crate::kernels::add_identity`], of which the caller has checked the shapes.
    pub fn add_identity(&self, x: &Tensor, k: usize) -> Result<Tensor> {
        let (clouds, xp) = (x.dim(0)?, plain(x)?);
        let y = self.kernels.output(&[clouds, k, k], x.dtype())?;
        let arguments = args![&xp, &y, clouds as i64, k];
        let grid = Grid::over(x.elem_count());
        self.kernels
            .launch_for(x.dtype(), SOURCE, "add_identity", grid, &arguments)?;
        Ok(self.record(&[x], y, move |g, _| Ok(vec![Some(g.reshape((clouds, k * k))?)])))
    }

    /// As [`crate::kernels::orthogonality`], of which the caller has checked the shapes.
    pub fn orthogonality(&self, t: &Tensor) -> Result<Tensor> {
        let ((clouds, k, _), tp) = (t.dims3()?, plain(t)?);
        let kernels = self.kernels.clone();
        let off = kernels.output(t.dims(), DType::F32)?;
        let norms = kernels.output(&[clouds], DType::F32)?;
        let loss = kernels.output(&[], DType::F32)?;
        let grid = Grid::of(clouds, 256);
        let arguments = args![&tp, &off, &norms, k];
        kernels.launch_for(t.dtype(), SOURCE, "off_orthogonal", grid, &arguments)?;
        let arguments = args![&norms, &loss, clouds];
        kernels.launch(SOURCE, "mean_of", Grid::of(1, 64), &arguments)?;
        Ok(self.record(&[t], loss, move |g, _| {
            let dt = kernels.output_like(&tp)?;
            let arguments = args![&tp, &off, g, &dt, k];
            kernels.launch_for(tp.dtype(), SOURCE, "orthogonality_backward", grid, &arguments)?;
            Ok(vec![Some(dt)])
        }))
    }

    /// The rows `index` of x `[…, k]`; the gradient of the others is 0.
    pub fn gather_rows(&self, x: &Tensor, index: &[u32]) -> Result<Tensor> {
        let xp = plain(&x.flatten_to(x.rank().saturating_sub(2))?)?;
        let rows = xp.dim(0)?;
        let mut place = vec![-1_i32; rows];
        for (&row, i) in index.iter().zip(0..) {
            place[row as usize] = i;
        }
        let index: Vec<i32> = index.iter().map(|&row| row as i32).collect();
        let y = gather(&self.kernels, &xp, &Tensor::new(index, x.device())?)?;
        let kernels = self.kernels.clone();
        Ok(self.record(&[x], y, move |g, _| {
            let place = Tensor::new(place.as_slice(), g.device())?;
            Ok(vec![Some(gather(&kernels, g, &place)?)])
        }))
    }
}

/// x·t of each cloud, or x·tᵀ.
fn product(
    kernels: &Kernels,
    x: &Tensor,
    t: &Tensor,
    starts: &Tensor,
    tall: usize,
    transposed: bool,
) -> Result<Tensor> {
    let ((clouds, k, _), y) = (t.dims3()?, kernels.output_like(x)?);
    let arguments = args![x, t, starts, &y, k, transposed];
    let grid = Grid::new([tall, clouds, k.div_ceil(TILE)], [256, 1, 1]);
    kernels.launch_for(x.dtype(), SOURCE, "transform", grid, &arguments)?;
    Ok(y)
}

/// xᵀg of each cloud.
fn matrix_gradient(kernels: &Kernels, x: &Tensor, g: &Tensor, t: &Tensor, starts: &Tensor) -> Result<Tensor> {
    let ((clouds, k, _), dt) = (t.dims3()?, kernels.output_like(t)?);
    let arguments = args![x, g, starts, &dt, k];
    let tiles = k.div_ceil(TILE);
    let grid = Grid::new([tiles, tiles, clouds], [256, 1, 1]);
    kernels.launch_for(x.dtype(), SOURCE, "matrix_gradient", grid, &arguments)?;
    Ok(dt)
}

/// The rows `index` of x; zeros for an index below 0.
fn gather(kernels: &Kernels, x: &Tensor, index: &Tensor) -> Result<Tensor> {
    let (rows, k) = (index.elem_count(), x.dim(1)?);
    let y = kernels.output(&[rows, k], x.dtype())?;
    let (arguments, grid) = (args![x, index, &y, rows as i64, k], Grid::over(rows * k));
    kernels.launch_for(x.dtype(), "clouds.cu", "gather_rows", grid, &arguments)?;
    Ok(y)
}
