//! Each cloud's points times its own matrix, and the other operators that the T-Nets need.

use std::ops::Range;

use candle_core::{Result, Tensor, bail};
use rayon::prelude::*;

use super::bf16::{self, Block, Buffers, Right, round};
use super::clouds::{Clouds, split};
use super::device::Target;
use super::matmul::{one_thread, sizes};
use super::matrix::Matrix;
use super::tape;
use super::tile::LANES;
use super::values::{Values, fused};
use super::{Bf16Unit, Operator, Pass};

/// Multiplies each cloud's points by the cloud's matrix. x `[points of all clouds, k]`, t `[clouds, k, k]` → like x.
///
/// # Errors
/// Returns an error if the shapes do not match, or if the rows do not divide into the clouds.
pub fn transform(x: &Tensor, t: &Tensor, clouds: impl Into<Clouds>) -> Result<Tensor> {
    product(x, t, &clouds.into(), Bf16Unit::Off, None)
}

/// [`transform`] as an operator of `pass`, in its precision.
///
/// # Errors
/// As [`transform`].
pub fn transform_in(pass: &Pass, x: &Tensor, t: &Tensor, clouds: &Clouds) -> Result<Tensor> {
    if let (Some(low), Some(device)) = (pass.low(), Target::of_pass(pass, x)) {
        // The points stay in low precision for the next layer.
        let (x, t) = (device.cast(x, low)?, device.cast(t, low)?);
        return product(&x, &t, clouds, Bf16Unit::Off, Some(device));
    }
    let whole = x.dims().last().is_some_and(|k| k.is_multiple_of(LANES));
    let unit = pass.bf16_unit();
    // The tape records it only if it has recorded an input.
    let ours = fused(pass, &[x, t]) && (!pass.train || tape::Tape::of(&[x, t]).is_some());
    if unit != Bf16Unit::Off && whole && ours {
        return product(x, t, clouds, unit, None);
    }
    pass.operate(Operator::Matmul, [x, t], |[x, t]| {
        transform(&x, &t, clouds.clone())
    })
}

fn product(
    x: &Tensor,
    t: &Tensor,
    clouds: &Clouds,
    unit: Bf16Unit,
    device: Option<Target>,
) -> Result<Tensor> {
    let (&[rows, k], &[matrices, k1, k2]) = (x.dims(), t.dims()) else {
        bail!(
            "transform: expected x [points, k] and t [clouds, k, k], got {:?} and {:?}",
            x.dims(),
            t.dims()
        );
    };
    if k == 0 || (k1, k2) != (k, k) || matrices != clouds.count() {
        bail!(
            "transform: expected t [{}, {k}, {k}], got {:?}",
            clouds.count(),
            t.dims()
        );
    }
    let ranges = clouds.of_rows(rows).map_err(|e| e.context("transform"))?;
    if let Some(device) = device.or_else(|| Target::of_inputs(&[x, t])) {
        return device.transform(x, t, &ranges);
    }
    let tape = tape::Tape::of(&[x, t]);
    if tape.is_none() && unit == Bf16Unit::Off {
        return plain_transform(x, t, &ranges);
    }
    let (xc, tc) = (x.contiguous()?, t.contiguous()?);
    let mut y = vec![0.0; rows * k];
    each_cloud(unit, &Values::of(&xc)?, &Values::of(&tc)?, k, &ranges, &mut y);
    tape::record(tape.as_ref(), &[x, t], y, &[rows, k], || {
        let (x, t) = (xc.detach(), tc.detach());
        Box::new(move |g, wanted| {
            let (x, t) = (Values::of(&x)?, Values::of(&t)?);
            let dx = wanted[0].then(|| {
                let mut dx = vec![0.0; rows * k];
                each_cloud(unit, &g, &transposed(&t, k), k, &ranges, &mut dx);
                dx
            });
            let dt = wanted[1].then(|| matrix_gradient(unit, &x, &g, k, &ranges));
            Ok(vec![dx, dt])
        })
    })
}

/// Rows that one task takes.
const BLOCK: usize = 256;

fn plain_transform(x: &Tensor, t: &Tensor, clouds: &[Range<usize>]) -> Result<Tensor> {
    let (rows, k) = x.dims2()?;
    if clouds.iter().all(|c| c.len() == clouds[0].len()) {
        let x = x.reshape((clouds.len(), rows / clouds.len(), k))?;
        return x.matmul(t)?.reshape((rows, k));
    }
    let of_cloud = |(i, c): (usize, &Range<usize>)| x.narrow(0, c.start, c.len())?.matmul(&t.get(i)?);
    let parts = clouds.iter().enumerate().map(of_cloud);
    Tensor::cat(&parts.collect::<Result<Vec<_>>>()?, 0)
}

