//! The fused operators are held to the plain candle composition in f64, values and every gradient, and to
//! the same bits on any number of threads.

#![allow(clippy::unwrap_used)] // a test that fails on an error says where

use candle_core::{DType, Device, Result, Tensor, Var};
use canopy::kernels::{self, BatchNorm, MlpLayer, Pass};
use canopy_data::Philox;

/// Numbers by seed, uniform within ±1.
fn random(seed: u64, shape: &[usize]) -> Tensor {
    let mut r = Philox::new(seed, 0);
    let n = shape.iter().product();
    let values: Vec<f64> = (0..n).map(|_| f64::from(r.range(-1.0, 1.0) as f32)).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

fn var(t: &Tensor, dtype: DType) -> Var {
    Var::from_tensor(&t.to_dtype(dtype).unwrap()).unwrap()
}

/// One layer's values in f64.
#[derive(Clone)]
struct Values {
    w: Tensor,
    gamma: Tensor,
    beta: Tensor,
    relu: bool,
}

fn layer(seed: u64, k: usize, n: usize, relu: bool) -> Values {
    Values {
        w: random(seed, &[n, k]),
        gamma: random(seed + 1, &[n]),
        beta: (random(seed + 2, &[n]) * 0.5).unwrap(),
        relu,
    }
}

struct Layer {
    w: Var,
    bn: BatchNorm,
    relu: bool,
}

fn build(layers: &[Values], dtype: DType) -> Vec<Layer> {
    layers
        .iter()
        .map(|l| {
            let n = l.gamma.elem_count();
            Layer {
                w: var(&l.w, dtype),
                bn: BatchNorm {
                    gamma: var(&l.gamma, dtype),
                    beta: var(&l.beta, dtype),
                    mean: var(&random(77, &[n]), dtype),
                    var: var(&(random(78, &[n]) + 1.5).unwrap(), dtype),
                    momentum: 0.1,
                    eps: 1e-5,
                },
                relu: l.relu,
            }
        })
        .collect()
}

fn as_mlp(layers: &[Layer]) -> Vec<MlpLayer<'_>> {
    layers
        .iter()
        .map(|l| MlpLayer {
            weight: l.w.as_tensor(),
            bn: &l.bn,
            relu: l.relu,
        })
        .collect()
}

/// Output, then the gradients of x and of every parameter, then the running statistics.
fn outcome(
    x: &Tensor,
    layers: &[Values],
    clouds: Option<usize>,
    dtype: DType,
    train: bool,
) -> Result<Vec<(String, Vec<f64>)>> {
    let x = var(x, dtype);
    let layers = build(layers, dtype);
    let pass = if train { Pass::train(1, 0) } else { Pass::eval() }.plain(dtype == DType::F64);
    let mlp = as_mlp(&layers);
    let y = match clouds {
        Some(c) => kernels::shared_mlp_max(x.as_tensor(), &mlp, c, &pass)?,
        None => kernels::shared_mlp(x.as_tensor(), &mlp, &pass)?,
    };
    let list = |t: &Tensor| -> Result<Vec<f64>> { t.to_dtype(DType::F64)?.flatten_all()?.to_vec1() };
    let mut out = vec![("output".to_owned(), list(&y)?)];
    if train {
        // A last linear layer and a cross-entropy, so that the gradient coming in differs everywhere.
        let n = y.dim(1)?;
        let w = var(&random(9, &[5, n]), dtype);
        let b = var(&random(10, &[5]), dtype);
        let logits = kernels::linear(&y, &w, &b)?;
        let rows = logits.dim(0)? as u32;
        let labels = Tensor::from_vec(
            (0..rows).map(|i| i * 7 % 5).collect::<Vec<_>>(),
            rows as usize,
            &Device::Cpu,
        )?;
        let weights = Tensor::new(&[1f32, 0.5, 2.0, 1.5, 0.25], &Device::Cpu)?.to_dtype(dtype)?;
        let loss = kernels::cross_entropy(&logits, &labels, 0.1, Some(&weights))?;
        let loss = kernels::weighted_sum(&[(&loss, 3.0)])?;
        out.push(("loss".into(), list(&loss)?));
        let grads = kernels::backward(&loss, &pass)?;
        let mut of = |name: String, v: &Var| -> Result<()> {
            let g = grads
                .get(v)
                .ok_or_else(|| candle_core::Error::Msg(format!("no gradient of {name}")))?;
            assert_eq!(g.dims(), v.dims(), "{name}");
            out.push((name, list(g)?));
            Ok(())
        };
        of("x".into(), &x)?;
        of("last w".into(), &w)?;
        of("last b".into(), &b)?;
        for (i, l) in layers.iter().enumerate() {
            of(format!("w{i}"), &l.w)?;
            of(format!("gamma{i}"), &l.bn.gamma)?;
            of(format!("beta{i}"), &l.bn.beta)?;
        }
    }
    for (i, l) in layers.iter().enumerate() {
        out.push((format!("running mean {i}"), list(l.bn.mean.as_tensor())?));
        out.push((format!("running var {i}"), list(l.bn.var.as_tensor())?));
    }
    Ok(out)
}

