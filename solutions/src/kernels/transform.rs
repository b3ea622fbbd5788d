//! Each cloud's points times its own matrix, and the other operators that the T-Nets need.

use std::ops::Range;

use candle_core::{Result, Tensor, bail};
use rayon::prelude::*;

use super::clouds::{Clouds, each_plain, split};
use super::device::Target;
use super::matmul::one_thread;
use super::matrix::Matrix;
use super::operand::{self, Operand, Words};
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
    match (tape::Tape::of(&[x, t]), unit) {
        (None, Bf16Unit::Off) => each_plain(x, &ranges, |x, of| {
            x.matmul(&t.narrow(0, of.start, of.len())?)?.flatten_to(1)
        }),
        (tape, Bf16Unit::Off) => on_cpu::<f32>(tape.as_ref(), x, t, ranges, unit),
        (tape, _) => on_cpu::<u16>(tape.as_ref(), x, t, ranges, unit),
    }
}

/// In products of numbers T. The caller has checked the shapes.
fn on_cpu<T: Operand>(
    tape: Option<&tape::Tape>,
    x: &Tensor,
    t: &Tensor,
    clouds: Vec<Range<usize>>,
    unit: Bf16Unit,
) -> Result<Tensor> {
    let (rows, k) = x.dims2()?;
    let (xc, tc) = (x.contiguous()?.detach(), t.contiguous()?.detach());
    let mut y = vec![0.0; rows * k];
    each_cloud::<T>(unit, &Values::of(&xc)?, &Values::of(&tc)?, k, &clouds, &mut y);
    tape::record(tape, &[x, t], y, &[rows, k], || {
        Box::new(move |g, wanted| {
            let (x, transposed) = (Values::of(&xc)?, tc.t()?.contiguous()?);
            let t = Values::of(&transposed)?;
            let dx = wanted[0].then(|| {
                let mut dx = vec![0.0; rows * k];
                each_cloud::<T>(unit, &g, &t, k, &clouds, &mut dx);
                dx
            });
            let dt = wanted[1].then(|| matrix_gradient::<T>(unit, &x, &g, k, &clouds));
            Ok(vec![dx, dt])
        })
    })
}

/// Rows that one task takes.
const BLOCK: usize = 256;

fn each_cloud<T: Operand>(
    unit: Bf16Unit,
    x: &[f32],
    t: &[f32],
    k: usize,
    clouds: &[Range<usize>],
    y: &mut [f32],
) {
    let parts: Vec<_> = split(y, clouds, k).into_iter().zip(clouds).enumerate().collect();
    parts.into_par_iter().for_each(|(i, (y, cloud))| {
        let t = &t[i * k * k..][..k * k];
        let x = &x[cloud.start * k..cloud.end * k];
        let blocks = y.par_chunks_mut(BLOCK * k).zip(x.par_chunks(BLOCK * k));
        if !k.is_multiple_of(LANES) {
            return blocks.for_each(|(y, x)| multiply(x, t, k, y));
        }
        let t = T::right(t, k);
        blocks.for_each_init(Vec::new, |numbers, (y, x)| {
            operand::multiply(unit, [x.len() / k, k, k], T::of(x, numbers), &t, y, false);
            T::round(y);
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
fn matrix_gradient<T: Operand>(
    unit: Bf16Unit,
    x: &[f32],
    g: &[f32],
    k: usize,
    clouds: &[Range<usize>],
) -> Vec<f32> {
    let mut dt = vec![0.0; clouds.len() * k * k];
    dt.par_chunks_mut(k * k).zip(clouds).for_each(|(dt, cloud)| {
        let points = cloud.len();
        let rows = cloud.start * k..cloud.end * k;
        let (x, g) = (&x[rows.clone()], &g[rows]);
        if !k.is_multiple_of(LANES) {
            let (x, g) = (Matrix::dense(x, k).t(), Matrix::dense(g, k));
            return one_thread([k, points, k], x, g, dt);
        }
        // In f32 there is one sum over all points.
        let block = if T::IS_ROUNDED { BLOCK } else { points };
        let (mut xs, mut gs, mut words) = (Vec::new(), Vec::new(), Words::<T>::default());
        for (x, g) in x.chunks(block * k).zip(g.chunks(block * k)) {
            let sizes = [k, x.len() / k, k];
            let (x, g) = (T::of(x, &mut xs), T::of(g, &mut gs));
            operand::add_transposed(unit, sizes, x, Some(g), dt, &mut words);
        }
        T::round(dt);
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
