//! Reduces gradients over the ranks during the backward pass (Li et al. 2020, "PyTorch Distributed", section 3.2).
//!
//! When all gradients of a bucket are complete, the bucket is sent while the backward pass continues: by the rank's
//! communication thread, or by an engine that sums tensors on their device ([`super::OnTensors`]) without a copy on the host and
//! without a thread. Buckets are sent in the same order on every rank, whatever the order of the gradients.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use candle_core::{DType, Tensor};

use super::{
    Bucket, Collective, Started, Traffic,
    host_thread::{HostThread, ReduceBucket, activity},
};

/// Cost of averaging the gradients of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reduced {
    /// Messages that this rank sent.
    pub traffic: Traffic,
    /// Time of the all-reduces, including the time spent waiting for other ranks.
    pub communicating: Duration,
    /// The part of it after the end of the backward pass; the rest was hidden behind the backward pass.
    pub waited: Duration,
}

/// Replaces `gradients` by their mean over the ranks, with one all-reduce.
pub fn mean_over_ranks(collective: &dyn Collective, mut gradients: Vec<f32>) -> Result<Vec<f32>> {
    collective.all_reduce(&mut gradients)?;
    let share = 1.0 / collective.world_size() as f32;
    gradients.iter_mut().for_each(|v| *v *= share);
    Ok(gradients)
}

/// One rank's gradient buckets.
pub struct Reducer {
    buckets: Vec<Bucket>,
    params: Vec<Tensor>,
    /// Whether buckets are sent during the backward pass.
    overlap: bool,
    /// The gradients that are not sent yet.
    gradients: Vec<Option<Tensor>>,
    /// Whether the gradient of a parameter was passed in this step.
    passed: Vec<bool>,
    /// Buckets sent in this step.
    sent: usize,
    carrier: Carrier,
    traffic: Traffic,
}

enum Carrier {
    Thread(HostThread),
    Device {
        collective: Box<dyn Collective>,
        /// The sums in flight, and when they began.
        flying: Vec<(Box<dyn Started>, Instant)>,
    },
}

impl Reducer {
    /// Creates a reducer for gradients of `params`, distributed over `buckets`, each reduced on the host by `reduce`. With
    /// `overlap`, a bucket is sent when its gradients are complete; otherwise all are sent by [`Self::finish`]. `collective` is
    /// used for the buckets only, so that no other message comes between them.
    pub fn new(
        collective: Box<dyn Collective>,
        params: Vec<Tensor>,
        (buckets, overlap): (Vec<Bucket>, bool),
        reduce: ReduceBucket,
    ) -> Result<Self> {
        let thread = HostThread::start(collective, reduce)?;
        Self::by(Carrier::Thread(thread), params, buckets, overlap)
    }

    /// Creates a reducer as [`Self::new`] does, whose means are computed on the device of `params`.
    pub fn on_device(
        collective: Box<dyn Collective>,
        params: Vec<Tensor>,
        (buckets, overlap): (Vec<Bucket>, bool),
    ) -> Result<Self> {
        let flying = Vec::new();
        Self::by(Carrier::Device { collective, flying }, params, buckets, overlap)
    }

    fn by(carrier: Carrier, params: Vec<Tensor>, buckets: Vec<Bucket>, overlap: bool) -> Result<Self> {
        let (count, all) = (params.len(), || buckets.iter().flat_map(|bucket| &bucket.params));
        if let Some(p) = all().find(|&&p| p >= count) {
            bail!("a bucket holds parameter {p}, but there are only {count} parameters");
        }
        for p in 0..count {
            let times = all().filter(|&&other| other == p).count();
            ensure!(
                times == 1,
                "parameter {p} is in the buckets {times} times, expected once"
            );
        }
        Ok(Self {
            buckets,
            overlap,
            gradients: vec![None; params.len()],
            passed: vec![false; params.len()],
            params,
            sent: 0,
            carrier,
            traffic: Traffic::default(),
        })
    }

    /// Whether buckets are sent during the backward pass.
    pub fn overlaps(&self) -> bool {
        self.overlap
    }

    /// Takes the complete gradient of parameter `index`, and sends the buckets that are complete. Does not wait.
    pub fn ready(&mut self, index: usize, gradient: &Tensor) -> Result<()> {
        ensure!(
            gradient.shape() == self.params[index].shape() && !self.passed[index],
            "parameter {index}: got a gradient of shape {:?}, expected one of shape {:?} once per step",
            gradient.dims(),
            self.params[index].dims()
        );
        self.gradients[index] = Some(gradient.detach());
        self.passed[index] = true;
        if self.overlap { self.send() } else { Ok(()) }
    }

