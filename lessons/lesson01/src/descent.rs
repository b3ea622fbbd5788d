//! The function that the experiment minimises: Rosenbrock's curved valley, its walls ten times as steep as its floor.

use anyhow::Result;
use candle_core::{Device, Tensor, Var};

/// Where every descent starts.
const START: [f64; 2] = [-1.5, 1.0];
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
