//! From records to batches: epoch order, sampling, augmentation, collation, worker threads.
//!
//! All random numbers are functions of (seed, epoch, record). So a batch does not depend on the number of workers, and an
//! epoch can be resumed at any batch.

mod augment;
mod buckets;
mod collate;
mod features;
mod order;
mod prefetch;
mod ragged;
mod sample;
mod workers;

pub use augment::{Augment, OwnAugment, jitter, turn};
pub use buckets::length_buckets;
pub use collate::{Batch, Collate, prepare};
pub use features::Features;
pub use order::{batches, epoch_order, iterations, micro_batches};
pub use prefetch::prefetched;
pub use ragged::collate_ragged;
pub use sample::{Frame, normalise, random_sample};
pub use workers::Loader;
