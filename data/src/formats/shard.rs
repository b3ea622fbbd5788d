//! A shard file as one cloud: all its clouds, concatenated.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{
    sink,
    source::{Opened, Source},
};
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
    current: Cloud,
    at: usize,
}

/// Opens the shard at `path`.
pub fn open(path: &Path) -> Result<Opened> {
    let shard = Shard::open(path)?;
    let count = shard.entries().iter().map(|e| e.points.len() as u64).sum();
    let keep = [1, 2, 3].map(|column| shard.entries().iter().all(|e| e.has(column)));
    let origin = shard.entries().first().map_or([0.0; 3], |e| e.origin);
    Ok(Opened {
        count: Some(count),
        grid: None,
        source: Box::new(Clouds {
            shard,
            origin,
            keep,
            next: 0,
            current: Cloud::default(),
            at: 0,
        }),
    })
}

impl Source for Clouds {
    fn fill(&mut self, out: &mut Cloud, max: usize) -> Result<usize> {
        out.origin = self.origin;
        while self.at == self.current.len() {
            if self.next == self.shard.entries().len() {
                return Ok(0);
            }
            self.current = self.shard.cloud(self.next)?;
            self.at = 0;
            self.next += 1;
        }
        let c = &self.current;
        let range = self.at..self.at + max.min(c.len() - self.at);
        self.at = range.end;
        let shift = [0, 1, 2].map(|a| (c.origin[a] - self.origin[a]) as f32);
        for p in &c.xyz[range.clone()] {
            let moved = [0, 1, 2].map(|a| p[a] + shift[a]);
            ensure!(
                moved.iter().all(|v| v.is_finite()),
                "cloud {} is too far from the first one: the clouds of this shard cannot be read as one",
                self.next - 1
            );
            out.xyz.push(moved);
        }
        if self.keep[0] {
            out.intensity.extend(&c.intensity[range.clone()]);
        }
        if self.keep[1] {
            out.class.extend(&c.class[range.clone()]);
        }
        if self.keep[2] {
            out.returns.extend(&c.returns[range.clone()]);
        }
        Ok(range.len())
    }
}

/// Writes clouds as one shard.
pub struct Sink(ShardWriter);

impl Sink {
    /// Begins the shard at `path`.
    pub fn new(path: &Path) -> Result<Self> {
        ShardWriter::new(path).map(Self)
    }
}

impl sink::Sink for Sink {
    fn write(&mut self, cloud: &Cloud) -> Result<()> {
        self.0.push(cloud)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.0.finish().map(drop)
    }
}
