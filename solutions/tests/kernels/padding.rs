//! Clouds of different lengths, padded to the longest.

use candle_core::{DType, Device, Result, Tensor};
use canopy::kernels::{self, Pass};

use crate::common::*;

/// Loss, the gradients of the padded points and of every parameter, and the running statistics of layers with a ReLU,
/// a transform and a maximum over clouds of `lengths`. Padding is NaN.
fn padded(lengths: &[usize], dtype: DType) -> Result<Vec<(String, Vec<f64>)>> {
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
    let pass = Pass::train(1, 0).plain(dtype == DType::F64);
    let layers = build(
        &[
            layer(11, k, 19, true),
            layer(14, 19, 7, false),
            layer(17, 7, 70, true),
        ],
        dtype,
    );
    let t = var(&random(20, &[clouds, 7, 7]), dtype);

    let (rows, of_rows) = kernels::without_padding(&x, &mask, &pass)?;
    assert_eq!(rows.dim(0)?, lengths.iter().sum::<usize>());
    let y = kernels::shared_mlp(&rows, &as_mlp(&layers)[..2], &pass)?;
    let y = kernels::transform(&y, &t, of_rows.clone())?;
    let y = kernels::shared_mlp_max(&y, &as_mlp(&layers)[2..], of_rows, &pass)?;
    let labels: Vec<u32> = (0..clouds as u32).collect();
    let loss = kernels::cross_entropy(&y, &Tensor::new(labels, &Device::Cpu)?, 0.1, None)?;
    let grads = kernels::backward(&loss, &pass)?;

    let dx = flat(grads.get(&x).unwrap());
    for (i, g) in dx.iter().enumerate() {
        assert!(real(i / k) || *g == 0.0, "gradient {g} of padding at {i}");
    }
    let mut all = vec![("loss".to_owned(), flat(&loss)), ("x".to_owned(), dx)];
    all.push(("t".to_owned(), flat(grads.get(&t).unwrap())));
    for (i, l) in layers.iter().enumerate() {
        for (name, v) in [("w", &l.w), ("gamma", &l.bn.gamma), ("beta", &l.bn.beta)] {
            all.push((format!("{name}{i}"), flat(grads.get(v).unwrap())));
        }
        all.push((format!("running mean {i}"), flat(&l.bn.mean)));
        all.push((format!("running var {i}"), flat(&l.bn.var)));
    }
    Ok(all)
}

#[test]
fn padding_is_in_no_statistic_no_maximum_and_no_gradient() {
    for lengths in [&[300, 1, 270, 9][..], &[40, 12], &[6, 6, 6]] {
        let [fused, plain] = [DType::F32, DType::F64].map(|dtype| padded(lengths, dtype).unwrap());
        assert_close(&format!("{lengths:?}"), &fused, &plain, 2e-4);
    }
}
