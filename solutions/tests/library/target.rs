//! Embeddings, losses, bins, forecasts and their scores, against their definitions in f64.

use candle_core::{DType, Device, Result, Tensor, Var};
use canopy::{
    optim::{AdamConfig, AdamState, adam_step, sparse_adam_step},
    target::{
        Forecast, Head, HeadKind, bin_of, calibration, embed, embedding_gradient, gaussian_nll, mixture_nll,
        quantile_bins, summarise,
    },
};
use canopy_data::Philox;
use proptest::prelude::*;

use crate::{relative, values};

fn normals(random: &mut Philox, n: usize) -> Vec<f64> {
    (0..n).map(|_| random.normal()).collect()
}

fn var(values: Vec<f64>, shape: &[usize]) -> Var {
    Var::from_tensor(&Tensor::from_vec(values, shape, &Device::Cpu).unwrap()).unwrap()
}

/// The gradients of `loss` by central differences.
fn differences(inputs: &[Var], loss: &dyn Fn() -> Result<Tensor>) -> Vec<Vec<f64>> {
    let step = 1e-5;
    let of = |input: &Var| {
        let start = values(input);
        let set = |i: usize, by: f64| {
            let mut moved = start.clone();
            moved[i] += by;
            let moved = Tensor::from_vec(moved, input.shape(), &Device::Cpu).unwrap();
            input.set(&moved).unwrap();
            loss().unwrap().to_scalar::<f64>().unwrap()
        };
        let slopes = (0..start.len()).map(|i| {
            let slope = (set(i, step) - set(i, -step)) / (2.0 * step);
            set(i, 0.0);
            slope
        });
        slopes.collect()
    };
    inputs.iter().map(of).collect()
}

fn check_gradients(inputs: &[Var], loss: &dyn Fn() -> Result<Tensor>) {
    let grads = loss().unwrap().backward().unwrap();
    for (input, expected) in inputs.iter().zip(differences(inputs, loss)) {
        let error = relative(&values(grads.get(input).unwrap()), &expected);
        assert!(error < 1e-6, "gradient off by {error:.1e}");
    }
}

fn normal_log_density(y: f64, mean: f64, log_std: f64) -> f64 {
    let z = (y - mean) / log_std.exp();
    -0.5 * (2.0 * std::f64::consts::PI).ln() - log_std - 0.5 * z * z
}

#[test]
fn the_losses_match_their_definition_and_their_gradients_finite_differences() {
    let mut random = Philox::new(12, 1);
    for (n, k) in [(1, 1), (3, 1), (5, 4)] {
        let logits = var(normals(&mut random, n * k), &[n, k]);
        let mean = var(normals(&mut random, n * k), &[n, k]);
        let log_std = var(
            normals(&mut random, n * k).iter().map(|v| 0.3 * v).collect(),
            &[n, k],
        );
        let target = var(normals(&mut random, n), &[n]);
        let inputs = [logits.clone(), mean.clone(), log_std.clone(), target.clone()];
        let loss = || mixture_nll(&logits, &mean, &log_std, &target);
        let [l, m, s, y] = [&logits, &mean, &log_std, &target].map(|v| values(v));
        let of_row = |i: usize| {
            let range = i * k..(i + 1) * k;
            let total: f64 = l[range.clone()].iter().map(|l| l.exp()).sum();
            let density = range.map(|j| l[j].exp() / total * normal_log_density(y[i], m[j], s[j]).exp());
            -density.sum::<f64>().ln()
        };
        let expected = (0..n).map(of_row).sum::<f64>() / n as f64;
        let got = loss().unwrap().to_scalar::<f64>().unwrap();
        assert!((got - expected).abs() < 1e-12, "{got} instead of {expected}");
        check_gradients(&inputs, &loss);
        if k == 1 {
            let (mean, log_std) = (mean.squeeze(1).unwrap(), log_std.squeeze(1).unwrap());
            let gaussian = gaussian_nll(&mean, &log_std, &target).unwrap();
            assert!((gaussian.to_scalar::<f64>().unwrap() - expected).abs() < 1e-12);
        }
    }
}

