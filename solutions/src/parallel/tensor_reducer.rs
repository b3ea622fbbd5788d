//! Averages gradients over ranks that can sum tensors on their device ([`OnTensors`]): as [`super::Reducer`], but without
//! a copy on the host and without a thread.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Tensor};

use super::{Bucket, Collective, OnTensors, Reduced, Started, Traffic};

/// A bucket whose all-reduce has started.
struct Flying {
    sum: Box<dyn Started>,
    began: Instant,
}

/// One rank's gradient buckets.
pub struct TensorReducer {
    collective: Box<dyn Collective>,
    buckets: Vec<Bucket>,
    /// One zero tensor of each parameter's shape, which counts if there is no gradient.
    zeros: Vec<Tensor>,
    /// Whether buckets start during the backward pass.
    overlap: bool,
    gradients: Vec<Option<Tensor>>,
    flying: Vec<Flying>,
    traffic: Traffic,
}

impl TensorReducer {
    /// Creates a reducer for parameters like `params`, distributed over `buckets`. With `overlap`, a bucket is sent when its
    /// gradients are complete; otherwise all are sent by [`Self::finish`].
    ///
    /// # Errors
    /// Returns an error if `collective` has no sums of tensors, or unless the buckets hold each parameter exactly once.
    pub fn new(
        collective: Box<dyn Collective>,
        params: &[Tensor],
        buckets: Vec<Bucket>,
        overlap: bool,
    ) -> Result<Self> {
        tensors(&*collective)?;
        let mut held: Vec<usize> = buckets.iter().flat_map(|b| b.params.iter().copied()).collect();
        held.sort_unstable();
        ensure!(
            held.iter().copied().eq(0..params.len()),
            "the buckets do not hold each of {} parameters exactly once",
            params.len()
        );
        let zeros = params.iter().map(|p| p.zeros_like()?.to_dtype(DType::F32));
        Ok(Self {
            collective,
            buckets,
            zeros: zeros.collect::<candle_core::Result<_>>()?,
            overlap,
            gradients: vec![None; params.len()],
            flying: Vec::new(),
            traffic: Traffic::default(),
        })
    }

    /// Whether buckets start during the backward pass.
    pub fn overlaps(&self) -> bool {
        self.overlap
    }

    /// Takes the complete gradient of parameter `index`, and sends the buckets that are complete. Does not wait.
    ///
    /// # Errors
    /// Returns an error if the gradient has another shape, or was passed before in this step.
    pub fn ready(&mut self, index: usize, gradient: &Tensor) -> Result<()> {
        ensure!(
            gradient.shape() == self.zeros[index].shape() && self.gradients[index].is_none(),
            "parameter {index}: got a gradient of shape {:?}, expected one of shape {:?} once per step",
            gradient.dims(),
            self.zeros[index].dims()
        );
        self.gradients[index] = Some(gradient.detach());
        if self.overlap {
            self.send(|gradient| gradient.is_some())?;
        }
        Ok(())
    }

    /// Sends the next buckets whose gradients are all `complete`, in order.
    fn send(&mut self, complete: fn(&Option<Tensor>) -> bool) -> Result<()> {
        while let Some(bucket) = self.buckets.get(self.flying.len()) {
            if !bucket.params.iter().all(|&p| complete(&self.gradients[p])) {
                return Ok(());
            }
            let flat = |&p: &usize| {
                let gradient = self.gradients[p].as_ref().unwrap_or(&self.zeros[p]);
                gradient.to_dtype(DType::F32)?.flatten_all()
            };
            let parts = bucket
                .params
                .iter()
                .map(flat)
                .collect::<candle_core::Result<Vec<_>>>()?;
            let whole = Tensor::cat(&parts, 0)?.contiguous()?;
            self.collective
                .doing(&format!("sending bucket {} of gradients", self.flying.len()));
            let sum = tensors(&*self.collective)?.start_sum(&whole)?;
            self.flying.push(Flying {
                sum,
                began: Instant::now(),
            });
        }
        Ok(())
    }

    /// Waits for all buckets. Returns the mean gradient of each parameter over the ranks. The gradient of a parameter that
    /// was not passed to [`Self::ready`] counts as zeros; this must be the same on every rank.
    ///
    /// # Errors
    /// Returns an error if another rank ended or missed its deadline.
    pub fn finish(&mut self) -> Result<(Vec<Tensor>, Reduced)> {
        let waits = Instant::now();
        self.send(|_| true)?;
        let share = 1.0 / self.collective.world_size() as f64;
        let mut means = vec![None; self.zeros.len()];
        let mut communicating = Duration::ZERO;
        // Operations run one after another, so each is counted from the end of the one before it.
        let mut before: Option<Instant> = None;
        for (bucket, flying) in self.buckets.iter().zip(self.flying.drain(..)) {
            let whole = (flying.sum.finish()? * share)?;
            communicating += before.map_or(flying.began, |b| b.max(flying.began)).elapsed();
            before = Some(Instant::now());
            let mut at = 0;
            for &p in &bucket.params {
                let zeros = &self.zeros[p];
                let mean = whole.narrow(0, at, zeros.elem_count())?;
                means[p] = Some(mean.reshape(zeros.shape())?);
                at += zeros.elem_count();
            }
        }
        self.gradients.fill(None);
        let sent = self.collective.traffic();
        let reduced = Reduced {
            traffic: sent - std::mem::replace(&mut self.traffic, sent),
            communicating,
            waited: waits.elapsed(),
        };
        let means = means.into_iter().collect::<Option<_>>();
        Ok((means.context("a parameter is in no bucket")?, reduced))
    }
}

