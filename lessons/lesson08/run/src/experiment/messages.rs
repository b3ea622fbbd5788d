//! The time of messages between two ranks, and of all-reduces over several.

use std::sync::Arc;

use anyhow::Result;
use canopy::parallel::{AllReduce, Cost, tree_all_reduce};
use lesson08::Lesson08;

use super::{
    functions::ring,
    measure::{all_reduce_seconds, messages},
    runs::RANKS,
};

/// Lengths of the timed messages, in numbers.
const SIZES: [usize; 7] = [1, 64, 1 << 10, 1 << 13, 1 << 16, 1 << 18, 1 << 20];
const REPEATS: usize = 60;

/// A timed all-reduce.
pub struct Reduced {
    pub ranks: usize,
    /// Seconds with the ring of exercise 8.2, and with canopy's tree.
    pub ring: f64,
    pub tree: f64,
}

pub struct Messages {
    /// Bytes and seconds.
    pub timed: Vec<(f64, f64)>,
    pub cost: Cost,
    /// All-reduces of as many numbers as the network has gradients.
    pub reduced: Vec<Reduced>,
}

/// Times messages, and all-reduces of `numbers` numbers.
pub fn measured(answer: &Lesson08, numbers: usize) -> Result<Messages> {
    let timed = messages(&SIZES, REPEATS)?;
    let tree: AllReduce = Arc::new(tree_all_reduce);
    let reduce = |ranks: usize| -> Result<Reduced> {
        Ok(Reduced {
            ranks,
            ring: all_reduce_seconds(ranks, numbers, &ring(answer), REPEATS)?,
            tree: all_reduce_seconds(ranks, numbers, &tree, REPEATS)?,
        })
    };
    Ok(Messages {
        cost: Cost::fit(&timed)?,
        timed,
        reduced: RANKS[1..].iter().map(|&p| reduce(p)).collect::<Result<_>>()?,
    })
}
