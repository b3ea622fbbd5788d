//! Clouds of different lengths in one batch: padding changes neither result nor gradient of a PointNet.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod tiny_models;

use candle_core::{DType, Device, Tensor};
use canopy::kernels::{Pass, cross_entropy};
use canopy::loader::collate_ragged;
use canopy::model::{Kind, PointNet};
use tiny_models::{KINDS, config, flat, pass, points, shaken, tensor};

fn clouds(lengths: &[usize]) -> Vec<Vec<[f32; 3]>> {
    let of = |(i, &n): (usize, &usize)| points(1, n, 40 + i as u64).as_chunks::<3>().0.to_vec();
    lengths.iter().enumerate().map(of).collect()
}

/// Loss, gradients and running statistics of a training pass over a batch with its mask.
fn step(model: &PointNet, points: &Tensor, mask: &Tensor) -> (f32, Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let pass = Pass::train(3, 0).plain(true);
    let logits = model.forward_masked(points, mask, &pass).unwrap().logits;
    let labels: Vec<u32> = (0..mask.dim(0).unwrap() as u32).map(|i| i % 5).collect();
    let loss = cross_entropy(&logits, &Tensor::new(labels, &Device::Cpu).unwrap(), 0.1, None).unwrap();
    let grads = model.gradients(&loss, &pass).unwrap();
    let buffers = model.buffers().iter().map(|(_, b)| flat(b)).collect();
    (
        loss.to_scalar().unwrap(),
        grads.iter().map(flat).collect(),
        buffers,
    )
}

fn longer(points: &Tensor, mask: &Tensor, more: usize, padding: f32) -> (Tensor, Tensor) {
    let clouds = mask.dim(0).unwrap();
    let hole = (1.0 - mask).unwrap().unsqueeze(2).unwrap();
    let points = points
        .broadcast_add(&(hole * f64::from(padding)).unwrap())
        .unwrap();
    let pad = Tensor::full(padding, (clouds, more, 3), &Device::Cpu).unwrap();
    let none = Tensor::zeros((clouds, more), mask.dtype(), &Device::Cpu).unwrap();
    (
        Tensor::cat(&[&points, &pad], 1).unwrap(),
        Tensor::cat(&[mask, &none], 1).unwrap(),
    )
}

fn near(a: &[f32], b: &[f32], what: &str) {
    let size = a.iter().fold(1e-3f32, |m, x| m.max(x.abs()));
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= 2e-5 * size, "{what}: {x} became {y}");
    }
}

#[test]
fn more_padding_and_other_padding_change_nothing() {
    let (points, mask) = collate_ragged(&clouds(&[7, 31, 12, 20]), &Device::Cpu).unwrap();
    for kind in KINDS {
        let (loss, grads, buffers) = step(&shaken(kind, 5), &points, &mask);
        for (more, padding) in [(1, 0.0), (13, -55.0)] {
            let (points, mask) = longer(&points, &mask, more, padding);
            let again = step(&shaken(kind, 5), &points, &mask);
            near(&[loss], &[again.0], "the loss");
            grads
                .iter()
                .zip(&again.1)
                .for_each(|(a, b)| near(a, b, "a gradient"));
            buffers
                .iter()
                .zip(&again.2)
                .for_each(|(a, b)| near(a, b, "a statistic"));
        }
    }
}

/// The same weights in f64: there two ways of summing agree to many places, whatever batch norm makes of rounding.
fn exact(kind: Kind) -> PointNet {
    let model = PointNet::new(&config(kind), &Device::Cpu, DType::F64, 5).unwrap();
    for ((_, var), (_, from)) in model.params().iter().zip(shaken(kind, 5).params()) {
        var.set(&from.to_dtype(DType::F64).unwrap()).unwrap();
    }
    model
}

#[test]
fn without_padding_it_is_the_same_network() {
    let input = tensor(&points(4, 17, 9), 4).to_dtype(DType::F64).unwrap();
    let mask = Tensor::ones((4, 17), DType::F32, &Device::Cpu).unwrap();
    let list = |t: &Tensor| t.flatten_all().unwrap().to_vec1::<f64>().unwrap();
    for kind in KINDS {
        for train in [true, false] {
            let (model, other) = (exact(kind), exact(kind));
            let pass = pass(train, true);
            let logits = list(&model.forward(&input, &pass).unwrap().logits);
            let masked = other.forward_masked(&input, &mask, &pass).unwrap();
            for (x, y) in logits.iter().zip(list(&masked.logits)) {
                assert!((x - y).abs() < 1e-9, "{kind:?}, training {train}: {x} became {y}");
            }
            for ((name, x), (_, y)) in model.buffers().iter().zip(other.buffers()) {
                let pairs = list(x).into_iter().zip(list(&y));
                pairs.for_each(|(x, y)| assert!((x - y).abs() < 1e-9, "{name}: {x} became {y}"));
            }
        }
    }
}

#[test]
fn in_evaluation_a_cloud_says_the_same_alone_and_among_longer_ones() {
    let clouds = clouds(&[9, 40]);
    for kind in KINDS {
        let model = shaken(kind, 6);
        let of = |clouds: &[Vec<[f32; 3]>]| {
            let (points, mask) = collate_ragged(clouds, &Device::Cpu).unwrap();
            model
                .forward_masked(&points, &mask, &Pass::eval())
                .unwrap()
                .logits
        };
        near(
            &flat(&of(&clouds[..1])),
            &flat(&of(&clouds).get(0).unwrap()),
            "a logit",
        );
    }
}

#[test]
fn a_mask_that_does_not_fit_is_refused() {
    let model = shaken(KINDS[0], 6);
    let (points, mask) = collate_ragged(&clouds(&[9, 40]), &Device::Cpu).unwrap();
    let e = model.forward_masked(&points, &mask.narrow(1, 0, 30).unwrap(), &Pass::eval());
    assert!(e.unwrap_err().to_string().contains("[2, 30, 3]"));
}
