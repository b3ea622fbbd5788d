//! LARS and LAMB against their papers' equations in f64; `goldens/make_optimizers.py` made the expected values.

use std::collections::HashMap;

use candle_core::{DType, Device, Tensor, Var};
use canopy::optim::{AdamState, LambConfig, LarsConfig, OptimConfig, lamb_step, trust_ratio};

use crate::{golden, relative, values};

const LAMB: LambConfig = LambConfig {
    beta1: 0.9,
    beta2: 0.99,
    eps: 1e-6,
    weight_decay: 0.05,
};

fn lars() -> OptimConfig {
    OptimConfig::Lars(LarsConfig {
        weight_decay: 0.01,
        trust: 0.02,
        ..LarsConfig::default()
    })
}

/// Both tensors of the golden, as variables, and step `t`'s gradients.
fn start(golden: &HashMap<String, Tensor>, dtype: DType) -> Vec<(String, Var)> {
    let var = |name: &str| Var::from_tensor(&golden[name].to_dtype(dtype).unwrap()).unwrap();
    vec![("a".into(), var("start")), ("b".into(), var("start_2"))]
}

fn gradients(golden: &HashMap<String, Tensor>, t: usize, dtype: DType) -> Vec<Tensor> {
    let of = |name: &str| golden[name].get(t).unwrap().to_dtype(dtype).unwrap();
    vec![of("grads"), of("grads_2")]
}

#[test]
fn lars_and_lamb_match_their_papers() {
    let golden = golden("more_optimizers");
    for (dtype, limit) in [(DType::F64, 1e-12), (DType::F32, 2e-6)] {
        for (kind, config, lr) in [("lars", lars(), 0.3), ("lamb", OptimConfig::Lamb(LAMB), 0.02)] {
            let params = start(&golden, dtype);
            let mut optimizer = config.build(params.clone()).unwrap();
            for t in 0..12 {
                optimizer.step(&gradients(&golden, t, dtype), lr).unwrap();
            }
            for (k, (_, w)) in params.iter().enumerate() {
                let error = relative(&values(w), &values(&golden[&format!("{kind}_{k}")]));
                assert!(error < limit, "{kind} {k}, {dtype:?}: {error:.1e}");
            }
        }
    }
}

#[test]
fn the_function_and_the_optimizer_take_the_same_step() {
    let golden = golden("more_optimizers");
    let (mine, theirs) = (start(&golden, DType::F32), start(&golden, DType::F32));
    let mut optimizer = OptimConfig::Lamb(LAMB).build(theirs.clone()).unwrap();
    let vars: Vec<Var> = mine.iter().map(|(_, var)| var.clone()).collect();
    let mut state = AdamState::zeros_like(vars.iter()).unwrap();
    for t in 0..3 {
        let grads = gradients(&golden, t, DType::F32);
        lamb_step(&vars, &grads, &mut state, 0.02, &LAMB).unwrap();
        optimizer.step(&grads, 0.02).unwrap();
    }
    for (a, (_, b)) in vars.iter().zip(&theirs) {
        assert_eq!(values(a), values(b));
    }
}

#[test]
fn both_continue_bit_identically_from_their_state() {
    let golden = golden("more_optimizers");
    for config in [lars(), OptimConfig::Lamb(LAMB)] {
        let params = start(&golden, DType::F32);
        let mut whole = config.build(params.clone()).unwrap();
        for t in 0..4 {
            whole.step(&gradients(&golden, t, DType::F32), 0.05).unwrap();
        }
        let saved: HashMap<String, Tensor> = whole.state().unwrap().into_iter().collect();
        let copies: Vec<(String, Var)> = params
            .iter()
            .map(|(name, var)| (name.clone(), Var::from_tensor(&var.copy().unwrap()).unwrap()))
            .collect();
        let mut broken = config.build(copies.clone()).unwrap();
        broken.load_state(&saved).unwrap();
        let grads = gradients(&golden, 4, DType::F32);
        whole.step(&grads, 0.05).unwrap();
        broken.step(&grads, 0.05).unwrap();
        for ((_, a), (_, b)) in params.iter().zip(&copies) {
            assert_eq!(values(a), values(b));
        }
    }
}

#[test]
fn a_norm_of_zero_does_not_scale_the_step() {
    assert_eq!(trust_ratio(0.0, 2.0, 0.1, 0.001), 1.0);
    assert_eq!(trust_ratio(2.0, 0.0, 0.1, 0.001), 1.0);
    assert!((trust_ratio(2.0, 3.0, 0.5, 0.001) - 0.001 * 2.0 / 4.0).abs() < 1e-18);
    for dtype in [DType::F32, DType::F64] {
        // Weights with norm 0, and a direction with norm 0.
        for (start, slope, end) in [(0.0, 1.0, -0.1), (2.0, 0.0, 2.0)] {
            let all = |value: f64| Tensor::full(value, (2, 2), &Device::Cpu)?.to_dtype(dtype);
            let w = Var::from_tensor(&all(start).unwrap()).unwrap();
            let config = OptimConfig::Lamb(LambConfig {
                weight_decay: 0.0,
                ..LambConfig::default()
            });
            let mut optimizer = config.build(vec![("w".into(), w.clone())]).unwrap();
            optimizer.step(&[all(slope).unwrap()], 0.1).unwrap();
            for value in values(&w) {
                assert!((value - end).abs() < 1e-5, "{dtype:?}: {value}, not {end}");
            }
        }
    }
}

#[test]
fn settings_out_of_range_are_errors() {
    let build = |config: OptimConfig| {
        let w = Var::zeros(3, DType::F32, &Device::Cpu).unwrap();
        config.build(vec![("w".into(), w)]).err().map(|e| e.to_string())
    };
    let lars = |config| build(OptimConfig::Lars(config));
    let usual = LarsConfig::default();
    assert!(
        lars(LarsConfig {
            momentum: 1.0,
            ..usual.clone()
        })
        .unwrap()
        .contains("momentum")
    );
    assert!(
        lars(LarsConfig {
            trust: 0.0,
            ..usual.clone()
        })
        .unwrap()
        .contains("trust")
    );
    assert!(
        lars(LarsConfig {
            weight_decay: f64::NAN,
            ..usual
        })
        .is_some()
    );
    let beta = build(OptimConfig::Lamb(LambConfig { beta2: 1.0, ..LAMB }));
    assert!(beta.unwrap().contains("beta2"));
}
