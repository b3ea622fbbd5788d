//! Clouds of different lengths, padded to the longest.

use candle_core::{DType, Device, Result, Tensor};
use canopy::kernels;

use crate::common::*;

/// Loss, the gradients of the padded points and of every parameter, and the running statistics of layers with a ReLU,
/// a transform and a maximum over clouds of `lengths`. Padding is NaN.
fn padded(lengths: &[usize], dtype: DType) -> Result<Outcome> {
    let (clouds, longest, k) = (lengths.len(), lengths.iter().max().unwrap() + 2, 5);
    let real = |i: usize| i % longest >= 1 && i % longest < 1 + lengths[i / longest];
    let mask: Vec<f32> = (0..clouds * longest).map(|i| f32::from(real(i))).collect();
    let values = flat(&random(3, &[clouds, longest, k]));
    let value = |(i, v): (usize, &f64)| if real(i / k) { *v } else { f64::NAN };
    let values: Vec<f64> = values.iter().enumerate().map(value).collect();
    let x = var(
        &Tensor::from_vec(values, (clouds, longest, k), &Device::Cpu)?,
        dtype,
    );
    let mask = Tensor::from_vec(mask, (clouds, longest), &Device::Cpu)?;
    let pass = pass(true, dtype);
    let layers = build(&stack(11, &[k, 19, 7, 70], |i| i != 1), dtype);
    let t = var(&random(20, &[clouds, 7, 7]), dtype);

    let (rows, of_rows) = kernels::without_padding(&x, &mask, &pass)?;
    assert_eq!(rows.dim(0)?, lengths.iter().sum::<usize>());
    let y = kernels::shared_mlp(&rows, &as_mlp(&layers)[..2], &pass)?;
    let y = kernels::transform(&y, &t, of_rows.clone())?;
    let y = kernels::shared_mlp_max(&y, &as_mlp(&layers)[2..], of_rows, &pass)?;
    let labels: Vec<u32> = (0..clouds as u32).collect();
    let loss = kernels::cross_entropy(&y, &Tensor::new(labels, &Device::Cpu)?, 0.1, None)?;
    let vars = [("x".to_owned(), &x), ("t".to_owned(), &t)];
    let mut all = gradients(&loss, &pass, vars.into_iter().chain(params(&layers)))?;
    for (i, g) in all[0].1.iter().enumerate() {
        assert!(real(i / k) || *g == 0.0, "gradient {g} of padding at {i}");
    }
    all.push(("loss".to_owned(), flat(&loss)));
    all.extend(running(&layers));
    Ok(all)
}

#[test]
fn padding_is_in_no_statistic_no_maximum_and_no_gradient() {
    for lengths in [&[300, 1, 270, 9][..], &[40, 12], &[6, 6, 6]] {
        let [fused, plain] = [DType::F32, DType::F64].map(|dtype| padded(lengths, dtype).unwrap());
        assert_close(&format!("{lengths:?}"), &fused, &plain, 2e-4);
    }
}