fn each_cloud(unit: Bf16Unit, x: &[f32], t: &[f32], k: usize, clouds: &[Range<usize>], y: &mut [f32]) {
    let parts: Vec<_> = split(y, clouds, k).into_iter().zip(clouds).enumerate().collect();
    parts.into_par_iter().for_each(|(i, (y, cloud))| {
        let t = &t[i * k * k..][..k * k];
        let x = &x[cloud.start * k..cloud.end * k];
        let blocks = y.par_chunks_mut(BLOCK * k).zip(x.par_chunks(BLOCK * k));
        if !k.is_multiple_of(LANES) {
            return blocks.for_each(|(y, x)| multiply(x, t, k, y));
        }
        let t = Right::new(unit, t, k);
        blocks.for_each_init(Vec::new, |rounded, (y, x)| {
            let block = Block::new(unit, x, rounded);
            bf16::multiply([x.len() / k, k, k], block, &t, y, false);
            round(unit, y);
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
        one_thread(sizes(rows, k, k), Matrix::dense(x, k), Matrix::dense(t, k), y, k);
    }
}

fn transposed(t: &[f32], k: usize) -> Vec<f32> {
    let mut out = vec![0.0; t.len()];
    for (out, t) in out.chunks_exact_mut(k * k).zip(t.chunks_exact(k * k)) {
        for i in 0..k {
            for j in 0..k {
                out[j * k + i] = t[i * k + j];
            }
        }
    }
    out
}

/// dt = xᵀg of each cloud.
fn matrix_gradient(unit: Bf16Unit, x: &[f32], g: &[f32], k: usize, clouds: &[Range<usize>]) -> Vec<f32> {
    let mut dt = vec![0.0; clouds.len() * k * k];
    dt.par_chunks_mut(k * k).zip(clouds).for_each(|(dt, cloud)| {
        let points = cloud.len();
        let rows = cloud.start * k..cloud.end * k;
        let (x, g) = (&x[rows.clone()], &g[rows]);
        if !k.is_multiple_of(LANES) {
            let (x, g) = (Matrix::dense(x, k).t(), Matrix::dense(g, k));
            return one_thread(sizes(k, points, k), x, g, dt, k);
        }
        // In f32 there is one sum over all points.
        let block = if unit == Bf16Unit::Off { points } else { BLOCK };
        let (mut xs, mut gs, mut buffers) = (Vec::new(), Vec::new(), Buffers::default());
        for (x, g) in x.chunks(block * k).zip(g.chunks(block * k)) {
            let sizes = [k, x.len() / k, k];
            let (x, g) = (Block::new(unit, x, &mut xs), Block::new(unit, g, &mut gs));
            bf16::add_transposed(unit, sizes, x, Some(g), dt, &mut buffers);
        }
        round(unit, dt);
    });
    dt
}

/// Turns a T-Net's output into matrices and adds the identity. x `[clouds, k·k]` → `[clouds, k, k]`.
///
/// # Errors
/// Returns an error for another shape.
pub fn add_identity(x: &Tensor, k: usize) -> Result<Tensor> {
    let &[clouds, width] = x.dims() else {
        bail!("add_identity: expected x [clouds, {}], got {:?}", k * k, x.dims());
    };
    if k == 0 || width != k * k {
        bail!("add_identity: expected x [clouds, {}], got {:?}", k * k, x.dims());
    }
    if let Some(device) = Target::of_inputs(&[x]) {
        return device.add_identity(x, k);
    }
    let Some(tape) = tape::Tape::of(&[x]) else {
        let identity = Tensor::eye(k, x.dtype(), x.device())?.unsqueeze(0)?;
        return x.reshape((clouds, k, k))?.broadcast_add(&identity);
    };
    let xc = x.contiguous()?;
    let mut y = Values::of(&xc)?.to_vec();
    for t in y.chunks_exact_mut(k * k) {
        t.iter_mut().step_by(k + 1).for_each(|v| *v += 1.0);
    }
    tape::record(Some(&tape), &[x], y, &[clouds, k, k], || {
        Box::new(|g, _| Ok(vec![Some(g)]))
    })
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
    let Some(tape) = tape::Tape::of(&[t]) else {
        let identity = Tensor::eye(k, t.dtype(), t.device())?.unsqueeze(0)?;
        let product = t.matmul(&t.t()?)?;
        return identity.broadcast_sub(&product)?.sqr()?.sum_all()? / clouds as f64;
    };
    let tc = t.contiguous()?;
    let values = Values::of(&tc)?;
    let square = sizes(k, k, k);
    // A·Aᵀ − I.
    let mut off = vec![0.0; clouds * k * k];
    let sums: Vec<f64> = off
        .par_chunks_mut(k * k)
        .zip(values.par_chunks(k * k))
        .map(|(off, a)| {
            one_thread(square, Matrix::dense(a, k), Matrix::dense(a, k).t(), off, k);
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
                let part = i * k * k..(i + 1) * k * k;
                one_thread(
                    square,
                    Matrix::dense(&off[part.clone()], k),
                    Matrix::dense(&values[part], k),
                    dt,
                    k,
                );
                dt.iter_mut().for_each(|v| *v *= factor);
            });
            Ok(vec![Some(dt)])
        })
    })
}
