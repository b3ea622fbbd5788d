//! Reads, samples, normalises and augments clouds, and puts them side by side in a batch.

use anyhow::{Context, Result, bail};
use candle_core::{Device, Tensor};
use canopy_data::{Cloud, Dataset, Purpose};

use super::augment::Augment;
use super::features::Features;
use super::ragged::padded;
use super::sample::{Frame, Points};

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
    /// `[clouds, points]`: 1 for a point, 0 for padding; `None` if all clouds have the same number of points.
    pub mask: Option<Vec<f32>>,
}
// ANCHOR_END: Batch

impl Batch {
    /// A batch of `clouds`, `[points, channels]` each: padded with a mask if `points` allows different lengths.
    ///
    /// # Errors
    /// With [`Points::All`], returns an error if a cloud has no points.
    pub fn new(
        clouds: &[Vec<f32>],
        channels: usize,
        points: Points,
        labels: Vec<u32>,
        records: Vec<usize>,
    ) -> Result<Self> {
        let (points, mask) = match points {
            Points::Fixed(_) => (clouds.concat(), None),
            Points::All { .. } => {
                let (points, mask) = padded(clouds, channels)?;
                (points, Some(mask))
            }
        };
        Ok(Self {
            points,
            channels,
            labels,
            records,
            mask,
        })
    }

    /// Points `[clouds, points, channels]` (f32) and labels `[clouds]` (u32) on `device`. If the batch has a mask, the
    /// model also needs [`Self::mask_tensor`].
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

    /// The mask `[clouds, points]` (f32), if the batch has one. It is on the CPU, because the model reads it there.
    ///
    /// # Errors
    /// Returns an error if the mask does not fit the batch.
    pub fn mask_tensor(&self) -> Result<Option<Tensor>> {
        let (clouds, points, _) = self.shape();
        let shape = (clouds, points);
        let tensor = |mask: &Vec<f32>| Tensor::from_slice(mask, shape, &Device::Cpu);
        Ok(self.mask.as_ref().map(tensor).transpose()?)
    }

    /// Clouds, points of each cloud with padding, channels.
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
    /// How many points of each cloud the network sees.
    pub points: Points,
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
        Batch::new(&clouds, channels, self.points, labels, records.to_vec())
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
        let indices = self.points.indices(cloud.len(), random);
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
    points: Points,
    frame: Frame,
    features: Features,
    augment: &Augment,
    seed: u64,
    stream: u64,
) -> Result<Vec<f32>> {
    if let Err(e) = cloud.check_extent() {
        bail!("{e}: remove it from the data set, or scan the tree again");
    }
    let indices = points.indices(cloud.len(), &mut Purpose::Sample.stream(seed, stream));
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
        let (cloud, points) = (Cloud::from_points(xyz), Points::Fixed(8));
        let prepared = prepare(&cloud, points, Frame::Sphere, Features::Xyz, &Augment::NONE, 1, 1);
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
