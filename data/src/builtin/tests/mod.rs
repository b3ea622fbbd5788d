//! What the built-in set promises.

mod caching;
mod problem;
mod trees;

use std::sync::LazyLock;

use super::{plan::Planned, *};
use crate::TreeRecord;

/// Makes `config` anew, in memory.
fn made(config: &Config) -> make::Made {
    make::make(config, &|_, _| ()).unwrap()
}

/// One forest for all tests that look at many trees: fewer points than the real one, the same trees.
static FOREST: LazyLock<make::Made> = LazyLock::new(|| {
    made(&Config {
        seed: 1,
        trees: 420,
        points: 512,
    })
});

/// The scans of [`FOREST`].
fn scans() -> impl Iterator<Item = (&'static TreeRecord, &'static Cloud)> {
    FOREST.records.iter().zip(&FOREST.clouds)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

fn small() -> Config {
    Config {
        seed: 5,
        trees: 7,
        points: 128,
    }
}