    /// Sends the next buckets whose gradients were all passed, in order.
    fn send(&mut self) -> Result<()> {
        while let Some(bucket) = self.buckets.get(self.sent) {
            if !bucket.params.iter().all(|&p| self.passed[p]) {
                return Ok(());
            }
            // A gradient is freed when it is copied.
            let parts = bucket.params.iter().map(|&p| {
                let gradient = self.gradients[p].take();
                let gradient = gradient.map_or_else(|| self.params[p].zeros_like(), Ok)?;
                gradient.to_dtype(DType::F32)?.flatten_all()
            });
            match &mut self.carrier {
                Carrier::Thread(thread) => {
                    let length = bucket.params.iter().map(|&p| self.params[p].elem_count()).sum();
                    let mut data = Vec::with_capacity(length);
                    for part in parts {
                        data.extend(part?.to_vec1::<f32>()?);
                    }
                    thread.send(self.sent, data);
                }
                Carrier::Device { collective, flying } => {
                    let parts = parts.collect::<candle_core::Result<Vec<_>>>()?;
                    let whole = Tensor::cat(&parts, 0)?.contiguous()?;
                    collective.doing(&activity(self.sent));
                    let tensors = collective.on_tensors();
                    let sum = tensors
                        .context("the engine of these ranks has no sums of tensors")?
                        .start_sum(&whole)?;
                    flying.push((sum, Instant::now()));
                }
            }
            self.sent += 1;
        }
        Ok(())
    }

    /// Waits for all buckets. Returns the mean gradient of each parameter over the ranks. The gradient of a parameter that
    /// was not passed to [`Self::ready`] counts as zeros; this must be the same on every rank.
    pub fn finish(&mut self) -> Result<(Vec<Tensor>, Reduced)> {
        let (reduced_buckets, reduced) = self.finish_buckets()?;
        let mut means = vec![None; self.params.len()];
        for (bucket, whole) in self.buckets.iter().zip(reduced_buckets) {
            let mut at = 0;
            for &p in &bucket.params {
                means[p] = Some(part_like(&whole, at, &self.params[p])?);
                at += self.params[p].elem_count();
            }
        }
        let means = means.into_iter().collect::<Option<_>>();
        Ok((means.context("a parameter is in no bucket")?, reduced))
    }

    /// As [`Self::finish`], but returns what each bucket was reduced to, as a vector.
    pub fn finish_buckets(&mut self) -> Result<(Vec<Tensor>, Reduced)> {
        self.passed.fill(true);
        let began = Instant::now();
        self.send()?;
        let (buckets, communicating, traffic) = match &mut self.carrier {
            Carrier::Thread(thread) => thread.finish(self.buckets.len())?,
            Carrier::Device { collective, flying } => {
                let share = 1.0 / collective.world_size() as f64;
                let (mut means, mut communicating) = (Vec::new(), Duration::ZERO);
                // Operations run one after another, so each is counted from the end of the one before it.
                let mut before: Option<Instant> = None;
                for (sum, began) in flying.drain(..) {
                    means.push((sum.finish()? * share)?);
                    communicating += before.map_or(began, |before| before.max(began)).elapsed();
                    before = Some(Instant::now());
                }
                (means, communicating, collective.traffic())
            }
        };
        self.passed.fill(false);
        self.sent = 0;
        let reduced = Reduced {
            traffic: traffic - std::mem::replace(&mut self.traffic, traffic),
            communicating,
            waited: began.elapsed(),
        };
        Ok((buckets, reduced))
    }
}

/// Returns the numbers of `flat`, a vector, from `at` on, with the shape, dtype and device of `param`.
pub(crate) fn part_like(flat: &Tensor, at: usize, param: &Tensor) -> Result<Tensor> {
    let part = flat.narrow(0, at, param.elem_count())?;
    let part = match flat.device().same_device(param.device()) {
        true => part,
        // candle would move all of `flat`.
        false => Tensor::new(part.to_vec1::<f32>()?, param.device())?,
    };
    Ok(part.reshape(param.shape())?.to_dtype(param.dtype())?)
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use crate::parallel::{
        Link, OnTensors, Rank, ring_all_reduce,
        threads::{group, on_each},
    };

    struct Summed(Tensor);

    impl Started for Summed {
        fn finish(self: Box<Self>) -> Result<Tensor> {
            Ok(self.0)
        }

        fn result(self: Box<Self>) -> Result<Tensor> {
            Ok(self.0)
        }
    }

    /// Sums tensors on the host, as soon as they are started.
    impl OnTensors for Rank {
        fn start_sum(&self, tensor: &Tensor) -> Result<Box<dyn Started>> {
            let mut values = tensor.flatten_all()?.to_vec1::<f32>()?;
            self.all_reduce(&mut values)?;
            Ok(Box::new(Summed(Tensor::new(values, &Device::Cpu)?)))
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
    fn average(link: Rank, params: &[Tensor], overlap: bool) {
        let rank = link.rank();
        let buckets = vec![bucket(&[2, 1]), bucket(&[0])];
        let mut reducer = Reducer::on_device(Box::new(link), params.to_vec(), (buckets, overlap)).unwrap();
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
        let ranks = |world| group(world, ring_all_reduce, Duration::from_secs(20));
        for overlap in [true, false] {
            let alone = ranks(1).remove(0);
            let missing = vec![bucket(&[2, 1])];
            assert!(Reducer::on_device(Box::new(alone), params.to_vec(), (missing, overlap)).is_err());
            on_each(ranks(2), |link| average(link, &params, overlap));
        }
    }
}
