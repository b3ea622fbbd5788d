//! The maximum over the points of a cloud that are split over ranks.

use anyhow::Result;
use candle_core::{Device, Tensor};

use crate::parallel::Collective;

/// What the backward pass needs.
pub struct Winners {
    /// For each cloud and channel, this rank's first point with its largest value, `[clouds, 1, channels]`.
    first: Tensor,
    /// Whether it is the first of all ranks, 1 or 0; `None`: there is one rank. `[clouds, 1, channels]`.
    is_first: Option<Tensor>,
    points: usize,
}

impl Winners {
    /// The tensors kept.
    pub fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        [Some(&self.first), self.is_first.as_ref()].into_iter().flatten()
    }
}

/// Returns the maximum over all points, `[clouds, channels]`, the same on every rank. `x`, `[clouds × points, channels]`, has
/// this rank's consecutive points of each cloud. Equal values: the first point wins, on the first rank.
///
/// The values travel by one all-gather; the gradient later goes to the winner alone, and nothing is sent.
///
/// # Errors
/// Returns an error if candle or the all-gather fails.
pub fn max_over_points(x: &Tensor, points: usize, ranks: &dyn Collective) -> Result<(Tensor, Winners)> {
    let (rows, channels) = x.dims2()?;
    let clouds = rows / points;
    let x = x.reshape((clouds, points, channels))?;
    let (own, first) = (x.max(1)?, x.argmax_keepdim(1)?);
    let world = ranks.world_size();
    if world == 1 {
        let is_first = None;
        return Ok((
            own,
            Winners {
                first,
                is_first,
                points,
            },
        ));
    }
    let own = own.flatten_all()?.to_vec1::<f32>()?;
    let mut all = vec![0.0; own.len() * world];
    ranks.all_gather(&own, &mut all)?;
    let mut largest = all[..own.len()].to_vec();
    let mut is_first = vec![f32::from(u8::from(ranks.rank() == 0)); own.len()];
    for (rank, values) in all.chunks(own.len()).enumerate().skip(1) {
        for ((largest, is_first), &value) in largest.iter_mut().zip(&mut is_first).zip(values) {
            if value > *largest {
                *largest = value;
                *is_first = f32::from(u8::from(ranks.rank() == rank));
            }
        }
    }
    let is_first = Some(Tensor::from_vec(is_first, (clouds, 1, channels), &Device::Cpu)?);
    let largest = Tensor::from_vec(largest, (clouds, channels), &Device::Cpu)?;
    Ok((
        largest,
        Winners {
            first,
            is_first,
            points,
        },
    ))
}

/// Returns the gradient of this rank's points, from that of the maxima, `[clouds, channels]`.
///
/// # Errors
/// Returns an error if candle fails.
pub fn max_over_points_backward(kept: &Winners, grad: &Tensor) -> Result<Tensor> {
    let (clouds, channels) = grad.dims2()?;
    let mut grad = grad.unsqueeze(1)?;
    if let Some(is_first) = &kept.is_first {
        grad = (grad * is_first)?;
    }
    let zeros = Tensor::zeros((clouds, kept.points, channels), grad.dtype(), grad.device())?;
    let spread = zeros.scatter_add(&kept.first, &grad.contiguous()?, 1)?;
    Ok(spread.reshape((clouds * kept.points, channels))?)
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;
    use crate::parallel::{Algorithm, Link, chunk, threads::group};

    /// Of equal values the first point of the first rank wins, however the points are split.
    #[test]
    fn the_first_largest_value_of_all_ranks_gets_the_gradient() {
        // One cloud of five points, two channels; both maxima are attained twice.
        let values = [1f32, 7.0, 3.0, 2.0, 3.0, 7.0, 0.0, 7.0, 2.0, 1.0];
        for world in 1..=4 {
            thread::scope(|scope| {
                for ranks in group(world, Algorithm::Ring, Duration::from_secs(10)) {
                    scope.spawn(move || {
                        let own = chunk(5, ranks.rank(), world);
                        let x = Tensor::new(&values, &Device::Cpu).unwrap();
                        let x = x.reshape((5, 2)).unwrap();
                        let x = x.narrow(0, own.start, own.len()).unwrap();
                        let (max, kept) = max_over_points(&x, own.len(), &ranks).unwrap();
                        assert_eq!(max.to_vec2::<f32>().unwrap(), [[3.0, 7.0]]);
                        let grad = Tensor::new(&[[5f32, 6.0]], &Device::Cpu).unwrap();
                        let grad = max_over_points_backward(&kept, &grad).unwrap();
                        let all = [[0f32, 6.0], [5.0, 0.0], [0.0; 2], [0.0; 2], [0.0; 2]];
                        assert_eq!(grad.to_vec2::<f32>().unwrap(), all[own]);
                    });
                }
            });
        }
    }
}
