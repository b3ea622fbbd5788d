use candle_core::{Device, Tensor, Var};
use grader::{Values, Verdict, draw, given};

use super::values;
use crate::Lesson01;

pub fn is_the_mean_over_rows(answer: &Lesson01) -> Verdict {
    check_loss(answer, &[0.5, -1.0, 2.0, 0.0, 1.5, 3.0], &[2, 0])?;
    let mut draw = draw();
    let (rows, classes) = (draw.whole(4, 6), draw.whole(2, 3));
    check_loss(
        answer,
        &draw.list(rows * classes, -3.0, 3.0),
        &draw.below(rows, classes),
    )?;
    let (rows, classes) = (2, draw.whole(5, 7));
    check_loss(
        answer,
        &draw.list(rows * classes, -3.0, 3.0),
        &[classes as u32 - 1, 1],
    )
}

pub fn stays_finite_for_huge_logits(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let mut logits = draw.list(6, -2.0, 2.0);
    for (i, logit) in logits.iter_mut().enumerate() {
        *logit += if i < 3 { 1000.0 } else { -1000.0 };
    }
    check_loss(answer, &logits, &[1, 0])
}

pub fn stays_exact_for_tiny_probabilities(answer: &Lesson01) -> Verdict {
    let far = draw().number(150.0, 300.0).round() as f32;
    check_loss(answer, &[far, 0.0, 1.0, -far, 2.0, 0.5], &[1, 0])
}

pub fn has_the_right_gradient(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let (logits, labels) = (draw.list(12, -2.0, 2.0), draw.below(4, 3));
    let case = given(format!("logits [4, 3] {logits:?}, labels {labels:?}"));
    let var = Var::from_vec(logits.clone(), (4, 3), &Device::Cpu)?;
    let loss = (answer.cross_entropy)(&var, &Tensor::new(&labels[..], &Device::Cpu)?)?;
    let grads = loss.sum_all()?.backward()?;
    let mut expected = Vec::new();
    for (row, &label) in logits.chunks(3).zip(&labels) {
        let total: f64 = row.iter().map(|&x| f64::from(x).exp()).sum();
        expected.extend(row.iter().enumerate().map(|(class, &x)| {
            let hit = if class == label as usize { 1.0 } else { 0.0 };
            (f64::from(x).exp() / total - hit) / 4.0
        }));
    }
    let expected = Values::tensor(expected, &[4, 3], "f32");
    match grads.get(&var) {
        Some(grad) => case.close("gradient of the logits", values(grad)?, expected),
        None => case.require(
            "gradient of the logits",
            false,
            "none: the loss does not depend on them",
        ),
    }
}

fn check_loss(answer: &Lesson01, logits: &[f32], labels: &[u32]) -> Verdict {
    let (rows, classes) = (labels.len(), logits.len() / labels.len());
    let mut sum = 0.0;
    for (row, &label) in logits.chunks(classes).zip(labels) {
        let top = row.iter().fold(f64::MIN, |m, &x| m.max(f64::from(x)));
        let total: f64 = row.iter().map(|&x| (f64::from(x) - top).exp()).sum();
        sum += top + total.ln() - f64::from(row[label as usize]);
    }
    let case = given(format!(
        "logits [{rows}, {classes}] {logits:?}, labels {labels:?}"
    ));
    let case = case.at_scale(logits.iter().fold(0.0, |m, &x| f64::from(x.abs()).max(m)));
    let logits = Tensor::from_slice(logits, (rows, classes), &Device::Cpu)?;
    let loss = (answer.cross_entropy)(&logits, &Tensor::new(labels, &Device::Cpu)?)?;
    case.close("loss", values(&loss)?, (sum / rows as f64) as f32)
}
