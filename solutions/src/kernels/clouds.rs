//! How the rows of a matrix are divided into clouds.

use std::{ops::Range, sync::Arc};

use candle_core::{DType, Result, Tensor, bail};

use super::device::Target;
use super::{Pass, with_backward};

/// How the rows of a `[points, channels]` matrix are divided into clouds. The rows of one cloud follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clouds {
    /// This many clouds of equal length.
    Equal(usize),
    /// Clouds of these lengths, one after the other.
    Lengths(Arc<[usize]>),
}

impl From<usize> for Clouds {
    fn from(count: usize) -> Self {
        Self::Equal(count)
    }
}

impl Clouds {
    /// The number of clouds.
    pub fn count(&self) -> usize {
        match self {
            Self::Equal(count) => *count,
            Self::Lengths(lengths) => lengths.len(),
        }
    }

    /// The rows of each cloud, of `rows` in all.
    ///
    /// # Errors
    /// Returns an error if there is no cloud, if a cloud is empty, or if the clouds do not add up to `rows`.
    pub(super) fn of_rows(&self, rows: usize) -> Result<Vec<Range<usize>>> {
        let lengths: Vec<usize> = match self {
            Self::Equal(count) => {
                if *count == 0 || rows == 0 || !rows.is_multiple_of(*count) {
                    bail!("expected rows to be a multiple of the clouds, got {rows} rows and {count} clouds");
                }
                vec![rows / count; *count]
            }
            Self::Lengths(lengths) => lengths.to_vec(),
        };
        if lengths.contains(&0) || lengths.iter().sum::<usize>() != rows || rows == 0 {
            bail!(
                "expected clouds of at least one point and {rows} points in all, got the lengths {lengths:?}"
            );
        }
        let mut end = 0;
        let range = |length: usize| {
            end += length;
            end - length..end
        };
        Ok(lengths.into_iter().map(range).collect())
    }
}

/// Splits a matrix of rows of `width` values into the parts of the clouds.
pub(super) fn split<'a>(
    mut rows: &'a mut [f32],
    clouds: &[Range<usize>],
    width: usize,
) -> Vec<&'a mut [f32]> {
    let part = |range: &Range<usize>| {
        let (part, rest) = std::mem::take(&mut rows).split_at_mut(range.len() * width);
        rows = rest;
        part
    };
    clouds.iter().map(part).collect()
}

/// Applies candle's operators to the clouds of x `[points of all clouds, k]`: to all of them together if they are equally
/// long, otherwise one by one. `f` gets points `[clouds, points, k]`, and which clouds they are.
pub(super) fn each_plain(
    x: &Tensor,
    clouds: &[Range<usize>],
    f: impl Fn(&Tensor, Range<usize>) -> Result<Tensor>,
) -> Result<Tensor> {
    let (rows, k) = x.dims2()?;
    if clouds.iter().all(|c| c.len() == clouds[0].len()) {
        let all = x.reshape((clouds.len(), rows / clouds.len(), k))?;
        return f(&all, 0..clouds.len());
    }
    let of_cloud =
        |(i, c): (usize, &Range<usize>)| f(&x.narrow(0, c.start, c.len())?.unsqueeze(0)?, i..i + 1);
    let parts = clouds.iter().enumerate().map(of_cloud);
    Tensor::cat(&parts.collect::<Result<Vec<_>>>()?, 0)
}

/// Takes the padding out of a batch of clouds of different lengths: points `[clouds, longest, k]` of which mask
/// `[clouds, longest]` is not 0 at the real ones → the real points `[points, k]`, cloud after cloud, and their division.
/// The gradient of a padded point is 0. The mask is read on the host: with a mask on a GPU, that waits for the GPU.
///
/// # Errors
/// Returns an error if the shapes do not match, or if a cloud has no real point.
pub fn without_padding(points: &Tensor, mask: &Tensor, pass: &Pass) -> Result<(Tensor, Clouds)> {
    let (clouds, longest, k) = match (points.dims(), mask.dims()) {
        (&[clouds, longest, k], mask) if mask == [clouds, longest] => (clouds, longest, k),
        (points, mask) => bail!(
            "expected points [clouds, longest, k] and mask [clouds, longest], got {points:?} and {mask:?}"
        ),
    };
    let mask = mask.to_dtype(DType::F32)?.to_vec2::<f32>()?;
    let lengths: Vec<usize> = mask
        .iter()
        .map(|m| m.iter().filter(|v| **v != 0.0).count())
        .collect();
    if let Some(empty) = lengths.iter().position(|&n| n == 0) {
        bail!("cloud {empty} of the batch has no real point: leave it out of the batch");
    }
    let real = mask.iter().flatten().enumerate().filter(|(_, v)| **v != 0.0);
    let index: Vec<u32> = real.map(|(i, _)| i as u32).collect();
    let clouds_of_rows = Clouds::Lengths(lengths.into());
    let count = index.len();
    if let Some(device) = Target::of_pass(pass, points) {
        let rows = device.gather_rows(points, &index)?;
        return Ok((rows, clouds_of_rows));
    }
    let index = Tensor::from_vec(index, count, points.device())?;
    let all = (clouds * longest, k);
    let select = |[points]: [&Tensor; 1]| points.reshape(all)?.index_select(&index, 0);
    let rows = with_backward([points], pass, select, {
        let index = index.clone();
        move |g| Ok([Tensor::zeros(all, g.dtype(), g.device())?.index_add(&index, g, 0)?])
    })?;
    Ok((rows, clouds_of_rows))
}
