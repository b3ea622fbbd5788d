//! 1.2: stable cross-entropy.

use candle_core::{DType, Device, Tensor, Var};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};
use kit::{shown, values};

use crate::{Lesson01, REFERENCE, answers};

const ROWS: &str = "One row alone is right, several are not: each has its own label, greatest logit and sum. The loss is the mean over the rows.";

/// Logits, labels, dtype.
type Input = (Vec<f64>, Vec<u32>, DType);

fn wide(list: Vec<f32>) -> Vec<f64> {
    list.into_iter().map(f64::from).collect()
}

fn f32s(logits: Vec<f32>, labels: &[u32]) -> Input {
    (wide(logits), labels.to_vec(), DType::F32)
}

/// The logits, their loss by `answer` and its gradient, if it depends on them.
fn run(
    function: crate::CrossEntropy,
    logits: &[f64],
    labels: &[u32],
    dtype: DType,
) -> candle_core::Result<[Option<Tensor>; 3]> {
    let shape = (labels.len(), logits.len() / labels.len());
    let var = Var::from_tensor(&Tensor::from_slice(logits, shape, &Device::Cpu)?.to_dtype(dtype)?)?;
    let loss = function(&var, &Tensor::new(labels, &Device::Cpu)?)?;
    let gradient = loss.sum_all()?.backward()?.get(&var).cloned();
    Ok([Some(var.as_tensor().clone()), Some(loss), gradient])
}

fn compared(answer: &Lesson01, (logits, labels, dtype): Input, gradient: bool) -> Verdict {
    let rounded = values(&Tensor::new(&logits[..], &Device::Cpu)?.to_dtype(dtype)?)?.numbers;
    let first = &labels[..labels.len().min(12)];
    let case = given(format!(
        "logits [{}, {}] of {}: {}; labels {first:?}",
        labels.len(),
        logits.len() / labels.len(),
        dtype.as_str(),
        shown(&rounded)
    ));
    let [_, loss, slope] = run(answer.cross_entropy, &logits, &labels, dtype)?;
    let [_, exact, exact_slope] = run(answers::cross_entropy::<0>, &rounded, &labels, DType::F64)?;
    let what = if gradient {
        "gradient of the logits"
    } else {
        "loss"
    };
    let (got, expected) = if gradient {
        (slope, exact_slope)
    } else {
        (loss, exact)
    };
    let (Some(got), Some(expected)) = (got, expected) else {
        return case.require(what, false, "none: the loss does not depend on them");
    };
    let mut expected = values(&expected)?;
    expected.dtype = dtype.as_str();
    let size = if gradient {
        0.0
    } else {
        rounded.iter().fold(0.0, |m, x| x.abs().max(m))
    };
    let [got, expected] = [values(&got)?, expected].map(|values| Facts::default().values(what, values));
    // Only in the first check: each such case follows one of a single row.
    let follows = labels.len() > 1 && logits.len() < 100 && size < 4.0 && dtype == DType::F32;
    let expected = if follows && !gradient {
        expected.cause(ROWS)
    } else {
        expected
    };
    case.at_scale(size).same(got, expected)
}

fn loss(answer: &Lesson01, input: Input) -> Verdict {
    compared(answer, input, false)
}

fn gradient(answer: &Lesson01, input: Input) -> Verdict {
    compared(answer, input, true)
}

fn huge(d: &mut Draw) -> Vec<Input> {
    let mut near = |offset: f32| {
        d.list(3, -2.0, 2.0)
            .into_iter()
            .map(|x| x + offset)
            .collect::<Vec<f32>>()
    };
    vec![
        f32s(near(1000.0), &[1]),
        f32s(near(-1000.0), &[1]),
        f32s([near(1000.0), near(-1000.0)].concat(), &[1, 2]),
        f32s(vec![1000.0, 0.0, -1000.0, 0.5, 1000.0, -1000.0], &[1, 2]),
        f32s(vec![-1e6, 1e6, 0.0, 1e6, 0.0, -1e6], &[1, 2]),
    ]
}