#[test]
fn far_targets_and_extreme_deviations_stay_finite() {
    let f32s = |v: &[f32]| Var::from_tensor(&Tensor::new(v, &Device::Cpu).unwrap()).unwrap();
    let finite = |loss: Tensor, vars: &[&Var]| {
        assert!(loss.to_scalar::<f32>().unwrap().is_finite());
        let grads = loss.backward().unwrap();
        for var in vars {
            assert!(
                values(grads.get(var).unwrap()).iter().all(|g| g.is_finite()),
                "{grads:?}"
            );
        }
    };
    // Of the third, σ² would be 0 in f32; of the fourth, infinite.
    let (mean, log_std) = (f32s(&[0.0, 1.0, 2.0, 3.0]), f32s(&[-8.0, 8.0, -55.0, 55.0]));
    let target = Tensor::new(&[1e4f32, -1e4, 2.0, 1e6], &Device::Cpu).unwrap();
    finite(
        gaussian_nll(&mean, &log_std, &target).unwrap(),
        &[&mean, &log_std],
    );
    let wide = |v: &Var| Var::from_tensor(&v.reshape((2, 2)).unwrap()).unwrap();
    let logits = wide(&f32s(&[1e4, -1e4, 0.0, 0.0]));
    let (mean, log_std) = (wide(&mean), wide(&f32s(&[0.0, 0.0, -2.0, 1.0])));
    let target = Tensor::new(&[1e4f32, -2e3], &Device::Cpu).unwrap();
    let loss = mixture_nll(&logits, &mean, &log_std, &target).unwrap();
    finite(loss, &[&logits, &mean, &log_std]);
    assert!(gaussian_nll(&mean, &log_std, &target).is_err());
    assert!(mixture_nll(&logits, &mean, &log_std, &target.narrow(0, 0, 1).unwrap()).is_err());
}

