//! The budget race. Your submission is `config.toml` beside this file and, if you want, an augmentation of your own.
//!
//! `cargo run -p capstone` trains within the budget and scores on a practice site. `cargo course capstone submit` packs
//! this folder.

use canopy_data::Philox;

/// The settings.
pub fn settings() -> &'static str {
    include_str!("config.toml")
}

/// Changes the points of one training cloud in place, after the augmentation of the settings. It runs each time a cloud is
/// loaded, on the thread of a data loader. `random` depends only on the seed, the epoch and the cloud.
pub fn augment(points: &mut [[f32; 3]], random: &mut Philox) {}
