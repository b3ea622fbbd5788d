//! canopy's sampling, normalisation and augmentation of clouds.
#![allow(dead_code, reason = "the pieces use a part of canopy's functions")]

#[path = "../../../solutions/src/loader/augment.rs"]
mod augment;
#[path = "../../../solutions/src/loader/sample.rs"]
mod sample;

pub use augment::{jitter, turn};
pub use sample::{normalise, random_sample};
