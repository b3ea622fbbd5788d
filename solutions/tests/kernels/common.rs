//! Layers with random values by seed, and the comparison with the plain composition in f64.

use std::collections::HashMap;

use candle_core::{DType, Device, Result, Tensor, Var};
use canopy::kernels::{self, BatchNorm, MlpLayer, Pass};
use canopy_data::Philox;

/// Names and values of tensors.
pub type Outcome = Vec<(String, Vec<f64>)>;

/// Random values by seed, uniform within ±1.
pub fn random(seed: u64, shape: &[usize]) -> Tensor {
    let mut r = Philox::new(seed, 0);
    let n = shape.iter().product();
    let values: Vec<f64> = (0..n).map(|_| f64::from(r.range(-1.0, 1.0) as f32)).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

pub fn var(t: &Tensor, dtype: DType) -> Var {
    Var::from_tensor(&t.to_dtype(dtype).unwrap()).unwrap()
}

/// One layer's values in f64.
#[derive(Clone)]
pub struct Values {
    pub w: Tensor,
    pub gamma: Tensor,
    pub beta: Tensor,
    pub relu: bool,
}

pub fn layer(seed: u64, k: usize, n: usize, relu: bool) -> Values {
    Values {
        w: random(seed, &[n, k]),
        gamma: random(seed + 1, &[n]),
        beta: (random(seed + 2, &[n]) * 0.5).unwrap(),
        relu,
    }
}

/// Layers of these widths.
pub fn stack(seed: u64, widths: &[usize], relu: impl Fn(usize) -> bool) -> Vec<Values> {
    let pairs = widths.windows(2).enumerate();
    pairs
        .map(|(i, w)| layer(seed + 3 * i as u64, w[0], w[1], relu(i)))
        .collect()
}

pub struct Layer {
    pub w: Var,
    pub bn: BatchNorm,
    pub relu: bool,
}

pub fn build(layers: &[Values], dtype: DType) -> Vec<Layer> {
    let build = |l: &Values| {
        let n = l.gamma.elem_count();
        let bn = BatchNorm {
            gamma: var(&l.gamma, dtype),
            beta: var(&l.beta, dtype),
            mean: var(&random(77, &[n]), dtype),
            var: var(&(random(78, &[n]) + 1.5).unwrap(), dtype),
            momentum: 0.1,
            eps: 1e-5,
        };
        let (w, relu) = (var(&l.w, dtype), l.relu);
        Layer { w, bn, relu }
    };
    layers.iter().map(build).collect()
}

pub fn as_mlp(layers: &[Layer]) -> Vec<MlpLayer<'_>> {
    layers
        .iter()
        .map(|l| MlpLayer {
            weight: l.w.as_tensor(),
            bn: &l.bn,
            relu: l.relu,
        })
        .collect()
}

/// The pass that is fused in f32 and plain in f64.
pub fn pass(train: bool, dtype: DType) -> Pass {
    if train { Pass::train(1, 0) } else { Pass::eval() }.plain(dtype == DType::F64)
}

/// Output, then in training the gradients of x and of every parameter, then the running statistics.
pub fn outcome(
    x: &Tensor,
    layers: &[Values],
    clouds: Option<usize>,
    dtype: DType,
    pass: &Pass,
) -> Result<Outcome> {
    let x = var(x, dtype);
    let layers = build(layers, dtype);
    let mlp = as_mlp(&layers);
    let y = match clouds {
        Some(c) => kernels::shared_mlp_max(x.as_tensor(), &mlp, c, pass)?,
        None => kernels::shared_mlp(x.as_tensor(), &mlp, pass)?,
    };
    let mut out = vec![("output".to_owned(), flat(&y))];
    if pass.train {
        // A last linear layer and a cross-entropy, so that the gradient coming in differs everywhere.
        let (rows, n) = y.dims2()?;
        let (w, b) = (var(&random(9, &[5, n]), dtype), var(&random(10, &[5]), dtype));
        let logits = kernels::linear(&y, &w, &b)?;
        let labels = Tensor::from_iter((0..rows as u32).map(|i| i * 7 % 5), &Device::Cpu)?;
        let weights = Tensor::new(&[1f32, 0.5, 2.0, 1.5, 0.25], &Device::Cpu)?.to_dtype(dtype)?;
        let loss = kernels::cross_entropy(&logits, &labels, 0.1, Some(&weights))?;
        let loss = kernels::weighted_sum(&[(&loss, 3.0)])?;
        out.push(("loss".into(), flat(&loss)));
        let inputs = [("x", &x), ("last w", &w), ("last b", &b)].map(|(name, v)| (name.to_owned(), v));
        out.extend(gradients(&loss, pass, inputs.into_iter().chain(params(&layers)))?);
    }
    out.extend(running(&layers));
    Ok(out)
}

