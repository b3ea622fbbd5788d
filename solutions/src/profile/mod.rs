//! Where the time goes: spans of a run, what they add up to, which pattern they show, and what the hardware allows.
//!
//! A run records [`Span`]s where somebody asked for it ([`start`], [`span()`], [`stop`]); off, a span costs one relaxed load.
//! [`Timeline`] holds them; [`totals()`], [`name_pattern`] and [`Summary`] say what they mean; `trace` writes them for
//! Chrome's tracing page, Perfetto and speedscope. [`KernelTable`] reads what nsys and nvprof measured.

mod amdahl;
mod flame;
mod gpu_clock;
pub mod monitor;
mod nvtx;
mod pattern;
mod recorder;
mod roofline;
mod span;
mod stream;
mod summary;
mod table;
mod totals;
mod trace;

pub use amdahl::{Amdahl, amdahl};
pub use flame::{Frame, flame};
pub use nvtx::Ranges;
pub use pattern::{COMPUTE_BOUND, Pattern, Shares, name_pattern};
pub use recorder::{Guard, Options, Recording, lane, span, start, started, stop, timed, work};
pub use roofline::{Machine, MatMul, Roof, matmul_roof};
pub use span::{Kind, Lane, Span, Timeline};
pub use stream::{Stream, time_device};
pub use summary::{Copies, Summary};
pub use table::{Activity, KernelRow, KernelTable, Transfer, copy_share};
pub use totals::{Total, pieces, totals};
pub use trace::{chrome, from_chrome, speedscope};
