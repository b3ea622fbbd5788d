//! Optimizer steps over many tensors: what `library` does not test, which compares every optimizer with PyTorch.

use candle_core::{Device, Tensor, Var};
use canopy::kernels::multi_tensor::{AdamStep, SgdStep, adam, global_norm, scaled, sgd};

use crate::cases::{flat, random};

/// Three tensors, two longer than a piece of work.
fn tensors(seed: u64) -> Vec<Tensor> {
    let tensor = |(seed, n)| Tensor::new(random(seed, n), &Device::Cpu).unwrap();
    (seed..).zip([40_000, 15, 70_001]).map(tensor).collect()
}

const SGD: SgdStep = SgdStep {
    lr: 0.5,
    momentum: 0.9,
    weight_decay: 0.0,
    nesterov: false,
};

const ADAM: AdamStep = AdamStep {
    lr: 0.01,
    beta1: 0.9,
    beta2: 0.99,
    eps: 1e-6,
    weight_decay: 0.1,
    decoupled: false,
    step: 3,
};

#[test]
fn norms_and_factors_are_those_of_all_tensors_and_lists_must_match() {
    let grads = tensors(200);
    let g: Vec<&Tensor> = grads.iter().collect();
    let norm = grads.iter().flat_map(flat).map(|v| v * v).sum::<f64>().sqrt();
    assert!((global_norm(&g).unwrap() - norm).abs() < 1e-9 * norm);
    let halves = scaled(&g, 0.5).unwrap();
    let halves: Vec<&Tensor> = halves.iter().collect();
    assert_eq!(global_norm(&halves).unwrap(), 0.5 * global_norm(&g).unwrap());
    let all = [tensors(300), tensors(400), tensors(500)];
    let [w, m, v] = all.each_ref().map(|t| t.iter().collect::<Vec<_>>());
    assert!(sgd(&w, &g, &m, &SGD).is_ok());
    let refused = |w: &[&Tensor], m: &[&Tensor]| adam(w, &g, m, &v, &ADAM).unwrap_err().to_string();
    assert!(refused(&w, &w).contains("share memory"), "a tensor given twice");
    assert!(refused(&w[..2], &m).contains("shapes"), "too few");
}

#[test]
fn two_parameters_may_share_a_gradient_but_not_memory_with_one() {
    let var = |t: &Tensor| Var::from_tensor(&t.copy().unwrap()).unwrap();
    let g = tensors(600).remove(0);
    let (a, b) = (var(&g), var(&g));
    let zero = g.zeros_like().unwrap();
    let (first, second) = (var(&zero), var(&zero));
    sgd(&[&a, &b], &[&g, &g], &[&first, &second], &SGD).unwrap();
    let half: Vec<f64> = flat(&g).iter().map(|v| v - 0.5 * v).collect();
    assert_eq!(flat(&a), half);
    assert_eq!(flat(&b), half);
    // A detached view has an id of its own, but the parameter's memory.
    let view = a.as_detached_tensor();
    let refused = |params: &[&Tensor], grads: &[&Tensor], buffers: &[&Tensor], why: &str| {
        let error = sgd(params, grads, buffers, &SGD).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(&[&a], &[&view], &[&first], "copy it first");
    refused(&[&a, &view], &[&g, &g], &[&first, &second], "share memory");
}
