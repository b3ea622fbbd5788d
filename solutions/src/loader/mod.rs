//! From records to batches: epoch order, sub-sampling, augmentation, collate, worker threads.
//!
//! All chance is a function of (seed, epoch, record), so a batch is the same whatever the number of
//! workers, and an epoch can be taken up at any batch.

mod augment;
mod collate;
mod features;
mod order;
mod sample;
mod workers;

pub use augment::{Augment, jitter, turn};
pub use collate::{Batch, Collate, prepare};
pub use features::Features;
pub use order::{batches, epoch_order, iterations, micro_batches};
pub use sample::{Frame, normalise, random_sample};
pub use workers::{EpochBatches, Loader};
