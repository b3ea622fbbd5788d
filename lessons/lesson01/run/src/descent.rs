//! The function that the experiment minimises: Rosenbrock's curved valley, its walls ten times as steep as its floor.

use anyhow::Result;
use candle_core::{Device, Tensor, Var};

/// Where every descent starts.
pub const START: [f64; 2] = [-1.5, 1.0];
/// The minimum.
pub const GOAL: [f64; 2] = [1.0, 1.0];
/// A descent has arrived when the loss is below this.
pub const ARRIVED: f64 = 1e-4;
/// The most steps of a descent.
pub const STEPS: usize = 2000;

/// (1 − x)² + 10·(y − x²)², with its minimum of 0 at (1, 1).
fn loss(at: &Tensor) -> candle_core::Result<Tensor> {
    let (x, y) = (at.get(0)?, at.get(1)?);
    let along = x.affine(-1.0, 1.0)?.sqr()?;
    along + ((y - x.sqr()?)?.sqr()? * 10.0)?
}

/// Lines of equal loss: y = x² ± √((level − (1 − x)²)/10), where the root exists. A line that leaves the picture is
/// interrupted by NaN.
pub fn contours() -> Vec<Vec<(f64, f64)>> {
    let lines = [0.1, 0.5, 2.0, 5.0, 15.0, 40.0].map(|level: f64| {
        let half = level.sqrt();
        // From angles, so that the line is smooth at its ends, where the root is 0.
        let point = |i: i32| {
            let (sin, cos) = (f64::from(i) * std::f64::consts::TAU / 240.0).sin_cos();
            let x = 1.0 - half * cos;
            let y = x * x + half * sin / 10f64.sqrt();
            let inside = (-1.8..=1.5).contains(&x) && (-1.0..=2.2).contains(&y);
            if inside { (x, y) } else { (x, f64::NAN) }
        };
        (0..=240).map(point).collect()
    });
    lines.into()
}

/// The steps of an optimizer.
pub struct Descent {
    /// Every position, the start first.
    pub path: Vec<(f64, f64)>,
    /// The loss at each.
    pub losses: Vec<f64>,
    /// Steps until it arrived.
    pub steps: Option<usize>,
}

/// Calls `step(variable, gradient)` from [`START`] until the loss is below [`ARRIVED`], it diverges, or [`STEPS`] are taken.
pub fn descend(mut step: impl FnMut(&Var, &Tensor) -> Result<()>) -> Result<Descent> {
    let var = Var::new(&START, &Device::Cpu)?;
    let (mut path, mut losses, mut arrived) = (Vec::new(), Vec::new(), None);
    for count in 0..=STEPS {
        let here: Vec<f64> = var.to_vec1()?;
        let height = loss(&var)?;
        let value: f64 = height.to_scalar()?;
        path.push((here[0], here[1]));
        losses.push(value);
        if value < ARRIVED {
            arrived = Some(count);
            break;
        }
        let grads = height.backward()?;
        let Some(grad) = grads.get(&var).filter(|_| value <= 1e6) else {
            break;
        };
        step(&var, grad)?;
    }
    Ok(Descent {
        path,
        losses,
        steps: arrived,
    })
}
