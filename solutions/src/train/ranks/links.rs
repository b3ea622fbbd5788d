//! The links between ranks.

use super::ending::Reports;
use crate::parallel::Rank;

/// One rank's links to the others.
pub struct Links {
    pub control: Rank,
    pub gradients: Rank,
    pub reports: Reports,
}
