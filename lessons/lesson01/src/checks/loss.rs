use candle_core::{DType, Device, Tensor, Var};
use grader::{Case, Values, Verdict, draw, given};

use super::{shown, values};
use crate::Lesson01;

pub fn is_the_mean_over_rows(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let labels = [[2, 0, 3], [3, 1, 0], [1, 3, 2]][draw.whole(0, 2)];
    check_loss(answer, &draw.list(12, -3.0, 3.0), &labels)?;
    let (rows, classes) = (draw.whole(4, 6), draw.whole(2, 3));
    let labels = draw.below(rows, classes);
    check_loss(answer, &draw.list(rows * classes, -3.0, 3.0), &labels)?;
    let classes = draw.whole(5, 7);
    let last = classes as u32 - 1;
    check_loss(answer, &draw.list(2 * classes, -3.0, 3.0), &[last, 1])?;
    check_loss(answer, &draw.list(classes, -3.0, 3.0), &[last])?;
    check_loss(answer, &draw.list(3, -3.0, 3.0), &[0, 0, 0])?;
    check_loss(answer, &draw.list(2 * 300, -3.0, 3.0), &[299, 256])?;
    // More rows than a chunk of 32 or 64, which do not divide them.
    check_loss(answer, &draw.list(67 * 3, -3.0, 3.0), &draw.below(67, 3))
}

pub fn stays_exact_for_tiny_probabilities(answer: &Lesson01) -> Verdict {
    let far = draw().number(60.0, 80.0).round() as f32;
    // A label far above the others is no reason to overflow.
    check_loss(answer, &[far, 1.0 - far, 1.0], &[0])?;
    // No exp overflows, but the probability of the first label is 0 in f32.
    check_loss(answer, &[far, 1.0 - far, 1.0, 0.5, 2.0, -0.5], &[1, 0])?;
    check_loss(answer, &[2.0 * far, 0.0, 1.0, -2.0 * far, 2.0, 0.5], &[1, 0])
}

pub fn stays_finite_for_huge_logits(answer: &Lesson01) -> Verdict {
    for logits in huge() {
        check_loss(answer, &logits, &[1, 2][..logits.len() / 3])?;
    }
    Ok(())
}

/// Rows of three logits, one or two.
fn huge() -> Vec<Vec<f32>> {
    let mut draw = draw();
    let mut near = |offsets: &[f32]| {
        let near = offsets
            .iter()
            .flat_map(|o| draw.list(3, -2.0, 2.0).into_iter().map(move |x| x + o));
        near.collect::<Vec<f32>>()
    };
    vec![
        near(&[1000.0]),
        near(&[-1000.0]),
        near(&[1000.0, -1000.0]),
        vec![1000.0, 0.0, -1000.0, 0.5, 1000.0, -1000.0],
        vec![-1e6, 1e6, 0.0, 1e6, 0.0, -1e6],
    ]
}

pub fn has_the_right_gradient(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    check_gradient(answer, &draw.list(12, -2.0, 2.0), &[2, 0, 1, 1])?;
    for logits in huge() {
        check_gradient(answer, &logits, &[1, 2][..logits.len() / 3])?;
    }
    Ok(())
}

pub fn keeps_the_dtype_of_the_logits(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    // Beyond the range of f32.
    check_dtype(answer, &[1e40, 0.0, -1e40, 0.0, 2.5e40, 0.0], &[1, 0], DType::F64)?;
    for dtype in [DType::F64, DType::BF16, DType::F16] {
        let logits: Vec<f64> = (0..6).map(|_| draw.number(-3.0, 3.0)).collect();
        check_dtype(answer, &logits, &[2, 0], dtype)?;
    }
    // bf16 rounds 257 and 299 to even numbers. Most logits are so low that the sum over the classes has few terms.
    let (classes, labels) = (303, [299, 257]);
    let mut logits = vec![-40.0; 2 * classes];
    for (row, label) in labels.iter().enumerate() {
        for class in [0, 1, *label as usize] {
            logits[row * classes + class] = draw.number(-3.0, 3.0);
        }
    }
    check_dtype(answer, &logits, &labels, DType::BF16)
}

/// log Σ exp of a row, and the probability of each class, in f64.
fn softmax(row: &[f64]) -> (f64, Vec<f64>) {
    let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = row.iter().map(|x| (x - top).exp()).sum();
    let p = row.iter().map(|x| (x - top).exp() / total);
    (top + total.ln(), p.collect())
}

fn case(logits: &[f64], labels: &[u32], dtype: DType) -> Case {
    let (rows, classes) = (labels.len(), logits.len() / labels.len());
    let numbers = shown(&logits[..logits.len().min(24)]);
    let more = if logits.len() > 24 { ", …" } else { "" };
    let dtype = dtype.as_str();
    let first = &labels[..rows.min(12)];
    let others = if rows > 12 { ", …" } else { "" };
    given(format!(
        "logits [{rows}, {classes}] of {dtype}: {numbers}{more}; labels {first:?}{others}"
    ))
    .at_scale(logits.iter().fold(0.0, |m, x| x.abs().max(m)))
}

fn check_loss(answer: &Lesson01, logits: &[f32], labels: &[u32]) -> Verdict {
    let wide: Vec<f64> = logits.iter().map(|&x| f64::from(x)).collect();
    check_dtype(answer, &wide, labels, DType::F32)
}

fn check_dtype(answer: &Lesson01, logits: &[f64], labels: &[u32], dtype: DType) -> Verdict {
    let (rows, classes) = (labels.len(), logits.len() / labels.len());
    let tensor = Tensor::from_slice(logits, (rows, classes), &Device::Cpu)?.to_dtype(dtype)?;
    let logits = values(&tensor)?.numbers;
    let losses = logits
        .chunks(classes)
        .zip(labels)
        .map(|(row, &label)| softmax(row).0 - row[label as usize]);
    let mean = losses.sum::<f64>() / rows as f64;
    let case = case(&logits, labels, dtype);
    let loss = (answer.cross_entropy)(&tensor, &Tensor::new(labels, &Device::Cpu)?)?;
    case.close(
        "loss",
        values(&loss)?,
        Values::tensor(vec![mean], &[], dtype.as_str()),
    )
}

fn check_gradient(answer: &Lesson01, logits: &[f32], labels: &[u32]) -> Verdict {
    let (rows, classes) = (labels.len(), logits.len() / labels.len());
    let wide: Vec<f64> = logits.iter().map(|&x| f64::from(x)).collect();
    let case = case(&wide, labels, DType::F32).at_scale(0.0);
    let var = Var::from_slice(logits, (rows, classes), &Device::Cpu)?;
    let loss = (answer.cross_entropy)(&var, &Tensor::new(labels, &Device::Cpu)?)?;
    let grads = loss.sum_all()?.backward()?;
    let mut expected = Vec::new();
    for (row, &label) in wide.chunks(classes).zip(labels) {
        let mut p = softmax(row).1;
        p[label as usize] -= 1.0;
        expected.extend(p.iter().map(|p| p / rows as f64));
    }
    let expected = Values::tensor(expected, &[rows, classes], "f32");
    let what = "gradient of the logits";
    match grads.get(&var) {
        Some(grad) => case.close(what, values(grad)?, expected),
        None => case.require(what, false, "none: the loss does not depend on them"),
    }
}
