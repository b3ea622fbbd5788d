//! The T-Nets' operators: transform, identity, orthogonality; and dropout.

use candle_core::{DType, Device, Result, Tensor};
use canopy::kernels::{self, Pass};

use crate::common::*;

/// Loss, logits and gradients of the T-Nets' operators, dropout and two uses of one tensor.
fn transformed(dtype: DType, k: usize, points: usize) -> Result<Outcome> {
    let clouds = 3;
    let pass = Pass::train(5, 9).plain(dtype == DType::F64);
    let x = var(&random(61, &[clouds * points, k]), dtype);
    let first = build(&[layer(62, k, k, true)], dtype);
    let deep = build(&[layer(65, k, 40, true)], dtype);
    let head = build(&[layer(68, 40, 24, true)], dtype);
    let w = var(&random(71, &[k * k, 24]), dtype);
    let b = var(&random(72, &[k * k]), dtype);
    let y = kernels::shared_mlp(&x, &as_mlp(&first), &pass)?;
    let pooled = kernels::shared_mlp_max(&y, &as_mlp(&deep), clouds, &pass)?;
    let hidden = kernels::shared_mlp(&pooled, &as_mlp(&head), &pass)?;
    let hidden = kernels::dropout(&hidden, 0.3, 2, &pass)?;
    let t = kernels::add_identity(&kernels::linear(&hidden, &w, &b)?, k)?;
    let z = kernels::transform(&y, &t, clouds)?;
    let last = build(&[layer(73, k, 5, false)], dtype);
    let logits = kernels::shared_mlp_max(&z, &as_mlp(&last), clouds, &pass)?;
    let labels = Tensor::new(&[1u32, 4, 0], &Device::Cpu)?;
    let loss = kernels::cross_entropy(&logits, &labels, 0.0, None)?;
    let loss = kernels::weighted_sum(&[(&loss, 1.0), (&kernels::orthogonality(&t)?, 0.001)])?;
    let mut out = vec![
        ("loss".to_owned(), flat(&loss)),
        ("logits".to_owned(), flat(&logits)),
    ];
    let vars = [
        ("x", &x),
        ("w", &w),
        ("b", &b),
        ("first", &first[0].w),
        ("deep", &deep[0].w),
        ("head", &head[0].w),
        ("last", &last[0].w),
    ];
    out.extend(gradients(
        &loss,
        &pass,
        vars.map(|(name, v)| (name.to_owned(), v)),
    )?);
    Ok(out)
}

#[test]
fn transforms_and_their_penalty_match_plain() {
    for (k, points) in [(3, 300), (16, 200), (7, 301)] {
        let [fused, plain] = [DType::F32, DType::F64].map(|dtype| transformed(dtype, k, points).unwrap());
        assert_close(&format!("k {k}"), &fused, &plain, 3e-4);
    }
}
