//! Clouds of different lengths in one batch: padding changes neither the result nor a gradient of a PointNet. The tests of
//! kernels compare a network with padding with the plain one in f64.

use crate::tiny_models::{KINDS, flat, pass, points, shaken};
use candle_core::{DType, Device, Tensor};
use canopy::kernels::{Pass, cross_entropy};
use canopy::loader::collate_ragged;
use canopy::model::PointNet;

use crate::{assert_contains, values};

fn clouds(lengths: &[usize]) -> (Tensor, Tensor) {
    let of = |(i, &n): (usize, &usize)| points(1, n, 40 + i as u64).as_chunks::<3>().0.to_vec();
    let clouds: Vec<_> = lengths.iter().enumerate().map(of).collect();
    collate_ragged(&clouds, &Device::Cpu).unwrap()
}

/// Logits, loss, gradients and running statistics of a training pass over a batch, with its mask if there is one.
fn step(model: &PointNet, points: &Tensor, mask: Option<&Tensor>, plain: bool) -> Vec<Vec<f64>> {
    let pass = pass(true, plain);
    let points = &points.to_dtype(model.dtype()).unwrap();
    let output = match mask {
        Some(mask) => model.forward_masked(points, mask, &pass),
        None => model.forward(points, &pass),
    };
    let logits = output.unwrap().logits;
    let labels: Vec<u32> = (0..points.dim(0).unwrap() as u32).map(|i| i % 5).collect();
    let loss = cross_entropy(&logits, &Tensor::new(labels, &Device::Cpu).unwrap(), 0.1, None).unwrap();
    let mut all = vec![values(&logits), values(&loss)];
    all.extend(model.gradients(&loss, &pass).unwrap().iter().map(values));
    all.extend(model.buffers().iter().map(|(_, b)| values(b)));
    all
}

#[test]
fn padding_changes_nothing() {
    let (points, mask) = clouds(&[7, 31, 12, 20]);
    let pad = Tensor::full(f32::NAN, (4, 13, 3), &Device::Cpu).unwrap();
    let none = Tensor::zeros((4, 13), DType::F32, &Device::Cpu).unwrap();
    // Also in front, so that a mask need not begin with the real points.
    let longer = Tensor::cat(&[&pad, &points, &pad], 1).unwrap();
    let longer_mask = Tensor::cat(&[&none, &mask, &none], 1).unwrap();
    let (equal, full_mask) = clouds(&[17; 4]);
    for (kind, plain) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let step = |points, mask| step(&shaken(kind, 5), points, mask, plain);
        let as_it_is = step(&points, Some(&mask));
        let padded = step(&longer, Some(&longer_mask));
        assert!(as_it_is == padded, "{kind:?}, plain {plain}");
        // Without padding it is the same network as without a mask.
        let (masked, unmasked) = (step(&equal, Some(&full_mask)), step(&equal, None));
        assert!(masked == unmasked, "{kind:?}, plain {plain}");
    }
}

#[test]
fn in_evaluation_a_cloud_gives_the_same_logits_alone_and_among_longer_ones() {
    let (both, both_mask) = clouds(&[9, 40]);
    let (alone, mask) = clouds(&[9]);
    for kind in KINDS {
        for plain in [false, true] {
            let model = shaken(kind, 6);
            let of = |points: &Tensor, mask: &Tensor| {
                let pass = pass(false, plain);
                flat(&model.forward_masked(points, mask, &pass).unwrap().logits)
            };
            for (a, b) in of(&alone, &mask).iter().zip(of(&both, &both_mask)) {
                assert!((a - b).abs() < 1e-5, "{kind:?}, plain {plain}: {a} became {b}");
            }
        }
    }
}

#[test]
fn a_mask_of_another_shape_or_without_a_real_point_is_refused() {
    let model = shaken(KINDS[0], 6);
    let (points, mask) = clouds(&[9, 40]);
    let refused = |mask: &Tensor| {
        let e = model.forward_masked(&points, mask, &Pass::eval());
        e.unwrap_err().to_string()
    };
    let e = refused(&mask.narrow(1, 0, 30).unwrap());
    assert_contains(&e, &["[2, 40, 3]", "[2, 30]"]);
    let e = refused(&mask.zeros_like().unwrap());
    assert_contains(&e, &["cloud 0"]);
}
