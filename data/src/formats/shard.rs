//! A shard file as one cloud: all its clouds, concatenated.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{sink::Sink, source::Source};
use crate::{
    Cloud,
    shard::{Shard, ShardWriter},
};

/// Reads the clouds of a shard as if they were one. Attributes that some of them do not have are left out.
struct Clouds {
    shard: Shard,
    origin: [f64; 3],
    /// Whether all have intensity, class, returns.
    keep: [bool; 3],
    next: usize,
}

/// Opens the shard at `path`.
pub fn open(path: &Path) -> Result<Box<dyn Source>> {
    let shard = Shard::open(path)?;
    let entries = &shard.entries;
    Ok(Box::new(Clouds {
        origin: entries.first().map_or([0.0; 3], |e| e.origin),
        keep: [1, 2, 3].map(|column| entries.iter().all(|e| e.has(column))),
        next: 0,
        shard,
    }))
}

impl Source for Clouds {
    fn next(&mut self) -> Result<Option<Cloud>> {
        if self.next == self.shard.entries.len() {
            return Ok(None);
        }
        let mut cloud = self.shard.cloud(self.next)?;
        let shift = [0, 1, 2].map(|a| (cloud.origin[a] - self.origin[a]) as f32);
        cloud.origin = self.origin;
        for p in &mut cloud.xyz {
            *p = [0, 1, 2].map(|a| p[a] + shift[a]);
            ensure!(
                p.iter().all(|v| v.is_finite()),
                "cloud {} is too far from the first one: the clouds of this shard cannot be read as one",
                self.next
            );
        }
        let [intensity, class, returns] = self.keep.map(|keep| if keep { usize::MAX } else { 0 });
        cloud.intensity.truncate(intensity);
        cloud.class.truncate(class);
        cloud.returns.truncate(returns);
        self.next += 1;
        Ok(Some(cloud))
    }

    fn count(&self) -> Option<u64> {
        let entries = self.shard.entries.iter();
        Some(entries.map(|e| e.points.len() as u64).sum())
    }
}

impl Sink for ShardWriter {
    fn write(&mut self, cloud: &Cloud) -> Result<()> {
        self.push(cloud)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        ShardWriter::finish(*self).map(drop)
    }
}
