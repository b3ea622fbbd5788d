//! From records to batches: epoch order, sub-sampling, augmentation, collate, worker threads.
//!
//! All chance is a function of (seed, epoch, record), so a batch is the same whatever the number of
//! workers, and an epoch can be taken up at any batch.

mod augment;
mod buckets;
mod collate;
mod features;
mod order;
mod prefetch;
mod ragged;
mod sample;
mod staging;
mod workers;

pub use augment::{Augment, jitter, turn};
pub use buckets::{length_buckets, padded_share};
pub use collate::{Batch, Collate, prepare};
pub use features::Features;
pub use order::{batches, epoch_order, iterations, micro_batches};
pub use prefetch::prefetched;
pub use ragged::collate_ragged;
pub use sample::{Frame, normalise, random_sample};
pub use staging::to_device;
pub use workers::{EpochBatches, Loader};
