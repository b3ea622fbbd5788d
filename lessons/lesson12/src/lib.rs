//! Lesson 12: inputs and targets.

// The lines of the hints are as they are shown there.
#[rustfmt::skip]
mod answers;
mod bins;
mod calibration;
mod crps;
mod embedding;
mod gaussian;
mod mixture;
mod right;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;
mod summary;
mod tensors;

use candle_core::{Result, Tensor};
use canopy::target::{self, SparseGradient, Summary};

grader::contract! {
    pub struct Lesson12 of exercise12 with embedding, gaussian, mixture, bins, summary, calibration, crps;
    "12.1" embed: fn(&Tensor, &[u32]) -> Result<Tensor> = target::embed;
    "12.1" embedding_gradient: fn(&[u32], &Tensor) -> Result<SparseGradient> = target::embedding_gradient;
    "12.2" gaussian_nll: fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor> = target::gaussian_nll;
    "12.3" mixture_nll: fn(&Tensor, &Tensor, &Tensor, &Tensor) -> Result<Tensor> = target::mixture_nll;
    "12.4" quantile_bins: fn(&[f64], usize) -> Vec<f64> = target::quantile_bins;
    "12.4" bin_of: fn(&[f64], f64) -> usize = target::bin_of;
    "12.5" summarise: fn(&[f64], &[f64], f64) -> Summary = target::summarise;
    "12.6" calibration: fn(&[f64], &[f64]) -> Vec<f64> = target::calibration;
    "12.7" crps: fn(&[f64], &[f64], f64) -> f64 = target::crps;
}
