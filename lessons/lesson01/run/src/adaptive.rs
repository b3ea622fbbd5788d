//! Adagrad, RMSprop and Adadelta with PyTorch's settings, for comparison: `canopy train` has Adam.

use candle_core::{Result, Tensor, Var};

/// An optimizer of one variable, which scales the step of each weight by its past gradients.
pub struct Adaptive {
    rule: Rule,
    states: [Var; 2],
}

/// Updates the states with a gradient and returns the step at learning rate 1.
type Rule = fn(&Tensor, &[Var; 2]) -> Result<Tensor>;

impl Adaptive {
    pub fn new(rule: Rule, param: &Var) -> Result<Self> {
        let zeros = || Var::zeros(param.shape(), param.dtype(), param.device());
        Ok(Self {
            rule,
            states: [zeros()?, zeros()?],
        })
    }

    pub fn step(&self, param: &Var, grad: &Tensor, lr: f64) -> Result<()> {
        let change = (self.rule)(&grad.detach(), &self.states)?;
        param.set(&(param.as_detached_tensor() - (change * lr)?)?)
    }
}

/// Duchi, Hazan and Singer 2011: s ← s + g², w ← w − lr·g/(√s + ε).
pub fn adagrad(grad: &Tensor, [sum, _]: &[Var; 2]) -> Result<Tensor> {
    sum.set(&(sum.as_detached_tensor() + grad.sqr()?)?)?;
    grad / (sum.as_detached_tensor().sqrt()? + 1e-10)?
}

/// Tieleman and Hinton 2012: s ← α·s + (1−α)·g², w ← w − lr·g/(√s + ε).
pub fn rmsprop(grad: &Tensor, [mean, _]: &[Var; 2]) -> Result<Tensor> {
    grad / (running(mean, grad, 0.99)?.sqrt()? + 1e-8)?
}

/// Zeiler 2012: w ← w − lr·g·√(d + ε)/√(s + ε), with running means s of g² and d of the squared steps. In the paper lr is 1.
pub fn adadelta(grad: &Tensor, [mean, steps]: &[Var; 2]) -> Result<Tensor> {
    let (keep, eps) = (0.9, 1e-6);
    let square = running(mean, grad, keep)?;
    let top = (steps.as_detached_tensor() + eps)?.sqrt()?;
    let change = ((top / (square + eps)?.sqrt()?)? * grad)?;
    running(steps, &change, keep)?;
    Ok(change)
}

/// Updates the running mean of the squares of `new` and returns it.
fn running(mean: &Var, new: &Tensor, keep: f64) -> Result<Tensor> {
    let next = ((mean.as_detached_tensor() * keep)? + (new.sqr()? * (1.0 - keep))?)?;
    mean.set(&next)?;
    Ok(next)
}
