//! The experiment's L-BFGS against PyTorch's. `solutions/tests/goldens/make_optimizers.py` made the expected
//! values.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../run/src/lbfgs.rs"]
mod lbfgs;

use candle_core::{Device, Tensor, Var};

#[test]
fn lbfgs_matches_pytorch() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../solutions/tests/goldens/more_optimizers.golden.safetensors"
    );
    let golden = candle_core::safetensors::load(path, &Device::Cpu).unwrap();
    let w = Var::from_tensor(&golden["start"]).unwrap();
    let mut optimizer = lbfgs::Lbfgs::new(vec![w.clone()], 5);
    for _ in 0..20 {
        let answer = golden["matrix"].matmul(&w.reshape((35, 1)).unwrap()).unwrap();
        let off = (answer.squeeze(1).unwrap() - &golden["wanted"]).unwrap();
        let grads = off.sqr().unwrap().mean_all().unwrap().backward().unwrap();
        optimizer.step(&[grads.get(&w).unwrap().clone()], 0.5).unwrap();
    }
    let greatest = |t: &Tensor| t.abs().unwrap().max_all().unwrap().to_scalar::<f64>().unwrap();
    let error = greatest(&(w.as_tensor() - &golden["lbfgs"]).unwrap()) / greatest(&golden["lbfgs"]);
    assert!(error < 1e-9, "{error:.1e}");
}
