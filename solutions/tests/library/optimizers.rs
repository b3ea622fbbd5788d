//! Adagrad, RMSprop, Adadelta and L-BFGS against PyTorch, LARS and LAMB against their papers' equations;
//! `goldens/make_optimizers.py` made the expected values.

use std::collections::HashMap;

use candle_core::{DType, Tensor, Var};
use canopy::optim::{LambConfig, LarsConfig, LbfgsConfig, OptimConfig, Optimizer};

use crate::{golden, relative, values};

const LAMB: LambConfig = LambConfig {
    beta1: 0.9,
    beta2: 0.99,
    eps: 1e-6,
    weight_decay: 0.05,
};

fn named(kind: &str) -> OptimConfig {
    serde_json::from_str(&format!("{{\"kind\": \"{kind}\"}}")).unwrap()
}

/// LARS and LAMB have two tensors, because their steps depend on each tensor's norm.
#[test]
fn optimizers_match_pytorch_and_their_papers() {
    let golden = golden("more_optimizers");
    let lars = OptimConfig::Lars(LarsConfig {
        weight_decay: 0.01,
        trust: 0.02,
        ..LarsConfig::default()
    });
    for (kind, config, lr, limit) in [
        ("adagrad", named("adagrad"), 0.1, 1e-6),
        ("rmsprop", named("rmsprop"), 0.01, 1e-6),
        ("adadelta", named("adadelta"), 1.0, 1e-6),
        ("lars", lars, 0.3, 2e-6),
        ("lamb", OptimConfig::Lamb(LAMB), 0.02, 2e-6),
    ] {
        let expected: Vec<&Tensor> = match golden.get(kind) {
            Some(one) => vec![one],
            None => vec![&golden[&format!("{kind}_0")], &golden[&format!("{kind}_1")]],
        };
        for (dtype, limit) in [(DType::F64, 1e-12), (DType::F32, limit)] {
            let of = |name: &str| golden[name].to_dtype(dtype).unwrap();
            let starts = ["start", "start_2"].map(|name| (name.into(), Var::from_tensor(&of(name)).unwrap()));
            let params = &starts[..expected.len()];
            let mut optimizer = config.build(params.to_vec()).unwrap();
            for t in 0..12 {
                let grads = ["grads", "grads_2"].map(|name| of(name).get(t).unwrap());
                optimizer.step(&grads[..expected.len()], lr).unwrap();
            }
            for ((_, w), expected) in params.iter().zip(&expected) {
                let error = relative(&values(w), &values(expected));
                assert!(error < limit, "{kind}, {dtype:?}: {error:.1e}");
            }
        }
    }
}

fn slope(golden: &HashMap<String, Tensor>, w: &Var) -> Tensor {
    let answer = golden["matrix"].matmul(&w.reshape((35, 1)).unwrap()).unwrap();
    let off = (answer.squeeze(1).unwrap() - &golden["wanted"]).unwrap();
    let loss = off.sqr().unwrap().mean_all().unwrap();
    loss.backward().unwrap().get(w).unwrap().clone()
}

fn lbfgs(golden: &HashMap<String, Tensor>) -> (Var, Box<dyn Optimizer>) {
    let w = Var::from_tensor(&golden["start"]).unwrap();
    let config = OptimConfig::Lbfgs(LbfgsConfig { history: 5 });
    let optimizer = config.build(vec![("w".into(), w.clone())]).unwrap();
    (w, optimizer)
}

#[test]
fn lbfgs_matches_pytorch() {
    let golden = golden("more_optimizers");
    let (w, mut optimizer) = lbfgs(&golden);
    for _ in 0..20 {
        optimizer.step(&[slope(&golden, &w)], 0.5).unwrap();
    }
    let error = relative(&values(&w), &values(&golden["lbfgs"]));
    assert!(error < 1e-9, "{error:.1e}");
}

#[test]
fn lbfgs_continues_bit_identically_from_its_state() {
    let golden = golden("more_optimizers");
    for before in [0, 1, 2, 9] {
        let (w, mut optimizer) = lbfgs(&golden);
        for _ in 0..before {
            optimizer.step(&[slope(&golden, &w)], 0.5).unwrap();
        }
        let (other, mut fresh) = lbfgs(&golden);
        other.set(&w.as_detached_tensor()).unwrap();
        let state: HashMap<String, Tensor> = optimizer.state().unwrap().into_iter().collect();
        fresh.load_state(&state).unwrap();
        for _ in 0..3 {
            optimizer.step(&[slope(&golden, &w)], 0.5).unwrap();
            fresh.step(&[slope(&golden, &other)], 0.5).unwrap();
        }
        assert_eq!(values(&w), values(&other), "after {before} steps");
    }
}

#[test]
fn the_state_of_another_optimizer_is_an_error() {
    let golden = golden("more_optimizers");
    let state_of = |config: &OptimConfig| -> HashMap<String, Tensor> {
        let w = Var::from_tensor(&golden["start"]).unwrap();
        let mut optimizer = config.build(vec![("w".into(), w)]).unwrap();
        optimizer.step(&[golden["grads"].get(1).unwrap()], 0.1).unwrap();
        optimizer.state().unwrap().into_iter().collect()
    };
    let all = ["adagrad", "rmsprop", "adadelta", "lbfgs", "adam"].map(named);
    for (i, taker) in all.iter().enumerate() {
        for (j, giver) in all.iter().enumerate().filter(|(j, _)| *j != i) {
            let w = Var::from_tensor(&golden["start"]).unwrap();
            let mut optimizer = taker.build(vec![("w".into(), w)]).unwrap();
            let refused = optimizer.load_state(&state_of(giver)).is_err();
            assert!(refused, "optimizer {i} loaded the state of {j}");
        }
    }
}
