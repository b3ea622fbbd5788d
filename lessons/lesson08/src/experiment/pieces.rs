//! Which functions run: the student's where they are right, canopy's elsewhere; and how the trainer takes them.

use std::sync::Arc;

use canopy::{
    parallel::{AllReduce, BucketSizes, Link},
    train::ranks::Pieces,
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

/// What the trainer does with batches and gradients: 8.1 to 8.4. `overlap` sends the buckets of 8.3 while the backward walk
/// goes on; without, 8.4 averages all after its end.
pub fn pieces(answer: &Lesson08, overlap: bool) -> Pieces {
    Pieces {
        share: answer.share_of_epoch,
        buckets: answer.buckets,
        // The network is small, and its buckets too: else one would hold all.
        sizes: BucketSizes {
            first: 64 << 10,
            others: 256 << 10,
        },
        all_reduce: ring(answer),
        average: answer.average_gradients,
        overlap,
        ..Pieces::default()
    }
}
