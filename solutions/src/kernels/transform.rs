//! Each cloud's points times its own matrix, and the other operators that the T-Nets need.

use std::ops::Range;

use candle_core::{Result, Tensor, bail};
use rayon::prelude::*;

use super::by_candle::composed;
use super::clouds::{Clouds, each_plain, split};
use super::device::Target;
use super::matmul::one_thread;
use super::matrix::Matrix;
use super::tape::{self, Tape};
use super::tile::{LANES, Product, add_transposed};
use super::values::Values;
use super::{Operator, Pass};

/// Multiplies each cloud's points by the cloud's matrix. x `[points of all clouds, k]`, t `[clouds, k, k]` → like x.
///
/// # Errors
/// Returns an error if the shapes do not match, or if the rows do not divide into the clouds.
pub fn transform(x: &Tensor, t: &Tensor, clouds: &Clouds, pass: &Pass) -> Result<Tensor> {
    if let (Some(low), Some(device)) = (pass.low(), Target::of_pass(pass, x)) {
        // The points stay in low precision for the next layer.
        let (x, t) = (device.cast(x, low)?, device.cast(t, low)?);
        return product(&x, &t, clouds, Some(device));
    }
    pass.operate(Operator::Matmul, [x, t], |[x, t]| product(&x, &t, clouds, None))
}

fn product(x: &Tensor, t: &Tensor, clouds: &Clouds, device: Option<Target>) -> Result<Tensor> {
    let rows = match (x.dims(), t.dims()) {
        (&[rows, k], &[count, k1, k2]) if k > 0 && [count, k1, k2] == [clouds.count(), k, k] => rows,
        (x, t) => bail!(
            "transform: expected x [points, k] and t [{}, k, k], got {x:?} and {t:?}",
            clouds.count()
        ),
    };
    let ranges = clouds.of_rows(rows).map_err(|e| e.context("transform"))?;
    if let Some(device) = device.or_else(|| Target::of_inputs(&[x, t])) {
        return device.transform(x, t, &ranges);
    }
    let Some(tape) = Tape::of(&[x, t]) else {
        return each_plain(x, &ranges, |x, of| {
            x.matmul(&t.narrow(0, of.start, of.len())?)?.flatten_to(1)
        });
    };
    let k = x.dim(1)?;
    let (xc, tc) = (x.contiguous()?.detach(), t.contiguous()?.detach());
    let mut y = vec![0.0; rows * k];
    each_cloud(&Values::of(&xc)?, &Values::of(&tc)?, k, &ranges, &mut y);
    tape::record(Some(&tape), &[x, t], y, &[rows, k], || {
        Box::new(move |g, wanted| {
            let (x, transposed) = (Values::of(&xc)?, tc.t()?.contiguous()?);
            let t = Values::of(&transposed)?;
            let dx = wanted[0].then(|| {
                let mut dx = vec![0.0; rows * k];
                each_cloud(&g, &t, k, &ranges, &mut dx);
                dx
            });
            let dt = wanted[1].then(|| matrix_gradient(&x, &g, k, &ranges));
            Ok(vec![dx, dt])
        })
    })
}

/// Rows that one task takes.
const BLOCK: usize = 256;

fn each_cloud(x: &[f32], t: &[f32], k: usize, clouds: &[Range<usize>], y: &mut [f32]) {
    let parts: Vec<_> = split(y, clouds, k).into_iter().zip(clouds).enumerate().collect();
    parts.into_par_iter().for_each(|(i, (y, cloud))| {
        let t = &t[i * k * k..][..k * k];
        let x = &x[cloud.start * k..cloud.end * k];
        let blocks = y.par_chunks_mut(BLOCK * k).zip(x.par_chunks(BLOCK * k));
        blocks.for_each(|(y, x)| match k.is_multiple_of(LANES) {
            true => Product::new([x.len() / k, k, k], Matrix::dense(x, k), t, y).run(),
            false => multiply(x, t, k, y),
        });
    });
}

fn multiply(x: &[f32], t: &[f32], k: usize, y: &mut [f32]) {
    let rows = y.len() / k;
    if let (3, Ok(t)) = (k, <&[f32; 9]>::try_from(t)) {
        for (y, x) in y.chunks_exact_mut(3).zip(x.chunks_exact(3)) {
            for j in 0..3 {
                y[j] = x[0] * t[j] + x[1] * t[3 + j] + x[2] * t[6 + j];
            }
        }
    } else {
        one_thread([rows, k, k], Matrix::dense(x, k), Matrix::dense(t, k), y);
    }
}

