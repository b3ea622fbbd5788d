use candle_core::{DType, Device, Error, Result, Tensor, Var};
use grader::{Values, Verdict, draw, given};

use super::values;
use crate::Lesson07;

pub fn equals_the_large_batch(answer: &Lesson07) -> Verdict {
    regression(answer, &[4, 4, 4])?;
    regression(answer, &[5])
}

pub fn weights_smaller_batches_less(answer: &Lesson07) -> Verdict {
    let last = draw().whole(1, 2);
    regression(answer, &[6, 6, last])
}

/// A straight line through records in micro-batches of `sizes`: loss, gradients and mean are candle's own.
fn regression(answer: &Lesson07, sizes: &[usize]) -> Verdict {
    let mut draw = draw();
    let records: usize = sizes.iter().sum();
    let (x, y) = (
        draw.list(records * 3, -1.0, 2.0),
        draw.list(records * 2, -1.0, 3.0),
    );
    let (w, b) = (draw.list(6, -1.0, 1.0), draw.list(2, -1.0, 1.0));
    let case = given(format!(
        "the mean squared error of x·w + b over {records} records in micro-batches of {sizes:?}; w is [3, 2], b is [2]"
    ));
    let (weights, bias) = (
        Var::from_slice(&w, (3, 2), &Device::Cpu)?,
        Var::from_slice(&b, 2, &Device::Cpu)?,
    );
    let gradients = |i: usize| -> Result<Vec<Tensor>> {
        let (from, size) = (sizes[..i].iter().sum::<usize>(), sizes[i]);
        let xs = Tensor::from_slice(&x[3 * from..3 * (from + size)], (size, 3), &Device::Cpu)?;
        let ys = Tensor::from_slice(&y[2 * from..2 * (from + size)], (size, 2), &Device::Cpu)?;
        let off = (xs.matmul(weights.as_tensor())?.broadcast_add(bias.as_tensor())? - ys)?;
        let grads = off.sqr()?.sum(1)?.mean_all()?.backward()?;
        let of = |var: &Var| grads.get(var).cloned().map_or_else(|| var.zeros_like(), Ok);
        [&weights, &bias].into_iter().map(of).collect()
    };
    let counts: Vec<f64> = sizes.iter().map(|&s| s as f64).collect();
    let got = (answer.accumulated)(&counts, &mut { gradients })?;
    // 2/n·Σ x·(x·w + b − y), record by record.
    let (mut of_w, mut of_b) = (vec![0.0; 6], vec![0.0; 2]);
    for r in 0..records {
        for c in 0..2 {
            let sum: f64 = (0..3)
                .map(|k| f64::from(x[3 * r + k]) * f64::from(w[2 * k + c]))
                .sum();
            let off = sum + f64::from(b[c]) - f64::from(y[2 * r + c]);
            of_b[c] += 2.0 * off / records as f64;
            for k in 0..3 {
                of_w[2 * k + c] += 2.0 * off * f64::from(x[3 * r + k]) / records as f64;
            }
        }
    }
    let case = case.at_scale(1.0);
    case.close("number of gradients", got.len(), 2usize)?;
    case.close(
        "gradient of w",
        values(&got[0])?,
        Values::tensor(of_w, &[3, 2], "f32"),
    )?;
    case.close(
        "gradient of b",
        values(&got[1])?,
        Values::tensor(of_b, &[2], "f32"),
    )
}

pub fn accepts_fractional_and_zero_weights(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let weights = [3.5, 0.0, draw.number(0.25, 0.75), 2.5];
    let case = given(format!(
        "micro-batches of weights 3.5, 0, {:.4} and 2.5; gradients in f64 of shapes [] and [2, 1, 2]",
        weights[2]
    ));
    let lists: Vec<Vec<f64>> = (0..4)
        .map(|_| (0..5).map(|_| draw.number(-1.0, 2.0)).collect())
        .collect();
    let got = (answer.accumulated)(&weights, &mut |i| {
        let (one, four) = lists[i].split_at(1);
        let one = Tensor::from_slice(one, (), &Device::Cpu)?;
        Ok(vec![one, Tensor::from_slice(four, (2, 1, 2), &Device::Cpu)?])
    })?;
    let total: f64 = weights.iter().sum();
    let mean = |k: usize| -> f64 {
        let parts = weights.iter().zip(&lists).map(|(w, list)| w * list[k]);
        parts.sum::<f64>() / total
    };
    let case = case.at_scale(1.0);
    case.close("number of gradients", got.len(), 2usize)?;
    case.close(
        "gradient 1",
        values(&got[0])?,
        Values::tensor(vec![mean(0)], &[], "f64"),
    )?;
    let four = Values::tensor((1..5).map(mean).collect(), &[2, 1, 2], "f64");
    case.close("gradient 2", values(&got[1])?, four)
}

pub fn calls_gradients_once_for_each_in_order(answer: &Lesson07) -> Verdict {
    let count = draw().whole(3, 5);
    let mut weights = vec![1.5; count];
    // Also the one that does not count.
    weights[count - 1] = 0.0;
    let case = given(format!("{count} micro-batches of weights {weights:?}"));
    let mut asked: Vec<usize> = Vec::new();
    (answer.accumulated)(&weights, &mut |i| {
        asked.push(i);
        Ok(vec![Tensor::new(&[1.0f32, 2.0], &Device::Cpu)?])
    })?;
    let expected: Vec<usize> = (0..count).collect();
    case.close("micro-batches in order", &asked, &expected)
}

pub fn keeps_only_the_sum(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let count = draw.whole(4, 6);
    let weights: Vec<f64> = (0..count).map(|i| 4.0 + i as f64).collect();
    let lists: Vec<Vec<f32>> = (0..count).map(|_| draw.list(3, -1.0, 2.0)).collect();
    let case = given(format!(
        "{count} micro-batches of weights {weights:?}; each call writes its gradients into the memory of those before"
    ));
    let reused = Var::zeros(3, DType::F32, &Device::Cpu)?;
    let got = (answer.accumulated)(&weights, &mut |i| {
        reused.set(&Tensor::from_slice(&lists[i], 3, &Device::Cpu)?)?;
        Ok(vec![reused.as_detached_tensor()])
    })?;
    let total: f64 = weights.iter().sum();
    let mean = |k: usize| -> f64 {
        let parts = weights.iter().zip(&lists).map(|(w, list)| w * f64::from(list[k]));
        parts.sum::<f64>() / total
    };
    let case = case.at_scale(1.0);
    case.close("number of gradients", got.len(), 1usize)?;
    let expected = Values::tensor((0..3).map(mean).collect(), &[3], "f32");
    case.close("gradient", values(&got[0])?, expected)
}

pub fn returns_errors_of_gradients(answer: &Lesson07) -> Verdict {
    let bad = draw().whole(1, 2);
    let case = given(format!("6 micro-batches, the gradients of number {bad} fail"));
    let mut calls = 0usize;
    let got = (answer.accumulated)(&[3.0; 6], &mut |i| {
        calls += 1;
        if i == bad {
            return Err(Error::Msg("out of memory".into()));
        }
        Ok(vec![Tensor::new(&[1.0f32, 2.0], &Device::Cpu)?])
    });
    match got {
        Ok(_) => case.require("result, the error expected", false, "Ok")?,
        Err(e) => {
            let own = e.to_string().contains("out of memory");
            case.require(
                "result, the error \"out of memory\" expected",
                own,
                "another error",
            )?;
        }
    }
    case.close("calls of `gradients`", calls, bad + 1)
}
