//! L-BFGS, which `canopy train` does not have, because its gradients are of batches.

use std::collections::VecDeque;

use candle_core::{DType, Device, Result, Tensor, Var};

/// L-BFGS (Nocedal 1980) without line search and with one gradient per step, as PyTorch's `LBFGS` with `max_iter=1`.
///
/// It estimates the curvature from how the gradient changed along past steps. So all gradients must be of one function,
/// the loss over the whole data set: gradients of different batches also differ because the batches differ. All vectors
/// are f64.
pub struct Lbfgs {
    params: Vec<Var>,
    history: usize,
    /// Past steps and the changes of the gradient along them, the oldest first.
    past: VecDeque<(Vec<f64>, Vec<f64>)>,
    /// The gradient and the change of the parameters of the last step.
    last: Option<(Vec<f64>, Vec<f64>)>,
}

impl Lbfgs {
    /// Minimises over `params`. `history` past steps are stored, at least 1, each as two vectors as long as all parameters
    /// together.
    pub fn new(params: Vec<Var>, history: usize) -> Self {
        Self {
            params,
            history: history.max(1),
            past: VecDeque::new(),
            last: None,
        }
    }

    /// Takes one step with learning rate `lr`. `grads` are in the order of the parameters. The first step goes against the
    /// gradient.
    pub fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        let grad = flat(grads)?;
        let mut length = lr;
        if let Some((before, moved)) = self.last.take() {
            let change: Vec<f64> = grad.iter().zip(&before).map(|(g, b)| g - b).collect();
            // A pair is stored only if the slope increased along the step, that is, if the curvature along it is
            // positive.
            if dot(&change, &moved) > 1e-10 {
                if self.past.len() == self.history {
                    self.past.pop_front();
                }
                self.past.push_back((moved, change));
            }
        } else {
            length *= (1.0 / grad.iter().map(|g| g.abs()).sum::<f64>()).min(1.0);
        }
        let moved: Vec<f64> = self.direction(&grad).iter().map(|d| d * length).collect();
        let mut rest = moved.as_slice();
        for param in &self.params {
            let (own, others) = rest.split_at(param.elem_count());
            let by = Tensor::from_slice(own, param.shape(), &Device::Cpu)?;
            let by = by.to_dtype(param.dtype())?.to_device(param.device())?;
            param.set(&(param.as_detached_tensor() + by)?)?;
            rest = others;
        }
        self.last = Some((grad, moved));
        Ok(())
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
