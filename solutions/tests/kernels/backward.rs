//! Errors, of shapes and of the backward pass.

use candle_core::{DType, Device, Result, Tensor, Var};
use canopy::kernels::{self, Clouds, Pass};

use crate::cases::*;

/// Weight, γ and β of a layer of `k` inputs and 6 outputs.
fn layer(k: usize) -> Vec<Var> {
    let ones = |shape: Vec<usize>| Var::ones(shape, DType::F32, &Device::Cpu).unwrap();
    layer_shapes(&[k, 6]).into_iter().map(ones).collect()
}

#[test]
fn shapes_that_do_not_match_are_errors() {
    let layers = layer(4);
    let norms = norms(&layers).unwrap();
    let mlp = mlp(&layers, &norms, true);
    let t = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &Device::Cpu).unwrap();
    let lengths = |lengths: &[usize]| Clouds::Lengths(lengths.into());
    for pass in [Pass::train(1, 1), Pass::eval()] {
        for x in [&[0, 4][..], &[5, 3], &[5, 0], &[5], &[2, 2, 4]] {
            assert!(kernels::shared_mlp(&t(x), &mlp, &pass).is_err(), "{x:?}");
        }
        for clouds in [
            Clouds::Equal(0),
            2.into(),
            6.into(),
            lengths(&[3, 3]),
            lengths(&[5, 0]),
            lengths(&[]),
        ] {
            let result = kernels::shared_mlp_max(&t(&[5, 4]), &mlp, clouds.clone(), &pass);
            assert!(result.is_err(), "{clouds:?}");
        }
        assert!(kernels::shared_mlp_max(&t(&[5, 4]), &mlp, lengths(&[2, 3]), &pass).is_ok());
        assert!(kernels::shared_mlp(&t(&[5, 4]), &[], &pass).is_err());
    }
    let loss = |labels: &[u32], weights: Option<Tensor>| {
        let labels = Tensor::new(labels, &Device::Cpu).unwrap();
        kernels::cross_entropy(&t(&[2, 3]), &labels, 0.0, weights.as_ref())
    };
    let transform = |x: &[usize], matrices: &[usize]| {
        let clouds = Clouds::Equal(matrices[0]);
        kernels::transform(&t(x), &t(matrices), &clouds, &Pass::eval())
    };
    let refused: [(Result<Tensor>, &str); 14] = [
        (transform(&[6, 3], &[4, 3, 3]), "transform"),
        (transform(&[6, 3], &[2, 3, 4]), "transform"),
        (transform(&[6, 3], &[0, 3, 3]), "transform"),
        (transform(&[0, 3], &[2, 3, 3]), "transform"),
        (kernels::add_identity(&t(&[2, 8]), 3), "add_identity: expected"),
        (kernels::add_identity(&t(&[2, 0]), 0), "add_identity: expected"),
        (kernels::add_identity(&t(&[9]), 3), "add_identity: expected"),
        (kernels::orthogonality(&t(&[2, 3, 4])), "orthogonality: expected"),
        (kernels::orthogonality(&t(&[0, 3, 3])), "orthogonality: expected"),
        (kernels::orthogonality(&t(&[2, 0, 0])), "orthogonality: expected"),
        (
            kernels::linear(&t(&[2, 3]), &t(&[4, 5]), &t(&[4])),
            "linear: expected",
        ),
        (loss(&[1], None), "cross_entropy: expected"),
        (loss(&[1, 2], Some(t(&[4]))), "cross_entropy: expected"),
        (kernels::weighted_sum(&[]), "weighted_sum: expected"),
    ];
    for (i, (result, by)) in refused.into_iter().enumerate() {
        let message = result.unwrap_err().to_string();
        assert!(message.starts_with(by), "{i}, {by}: {message}");
    }
}

#[test]
fn a_backward_pass_that_the_tape_does_not_have_is_an_error() {
    let pass = Pass::train(1, 1);
    let x = Tensor::from_vec(random(83, 20), (5, 4), &Device::Cpu).unwrap();
    let apply = |x: &Tensor, k| {
        let layers = layer(k);
        let norms = norms(&layers).unwrap();
        kernels::shared_mlp(x, &mlp(&layers, &norms, true), &pass).unwrap()
    };
    let loss_of = |y: &Tensor, labels: [u32; 5]| {
        let labels = Tensor::new(&labels, &Device::Cpu).unwrap();
        kernels::cross_entropy(y, &labels, 0.0, None)
    };
    let y = apply(&x, 4);
    let backward = |loss| kernels::backward(loss, &pass, &mut |_, _| Ok::<_, candle_core::Error>(()));
    assert!(backward(&y).is_err(), "not a scalar");
    let loss = loss_of(&y, [0, 1, 2, 3, 4]).unwrap();
    assert!(
        loss_of(&y, [0, 1, 2, 3, 6]).is_err(),
        "a label that is not a class"
    );
    assert!(backward(&loss).is_ok());
    assert!(backward(&loss).is_err(), "the tape is used up");

    // One of candle's operators between fused ones.
    let cut = (apply(&x, 4) * 2.0).unwrap();
    let loss = loss_of(&apply(&cut, 6), [0, 1, 2, 3, 4]).unwrap();
    let error = backward(&loss).unwrap_err().to_string();
    assert!(error.contains("[5, 6]"), "{error}");
}