proptest! {
    #[test]
    fn the_sparse_gradient_is_the_dense_one_without_its_zeros(ids in prop::collection::vec(0u32..6, 0..12), seed: u64) {
        let mut random = Philox::new(seed, 1);
        let table = var(normals(&mut random, 18), &[6, 3]);
        let rows = embed(&table, &ids).unwrap();
        prop_assert_eq!(rows.dims(), &[ids.len(), 3]);
        // A view with other strides.
        let weight = Tensor::from_vec(normals(&mut random, 3 * ids.len()), (3, ids.len()), &Device::Cpu).unwrap().t().unwrap();
        let sparse = embedding_gradient(&ids, &weight).unwrap();
        prop_assert!(sparse.rows.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(sparse.rows.iter().all(|row| ids.contains(row)) && ids.iter().all(|id| sparse.rows.contains(id)));
        prop_assert_eq!(sparse.values.dims(), &[sparse.rows.len(), 3]);
        if !ids.is_empty() {
            let grads = (rows * &weight).unwrap().sum_all().unwrap().backward().unwrap();
            let error = relative(&values(&sparse.dense(6).unwrap()), &values(grads.get(&table).unwrap()));
            prop_assert!(error < 1e-12, "{error:.1e}");
        }
    }

    #[test]
    fn every_bin_has_its_share(mut list in prop::collection::vec(-50i32..50, 2..200), bins in 1usize..30) {
        list[0] = 60;
        let list: Vec<f64> = list.into_iter().map(f64::from).collect();
        let edges = quantile_bins(&list, bins);
        prop_assert!(edges.windows(2).all(|e| e[0] < e[1]) && edges.len() >= 2 && edges.len() <= bins + 1, "{:?}", edges);
        let ends = list.iter().fold((f64::MAX, f64::MIN), |(a, b), &v| (a.min(v), b.max(v)));
        prop_assert_eq!((edges[0], edges[edges.len() - 1]), ends);
        // By definition: edge i is the least value with a share of at least i/bins up to it.
        for i in 1..=bins {
            let share = |v: f64| list.iter().filter(|&&x| x <= v).count() * bins >= i * list.len();
            let least = list.iter().copied().filter(|&v| share(v)).fold(f64::MAX, f64::min);
            prop_assert!(edges.contains(&least));
        }
        for &v in &list {
            let bin = bin_of(&edges, v);
            prop_assert!(v <= edges[bin + 1] && (v > edges[bin] || bin == 0), "{} in bin {} of {:?}", v, bin, edges);
        }
        prop_assert_eq!((bin_of(&edges, f64::NEG_INFINITY), bin_of(&edges, f64::INFINITY)), (0, edges.len() - 2));
    }

    #[test]
    fn a_summary_inverts_the_distribution_function(
        widths in prop::collection::vec(0.01f64..3.0, 1..8), shares in prop::collection::vec(0u32..5, 8), coverage in 0.05f64..0.95,
    ) {
        let mut edges = vec![-2.0];
        widths.iter().for_each(|w| edges.push(edges[edges.len() - 1] + w));
        let mut probabilities: Vec<f64> = shares[..widths.len()].iter().map(|&s| f64::from(s)).collect();
        probabilities[0] += 1.0;
        let total: f64 = probabilities.iter().sum();
        probabilities.iter_mut().for_each(|p| *p /= total);
        let summary = summarise(&edges, &probabilities, coverage);
        let forecast = Forecast::Bins { edges, probabilities };
        for (at, share) in [(summary.median, 0.5), (summary.lower, 0.5 - 0.5 * coverage), (summary.upper, 0.5 + 0.5 * coverage)] {
            prop_assert!((forecast.cdf(at) - share).abs() < 1e-9, "{} at {}", forecast.cdf(at), at);
            prop_assert!(forecast.cdf(at - 1e-6) < share, "{at} is not the least value");
        }
    }
}

#[test]
fn sparse_adam_leaves_rows_alone_that_dense_adam_moves_on() {
    let table = || Var::ones((3, 2), DType::F64, &Device::Cpu).unwrap();
    let (sparse, dense, config) = (table(), table(), AdamConfig::default());
    let mut states = [&sparse, &dense].map(|t| AdamState::zeros_like([t]).unwrap());
    let mut step = |ids: &[u32]| {
        let grad = Tensor::ones((ids.len(), 2), DType::F64, &Device::Cpu).unwrap();
        let gradient = embedding_gradient(ids, &grad).unwrap();
        let rows = (gradient.rows.as_slice(), &gradient.values);
        sparse_adam_step(&sparse, rows, &mut states[0], 0.1, &config).unwrap();
        let full = gradient.dense(3).unwrap();
        adam_step(
            std::slice::from_ref(&dense),
            &[full],
            &mut states[1],
            0.1,
            &config,
        )
        .unwrap();
        [&sparse, &dense].map(|t| values(t))
    };
    // As long as every row is looked up, the two are the same.
    let [first, same] = step(&[0, 1, 2]);
    assert!(relative(&first, &same) < 1e-15);
    let [after, moved] = step(&[1, 1]);
    for row in [0, 2] {
        assert_eq!(
            after[2 * row..2 * row + 2],
            first[2 * row..2 * row + 2],
            "row {row}"
        );
        assert!(
            (moved[2 * row] - same[2 * row]).abs() > 1e-3,
            "dense Adam moves row {row}"
        );
    }
    assert!(after[2] < first[2] - 1e-3);
    let decay = AdamConfig {
        weight_decay: 0.1,
        ..config
    };
    let grad = Tensor::ones((1, 2), DType::F64, &Device::Cpu).unwrap();
    assert!(
        sparse_adam_step(
            &sparse,
            (&[7], &grad),
            &mut states[0],
            0.1,
            &AdamConfig::default()
        )
        .is_err()
    );
    assert!(sparse_adam_step(&sparse, (&[0], &grad), &mut states[0], 0.1, &decay).is_err());
    let two = Tensor::ones((2, 2), DType::F64, &Device::Cpu).unwrap();
    assert!(
        sparse_adam_step(
            &sparse,
            (&[1, 1], &two),
            &mut states[0],
            0.1,
            &AdamConfig::default()
        )
        .is_err()
    );
}

#[test]
fn an_unknown_category_is_an_error() {
    let table = Tensor::ones((3, 2), DType::F32, &Device::Cpu).unwrap();
    let error = embed(&table, &[0, 3]).unwrap_err().to_string();
    assert!(error.contains("id 3 at position 1"), "{error}");
    assert!(embed(&table, &[u32::MAX]).is_err());
    assert!(embedding_gradient(&[0], &table).is_err());
}

/// ∫ (F(x) − 1{x ≥ y})² dx by the midpoint rule.
fn crps_by_quadrature(forecast: &Forecast, y: f64, (from, to): (f64, f64)) -> f64 {
    let steps = 400_000;
    let width = (to - from) / f64::from(steps);
    let at = |i: i32| from + (f64::from(i) + 0.5) * width;
    let square = |x: f64| (forecast.cdf(x) - f64::from(u8::from(x >= y))).powi(2);
    (0..steps).map(|i| square(at(i))).sum::<f64>() * width
}

#[test]
fn scores_and_summaries_match_quadrature() {
    let forecasts = [
        Forecast::Mixture {
            weights: vec![1.0],
            means: vec![0.5],
            stds: vec![0.7],
        },
        Forecast::Mixture {
            weights: vec![0.2, 0.5, 0.3],
            means: vec![-2.0, 0.0, 4.0],
            stds: vec![0.3, 1.0, 0.5],
        },
        Forecast::Bins {
            edges: vec![-3.0, -1.0, 0.0, 4.0],
            probabilities: vec![0.5, 0.0, 0.5],
        },
    ];
    for forecast in &forecasts {
        for y in [-9.0, -2.0, -0.4, 0.5, 3.0, 8.0] {
            let (got, expected) = (forecast.crps(y), crps_by_quadrature(forecast, y, (-20.0, 20.0)));
            assert!(
                (got - expected).abs() < 1e-4,
                "{got} instead of {expected} at {y}"
            );
        }
        let step = 1e-4;
        for y in [-2.5, 0.3, 3.1] {
            let density = (forecast.cdf(y + step) - forecast.cdf(y - step)) / (2.0 * step);
            assert!((forecast.nll(y) + density.ln()).abs() < 1e-5);
        }
        let summary = forecast.summary(0.8);
        for (at, share) in [(summary.lower, 0.1), (summary.median, 0.5), (summary.upper, 0.9)] {
            assert!((forecast.cdf(at) - share).abs() < 1e-9);
        }
        let again = Forecast::pool(&[forecast.clone(), forecast.clone()]).unwrap();
        assert!((again.crps(1.0) - forecast.crps(1.0)).abs() < 1e-12);
        assert!((again.summary(0.8).mean - summary.mean).abs() < 1e-12);
    }
    assert!(Forecast::pool(&forecasts).is_err() && Forecast::pool(&[]).is_err());
}

#[test]
fn calibrated_forecasts_keep_their_levels() {
    let pits: Vec<f64> = (0..1000).map(|i| (f64::from(i) + 0.5) / 1000.0).collect();
    let levels = [0.1, 0.5, 0.9, 1.0];
    for (share, level) in calibration(&pits, &levels).into_iter().zip(levels) {
        assert!((share - level).abs() < 1e-9);
    }
    // Every true value in the far tails: the intervals are too narrow.
    assert_eq!(calibration(&[0.01, 0.99, 0.0, 1.0], &[0.5, 0.9]), [0.0, 0.0]);
    assert_eq!(calibration(&[0.25, 0.75], &[0.5, 0.4]), [1.0, 0.0]);
}

/// The heads over values of a skewed distribution, and outputs of a network.
fn heads() -> (Vec<f64>, Vec<Head>) {
    let mut random = Philox::new(3, 9);
    let list: Vec<f64> = normals(&mut random, 300)
        .iter()
        .map(|z| f64::from((0.6 * z).exp() as f32))
        .collect();
    let of = |kind| Head::fit(kind, 3, 12, &list).unwrap();
    let heads = [HeadKind::Gaussian, HeadKind::Mixture, HeadKind::Bins].map(of);
    (list.clone(), heads.to_vec())
}

#[test]
fn a_heads_loss_is_its_forecasts_likelihood() {
    let (list, heads) = heads();
    for head in heads {
        let mut random = Philox::new(4, 4);
        let outputs: Vec<f32> = (0..50 * head.outputs()).map(|_| random.normal() as f32).collect();
        let rows = Tensor::from_vec(outputs.clone(), (50, head.outputs()), &Device::Cpu).unwrap();
        let labels: Vec<f32> = list[..50].iter().map(|&y| head.label(y)).collect();
        let labels = Tensor::new(labels, &Device::Cpu).unwrap();
        let loss = head.loss(&rows, &labels).unwrap().to_scalar::<f32>().unwrap();
        let forecasts: Vec<Forecast> = outputs
            .chunks(head.outputs())
            .map(|row| head.forecast(row))
            .collect();
        // The loss is in units of the training values; of bins it is that of the bin.
        let pairs = || forecasts.iter().zip(&list);
        let expected = pairs().map(|(f, &y)| f.nll(y) - head.log_unit(y)).sum::<f64>() / 50.0;
        assert!(
            (f64::from(loss) - expected).abs() < 1e-4,
            "{head:?}: {loss}, {expected}"
        );
        let inside = head
            .in_central_half(&rows, &labels)
            .unwrap()
            .to_scalar::<f32>()
            .unwrap();
        if !matches!(head, Head::Bins { .. }) {
            let exactly = pairs().filter(|(f, y)| (f.cdf(**y) - 0.5).abs() <= 0.25).count();
            assert_eq!(inside as usize, exactly, "{head:?}");
        }
    }
}

#[test]
fn a_head_that_cannot_learn_anything_is_an_error() {
    let error = |kind, bins, list: &[f64]| Head::fit(kind, 2, bins, list).unwrap_err().to_string();
    assert!(error(HeadKind::Bins, 1, &[1.0, 2.0]).contains("at least 2"));
    assert!(error(HeadKind::Gaussian, 2, &[3.0; 4]).contains("all 4 training values are equal"));
    assert!(error(HeadKind::Mixture, 2, &[1.0, f64::NAN]).contains("NaN"));
    assert!(error(HeadKind::Mixture, 2, &[]).contains("all 0"));
    let nearly = [[1.0; 9].as_slice(), &[2.0]].concat();
    assert!(error(HeadKind::Bins, 4, &nearly).contains("1 of 4 bins is left"));
}

#[test]
fn a_deviation_beyond_its_bounds_is_led_back() {
    let head = Head::fit(HeadKind::Gaussian, 1, 2, &[0.0, 2.0]).unwrap();
    for (log_std, label) in [(-8.0, 3.0), (8.0, 0.0)] {
        let outputs = Var::from_tensor(&Tensor::new(&[[0f32, log_std]], &Device::Cpu).unwrap()).unwrap();
        let label = Tensor::new(&[label as f32], &Device::Cpu).unwrap();
        let loss = head.loss(&outputs, &label).unwrap();
        let gradient = values(loss.backward().unwrap().get(&outputs).unwrap())[1];
        // A step against the gradient leads back between the bounds.
        assert!(gradient * f64::from(log_std) > 0.0, "{gradient} at {log_std}");
    }
}
