//! Errors, of shapes and of the backward pass.

use candle_core::{DType, Device, Tensor};
use canopy::kernels::{self, Pass};

use crate::common::*;

#[test]
fn shapes_that_do_not_match_are_errors() {
    let layers = build(&[layer(81, 4, 6, true)], DType::F32);
    let mlp = as_mlp(&layers);
    let t = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &Device::Cpu).unwrap();
    for pass in [Pass::train(1, 1), Pass::eval()] {
        for x in [&[0, 4][..], &[5, 3], &[5, 0], &[5], &[2, 2, 4]] {
            assert!(kernels::shared_mlp(&t(x), &mlp, &pass).is_err(), "{x:?}");
        }
        for clouds in [0, 2, 6] {
            assert!(kernels::shared_mlp_max(&t(&[5, 4]), &mlp, clouds, &pass).is_err());
        }
        assert!(kernels::shared_mlp(&t(&[5, 4]), &[], &pass).is_err());
    }
    let refused = |what: candle_core::Result<Tensor>, by: &str| {
        let said = what.unwrap_err().to_string();
        assert!(said.starts_with(by), "{by}: {said}");
    };
    for (x, matrices) in [
        ([6, 3], [4, 3, 3]),
        ([6, 3], [2, 3, 4]),
        ([6, 3], [0, 3, 3]),
        ([0, 3], [2, 3, 3]),
    ] {
        refused(
            kernels::transform(&t(&x), &t(&matrices), matrices[0]),
            "transform",
        );
    }
    for (x, k) in [(&[2, 8][..], 3), (&[2, 0], 0), (&[9], 3)] {
        refused(kernels::add_identity(&t(x), k), "add_identity: expected");
    }
    for matrices in [[2, 3, 4], [0, 3, 3], [2, 0, 0]] {
        refused(kernels::orthogonality(&t(&matrices)), "orthogonality: expected");
    }
    assert!(kernels::linear(&t(&[2, 3]), &t(&[4, 5]), &t(&[4])).is_err());
    for (labels, weights) in [(vec![1u32], None), (vec![1, 2], Some(t(&[4])))] {
        let labels = Tensor::new(labels, &Device::Cpu).unwrap();
        let logits = t(&[2, 3]);
        refused(
            kernels::cross_entropy(&logits, &labels, 0.0, weights.as_ref()),
            "cross_entropy: expected",
        );
    }
    assert!(kernels::weighted_sum(&[]).is_err());
}

#[test]
fn a_backward_pass_without_its_tape_is_an_error() {
    let layers = build(&[layer(82, 4, 6, true)], DType::F32);
    let pass = Pass::train(1, 1);
    let x = random(83, &[5, 4]).to_dtype(DType::F32).unwrap();
    let y = kernels::shared_mlp(&x, &as_mlp(&layers), &pass).unwrap();
    assert!(kernels::backward(&y, &pass).is_err(), "not a scalar");
    let loss_of = |labels: [u32; 5]| {
        kernels::cross_entropy(&y, &Tensor::new(&labels, &Device::Cpu).unwrap(), 0.0, None)
    };
    let loss = loss_of([0, 1, 2, 3, 4]).unwrap();
    assert!(loss_of([0, 1, 2, 3, 6]).is_err(), "a label that is not a class");
    assert!(kernels::backward(&loss, &pass).is_ok());
    assert!(kernels::backward(&loss, &pass).is_err(), "the tape is used up");
}

#[test]
fn an_operator_of_candles_between_fused_ones_is_an_error() {
    let layers = build(&[layer(82, 4, 6, true)], DType::F32);
    let pass = Pass::train(1, 1);
    let x = random(83, &[5, 4]).to_dtype(DType::F32).unwrap();
    let y = kernels::shared_mlp(&x, &as_mlp(&layers), &pass).unwrap();
    let cut = (y * 2.0).unwrap();
    let again = build(&[layer(85, 6, 5, true)], DType::F32);
    let z = kernels::shared_mlp(&cut, &as_mlp(&again), &pass).unwrap();
    let labels = Tensor::new(&[0u32, 1, 2, 3, 4], &Device::Cpu).unwrap();
    let loss = kernels::cross_entropy(&z, &labels, 0.0, None).unwrap();
    let error = kernels::backward(&loss, &pass).unwrap_err().to_string();
    assert!(error.contains("[5, 6]"), "{error}");
}
