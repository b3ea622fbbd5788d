use std::collections::{HashMap, VecDeque};

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device, Tensor};
use serde::{Deserialize, Serialize};

use super::optimizer::Optimizer;
use super::state::{self, Params};

/// Settings of L-BFGS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LbfgsConfig {
    /// Number of past steps that are stored, each as two vectors as long as all parameters together.
    pub history: usize,
}

impl Default for LbfgsConfig {
    fn default() -> Self {
        Self { history: 100 }
    }
}

/// L-BFGS (Nocedal 1980) without line search and with one gradient per step, as PyTorch's `LBFGS` with `max_iter=1`.
///
/// It estimates the curvature from how the gradient changed along past steps. So all gradients must be of one function,
/// the loss over the whole data set: gradients of different batches also differ because the batches differ. All vectors
/// are f64.
pub(super) struct Lbfgs {
    params: Params,
    config: LbfgsConfig,
    step: u64,
    /// Past steps and the changes of the gradient along them, the oldest first.
    past: VecDeque<(Vec<f64>, Vec<f64>)>,
    /// The gradient and the change of the parameters of the last step.
    last: Option<(Vec<f64>, Vec<f64>)>,
}

impl Lbfgs {
    /// The first step goes against the gradient.
    ///
    /// # Errors
    /// Returns an error if the history is 0.
    pub fn new(params: Params, config: LbfgsConfig) -> Result<Self> {
        ensure!(
            config.history > 0,
            "optimizer: L-BFGS needs a history of at least 1"
        );
        Ok(Self {
            params,
            config,
            step: 0,
            past: VecDeque::new(),
            last: None,
        })
    }

    /// Minus the estimated inverse Hessian times the gradient, by the two-loop recursion of Nocedal's paper.
    fn direction(&self, grad: &[f64]) -> Vec<f64> {
        let mut d: Vec<f64> = grad.iter().map(|g| -g).collect();
        let mut shares = Vec::with_capacity(self.past.len());
        for (s, y) in self.past.iter().rev() {
            let share = dot(s, &d) / dot(y, s);
            add(&mut d, -share, y);
            shares.push(share);
        }
        if let Some((s, y)) = self.past.back() {
            let scale = dot(y, s) / dot(y, y);
            d.iter_mut().for_each(|d| *d *= scale);
        }
        for ((s, y), share) in self.past.iter().zip(shares.iter().rev()) {
            let other = dot(y, &d) / dot(y, s);
            add(&mut d, share - other, s);
        }
        d
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// a ← a + factor·b.
fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}

fn flat(tensors: &[Tensor]) -> Result<Vec<f64>> {
    let mut all = Vec::new();
    for tensor in tensors {
        all.extend(tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>()?);
    }
    Ok(all)
}

impl Optimizer for Lbfgs {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        self.params.check(grads)?;
        let grad = flat(grads)?;
        self.step += 1;
        if let Some((before, moved)) = self.last.take() {
            let change: Vec<f64> = grad.iter().zip(&before).map(|(g, b)| g - b).collect();
            // A pair is stored only if the slope increased along the step, that is, if the curvature along it is
            // positive.
            if dot(&change, &moved) > 1e-10 {
                if self.past.len() == self.config.history {
                    self.past.pop_front();
                }
                self.past.push_back((moved, change));
            }
        }
        let direction = self.direction(&grad);
        let length = if self.step == 1 {
            lr * (1.0 / grad.iter().map(|g| g.abs()).sum::<f64>()).min(1.0)
        } else {
            lr
        };
        let moved: Vec<f64> = direction.iter().map(|d| d * length).collect();
        let mut rest = moved.as_slice();
        for param in &self.params.vars {
            let (own, others) = rest.split_at(param.elem_count());
            let by = Tensor::from_slice(own, param.shape(), &Device::Cpu)?;
            let by = by.to_dtype(param.dtype())?.to_device(param.device())?;
            param.set(&(param.as_detached_tensor() + by)?)?;
            rest = others;
        }
        self.last = Some((grad, moved));
        Ok(())
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        let pairs = self.past.iter().chain(&self.last).collect::<Vec<_>>();
        let mut state = vec![("step".to_owned(), Tensor::new(self.step as i64, &Device::Cpu)?)];
        for (i, (first, second)) in pairs.into_iter().enumerate() {
            state.push((
                format!("lbfgs.{i}.0"),
                Tensor::new(first.as_slice(), &Device::Cpu)?,
            ));
            state.push((
                format!("lbfgs.{i}.1"),
                Tensor::new(second.as_slice(), &Device::Cpu)?,
            ));
        }
        Ok(state)
    }

    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()> {
        let step = state::scalar(state, "step")?;
        let count: usize = self.params.vars.iter().map(|p| p.elem_count()).sum();
        let one = |i: usize, which: usize| -> Result<Vec<f64>> {
            let name = format!("lbfgs.{i}.{which}");
            let tensor = state.get(&name).with_context(|| {
                format!("optimizer state: tensor {name} is missing: the state belongs to another optimizer")
            })?;
            ensure!(
                tensor.dims() == [count] && tensor.dtype() == DType::F64,
                "optimizer state: tensor {name}: expected shape [{count}] of F64, got {:?} of {:?}",
                tensor.dims(),
                tensor.dtype()
            );
            Ok(tensor.to_vec1()?)
        };
        let pairs = (0..state.len() / 2).map(|i| Ok((one(i, 0)?, one(i, 1)?)));
        let mut past = pairs.collect::<Result<VecDeque<_>>>()?;
        ensure!(
            state.len() == 1 + 2 * past.len() && past.len() <= self.config.history + 1,
            "optimizer state: {} tensors are not a state of L-BFGS with history {}",
            state.len(),
            self.config.history
        );
        self.last = past.pop_back();
        (self.past, self.step) = (past, step);
        Ok(())
    }
}
