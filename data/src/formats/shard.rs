//! A shard file as one cloud: all that it holds, one after another.

use std::path::Path;

use anyhow::{Context, Result};

use super::reader::Source;
use crate::{Cloud, shard::Shard};

/// Reads the clouds of a shard as if they were one. An attribute that not all of them have is left out.
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
pub fn open(path: &Path) -> Result<(Option<u64>, Box<dyn Source>)> {
    let shard = Shard::open(path)?;
    let count = shard.entries().iter().map(|e| e.count).sum();
    let keep = [0, 1, 2].map(|a| shard.entries().iter().all(|e| e.has(a)));
    let origin = shard.entries().first().map_or([0.0; 3], |e| e.origin);
    Ok((
        Some(count),
        Box::new(Clouds {
            shard,
            origin,
            keep,
            next: 0,
            current: Cloud::default(),
            at: 0,
        }),
    ))
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
        out.xyz.extend(
            c.xyz[range.clone()]
                .iter()
                .map(|p| [0, 1, 2].map(|a| p[a] + shift[a])),
        );
        if out
            .xyz
            .iter()
            .rev()
            .take(range.len())
            .any(|p| p.iter().any(|c| !c.is_finite()))
        {
            return Err(anyhow::anyhow!(
                "cloud {}: its points lie out of reach of the first cloud's",
                self.next - 1
            ))
            .context("clouds of one shard cannot be read as one");
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
