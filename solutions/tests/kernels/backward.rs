//! Errors, and the two backward passes.

use candle_core::{DType, Device, Tensor, Var};
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
            assert!(
                kernels::linear_bn(&t(x), &layers[0].w, &layers[0].bn, true, &pass).is_err(),
                "{x:?}"
            );
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
    let y = kernels::shared_mlp(
        &random(83, &[5, 4]).to_dtype(DType::F32).unwrap(),
        &as_mlp(&layers),
        &pass,
    )
    .unwrap();
    assert!(kernels::backward(&y, &pass).is_err(), "not a scalar");
    let labels = Tensor::new(&[0u32, 1, 2, 3, 4], &Device::Cpu).unwrap();
    let loss = kernels::cross_entropy(&y, &labels, 0.0, None).unwrap();
    assert!(
        kernels::cross_entropy(
            &y,
            &Tensor::new(&[0u32, 1, 2, 3, 6], &Device::Cpu).unwrap(),
            0.0,
            None
        )
        .is_err()
    );
    assert!(kernels::backward(&loss, &pass).is_ok());
    assert!(kernels::backward(&loss, &pass).is_err(), "the tape is used up");
}

#[test]
fn on_candles_graph_the_gradients_are_the_same() {
    let x = random(90, &[700, 6]).to_dtype(DType::F32).unwrap();
    let values = [layer(91, 6, 20, true), layer(94, 20, 33, true)];
    let run = |graph: bool, rows: usize| {
        let x = Var::from_tensor(&x.narrow(0, 0, rows).unwrap().contiguous().unwrap()).unwrap();
        let layers = build(&values, DType::F32);
        let pass = if graph {
            Pass::train(3, 4).on_candle_graph()
        } else {
            Pass::train(3, 4)
        };
        let y = kernels::linear_bn(&x, &layers[0].w, &layers[0].bn, true, &pass).unwrap();
        // candle's own operator in between, which the tape cannot follow.
        let y = if graph { (y * 1.0).unwrap() } else { y };
        let y = kernels::dropout(&y, 0.3, 1, &pass).unwrap();
        let y = kernels::shared_mlp_max(&y, &as_mlp(&layers)[1..], 10, &pass).unwrap();
        let labels = Tensor::from_vec((0..10u32).collect::<Vec<_>>(), 10, &Device::Cpu).unwrap();
        let loss = kernels::cross_entropy(&y, &labels, 0.0, None).unwrap();
        let grads = kernels::backward(&loss, &pass).unwrap();
        let mut all = flat(grads.get(&x).unwrap());
        for l in &layers {
            for v in [&l.w, &l.bn.gamma, &l.bn.beta] {
                assert_eq!(grads.get(v).unwrap().dims(), v.dims());
                all.extend(flat(grads.get(v).unwrap()));
            }
        }
        all
    };
    for rows in [700, 40] {
        for (a, b) in run(false, rows).iter().zip(&run(true, rows)) {
            assert!((a - b).abs() < 1e-5, "{a} by the tape, {b} by candle");
        }
    }
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
