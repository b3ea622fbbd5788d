//! Reads, samples, normalises and augments records, and lays them side by side.

use anyhow::{Context, Result, ensure};
use candle_core::{Device, Tensor};
use canopy_data::{Cloud, Dataset, Philox};

use super::{Augment, Features, Frame, random_sample, sample::random_indices, to_device};

/// One batch in host memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// `[clouds, points, channels]`, row after row.
    pub points: Vec<f32>,
    /// Channels of a point: see [`Features`].
    pub channels: usize,
    /// `[clouds]`: the species' numbers.
    pub labels: Vec<u32>,
    /// `[clouds]`: which records of the data set these are.
    pub records: Vec<usize>,
}

impl Batch {
    /// Points `[clouds, points, channels]` (f32) and labels `[clouds]` (u32) on `device`.
    ///
    /// # Errors
    /// candle's, if the device is out of memory.
    pub fn to_device(&self, device: &Device) -> Result<(Tensor, Tensor)> {
        let clouds = self.labels.len();
        let points = self.points.len() / (self.channels * clouds.max(1));
        Ok((
            to_device(&self.points, (clouds, points, self.channels), device)?,
            Tensor::from_slice(&self.labels, clouds, device)?,
        ))
    }
}

/// How a record becomes `points` points.
#[derive(Clone, Debug)]
pub struct Collate {
    /// Where clouds come from.
    pub data: Dataset,
    /// Points of each cloud.
    pub points: usize,
    /// The frame they are seen in.
    pub frame: Frame,
    /// What is told of a point.
    pub features: Features,
    /// What is done to them; `Augment::NONE` for evaluation.
    pub augment: Augment,
    /// Seeds sampling and augmentation together with epoch and record.
    pub seed: u64,
}

/// Streams of chance that other parts draw from lie below; the loader's begin here.
const STREAM: u64 = 1 << 63;

impl Collate {
    /// The batch of `records` in epoch `epoch`: the same whoever asks, whenever.
    ///
    /// # Errors
    /// Names the record and file that could not be read, or that holds no usable point.
    pub fn batch(&self, records: &[usize], epoch: u64) -> Result<Batch> {
        let mut batch = Batch {
            points: Vec::with_capacity(records.len() * self.points * self.features.channels()),
            channels: self.features.channels(),
            labels: Vec::with_capacity(records.len()),
            records: records.to_vec(),
        };
        for &r in records {
            let record = &self.data.records[r];
            let points = self
                .cloud(r, epoch)
                .with_context(|| format!("tree {} ({})", record.tree, record.source))?;
            batch.points.extend(points);
            batch.labels.push(record.species as u32);
        }
        Ok(batch)
    }

    fn cloud(&self, record: usize, epoch: u64) -> Result<Vec<f32>> {
        prepare(
            &self.data.cloud(record)?,
            self.points,
            self.frame,
            self.features,
            &self.augment,
            &mut self.random(record, epoch),
        )
    }

    /// The points that epoch `epoch` draws of a record, in metres, before they are normalised and augmented.
    ///
    /// # Errors
    /// The cloud's.
    pub fn drawn(&self, record: usize, epoch: u64) -> Result<Vec<[f32; 3]>> {
        Ok(random_sample(
            &self.data.cloud(record)?.xyz,
            self.points,
            &mut self.random(record, epoch),
        ))
    }

    fn random(&self, record: usize, epoch: u64) -> Philox {
        Philox::new(self.seed, STREAM | epoch << 32 | record as u64)
    }
}

/// `n` points of `cloud` in their frame, then augmented: what the network sees. `[n, channels]`.
///
/// # Errors
/// A cloud without points, or with coordinates that are not finite numbers, or one that lacks
/// what `features` asks for.
pub fn prepare(
    cloud: &Cloud,
    n: usize,
    frame: Frame,
    features: Features,
    augment: &Augment,
    random: &mut Philox,
) -> Result<Vec<f32>> {
    ensure!(
        !cloud.is_empty(),
        "the cloud has no points: leave it out, or scan it again"
    );
    ensure!(
        cloud.xyz.iter().any(|p| *p != cloud.xyz[0]),
        "all of the cloud's {} points stand in one place: a tree has some extent, so leave it out or scan it again",
        cloud.len()
    );
    let indices = random_indices(cloud.len(), n, random);
    let mut points: Vec<[f32; 3]> = indices.iter().map(|&i| cloud.xyz[i]).collect();
    let mut echo = features.of_echo(cloud, &indices)?;
    if let Some(p) = points.iter().find(|p| p.iter().any(|c| !c.is_finite())) {
        anyhow::bail!("the cloud holds a point at {p:?}: a coordinate that is no finite number");
    }
    frame.apply(&mut points, cloud.origin[2]);
    augment.apply(&mut points, &mut echo, random);
    if echo.is_empty() {
        return Ok(points.into_flattened());
    }
    let rows = points.iter().zip(echo.chunks_exact(features.channels() - 3));
    Ok(rows
        .flat_map(|(place, echo)| place.iter().chain(echo))
        .copied()
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(xyz: Vec<[f32; 3]>) -> String {
        let cloud = Cloud::from_points(xyz);
        let mut random = Philox::new(1, 1);
        prepare(
            &cloud,
            8,
            Frame::Sphere,
            Features::Xyz,
            &Augment::NONE,
            &mut random,
        )
        .unwrap_err()
        .to_string()
    }

    #[test]
    fn clouds_that_show_no_tree_are_errors() {
        assert!(said(vec![]).contains("no points"));
        assert!(said(vec![[3.0, 1.0, 2.0]]).contains("all of the cloud's 1 points"));
        assert!(said(vec![[3.0, 1.0, 2.0]; 70]).contains("one place"));
        assert!(said(vec![[3.0, 1.0, 2.0], [f32::NAN; 3]]).contains("no finite number"));
    }
}
