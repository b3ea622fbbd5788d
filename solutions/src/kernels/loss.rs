//! Cross-entropy, and the sum of a loss and its penalties.

use candle_core::{D, DType, Result, Tensor, bail};

use super::device::Target;
use super::tape::{self, Tape};
use super::values::Values;

/// Mean cross-entropy of logits `[rows, classes]` against labels `[rows]` (u32), with label smoothing
/// (Szegedy et al. 2016) and a weight for each class `[classes]` if given (PyTorch's weighted mean).
///
/// # Errors
/// Returns an error if the shapes do not match, or if a label is not less than the number of classes. On a GPU such a label
/// makes the loss NaN, because a check would wait for the GPU.
pub fn cross_entropy(
    logits: &Tensor,
    labels: &Tensor,
    smoothing: f64,
    weights: Option<&Tensor>,
) -> Result<Tensor> {
    let (rows, classes) = logits.dims2()?;
    if labels.dims() != [rows] || weights.is_some_and(|w| w.dims() != [classes]) {
        let weights = weights.map(Tensor::dims);
        bail!(
            "cross_entropy: expected labels [{rows}] and weights [{classes}], got {:?} and {weights:?}",
            labels.dims()
        );
    }
    if let Some(device) = Target::of_inputs(&[logits]) {
        return device.cross_entropy(logits, labels, smoothing, weights);
    }
    let Some(tape) = Tape::of(&[logits]) else {
        return plain(logits, labels, smoothing, weights);
    };
    let labels: Vec<u32> = labels.to_dtype(DType::U32)?.to_vec1()?;
    if let Some(row) = labels.iter().position(|&l| l as usize >= classes) {
        bail!(
            "cross_entropy: label {} of row {row} is not a class: there are {classes} classes",
            labels[row]
        );
    }
    let weights: Vec<f64> = match weights {
        Some(w) => w.to_dtype(DType::F64)?.to_vec1()?,
        None => vec![1.0; classes],
    };
    let all: f64 = weights.iter().sum();
    let total: f64 = labels.iter().map(|&l| weights[l as usize]).sum();
    let lc = logits.contiguous()?;
    let mut loss = 0.0;
    let mut gradient = Vec::with_capacity(rows * classes);
    for (row, &label) in Values::of(&lc)?.chunks_exact(classes).zip(&labels) {
        let label = label as usize;
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = row.iter().map(|&v| f64::from(v - top).exp()).sum();
        let log_sum = sum.ln() + f64::from(top);
        let (hit, spread) = ((1.0 - smoothing) * weights[label], smoothing / classes as f64);
        for (j, &v) in row.iter().enumerate() {
            let log_p = f64::from(v) - log_sum;
            let target = spread * weights[j] + if j == label { hit } else { 0.0 };
            loss -= target * log_p;
            gradient.push(((log_p.exp() * (hit + spread * all) - target) / total) as f32);
        }
    }
    let value = (loss / total) as f32;
    tape::record(Some(&tape), &[logits], vec![value], &[], || {
        Box::new(move |g, _| Ok(vec![Some(gradient.iter().map(|v| v * g[0]).collect())]))
    })
}

fn plain(logits: &Tensor, labels: &Tensor, smoothing: f64, weights: Option<&Tensor>) -> Result<Tensor> {
    let log_p = candle_nn::ops::log_softmax(logits, D::Minus1)?;
    let classes = log_p.dim(1)?;
    let hit = log_p.gather(&labels.unsqueeze(1)?, 1)?.squeeze(1)?;
    let (hit, all, total) = match weights {
        None => (hit, log_p.sum(1)?, None),
        Some(w) => {
            let w = w.to_dtype(log_p.dtype())?;
            let of_row = w.index_select(labels, 0)?;
            // Stays on the device: reading a value would wait for all queued work.
            let total = of_row.sum_all()?;
            ((hit * of_row)?, log_p.broadcast_mul(&w)?.sum(1)?, Some(total))
        }
    };
    let loss = ((hit * (1.0 - smoothing))? + (all * (smoothing / classes as f64))?)?;
    match total {
        None => loss.sum_all()? / -(labels.elem_count() as f64),
        Some(total) => loss.sum_all()?.neg()? / total,
    }
}

/// The sum of scalars, each times its factor: a loss and its penalties, or a loss and its scale.
///
/// # Errors
/// Returns an error if a term is not a scalar, or if there are no terms.
pub fn weighted_sum(terms: &[(&Tensor, f64)]) -> Result<Tensor> {
    if terms.is_empty() || terms.iter().any(|(t, _)| t.rank() != 0) {
        let shapes: Vec<_> = terms.iter().map(|(t, _)| t.dims()).collect();
        bail!("weighted_sum: expected scalars, at least one, got shapes {shapes:?}");
    }
    let tensors: Vec<&Tensor> = terms.iter().map(|&(t, _)| t).collect();
    let Some(tape) = Tape::of(&tensors) else {
        let mut sum = (terms[0].0 * terms[0].1)?;
        for &(term, factor) in &terms[1..] {
            sum = (sum + (term * factor)?)?;
        }
        return Ok(sum);
    };
    let mut sum = Tensor::zeros((), DType::F64, terms[0].0.device())?;
    for &(term, factor) in terms {
        sum = (sum + (term.detach().to_dtype(DType::F64)? * factor)?)?;
    }
    let sum = sum.to_dtype(DType::F32)?;
    let factors: Vec<f64> = terms.iter().map(|&(_, f)| f).collect();
    tape.record(&tensors, &sum, move |g, _| {
        factors.iter().map(|&f| Ok(Some((g * f)?))).collect()
    });
    Ok(sum)
}
