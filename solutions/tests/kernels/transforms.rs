//! A network of every operator: clouds of different lengths, padded to the longest, a T-Net with dropout, and a maximum.

use candle_core::{DType, Device, Result, Tensor};
use canopy::kernels::{self, Pass};

use crate::common::*;

/// Loss, logits, the gradients of the padded points and of every parameter, and the running statistics, over clouds of
/// `lengths`. Padding is NaN.
fn network(k: usize, lengths: &[usize], dtype: DType) -> Result<Outcome> {
    let (clouds, longest) = (lengths.len(), lengths.iter().max().unwrap() + 2);
    let real = |i: usize| i % longest >= 1 && i % longest < 1 + lengths[i / longest];
    let mask: Vec<f32> = (0..clouds * longest).map(|i| f32::from(real(i))).collect();
    let mask = Tensor::from_vec(mask, (clouds, longest), &Device::Cpu)?;
    let shape = [clouds, longest, k];
    let values = flat(&random(61, &shape)).into_iter().enumerate();
    let values: Vec<f64> = values
        .map(|(i, v)| if real(i / k) { v } else { f64::NAN })
        .collect();
    let x = var(&Tensor::from_vec(values, &shape[..], &Device::Cpu)?, dtype);
    let pass = Pass::train(5, 9).plain(dtype == DType::F64);
    let values = [
        layer(62, k, k, true),
        layer(65, k, 40, true),
        layer(68, 40, 24, true),
        layer(73, k, 19, true),
        layer(76, 19, 70, false),
    ];
    let layers = build(&values, dtype);
    let mlp = as_mlp(&layers);
    let w = var(&random(71, &[k * k, 24]), dtype);
    let b = var(&random(72, &[k * k]), dtype);

    let (rows, of_rows) = kernels::without_padding(&x, &mask, &pass)?;
    assert_eq!(rows.dim(0)?, lengths.iter().sum::<usize>());
    let y = kernels::shared_mlp(&rows, &mlp[..1], &pass)?;
    let pooled = kernels::shared_mlp_max(&y, &mlp[1..2], of_rows.clone(), &pass)?;
    let hidden = kernels::shared_mlp(&pooled, &mlp[2..3], &pass)?;
    let hidden = kernels::dropout(&hidden, 0.3, 2, &pass)?;
    let t = kernels::add_identity(&kernels::linear(&hidden, &w, &b)?, k)?;
    let z = kernels::transform(&y, &t, &of_rows, &pass)?;
    let logits = kernels::shared_mlp_max(&z, &mlp[3..], of_rows, &pass)?;
    let labels: Vec<u32> = (0..clouds as u32).collect();
    let loss = kernels::cross_entropy(&logits, &Tensor::new(labels, &Device::Cpu)?, 0.1, None)?;
    let loss = kernels::weighted_sum(&[(&loss, 1.0), (&kernels::orthogonality(&t)?, 0.001)])?;
    let vars = [("x", &x), ("w", &w), ("b", &b)].map(|(name, v)| (name.to_owned(), v));
    let mut all = gradients(&loss, &pass, vars.into_iter().chain(params(&layers)))?;
    for (i, g) in all[0].1.iter().enumerate() {
        assert!(real(i / k) || *g == 0.0, "gradient {g} of padding at {i}");
    }
    all.push(("loss".to_owned(), flat(&loss)));
    all.push(("logits".to_owned(), flat(&logits)));
    all.extend(running(&layers));
    Ok(all)
}

#[test]
fn every_operator_matches_plain_and_padding_is_in_no_statistic_no_maximum_and_no_gradient() {
    for (k, lengths, bound) in [
        (3, &[300; 3][..], 3e-4),
        (16, &[200; 3], 3e-4),
        (7, &[301; 3], 3e-4),
        (5, &[300, 1, 270, 9], 2e-4),
        (16, &[40, 12, 33], 2e-4),
        (5, &[6; 3], 2e-4),
    ] {
        let [mut fused, mut plain] =
            [DType::F32, DType::F64].map(|dtype| network(k, lengths, dtype).unwrap());
        // β of a channel whose maxima are all positive shifts every cloud alike, which the next batch norm takes back. Its
        // gradient is 0, apart from rounding, so the bound is absolute.
        let [f, p] = [&mut fused, &mut plain].map(|all| {
            let at = all.iter().position(|(name, _)| name == "beta1").unwrap();
            all.remove(at).1
        });
        let most = p.iter().fold(1.0_f64, |most, v| most.max(v.abs()));
        for (f, p) in f.iter().zip(&p) {
            assert!(
                (f - p).abs() < bound * most,
                "beta1, {lengths:?}: {f} instead of {p}"
            );
        }
        assert_close(&format!("k {k}, {lengths:?}"), &fused, &plain, bound);
    }
}