fn tensors(collective: &dyn Collective) -> Result<&dyn OnTensors> {
    collective
        .on_tensors()
        .context("the engine of these ranks has no sums of tensors")
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use candle_core::Device;

    use super::*;
    use crate::parallel::{Algorithm, Link, Rank, threads::group};

    /// A rank that sums tensors on the host, as soon as they are started.
    struct OnHost(Rank);

    struct Summed(Tensor);

    impl Started for Summed {
        fn finish(self: Box<Self>) -> Result<Tensor> {
            Ok(self.0)
        }

        fn result(self: Box<Self>) -> Result<Tensor> {
            Ok(self.0)
        }
    }

    impl OnTensors for OnHost {
        fn start_sum(&self, tensor: &Tensor) -> Result<Box<dyn Started>> {
            let mut values = tensor.flatten_all()?.to_vec1::<f32>()?;
            self.0.all_reduce(&mut values)?;
            let length = values.len();
            Ok(Box::new(Summed(Tensor::from_vec(values, length, &Device::Cpu)?)))
        }
    }

    impl Link for OnHost {
        fn rank(&self) -> usize {
            self.0.rank()
        }

        fn world_size(&self) -> usize {
            self.0.world_size()
        }

        fn send(&self, to: usize, data: &[f32]) -> Result<()> {
            self.0.send(to, data)
        }

        fn receive(&self, from: usize, into: &mut [f32]) -> Result<()> {
            self.0.receive(from, into)
        }
    }

    impl Collective for OnHost {
        fn all_reduce(&self, data: &mut [f32]) -> Result<()> {
            self.0.all_reduce(data)
        }

        fn reduce_scatter(&self, data: &[f32], mine: &mut [f32]) -> Result<()> {
            self.0.reduce_scatter(data, mine)
        }

        fn all_gather(&self, mine: &[f32], whole: &mut [f32]) -> Result<()> {
            self.0.all_gather(mine, whole)
        }

        fn broadcast(&self, root: usize, data: &mut [f32]) -> Result<()> {
            self.0.broadcast(root, data)
        }

        fn barrier(&self) -> Result<()> {
            self.0.barrier()
        }

        fn traffic(&self) -> Traffic {
            self.0.traffic()
        }

        fn on_tensors(&self) -> Option<&dyn OnTensors> {
            Some(self)
        }
    }

    fn bucket(params: &[usize]) -> Bucket {
        Bucket {
            params: params.to_vec(),
            bytes: 0,
            kind: "f32",
        }
    }

    /// Two steps of one of two ranks.
    fn average(link: OnHost, params: &[Tensor], overlap: bool) {
        let rank = link.rank();
        let buckets = vec![bucket(&[2, 1]), bucket(&[0])];
        let mut reducer = TensorReducer::new(Box::new(link), params, buckets, overlap).unwrap();
        for _ in 0..2 {
            let gradient = |value: f64, p: usize| (params[p].ones_like().unwrap() * value).unwrap();
            // The order of the gradients differs between the ranks; parameter 2 has none.
            for p in [rank, 1 - rank] {
                reducer.ready(p, &gradient((rank + 2 * p) as f64, p)).unwrap();
            }
            assert!(reducer.ready(0, &params[0]).is_err());
            let (means, reduced) = reducer.finish().unwrap();
            for (p, expected) in [0.5, 2.5, 0.0].into_iter().enumerate() {
                assert_eq!(means[p].dims(), params[p].dims());
                let values = means[p].flatten_all().unwrap().to_vec1::<f32>().unwrap();
                assert!(values.iter().all(|&v| v == expected), "{p}: {values:?}");
            }
            // A bucket of 5 and one of 6 numbers, in two messages each by the ring.
            assert_eq!((reduced.traffic.messages, reduced.traffic.bytes), (4, 44));
        }
    }

    #[test]
    fn gradients_are_averaged_in_buckets_during_the_backward_pass() {
        let params = [vec![2, 3], vec![4], vec![1]]
            .map(|shape| Tensor::zeros(shape, DType::F32, &Device::Cpu).unwrap());
        let ranks = |world| {
            group(world, Algorithm::Ring, Duration::from_secs(20))
                .into_iter()
                .map(OnHost)
        };
        for overlap in [true, false] {
            let alone = ranks(1).next().unwrap();
            assert!(TensorReducer::new(Box::new(alone), &params, vec![bucket(&[2, 1])], overlap).is_err());
            thread::scope(|scope| {
                for link in ranks(2) {
                    let params = &params;
                    scope.spawn(move || average(link, params, overlap));
                }
            });
        }
    }
}