/// dt = xᵀg of each cloud.
fn matrix_gradient(x: &[f32], g: &[f32], k: usize, clouds: &[Range<usize>]) -> Vec<f32> {
    let mut dt = vec![0.0; clouds.len() * k * k];
    dt.par_chunks_mut(k * k).zip(clouds).for_each(|(dt, cloud)| {
        let points = cloud.len();
        let rows = cloud.start * k..cloud.end * k;
        let (x, g) = (&x[rows.clone()], &g[rows]);
        match k.is_multiple_of(LANES) {
            true => add_transposed([k, points, k], x, Some(g), dt),
            false => one_thread([k, points, k], Matrix::dense(x, k).t(), Matrix::dense(g, k), dt),
        }
    });
    dt
}

/// Turns a T-Net's output into matrices and adds the identity. x `[clouds, k·k]` → `[clouds, k, k]`.
///
/// # Errors
/// Returns an error for another shape.
pub fn add_identity(x: &Tensor, k: usize) -> Result<Tensor> {
    let clouds = match *x.dims() {
        [clouds, width] if k > 0 && width == k * k => clouds,
        ref dims => bail!("add_identity: expected x [clouds, {}], got {dims:?}", k * k),
    };
    if let Some(device) = Target::of_inputs(&[x]) {
        return device.add_identity(x, k);
    }
    let identity = Tensor::eye(k, x.dtype(), x.device())?.unsqueeze(0)?;
    let add = |[x]: [&Tensor; 1]| x.reshape((clouds, k, k))?.broadcast_add(&identity);
    composed(Tape::of(&[x]).as_ref(), [x], add, |g| Ok([g.clone()]))
}

/// How far transforms `[clouds, k, k]` are from orthogonal: ‖I − A·Aᵀ‖²_F, the mean over the clouds
/// (Qi et al. 2017, equation 2).
///
/// # Errors
/// Returns an error if the matrices are not square.
pub fn orthogonality(t: &Tensor) -> Result<Tensor> {
    let (clouds, k, width) = t.dims3()?;
    if k != width || clouds == 0 || k == 0 {
        bail!(
            "orthogonality: expected square matrices [clouds, k, k], got {:?}",
            t.dims()
        );
    }
    if let Some(device) = Target::of_inputs(&[t]) {
        return device.orthogonality(t);
    }
    let Some(tape) = Tape::of(&[t]) else {
        let identity = Tensor::eye(k, t.dtype(), t.device())?.unsqueeze(0)?;
        let product = t.matmul(&t.t()?)?;
        return identity.broadcast_sub(&product)?.sqr()?.sum_all()? / clouds as f64;
    };
    let tc = t.contiguous()?;
    let values = Values::of(&tc)?;
    let square = [k; 3];
    // A·Aᵀ − I.
    let mut off = vec![0.0; clouds * k * k];
    let sums: Vec<f64> = off
        .par_chunks_mut(k * k)
        .zip(values.par_chunks(k * k))
        .map(|(off, a)| {
            one_thread(square, Matrix::dense(a, k), Matrix::dense(a, k).t(), off);
            off.iter_mut().step_by(k + 1).for_each(|v| *v -= 1.0);
            off.iter().map(|&v| f64::from(v) * f64::from(v)).sum()
        })
        .collect();
    let value = sums.iter().sum::<f64>() / clouds as f64;
    tape::record(Some(&tape), &[t], vec![value as f32], &[], || {
        let t = tc.detach();
        Box::new(move |g, _| {
            let factor = 4.0 * g[0] / clouds as f32;
            let values = Values::of(&t)?;
            let mut dt = vec![0.0; values.len()];
            dt.par_chunks_mut(k * k).enumerate().for_each(|(i, dt)| {
                let (off, t) = (Matrix::dense(&off, k), Matrix::dense(&values, k));
                one_thread(square, off.below(i * k), t.below(i * k), dt);
                dt.iter_mut().for_each(|v| *v *= factor);
            });
            Ok(vec![Some(dt)])
        })
    })
}