/// Fails with the first place where the two part by more than `tolerance` of the tensor's greatest value.
fn hold(x: &Tensor, layers: &[Values], clouds: Option<usize>, tolerance: f64) {
    for train in [true, false] {
        let fused = outcome(x, layers, clouds, DType::F32, train).unwrap();
        let plain = outcome(x, layers, clouds, DType::F64, train).unwrap();
        for ((name, fused), (_, plain)) in fused.iter().zip(&plain) {
            assert_eq!(fused.len(), plain.len(), "{name}");
            let size = plain.iter().fold(1e-3, |m: f64, v| m.max(v.abs()));
            for (i, (f, p)) in fused.iter().zip(plain).enumerate() {
                let error = (f - p).abs() / size;
                assert!(
                    error <= tolerance,
                    "{name}[{i}], train {train}: fused {f}, plain {p}, error {error:e} of the greatest"
                );
            }
        }
    }
}

#[test]
fn one_layer_is_the_plain_composition_at_odd_sizes() {
    for (rows, k, n) in [
        (600, 3, 64),
        (513, 64, 128),
        (777, 20, 33),
        (1000, 17, 16),
        (40, 100, 130),
    ] {
        hold(&random(1, &[rows, k]), &[layer(5, k, n, true)], None, 3e-5);
    }
    // Of two rows the variance may be next to nothing, and 1/σ multiplies the rounding.
    hold(&random(1, &[2, 5]), &[layer(5, 5, 7, true)], None, 1e-3);
}

#[test]
fn a_layer_without_relu_is_the_plain_composition() {
    hold(&random(2, &[700, 9]), &[layer(6, 9, 19, false)], None, 3e-5);
    hold(&random(2, &[30, 9]), &[layer(6, 9, 19, false)], None, 3e-5);
    hold(&random(3, &[640, 9]), &[layer(6, 9, 19, false)], Some(5), 3e-5);
}

#[test]
fn three_layers_are_the_plain_composition() {
    let layers = [
        layer(11, 3, 64, true),
        layer(14, 64, 50, true),
        layer(17, 50, 128, true),
    ];
    hold(&random(3, &[1000, 3]), &layers, None, 1e-4);
    hold(&random(3, &[1000, 3]), &layers, Some(4), 1e-4);
}

#[test]
fn the_max_is_the_plain_composition_at_odd_sizes() {
    for (clouds, points, k, n) in [
        (3, 300, 20, 70),
        (1, 259, 16, 64),
        (5, 1, 8, 40),
        (2, 1030, 64, 200),
        (7, 6, 3, 5),
    ] {
        hold(
            &random(4, &[clouds * points, k]),
            &[layer(21, k, n, true)],
            Some(clouds),
            5e-5,
        );
    }
}

#[test]
fn gamma_of_zero_and_below_takes_the_same_points() {
    let mut l = layer(31, 12, 48, true);
    let gamma: Vec<f64> = (0..48).map(|c| [0.0, -0.7, 0.9][c % 3]).collect();
    l.gamma = Tensor::from_vec(gamma, 48, &Device::Cpu).unwrap();
    hold(&random(5, &[900, 12]), std::slice::from_ref(&l), Some(3), 5e-5);
    hold(&random(5, &[900, 12]), &[l], None, 5e-5);
}

#[test]
fn of_tied_points_the_first_takes_the_gradient() {
    // Every point of a cloud stands there twice.
    let half = random(6, &[1, 100, 8]);
    let x = Tensor::cat(&[&half, &half], 1)
        .unwrap()
        .reshape((200, 8))
        .unwrap();
    let l = Values {
        gamma: random(33, &[24]).abs().unwrap(),
        ..layer(32, 8, 24, true)
    };
    hold(&x, std::slice::from_ref(&l), Some(1), 5e-5);
    let grads = outcome(&x, &[l], Some(1), DType::F32, true).unwrap();
    let (_, dx) = grads.iter().find(|(name, _)| name == "x").unwrap();
    let halves = dx.split_at(800);
    assert!(halves.0.iter().zip(halves.1).any(|(a, b)| (a - b).abs() > 1e-6));
}