/// The parameters of layers, with their names.
pub fn params(layers: &[Layer]) -> Vec<(String, &Var)> {
    let mut all = Vec::new();
    for (i, l) in layers.iter().enumerate() {
        let vars = [("w", &l.w), ("gamma", &l.bn.gamma), ("beta", &l.bn.beta)];
        all.extend(vars.map(|(name, v)| (format!("{name}{i}"), v)));
    }
    all
}

/// The gradients of variables.
pub fn gradients<'a>(
    loss: &Tensor,
    pass: &Pass,
    vars: impl IntoIterator<Item = (String, &'a Var)>,
) -> Result<Outcome> {
    let mut grads = HashMap::new();
    kernels::backward(loss, pass, &mut |v, g| {
        grads.insert(v.id(), g);
        Ok::<_, candle_core::Error>(())
    })?;
    let of = |(name, v): (String, &Var)| {
        let g = grads
            .get(&v.id())
            .unwrap_or_else(|| panic!("no gradient of {name}"));
        assert_eq!(g.dims(), v.dims(), "{name}");
        (name, flat(g))
    };
    Ok(vars.into_iter().map(of).collect())
}

/// The running statistics.
pub fn running(layers: &[Layer]) -> Outcome {
    let of = |(i, l): (usize, &Layer)| {
        let buffers = [("mean", &l.bn.mean), ("var", &l.bn.var)];
        buffers.map(|(name, v)| (format!("running {name} {i}"), flat(v)))
    };
    layers.iter().enumerate().flat_map(of).collect()
}

/// Compares fused with plain in f64, as [`assert_close`].
pub fn matches_plain(x: &Tensor, layers: &[Values], clouds: Option<usize>, tolerance: f64) {
    for train in [true, false] {
        let run = |dtype| outcome(x, layers, clouds, dtype, &pass(train, dtype)).unwrap();
        assert_close(
            &format!("train {train}"),
            &run(DType::F32),
            &run(DType::F64),
            tolerance,
        );
    }
}

/// Fails at the first difference above `tolerance` times the tensor's greatest value.
pub fn assert_close(what: &str, fused: &Outcome, plain: &Outcome, tolerance: f64) {
    for ((name, fused), (_, plain)) in fused.iter().zip(plain) {
        assert_eq!(fused.len(), plain.len(), "{name}");
        let size = plain.iter().fold(1e-3, |m: f64, v| m.max(v.abs()));
        for (i, (f, p)) in fused.iter().zip(plain).enumerate() {
            let error = (f - p).abs() / size;
            assert!(
                error <= tolerance,
                "{what}, {name}[{i}]: fused {f}, plain {p}, error {error:e} of the greatest"
            );
        }
    }
}

/// Fails at the first value whose bits differ.
pub fn assert_same_bits(what: &str, a: &Outcome, b: &Outcome) {
    for ((name, a), (_, b)) in a.iter().zip(b) {
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            assert!(
                a.to_bits() == b.to_bits(),
                "{what}: {name}[{i}] is {b}, expected {a}"
            );
        }
    }
}

pub fn flat(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64)
        .unwrap()
        .flatten_all()
        .unwrap()
        .to_vec1()
        .unwrap()
}