pub const CHECKS: &[Check<Lesson01>] = rows! { "1.2";
    by loss {
        is_the_mean_over_rows: "the mean cross-entropy",
            "For each row: log-sum-exp over its classes, less the logit of its label, which is one number. The mean of these has the shape []." => |d| {
            let labels = [[2, 0, 3], [3, 1, 0], [1, 3, 2]][d.whole(0, 2)];
            let (rows, classes) = (d.whole(4, 6), d.whole(2, 3));
            let some = d.below(rows, classes);
            // More rows than a chunk of 32 or 64, which do not divide them.
            let many = d.below(67, 3);
            vec![
                f32s(d.list(6, -3.0, 3.0), &[5]),
                f32s(d.list(12, -3.0, 3.0), &labels),
                f32s(d.list(rows * classes, -3.0, 3.0), &some),
                f32s(d.list(3, -3.0, 3.0), &[0, 0, 0]),
                f32s(d.list(2 * 300, -3.0, 3.0), &[299, 256]),
                f32s(d.list(67 * 3, -3.0, 3.0), &many),
            ]
        };
        stays_exact_for_tiny_probabilities: "tiny probabilities",
            "Subtract each row's own greatest logit, and compute log p from what is left, without p: a tiny p is 0, and its log -inf." => |d| {
            let far = d.number(60.0, 80.0).round() as f32;
            vec![
                f32s(vec![far, 1.0 - far, 1.0], &[0]),
                f32s(vec![far, 1.0 - far, 1.0, 0.5, 2.0, -0.5], &[1, 0]),
                f32s(vec![2.0 * far, 0.0, 1.0, -2.0 * far, 2.0, 0.5], &[1, 0]),
            ]
        };
        stays_finite_for_huge_logits: "large logits",
            "exp overflows: subtract the greatest logit of each row first." => huge;
    }
    by gradient {
        has_the_right_gradient: "Loss and gradient are right",
            "A detached tensor, or numbers read from it, has no gradient: detach nothing, or the greatest logit in both places." => |d| {
            let mut all = vec![f32s(d.list(12, -2.0, 2.0), &[2, 0, 1, 1])];
            all.extend(huge(d));
            all
        };
    }
    by loss {
        keeps_the_dtype_of_the_logits: "in the dtype of the logits",
            "Do not convert logits of f64 to f32, and return the dtype of the logits." => |d| {
            let mut all = vec![(vec![1e40, 0.0, -1e40, 0.0, 2.5e40, 0.0], vec![1, 0], DType::F64)];
            for dtype in [DType::F64, DType::BF16, DType::F16] {
                all.push(((0..6).map(|_| d.number(-3.0, 3.0)).collect(), vec![2, 0], dtype));
            }
            // bf16 rounds 257 and 299 to even numbers. Most logits are so low that the sum has few terms.
            let mut logits = vec![-40.0; 2 * 303];
            for (row, label) in [299, 257].into_iter().enumerate() {
                for class in [0, 1, label] {
                    logits[row * 303 + class] = d.number(-3.0, 3.0);
                }
            }
            all.push((logits, vec![299, 257], DType::BF16));
            all
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson01>] = mistakes! { "1.2" cross_entropy;
    1 "The loss is summed over the rows; take their mean.";
    2 "The sign is wrong: the loss is minus the log of the probability.";
    3 "The log is left out: this is minus the probability.";
    4 "The greatest logit is subtracted in the sum, but not added to its log again (or not subtracted from the label's logit).";
    5 "The labels are not used: take −log p of the label's class alone.";
    6 "The log is taken of a probability, which is 0 in f32 if it is tiny: compute log p from the logits.";
    7 "A small number is added to the probability before the log, which changes tiny ones: compute log p from the logits.";
    8 "exp of a large logit overflows: subtract the greatest logit of each row first.";
    9 "The loss is detached from the logits, so that `backward` gives them no gradient.";
    10 "Softmax is taken twice: the logits are not probabilities yet, and log-sum-exp belongs to logits.";
};
