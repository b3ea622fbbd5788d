//! Reads, samples, normalises and augments clouds, and puts them side by side in a batch.

use anyhow::{Context, Result, bail};
use candle_core::{Device, Tensor};
use canopy_data::{Cloud, Dataset, Purpose};

use super::augment::Augment;
use super::features::Features;
use super::sample::{Frame, random_indices};

// ANCHOR: Batch
/// One batch in host memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// `[clouds, points, channels]`, row by row.
    pub points: Vec<f32>,
    /// Channels of a point: see [`Features`].
    pub channels: usize,
    /// `[clouds]`: the labels, indices into the data set's species.
    pub labels: Vec<u32>,
    /// `[clouds]`: the record of each cloud in the data set.
    pub records: Vec<usize>,
}
// ANCHOR_END: Batch

impl Batch {
    /// A batch of `clouds`, `[points, channels]` each.
    pub fn new(clouds: &[Vec<f32>], channels: usize, labels: Vec<u32>, records: Vec<usize>) -> Self {
        Self {
            points: clouds.concat(),
            channels,
            labels,
            records,
        }
    }

    /// Points `[clouds, points, channels]` (f32) and labels `[clouds]` (u32) on `device`.
    ///
    /// # Errors
    /// Returns an error if the device is out of memory.
    pub fn to_device(&self, device: &Device) -> Result<(Tensor, Tensor)> {
        let shape = self.shape();
        Ok((
            Tensor::from_slice(&self.points, shape, device)?,
            Tensor::from_slice(&self.labels, shape.0, device)?,
        ))
    }

    /// Clouds, points of each cloud, channels.
    pub(super) fn shape(&self) -> (usize, usize, usize) {
        let clouds = self.labels.len();
        let points = self.points.len() / (self.channels * clouds.max(1));
        (clouds, points, self.channels)
    }
}

/// Settings and data from which a batch is prepared.
#[derive(Clone, Debug)]
pub struct Collate {
    /// The data set that the records belong to.
    pub data: Dataset,
    /// Points sampled of each cloud.
    pub points: usize,
    /// The coordinate frame of the points.
    pub frame: Frame,
    /// The channels of a point.
    pub features: Features,
    /// Augmentation; `Augment::NONE` for evaluation.
    pub augment: Augment,
    /// Seeds sampling and augmentation, together with epoch and record.
    pub seed: u64,
}

impl Collate {
    /// The batch of `records` in epoch `epoch`. It depends on the arguments and on `self` alone, not on the thread.
    ///
    /// # Errors
    /// Returns an error that names the tree and its file if a cloud cannot be read or if [`prepare`] refuses it.
    pub fn batch(&self, records: &[usize], epoch: u64) -> Result<Batch> {
        let (mut clouds, mut labels) = (Vec::new(), Vec::new());
        for &r in records {
            let record = self.data.records.get(r).with_context(|| {
                let (name, len) = (&self.data.name, self.data.len());
                format!("there is no record {r}: the data set {name} has {len}, counted from 0")
            })?;
            let cloud = self
                .cloud(r, epoch)
                .with_context(|| format!("tree {} ({})", record.tree, record.source))?;
            clouds.push(cloud);
            labels.push(record.species as u32);
        }
        let channels = self.features.channels();
        Ok(Batch::new(&clouds, channels, labels, records.to_vec()))
    }

    fn cloud(&self, record: usize, epoch: u64) -> Result<Vec<f32>> {
        let cloud = self.data.cloud(record)?;
        let (features, stream) = (self.features, stream(record, epoch));
        prepare(
            &cloud,
            self.points,
            self.frame,
            features,
            &self.augment,
            self.seed,
            stream,
        )
    }

    /// The points that epoch `epoch` samples of a record, in metres, before they are normalised and augmented.
    ///
    /// # Errors
    /// Returns an error if the cloud cannot be read.
    pub fn drawn(&self, record: usize, epoch: u64) -> Result<Vec<[f32; 3]>> {
        let cloud = self.data.cloud(record)?;
        let random = &mut Purpose::Sample.stream(self.seed, stream(record, epoch));
        let indices = random_indices(cloud.len(), self.points, random);
        Ok(indices.into_iter().map(|i| cloud.xyz[i]).collect())
    }

    /// The names of the trees of `records`, for messages.
    pub(super) fn trees(&self, records: &[usize]) -> String {
        let name = |&r: &usize| {
            self.data
                .records
                .get(r)
                .map_or("?", |record| record.tree.as_str())
        };
        records.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

/// The random stream of a record in an epoch.
fn stream(record: usize, epoch: u64) -> u64 {
    epoch << 32 | record as u64
}

/// What the network sees of `cloud`: its points are sampled, moved into the frame and augmented. Returns
/// `[points, channels]`.
///
/// All random numbers come from the stream `stream` under `seed`; sampling and augmentation have separate keys.
///
/// # Errors
/// Returns an error if the cloud has no points, if all points are at the same place, if a coordinate is not finite, or
/// if the cloud lacks a channel of `features`.
pub fn prepare(
    cloud: &Cloud,
    points: usize,
    frame: Frame,
    features: Features,
    augment: &Augment,
    seed: u64,
    stream: u64,
) -> Result<Vec<f32>> {
    if let Err(e) = cloud.check_extent() {
        bail!("{e}: remove it from the data set, or scan the tree again");
    }
    let indices = random_indices(cloud.len(), points, &mut Purpose::Sample.stream(seed, stream));
    let mut points: Vec<[f32; 3]> = indices.iter().map(|&i| cloud.xyz[i]).collect();
    let mut echo = features.of_echo(cloud, &indices)?;
    if let Some(p) = points.iter().find(|p| p.iter().any(|c| !c.is_finite())) {
        bail!("the cloud has a point at {p:?}: a coordinate that is not finite");
    }
    frame.apply(&mut points, cloud.origin[2]);
    augment.apply(&mut points, &mut echo, &mut Purpose::Augment.stream(seed, stream));
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

    fn message(xyz: Vec<[f32; 3]>) -> String {
        let cloud = Cloud::from_points(xyz);
        let prepared = prepare(&cloud, 8, Frame::Sphere, Features::Xyz, &Augment::NONE, 1, 1);
        prepared.unwrap_err().to_string()
    }

    #[test]
    fn clouds_without_extent_or_with_bad_coordinates_are_errors() {
        assert!(message(vec![]).contains("no points"));
        assert!(message(vec![[3.0, 1.0, 2.0]]).contains("only one point"));
        assert!(message(vec![[3.0, 1.0, 2.0]; 70]).contains("same place"));
        assert!(message(vec![[3.0, 1.0, 2.0], [f32::NAN; 3]]).contains("not finite"));
    }
}