#[test]
fn constant_channels_stay_finite_and_far_means_keep_their_digits() {
    let x = (random(7, &[600, 6]) + 50.0).unwrap();
    hold(&x, &[layer(41, 6, 32, true)], None, 2e-2);
    let constant = Tensor::ones((600, 6), DType::F64, &Device::Cpu).unwrap();
    for clouds in [None, Some(4)] {
        for (name, values) in outcome(&constant, &[layer(42, 6, 32, true)], clouds, DType::F32, true).unwrap()
        {
            assert!(values.iter().all(|v| v.is_finite()), "{name}");
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let layers = [
        layer(51, 3, 64, true),
        layer(54, 64, 128, true),
        layer(57, 128, 300, true),
    ];
    let x = random(8, &[4000, 3]);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let mut all = outcome(&x, &layers, Some(8), DType::F32, true).unwrap();
            all.extend(outcome(&x, &layers, None, DType::F32, true).unwrap());
            all.extend(outcome(&random(8, &[40, 3]), &layers, None, DType::F32, true).unwrap());
            all
        })
    };
    let one = on(1);
    for threads in [2, 3, 5] {
        for ((name, a), (_, b)) in one.iter().zip(&on(threads)) {
            assert!(
                a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()),
                "{name} on {threads} threads"
            );
        }
    }
}

/// T-Net glue, transform, orthogonality, dropout and two uses of one tensor.
fn transformed(dtype: DType, k: usize, points: usize) -> Result<Vec<(String, Vec<f64>)>> {
    let clouds = 3;
    let pass = Pass::train(5, 9).plain(dtype == DType::F64);
    let x = var(&random(61, &[clouds * points, k]), dtype);
    let first = build(&[layer(62, k, k, true)], dtype);
    let deep = build(&[layer(65, k, 40, true)], dtype);
    let head = build(&[layer(68, 40, 24, true)], dtype);
    let w = var(&random(71, &[k * k, 24]), dtype);
    let b = var(&random(72, &[k * k]), dtype);
    let y = kernels::shared_mlp(&x, &as_mlp(&first), &pass)?;
    let pooled = kernels::linear_bn_max(&y, &deep[0].w, &deep[0].bn, true, clouds, &pass)?;
    let hidden = kernels::linear_bn(&pooled, &head[0].w, &head[0].bn, true, &pass)?;
    let hidden = kernels::dropout(&hidden, 0.3, 2, &pass)?;
    let t = kernels::add_identity(&kernels::linear(&hidden, &w, &b)?, k)?;
    let z = kernels::transform(&y, &t)?;
    let last = build(&[layer(73, k, 5, false)], dtype);
    let logits = kernels::linear_bn_max(&z, &last[0].w, &last[0].bn, false, clouds, &pass)?;
    let labels = Tensor::new(&[1u32, 4, 0], &Device::Cpu)?;
    let loss = kernels::cross_entropy(&logits, &labels, 0.0, None)?;
    let loss = kernels::weighted_sum(&[(&loss, 1.0), (&kernels::orthogonality(&t)?, 0.001)])?;
    let grads = kernels::backward(&loss, &pass)?;
    let list = |t: &Tensor| -> Result<Vec<f64>> { t.to_dtype(DType::F64)?.flatten_all()?.to_vec1() };
    let mut out = vec![
        ("loss".to_owned(), list(&loss)?),
        ("logits".to_owned(), list(&logits)?),
    ];
    let vars = [
        ("x", &x),
        ("w", &w),
        ("b", &b),
        ("first", &first[0].w),
        ("deep", &deep[0].w),
        ("head", &head[0].w),
        ("last", &last[0].w),
    ];
    for (name, v) in vars {
        out.push((name.to_owned(), list(grads.get(v).unwrap())?));
    }
    Ok(out)
}

#[test]
fn transforms_and_their_penalty_are_the_plain_composition() {
    for (k, points) in [(3, 300), (16, 200), (7, 301)] {
        let (fused, plain) = (
            transformed(DType::F32, k, points).unwrap(),
            transformed(DType::F64, k, points).unwrap(),
        );
        for ((name, f), (_, p)) in fused.iter().zip(&plain) {
            let size = p.iter().fold(1e-3, |m: f64, v| m.max(v.abs()));
            let worst = f
                .iter()
                .zip(p)
                .map(|(f, p)| (f - p).abs() / size)
                .fold(0.0, f64::max);
            assert!(worst < 3e-4, "k {k}, {name}: {worst:e} of the greatest");
        }
    }
}

