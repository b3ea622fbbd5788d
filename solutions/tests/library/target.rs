//! Embeddings, losses, bins, forecasts and their scores, against their definitions in f64.

use candle_core::{Device, Tensor, Var};
use canopy::target::{Component, Forecast, Head, HeadKind};
use canopy_data::Philox;

use crate::values;

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
    let component = |&[weight, mean, std]: &[f64; 3]| Component { weight, mean, std };
    let mixture = |components: &[[f64; 3]]| Forecast::Mixture(components.iter().map(component).collect());
    let forecasts = [
        mixture(&[[1.0, 0.5, 0.7]]),
        mixture(&[[0.2, -2.0, 0.3], [0.5, 0.0, 1.0], [0.3, 4.0, 0.5]]),
        Forecast::Bins {
            edges: vec![-3.0, -1.0, 0.0, 4.0],
            probabilities: vec![0.5, 0.0, 0.5],
        },
    ];
    for forecast in &forecasts {
        for y in [-9.0, -2.0, -0.4, 0.5, 3.0, 8.0] {
            let error = forecast.crps(y) - crps_by_quadrature(forecast, y, (-20.0, 20.0));
            assert!(error.abs() < 1e-4, "{error} at {y}");
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

/// The heads over values of a skewed distribution, and outputs of a network.
fn heads() -> (Vec<f64>, Vec<Head>) {
    let mut random = Philox::new(3, 9);
    let value = |_| f64::from((0.6 * random.normal()).exp() as f32);
    let list: Vec<f64> = (0..300).map(value).collect();
    let of = |kind| Head::fit(kind, 3, 12, &list).unwrap();
    let heads = [HeadKind::Gaussian, HeadKind::Mixture, HeadKind::Bins].map(of);
    (list, heads.to_vec())
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
        let of_cloud = outputs.chunks(head.outputs());
        let forecasts: Vec<Forecast> = of_cloud.map(|row| head.forecast(row)).collect();
        // The loss is in units of the training values; of bins it is that of the bin.
        let pairs = || forecasts.iter().zip(&list);
        let expected = pairs().map(|(f, &y)| f.nll(y) - head.log_unit(y)).sum::<f64>() / 50.0;
        let error = f64::from(loss) - expected;
        assert!(error.abs() < 1e-4, "{head:?}: {loss}, {expected}");
        let inside = values(&head.in_central_half(&rows, &labels).unwrap())[0];
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
