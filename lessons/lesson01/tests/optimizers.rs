//! The experiment's own optimizers against PyTorch's. `solutions/tests/goldens/make_optimizers.py` made the expected values.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../run/src/adaptive.rs"]
mod adaptive;
#[path = "../run/src/lbfgs.rs"]
mod lbfgs;

use std::collections::HashMap;

use adaptive::{Adaptive, adadelta, adagrad, rmsprop};
use candle_core::{Device, Tensor, Var};

fn golden() -> HashMap<String, Tensor> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../solutions/tests/goldens/more_optimizers.golden.safetensors"
    );
    candle_core::safetensors::load(path, &Device::Cpu).unwrap()
}

/// Greatest difference over greatest value.
fn error(got: &Tensor, expected: &Tensor) -> f64 {
    let greatest = |t: &Tensor| t.abs().unwrap().max_all().unwrap().to_scalar::<f64>().unwrap();
    greatest(&(got - expected).unwrap()) / greatest(expected)
}

#[test]
fn adaptive_optimizers_match_pytorch() {
    let golden = golden();
    for (name, rule, lr) in [
        ("adagrad", adagrad as fn(&_, &_) -> _, 0.1),
        ("rmsprop", rmsprop, 0.01),
        ("adadelta", adadelta, 1.0),
    ] {
        let w = Var::from_tensor(&golden["start"]).unwrap();
        let optimizer = Adaptive::new(rule, &w).unwrap();
        for t in 0..12 {
            optimizer.step(&w, &golden["grads"].get(t).unwrap(), lr).unwrap();
        }
        let error = error(&w, &golden[name]);
        assert!(error < 1e-12, "{name}: {error:.1e}");
    }
}

#[test]
fn lbfgs_matches_pytorch() {
    let golden = golden();
    let w = Var::from_tensor(&golden["start"]).unwrap();
    let mut optimizer = lbfgs::Lbfgs::new(vec![w.clone()], 5);
    for _ in 0..20 {
        let answer = golden["matrix"].matmul(&w.reshape((35, 1)).unwrap()).unwrap();
        let off = (answer.squeeze(1).unwrap() - &golden["wanted"]).unwrap();
        let grads = off.sqr().unwrap().mean_all().unwrap().backward().unwrap();
        optimizer.step(&[grads.get(&w).unwrap().clone()], 0.5).unwrap();
    }
    let error = error(&w, &golden["lbfgs"]);
    assert!(error < 1e-9, "{error:.1e}");
}
