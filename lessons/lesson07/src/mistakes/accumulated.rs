//! Known wrong answers to exercise 7.7.

use super::*;

pub const MISTAKES: &[Mistake<Lesson07>] = &[
    wrong!("7.7", equals_the_large_batch, "The gradients are summed; return their weighted mean.",
        accumulated: |w, f| summed(w.len(), f, |_| 1.0)),
    wrong!("7.7", equals_the_large_batch, "Each gradient is multiplied by its weight, but the sum is not divided by the sum of the weights.",
        accumulated: |w, f| summed(w.len(), f, |i| w[i])),
    wrong!("7.7", equals_the_large_batch, "Only the gradients of the last micro-batch are returned; sum all of them.",
        accumulated: |w, f| { let mut last = Vec::new(); for i in 0..w.len() { last = f(i)?; } Ok(last) }),
    wrong!("7.7", equals_the_large_batch, "Each new gradient is averaged with the sum so far, so that the first ones hardly count.",
        accumulated: |w, f| summed(w.len(), f, |i| 0.5f64.powi((w.len() - i.max(1)) as i32))),
    wrong!("7.7", weights_smaller_batches_less, "This is a plain mean: a smaller last micro-batch counts as much as a full one.",
        accumulated: |w, f| summed(w.len(), f, |_| 1.0 / w.len() as f64)),
    wrong!("7.7", weights_smaller_batches_less, "The sum is divided as if all micro-batches were full; divide by the sum of the weights.",
        accumulated: |w, f| summed(w.len(), f, |i| w[i] / (w[0] * w.len() as f64))),
    wrong!("7.7", weights_smaller_batches_less, "The micro-batch that is not full is left out.",
    accumulated: |w, f| {
        let full = w.iter().filter(|&&x| x >= w[0]).count();
        let total: f64 = w[..full].iter().sum();
        summed(full, f, |i| w[i] / total)
    }),
    wrong!("7.7", calls_gradients_once_for_each_in_order, "`gradients` is called twice for the first micro-batch.",
        accumulated: |w, f| { f(0)?; (REFERENCE.accumulated)(w, f) }),
    wrong!("7.7", calls_gradients_once_for_each_in_order, "The micro-batches are processed from the last to the first.",
    accumulated: |w, f| {
        let back: Vec<f64> = w.iter().rev().copied().collect();
        (REFERENCE.accumulated)(&back, &mut |i| f(w.len() - 1 - i))
    }),
    wrong!("7.7", returns_errors_of_gradients, "The error of `gradients` is swallowed; return it, as `?` does.",
    accumulated: |w, f| {
        let total: f64 = w.iter().sum();
        let mut sum: Vec<Tensor> = Vec::new();
        for (i, w) in w.iter().enumerate() {
            for (k, g) in f(i).unwrap_or_default().iter().enumerate() {
                let g = (g * (w / total))?;
                match sum.get_mut(k) { Some(s) => *s = (&*s + g)?, None => sum.push(g) }
            }
        }
        Ok(sum)
    }),
    wrong!("7.7", equals_the_large_batch, "The gradients are divided by the sum of the weights, but not multiplied by their own weight.",
        accumulated: |w, f| { let total: f64 = w.iter().sum(); summed(w.len(), f, |_| 1.0 / total) }),
    wrong!("7.7", accepts_fractional_and_zero_weights, "A weight is cut to a whole number; it may be a fraction.",
        accumulated: |w, f| { let total: usize = w.iter().map(|&w| w as usize).sum(); summed(w.len(), f, |i| w[i] / total as f64) }),
    wrong!("7.7", accepts_fractional_and_zero_weights, "The sum of the weights is cut to a whole number; it may be a fraction.",
        accumulated: |w, f| { let total: f64 = w.iter().sum(); summed(w.len(), f, |i| w[i] / total.floor()) }),
    wrong!("7.7", equals_the_large_batch, "The first micro-batch enters without its weight; multiply it like the others.",
    accumulated: |w, f| {
        let total: f64 = w.iter().sum();
        summed(w.len(), f, |i| if i == 0 { 1.0 } else { w[i] / total })
    }),
    wrong!("7.7", equals_the_large_batch, "The first micro-batch is missing in the sum.",
    accumulated: |w, f| {
        let total: f64 = w.iter().sum();
        summed(w.len(), f, |i| if i == 0 { 0.0 } else { w[i] / total })
    }),
    wrong!("7.7", equals_the_large_batch, "The sum is divided in every step, so that the first micro-batches are divided again and again.",
    accumulated: |w, f| {
        let sums: Vec<f64> = w.iter().scan(0.0, |sum, w| { *sum += w; Some(*sum) }).collect();
        summed(w.len(), f, |i| w[i] / sums[i..].iter().product::<f64>())
    }),
    wrong!("7.7", equals_the_large_batch, "Only the first parameter is summed; the others have the first micro-batch alone.",
    accumulated: |w, f| {
        let total: f64 = w.iter().sum();
        let mut first = Vec::new();
        let all = summed(w.len(), &mut |i| {
            let grads = f(i)?;
            if i == 0 { first = grads.clone(); }
            Ok(grads)
        }, |i| w[i] / total)?;
        all.into_iter().zip(first).enumerate().map(|(k, (all, first))| if k == 0 { Ok(all) } else { first * (w[0] / total) }).collect()
    }),
    wrong!("7.7", accepts_fractional_and_zero_weights, "The weights are rounded to whole numbers; they may be fractions.",
    accumulated: |w, f| {
        let total: f64 = w.iter().map(|w| w.trunc()).sum();
        summed(w.len(), f, |i| w[i].trunc() / total)
    }),
    wrong!("7.7", accepts_fractional_and_zero_weights, "The result is in f32; it should have the dtypes of the gradients.",
    accumulated: |w, f| {
        let sum = (REFERENCE.accumulated)(w, f)?;
        sum.iter().map(|t| t.to_dtype(candle_core::DType::F32)).collect()
    }),
    wrong!("7.7", calls_gradients_once_for_each_in_order, "A micro-batch of weight 0 is left out; call `gradients` for each.",
    accumulated: |w, f| {
        let total: f64 = w.iter().sum();
        let some: Vec<usize> = (0..w.len()).filter(|&i| w[i] > 0.0).collect();
        summed(some.len(), &mut |i| f(some[i]), |i| w[some[i]] / total)
    }),
    wrong!("7.7", keeps_only_the_sum, "The gradients of all micro-batches are kept in a list; add each to the sum at once.",
    accumulated: |w, f| {
        let all = (0..w.len()).map(f).collect::<Result<Vec<_>>>()?;
        (REFERENCE.accumulated)(w, &mut |i| Ok(all[i].clone()))
    }),
    wrong!("7.7", returns_errors_of_gradients, "`unwrap` panics when a micro-batch fails; return the error, as `?` does.",
        accumulated: |w, f| (REFERENCE.accumulated)(w, &mut |i| Ok(f(i).unwrap()))),
    wrong!("7.7", returns_errors_of_gradients, "`gradients` is called again after it failed; return its error at once.",
        accumulated: |w, f| (REFERENCE.accumulated)(w, &mut |i| f(i).or_else(|_| f(i)))),
    wrong!("7.7", returns_errors_of_gradients, "`gradients` is called for the other micro-batches after it failed; return its error at once.",
    accumulated: |w, f| {
        let all: Vec<Result<Vec<Tensor>>> = (0..w.len()).map(f).collect();
        let mut all = all.into_iter();
        (REFERENCE.accumulated)(w, &mut |_| all.next().unwrap_or(Ok(Vec::new())))
    }),
    wrong!("7.7", returns_errors_of_gradients, "Another error is returned; return the one of `gradients`.",
        accumulated: |w, f| (REFERENCE.accumulated)(w, &mut |i| f(i).map_err(|_| candle_core::Error::Msg("failed".into())))),
    wrong!("7.7", weights_smaller_batches_less, "Each micro-batch gets the weight of the first; multiply it by its own.",
        accumulated: |w, f| { let total: f64 = w.iter().sum(); summed(w.len(), f, |_| w[0] / total) }),
    wrong!("7.7", accepts_fractional_and_zero_weights, "The sum is divided as if all micro-batches were full, or all but the last; divide by the sum of the weights.",
    accumulated: |w, f| {
        let total = w[0] * (w.len() - 1) as f64 + w[w.len() - 1];
        summed(w.len(), f, |i| w[i] / total)
    }),
    wrong!("7.7", equals_the_large_batch, "The weighted sum is divided by the number of micro-batches; divide it by the sum of the weights.",
        accumulated: |w, f| summed(w.len(), f, |i| w[i] / w.len() as f64)),
    wrong!("7.7", equals_the_large_batch, "Each weight is divided by the sum of the weights so far; divide it by the sum of all.",
    accumulated: |w, f| {
        let sums: Vec<f64> = w.iter().scan(0.0, |sum, w| { *sum += w; Some(*sum) }).collect();
        summed(w.len(), f, |i| w[i] / sums[i])
    }),
    wrong!("7.7", keeps_only_the_sum, "The first gradients are kept as they are, and a later call writes into their memory: start with a product or a copy.",
    accumulated: |w, f| {
        let (mut mean, mut total) = (f(0)?, w[0]);
        for i in 1..w.len() {
            total += w[i];
            for (m, g) in mean.iter_mut().zip(f(i)?) { *m = (&*m + ((g - &*m)? * (w[i] / total))?)?; }
        }
        Ok(mean)
    }),
];
