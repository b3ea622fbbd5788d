//! The links between ranks.

use super::ending::Reports;
use crate::parallel::Collective;

/// One rank's links to the others.
pub struct Links {
    pub control: Box<dyn Collective>,
    pub gradients: Box<dyn Collective>,
    pub reports: Reports,
    /// Whether each rank is a process of its own, and not a thread.
    pub is_process: bool,
    /// CPU threads of the rank; none: those of the thread that calls it.
    pub threads: Option<usize>,
}
