//! The functions of the run as parts of the trainer.

use std::sync::Arc;

use canopy::{
    parallel::{AllReduce, BucketSizes, Link},
    train::ranks::RankFunctions,
};
use lesson08::Lesson08;

/// The ring of exercise 8.2, both halves.
pub fn ring(answer: &Lesson08) -> AllReduce {
    let answer = *answer;
    Arc::new(move |link: &dyn Link, data: &mut [f32]| {
        (answer.ring_reduce_scatter)(link, data)?;
        (answer.ring_all_gather)(link, data)
    })
}

/// Exercises 8.1 to 8.4 in the trainer. With [`canopy::train::Config::overlap`], the buckets of 8.3 are sent during the backward
/// pass; without it, 8.4 averages all gradients afterwards.
pub fn functions(answer: &Lesson08) -> RankFunctions {
    RankFunctions {
        share: answer.share_of_epoch,
        buckets: answer.buckets,
        // The network is small, and so are its buckets: otherwise one would contain all gradients.
        sizes: BucketSizes {
            first: 64 << 10,
            others: 256 << 10,
        },
        all_reduce: ring(answer),
        average: answer.average_gradients,
        ..RankFunctions::default()
    }
}
