//! The device's memory: network, optimizer, gradients; and AdamW in single operators, neuron by neuron.

use std::ops::Range;

use candle_core::{Device, Result, Tensor, Var};
use canopy::{
    kernels::Pass,
    model::PointNet,
    optim::{OptimConfig, Optimizer},
    train::Loss,
};

use super::sources::as_candle;

/// The content of the device's memory.
pub struct State {
    pub model: PointNet,
    pub params: Vec<Var>,
    pub optimizer: Box<dyn Optimizer>,
    pub input: Option<(Tensor, Tensor)>,
    pub grads: Vec<Tensor>,
    /// The loss of the last step.
    pub loss: f64,
    pub step: u64,
    pub plain: bool,
    flat: Vec<Flat>,
}

/// A parameter as numbers, with the state of AdamW.
struct Flat {
    w: Vec<f32>,
    g: Vec<f32>,
    m: Vec<f32>,
    v: Vec<f32>,
    /// The result of an operator for the next one.
    t: Vec<f32>,
    row: usize,
}

/// Learning rate of all trainings here.
pub const RATE: f64 = 1e-3;

impl State {
    pub fn new(model: PointNet, plain: bool) -> anyhow::Result<Self> {
        let named = model.params();
        let params: Vec<Var> = named.iter().map(|(_, var)| var.clone()).collect();
        let flat = params.iter().map(|p| -> anyhow::Result<Flat> {
            let w: Vec<f32> = p.flatten_all()?.to_vec1()?;
            let zero = vec![0.0; w.len()];
            let row = if p.rank() > 1 {
                w.len() / p.dim(0)?
            } else {
                w.len()
            };
            let (g, m, v, t) = (zero.clone(), zero.clone(), zero.clone(), zero);
            Ok(Flat { w, g, m, v, t, row })
        });
        Ok(Self {
            flat: flat.collect::<anyhow::Result<_>>()?,
            optimizer: OptimConfig::adamw().build(named)?,
            params,
            model,
            input: None,
            grads: Vec::new(),
            loss: f64::NAN,
            step: 0,
            plain,
        })
    }

    /// The rows of each parameter, one for each neuron: (parameter, range of its numbers).
    pub fn rows(&self) -> Vec<(usize, Range<usize>)> {
        let of = |(i, f): (usize, &Flat)| {
            let starts = (0..f.w.len()).step_by(f.row.max(1));
            starts.map(|s| (i, s..s + f.row)).collect::<Vec<_>>()
        };
        self.flat.iter().enumerate().flat_map(of).collect()
    }

    /// Forward, loss and backward of the current batch.
    pub fn gradients(&mut self) -> Result<()> {
        let Some((points, labels)) = &self.input else {
            candle_core::bail!("there is no batch on the device");
        };
        let pass = Pass::train(1, self.step).plain(self.plain);
        // The trainer's own step, with an optimizer that keeps the gradients instead of using them.
        let mut keep = Keep::default();
        let pair = (points, labels);
        let (loss, _) = canopy::train::train_step(
            &self.model,
            &mut keep,
            pair,
            &Loss::CROSS_ENTROPY,
            &pass,
            RATE,
            0.0,
        )
        .map_err(as_candle)?;
        self.loss = f64::from(loss.to_scalar::<f32>()?);
        self.grads = keep.0;
        self.step += 1;
        Ok(())
    }

    /// canopy's AdamW: all parameters in one pass.
    pub fn update(&mut self) -> Result<()> {
        self.optimizer.step(&self.grads, RATE).map_err(as_candle)
    }

    /// Copies the gradients to numbers.
    pub fn lay_out(&mut self) -> Result<()> {
        for (flat, grad) in self.flat.iter_mut().zip(&self.grads) {
            flat.g = grad.flatten_all()?.to_vec1()?;
        }
        Ok(())
    }

    /// Copies the numbers back to the parameters.
    pub fn put_back(&mut self) -> Result<()> {
        for (flat, param) in self.flat.iter().zip(&self.params) {
            param.set(&Tensor::from_slice(&flat.w, param.shape(), &Device::Cpu)?)?;
        }
        Ok(())
    }

    /// The length of a neuron's gradient.
    pub fn norm(&self, at: usize, row: Range<usize>) -> f64 {
        let square: f32 = self.flat[at].g[row].iter().map(|g| g * g).sum();
        f64::from(square).sqrt()
    }

    /// Scales a neuron's gradient.
    pub fn shorten(&mut self, at: usize, row: Range<usize>, factor: f64) {
        self.flat[at].g[row].iter_mut().for_each(|g| *g *= factor as f32);
    }

    /// Copies the numbers back into the gradients.
    pub fn take_over(&mut self) -> Result<()> {
        for (flat, grad) in self.flat.iter().zip(&mut self.grads) {
            *grad = Tensor::from_slice(&flat.g, grad.shape(), &Device::Cpu)?;
        }
        Ok(())
    }

    /// Operator `number` of [`OPERATORS`] on one neuron.
    pub fn operator(&mut self, number: usize, at: usize, row: Range<usize>) {
        let step = self.step as i32;
        let Flat { w, g, m, v, t, .. } = &mut self.flat[at];
        let (w, g, m, v, t) = (
            &mut w[row.clone()],
            &g[row.clone()],
            &mut m[row.clone()],
            &mut v[row.clone()],
            &mut t[row],
        );
        let (c1, c2) = (1.0 - 0.9f64.powi(step), 1.0 - 0.999f64.powi(step));
        let n = w.len();
        match number {
            0 => w.iter_mut().for_each(|w| *w *= (1.0 - RATE * 0.01) as f32),
            1 => m.iter_mut().for_each(|m| *m *= 0.9),
            2 => (0..n).for_each(|i| m[i] += 0.1 * g[i]),
            3 => (0..n).for_each(|i| t[i] = g[i] * g[i]),
            4 => v.iter_mut().for_each(|v| *v *= 0.999),
            5 => (0..n).for_each(|i| v[i] += 0.001 * t[i]),
            6 => (0..n).for_each(|i| t[i] = v[i] / c2 as f32),
            7 => t.iter_mut().for_each(|t| *t = t.sqrt()),
            8 => t.iter_mut().for_each(|t| *t += 1e-8),
            9 => (0..n).for_each(|i| t[i] = m[i] / t[i]),
            _ => (0..n).for_each(|i| w[i] -= (RATE / c1) as f32 * t[i]),
        }
    }
}

/// The operators of AdamW.
pub const OPERATORS: [&str; 11] = [
    "w·(1−lr·λ)",
    "β₁·m",
    "m + (1−β₁)·g",
    "g²",
    "β₂·v",
    "v + (1−β₂)·g²",
    "v̂",
    "√v̂",
    "√v̂ + ε",
    "m/(√v̂ + ε)",
    "w − lr·…",
];

/// An optimizer that only keeps the gradients.
#[derive(Default)]
struct Keep(Vec<Tensor>);

impl Optimizer for Keep {
    fn step(&mut self, grads: &[Tensor], _: f64) -> anyhow::Result<()> {
        self.0 = grads.to_vec();
        Ok(())
    }

    fn state(&self) -> anyhow::Result<Vec<(String, Tensor)>> {
        anyhow::bail!("the experiment saves nothing")
    }

    fn load_state(&mut self, _: &std::collections::HashMap<String, Tensor>) -> anyhow::Result<()> {
        anyhow::bail!("the experiment resumes nothing")
    }
}