#[test]
fn hostile_shapes_are_errors() {
    let layers = build(&[layer(81, 4, 6, true)], DType::F32);
    let mlp = as_mlp(&layers);
    let t = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &Device::Cpu).unwrap();
    for pass in [Pass::train(1, 1), Pass::eval()] {
        for x in [&[0, 4][..], &[5, 3], &[5, 0], &[5], &[2, 2, 4]] {
            assert!(kernels::shared_mlp(&t(x), &mlp, &pass).is_err(), "{x:?}");
            assert!(
                kernels::linear_bn(&t(x), &layers[0].w, &layers[0].bn, true, &pass).is_err(),
                "{x:?}"
            );
        }
        for clouds in [0, 2, 6] {
            assert!(kernels::shared_mlp_max(&t(&[5, 4]), &mlp, clouds, &pass).is_err());
        }
        assert!(kernels::shared_mlp(&t(&[5, 4]), &[], &pass).is_err());
    }
    assert!(kernels::transform(&t(&[6, 3]), &t(&[4, 3, 3])).is_err());
    assert!(kernels::transform(&t(&[6, 3]), &t(&[2, 3, 4])).is_err());
    assert!(kernels::add_identity(&t(&[2, 8]), 3).is_err());
    assert!(kernels::orthogonality(&t(&[2, 3, 4])).is_err());
    assert!(kernels::linear(&t(&[2, 3]), &t(&[4, 5]), &t(&[4])).is_err());
    assert!(
        kernels::cross_entropy(
            &t(&[2, 3]),
            &Tensor::new(&[1u32], &Device::Cpu).unwrap(),
            0.0,
            None
        )
        .is_err()
    );
    assert!(kernels::weighted_sum(&[]).is_err());
}

#[test]
fn a_walk_without_its_tape_is_an_error() {
    let layers = build(&[layer(82, 4, 6, true)], DType::F32);
    let pass = Pass::train(1, 1);
    let y = kernels::shared_mlp(
        &random(83, &[5, 4]).to_dtype(DType::F32).unwrap(),
        &as_mlp(&layers),
        &pass,
    )
    .unwrap();
    assert!(kernels::backward(&y, &pass).is_err(), "not a scalar");
    let labels = Tensor::new(&[0u32, 1, 2, 3, 4], &Device::Cpu).unwrap();
    let loss = kernels::cross_entropy(&y, &labels, 0.0, None).unwrap();
    assert!(
        kernels::cross_entropy(
            &y,
            &Tensor::new(&[0u32, 1, 2, 3, 6], &Device::Cpu).unwrap(),
            0.0,
            None
        )
        .is_err()
    );
    assert!(kernels::backward(&loss, &pass).is_ok());
    assert!(kernels::backward(&loss, &pass).is_err(), "the tape is used up");
}

/// Three tensors, one longer than a piece of work.
fn tensors(seed: u64) -> Vec<Tensor> {
    [&[40_000][..], &[3, 5], &[70_001]]
        .iter()
        .enumerate()
        .map(|(i, shape)| random(seed + i as u64, shape).to_dtype(DType::F32).unwrap())
        .collect()
}

fn flat(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64)
        .unwrap()
        .flatten_all()
        .unwrap()
        .to_vec1()
        .unwrap()
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
            "adam" => adam(
                &wr,
                &g,
                &mr,
                &vr,
                &AdamStep {
                    decoupled: false,
                    ..step
                },
            ),
            "lamb" => lamb(
                &wr,
                &g,
                &mr,
                &vr,
                &AdamStep {
                    decoupled: false,
                    ..step
                },
            ),
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
fn on_candles_graph_the_gradients_are_the_same() {
    let x = random(90, &[700, 6]).to_dtype(DType::F32).unwrap();
    let values = [layer(91, 6, 20, true), layer(94, 20, 33, true)];
    let run = |graph: bool, rows: usize| {
        let x = Var::from_tensor(&x.narrow(0, 0, rows).unwrap().contiguous().unwrap()).unwrap();
        let layers = build(&values, DType::F32);
        let pass = if graph {
            Pass::train(3, 4).on_candle_graph()
        } else {
            Pass::train(3, 4)
        };
        let y = kernels::linear_bn(&x, &layers[0].w, &layers[0].bn, true, &pass).unwrap();
        // candle's own operator in between, which the tape cannot follow.
        let y = if graph { (y * 1.0).unwrap() } else { y };
        let y = kernels::dropout(&y, 0.3, 1, &pass).unwrap();
        let y = kernels::linear_bn_max(&y, &layers[1].w, &layers[1].bn, true, 10, &pass).unwrap();
        let labels = Tensor::from_vec((0..10u32).collect::<Vec<_>>(), 10, &Device::Cpu).unwrap();
        let loss = kernels::cross_entropy(&y, &labels, 0.0, None).unwrap();
        let grads = kernels::backward(&loss, &pass).unwrap();
        let mut all = flat(grads.get(&x).unwrap());
        for l in &layers {
            for v in [&l.w, &l.bn.gamma, &l.bn.beta] {
                assert_eq!(grads.get(v).unwrap().dims(), v.dims());
                all.extend(flat(grads.get(v).unwrap()));
            }
        }
        all
    };
    for rows in [700, 40] {
        for (a, b) in run(false, rows).iter().zip(&run(true, rows)) {
            assert!((a - b).abs() < 1e-5, "{a} by the tape, {b} by candle");
        }
    }
}
