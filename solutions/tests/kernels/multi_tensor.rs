//! Optimizer steps over many tensors.

use candle_core::{DType, Tensor};

use crate::common::*;

/// Three tensors, one longer than a piece of work.
fn tensors(seed: u64) -> Vec<Tensor> {
    [&[40_000][..], &[3, 5], &[70_001]]
        .iter()
        .enumerate()
        .map(|(i, shape)| random(seed + i as u64, shape).to_dtype(DType::F32).unwrap())
        .collect()
}

#[test]
fn multi_tensor_steps_follow_their_formulas() {
    use canopy::kernels::multi_tensor::{AdamStep, SgdStep, adam, global_norm, lamb, sgd};
    let grads = tensors(200);
    let g: Vec<&Tensor> = grads.iter().collect();
    let norm = grads.iter().flat_map(flat).map(|v| v * v).sum::<f64>().sqrt();
    assert!((global_norm(&g).unwrap() - norm).abs() < 1e-9 * norm);
    let step = AdamStep {
        lr: 0.01,
        beta1: 0.9,
        beta2: 0.99,
        eps: 1e-6,
        weight_decay: 0.1,
        decoupled: true,
        step: 3,
        gradient_factor: 0.5,
    };
    // The decay is added to the gradient.
    let added = AdamStep {
        decoupled: false,
        ..step
    };
    for kind in ["adamw", "adam", "lamb", "sgd"] {
        let (w, m, v) = (tensors(300), tensors(400), tensors(500));
        let v: Vec<Tensor> = v.iter().map(|v| v.abs().unwrap()).collect();
        let before: Vec<[Vec<f64>; 4]> = (0..3)
            .map(|i| [flat(&w[i]), flat(&grads[i]), flat(&m[i]), flat(&v[i])])
            .collect();
        let (wr, mr, vr): (Vec<&Tensor>, Vec<&Tensor>, Vec<&Tensor>) =
            (w.iter().collect(), m.iter().collect(), v.iter().collect());
        match kind {
            "adamw" => adam(&wr, &g, &mr, &vr, &step),
            "adam" => adam(&wr, &g, &mr, &vr, &added),
            "lamb" => lamb(&wr, &g, &mr, &vr, &added),
            _ => sgd(
                &wr,
                &g,
                &mr,
                &SgdStep {
                    lr: 0.01,
                    momentum: 0.9,
                    weight_decay: 0.1,
                    nesterov: true,
                    gradient_factor: 0.5,
                },
            ),
        }
        .unwrap();
        for (i, [w0, g, m0, v0]) in before.iter().enumerate() {
            let (c1, c2) = (1.0 - 0.9_f64.powi(3), 1.0 - 0.99_f64.powi(3));
            let moments = |j: usize, decay: f64| {
                let g = 0.5 * g[j] + decay * w0[j];
                let (m, v) = (0.9 * m0[j] + 0.1 * g, 0.99 * v0[j] + 0.01 * g * g);
                (m / c1) / ((v / c2).sqrt() + 1e-6)
            };
            let direction = |j: usize| moments(j, 0.0) + 0.1 * w0[j];
            let norm = |f: &dyn Fn(usize) -> f64| (0..w0.len()).map(|j| f(j).powi(2)).sum::<f64>().sqrt();
            let trust = norm(&|j| w0[j]) / norm(&direction);
            for (j, &got) in flat(&w[i]).iter().enumerate() {
                let want = match kind {
                    "adamw" => w0[j] * (1.0 - 0.001) - 0.01 * moments(j, 0.0),
                    "adam" => w0[j] - 0.01 * moments(j, 0.1),
                    "lamb" => w0[j] - 0.01 * trust * direction(j),
                    _ => {
                        let g = 0.5 * g[j] + 0.1 * w0[j];
                        w0[j] - 0.01 * (g + 0.9 * (0.9 * m0[j] + g))
                    }
                };
                assert!(
                    (got - want).abs() < 1e-5,
                    "{kind} tensor {i} [{j}]: {got}, expected {want}"
                );
            }
        }
        assert!(adam(&wr, &g, &wr, &vr, &step).is_err(), "a tensor given twice");
        assert!(adam(&wr[..2], &g, &mr, &vr, &step).is_err(), "too few");
    }
}

#[test]
fn two_parameters_may_share_a_gradient_but_not_memory_with_one() {
    use candle_core::Var;
    use canopy::kernels::multi_tensor::{SgdStep, global_norm, scaled, sgd};
    let step = SgdStep {
        lr: 0.5,
        momentum: 0.9,
        weight_decay: 0.0,
        nesterov: false,
        gradient_factor: 1.0,
    };
    let var = |t: &Tensor| Var::from_tensor(&t.copy().unwrap()).unwrap();
    let g = tensors(600).remove(0);
    let (a, b) = (var(&g), var(&g));
    let zero = g.zeros_like().unwrap();
    let (first, second) = (var(&zero), var(&zero));
    sgd(&[&a, &b], &[&g, &g], &[&first, &second], &step).unwrap();
    let half: Vec<f64> = flat(&g).iter().map(|v| v - 0.5 * v).collect();
    assert_eq!(flat(&a), half);
    assert_eq!(flat(&b), half);
    // A detached view has an id of its own, but the parameter's memory.
    let view = a.as_detached_tensor();
    let error = sgd(&[&a], &[&view], &[&first], &step).unwrap_err().to_string();
    assert!(error.contains("copy it first"), "{error}");
    let error = sgd(&[&a, &view], &[&g, &g], &[&first, &second], &step)
        .unwrap_err()
        .to_string();
    assert!(error.contains("share memory"), "{error}");
    let norm = global_norm(&[&g]).unwrap();
    let quarter = scaled(&[&g], 0.25).unwrap();
    assert_eq!(global_norm(&[&quarter[0]]).unwrap(), 0.25 * norm);
}
