//! Where the time goes: spans of a run, their sums, the pattern that they show, and the limits of the hardware.
//!
//! While a recording runs ([`start`], [`stop`]), each [`span()`] becomes a [`Span`] of its [`Timeline`]; otherwise it costs one
//! relaxed load. [`parents`], [`totals()`], [`name_pattern`] and [`Summary`] evaluate a timeline; [`chrome`] writes it for Chrome's tracing
//! page, Perfetto and speedscope. [`kernel_rows`] reads the tables of nsys and nvprof.

mod amdahl;
mod chain;
pub mod monitor;
mod pattern;
mod recorder;
mod roofline;
mod span;
mod stream;
mod summary;
mod table;
#[cfg(test)]
mod tests;
mod totals;
mod trace;

pub use amdahl::{Amdahl, amdahl};
pub use chain::{Cost, Counted, Operator, bias_norm_relu, chain_cost};
pub use pattern::{COMPUTE_BOUND, Pattern, Shares, name_pattern};
pub use recorder::{Guard, Recording, lane, span, start, started, stop, timed, work};
pub use roofline::{Machine, MatMul, Roof, matmul_roof};
pub use span::{Kind, Lane, Span, Timeline};
pub use stream::{Stream, time_device};
pub use summary::Summary;
pub use table::{Activity, KernelRow, copy_share, kernel_rows, time_share};
pub use totals::{Total, parents, pieces, totals};
pub use trace::chrome;
