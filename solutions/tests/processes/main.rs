//! `canopy train` with ranks that are processes: the same run as with threads, and how it ends.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../program/mod.rs"]
mod program;

mod alike;
mod ending;
mod joining;
mod running;
