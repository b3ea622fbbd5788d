//! Runs of several ranks against the run of one, and how they end where a rank dies or stalls.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod ending;
mod equal;
mod shapes;
