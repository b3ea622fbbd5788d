//! Operators over `[rows, channels]` matrices: the fused forms, and beside each its plain candle
//! composition, which is its specification.
//!
//! A row is a point, so a batch of clouds is `[clouds × points, channels]`. `Pass` says which form runs.

mod plain;

use candle_core::{D, DType, Result, Tensor, Var};

/// How one pass over the network runs.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Training: batch statistics and dropout. Otherwise running statistics and no dropout.
    pub train: bool,
    /// The plain candle composition instead of the fused operators.
    pub plain: bool,
    /// Seeds dropout together with `step` and the layer.
    pub seed: u64,
    /// The optimizer step this pass belongs to.
    pub step: u64,
}

impl Pass {
    /// A training pass of step `step`.
    pub fn train(seed: u64, step: u64) -> Self {
        Self {
            train: true,
            plain: false,
            seed,
            step,
        }
    }

    /// An evaluation pass.
    pub fn eval() -> Self {
        Self {
            train: false,
            plain: false,
            seed: 0,
            step: 0,
        }
    }

    /// With the plain composition or without.
    pub fn plain(mut self, plain: bool) -> Self {
        self.plain = plain;
        self
    }
}

/// Batch normalisation over rows (Ioffe and Szegedy 2015), as PyTorch's `BatchNorm1d`: biased variance
/// to normalise, unbiased for the running estimate.
#[derive(Clone, Debug)]
pub struct BatchNorm {
    /// Scale, `[channels]`; starts at 1.
    pub gamma: Var,
    /// Shift, `[channels]`; starts at 0.
    pub beta: Var,
    /// Running mean, `[channels]`: a buffer, not a parameter.
    pub mean: Var,
    /// Running variance, `[channels]`: a buffer, not a parameter.
    pub var: Var,
    /// Share of the new batch in the running statistics; PyTorch's 0.1.
    pub momentum: f64,
    /// Added to the variance; PyTorch's 1e-5.
    pub eps: f64,
}

/// `relu(bn(x·wᵀ))`, or without the ReLU. x `[rows, in]`, w `[out, in]` → `[rows, out]`.
///
/// # Errors
/// candle's, on shapes that do not fit.
pub fn linear_bn(x: &Tensor, w: &Tensor, bn: &BatchNorm, relu: bool, pass: &Pass) -> Result<Tensor> {
    plain::linear_bn(x, w, bn, relu, pass)
}

/// The greatest value of `linear_bn` over the points of each cloud.
/// x `[clouds × points, in]`, w `[out, in]` → `[clouds, out]`; of equal points the first takes the gradient.
///
/// # Errors
/// candle's, on shapes that do not fit.
pub fn linear_bn_max(
    x: &Tensor,
    w: &Tensor,
    bn: &BatchNorm,
    relu: bool,
    clouds: usize,
    pass: &Pass,
) -> Result<Tensor> {
    let y = plain::linear_bn(x, w, bn, relu, pass)?;
    let (rows, channels) = y.dims2()?;
    plain::max_points(&y.reshape((clouds, rows / clouds, channels))?)
}

/// `x·wᵀ + b`. x `[rows, in]`, w `[out, in]`, b `[out]` → `[rows, out]`.
///
/// # Errors
/// candle's, on shapes that do not fit.
pub fn linear(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    x.matmul(&w.t()?)?.broadcast_add(b)
}

/// Each cloud's points times its own matrix. x `[clouds × points, k]`, t `[clouds, k, k]` → like x.
///
/// # Errors
/// candle's, on shapes that do not fit.
pub fn transform(x: &Tensor, t: &Tensor) -> Result<Tensor> {
    let (rows, k) = x.dims2()?;
    let clouds = t.dim(0)?;
    x.reshape((clouds, rows / clouds, k))?
        .matmul(t)?
        .reshape((rows, k))
}

/// Drops each value with probability `p` and scales the rest by 1/(1−p) (Srivastava et al. 2014).
/// The mask is Philox's at (seed, step, layer, element): the same on every device.
///
/// # Errors
/// candle's.
pub fn dropout(x: &Tensor, p: f32, layer: u64, pass: &Pass) -> Result<Tensor> {
    if pass.train && p > 0.0 {
        plain::dropout(x, p, layer, pass)
    } else {
        Ok(x.clone())
    }
}

/// Mean cross-entropy of logits `[rows, classes]` against labels `[rows]` (u32), with label smoothing
/// (Szegedy et al. 2016) and a weight for each class `[classes]` if given (PyTorch's weighted mean).
///
/// # Errors
/// candle's, on shapes that do not fit.
pub fn cross_entropy(
    logits: &Tensor,
    labels: &Tensor,
    smoothing: f64,
    weights: Option<&Tensor>,
) -> Result<Tensor> {
    let log_p = candle_nn::ops::log_softmax(logits, D::Minus1)?;
    let classes = log_p.dim(1)?;
    let hit = log_p.gather(&labels.unsqueeze(1)?, 1)?.squeeze(1)?;
    let (hit, all, total) = match weights {
        None => (hit, log_p.sum(1)?, labels.elem_count() as f64),
        Some(w) => {
            let w = w.to_dtype(log_p.dtype())?;
            let of_row = w.index_select(labels, 0)?;
            let total = f64::from(of_row.sum_all()?.to_dtype(DType::F32)?.to_scalar::<f32>()?);
            ((hit * of_row)?, log_p.broadcast_mul(&w)?.sum(1)?, total)
        }
    };
    let loss = ((hit * (1.0 - smoothing))? + (all * (smoothing / classes as f64))?)?;
    loss.sum_all()? / -total
}
