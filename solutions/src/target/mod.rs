//! Inputs that are categories, and targets that are numbers: embeddings, distributions as predictions, and their scores.
//!
//! A category is looked up in a table ([`embed`]), whose gradient has a few rows only ([`SparseGradient`]). A number is
//! predicted as a distribution: Gaussian ([`gaussian_nll`]), mixture of Gaussians ([`mixture_nll`]), or probabilities of
//! bins with equally many training values ([`quantile_bins`]). A [`Forecast`] is such a distribution as plain numbers.
//! Proper scores compare it with the true value, and [`calibration`] compares its intervals with many of them.

mod bins;
mod calibration;
mod embedding;
mod forecast;
mod gaussian;
mod head;
mod mixture;
mod summary;

pub use bins::{bin_of, quantile_bins};
pub use calibration::{calibration, crps};
pub use embedding::{SparseGradient, embed, embedding_gradient};
pub use forecast::{Component, Forecast};
pub use gaussian::gaussian_nll;
pub use head::{Head, HeadKind};
pub use mixture::mixture_nll;
pub use summary::{Summary, summarise};

/// ½ ln 2π: the part of a normal distribution's negative log-likelihood that depends on nothing.
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;
