use candle_core::{Device, Result, Tensor, Var, bail};
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

pub fn calls_gradients_once_for_each_in_order(answer: &Lesson07) -> Verdict {
    let count = draw().whole(3, 5);
    let case = given(format!("{count} micro-batches of weight 1.5"));
    let mut asked: Vec<usize> = Vec::new();
    (answer.accumulated)(&vec![1.5; count], &mut |i| {
        asked.push(i);
        Ok(vec![Tensor::new(&[1.0f32, 2.0], &Device::Cpu)?])
    })?;
    let expected: Vec<usize> = (0..count).collect();
    case.close("micro-batches in order", &asked, &expected)
}

pub fn returns_errors_of_gradients(answer: &Lesson07) -> Verdict {
    let bad = draw().whole(0, 3);
    let case = given(format!("4 micro-batches, the gradients of number {bad} fail"));
    let got = (answer.accumulated)(&[3.0; 4], &mut |i| {
        if i == bad {
            bail!("out of memory");
        }
        Ok(vec![Tensor::new(&[1.0f32, 2.0], &Device::Cpu)?])
    });
    case.require("result", got.is_err(), "Ok")
}
