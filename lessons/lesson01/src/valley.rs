//! The valley of the experiment: Rosenbrock's curved valley, its walls ten times as steep as its floor.

use anyhow::Result;
use candle_core::{Device, Tensor, Var};

/// Where every walk begins.
pub const START: [f64; 2] = [-1.5, 1.0];
/// A walk has arrived where the loss is below this.
pub const ARRIVED: f64 = 1e-4;
/// A walk ends after so many steps.
pub const STEPS: usize = 2000;

/// (1 − x)² + 10·(y − x²)², least at (1, 1), where it is 0.
pub fn loss(at: &Tensor) -> candle_core::Result<Tensor> {
    let (x, y) = (at.get(0)?, at.get(1)?);
    let along = x.affine(-1.0, 1.0)?.sqr()?;
    along + ((y - x.sqr()?)?.sqr()? * 10.0)?
}

/// Where a walk went.
pub struct Walk {
    /// Each place, the start first.
    pub path: Vec<(f64, f64)>,
    /// The loss at each.
    pub losses: Vec<f64>,
    /// Steps until it arrived.
    pub steps: Option<usize>,
}

/// Walks from [`START`] by `step(variable, gradient)` until it arrives, leaves all bounds, or has gone [`STEPS`].
pub fn walk(mut step: impl FnMut(&Var, &Tensor) -> Result<()>) -> Result<Walk> {
    let var = Var::new(&START, &Device::Cpu)?;
    let (mut path, mut losses) = (Vec::new(), Vec::new());
    for count in 0..=STEPS {
        let here: Vec<f64> = var.to_vec1()?;
        let height = loss(&var)?;
        let value: f64 = height.to_scalar()?;
        path.push((here[0], here[1]));
        losses.push(value);
        if value < ARRIVED {
            let steps = Some(count);
            return Ok(Walk { path, losses, steps });
        }
        if !(value < 1e6) {
            break;
        }
        let grads = height.backward()?;
        let Some(grad) = grads.get(&var) else {
            break;
        };
        step(&var, grad)?;
    }
    Ok(Walk {
        path,
        losses,
        steps: None,
    })
}
