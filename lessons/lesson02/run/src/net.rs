//! The forward pass of a trained network by the functions of the exercises: shared MLP, T-Nets, max.

use std::collections::HashMap;

use anyhow::{Context, Result};
use candle_core::{Tensor, Var};
use canopy::{
    kernels::{BatchNorm, linear},
    model::{BN_EPS, BN_MOMENTUM, PointNet},
};
use lesson02::Lesson02;

/// A network's weights, and the functions that run it.
pub struct Net<'a> {
    model: &'a PointNet,
    vars: HashMap<String, Var>,
    answer: Lesson02,
}

/// The result of a forward pass.
pub struct Forward {
    /// `[clouds, classes]`.
    pub logits: Tensor,
    /// The inputs of the three max-pools, `[clouds, points, channels]`: of the input T-Net, of the feature T-Net, and of
    /// the last one.
    pub pooled: [Tensor; 3],
}

impl<'a> Net<'a> {
    pub fn new(model: &'a PointNet, answer: Lesson02) -> Self {
        let vars = model.params().into_iter().chain(model.buffers()).collect();
        Self { model, vars, answer }
    }

    /// The whole network on clouds `[clouds, points, 3]`.
    pub fn forward(&self, clouds: &Tensor) -> Result<Forward> {
        let clouds = clouds.to_device(&self.model.device())?;
        let (matrix, input) = self.tnet("input_transform", &clouds)?;
        let x = self.stack("mlp", 0..2, &clouds.matmul(&matrix)?)?;
        let (matrix, feature) = self.tnet("feature_transform", &x)?;
        let values = self.stack("mlp", 2..5, &x.matmul(&matrix)?)?;
        let pooled = (self.answer.max_points)(&values)?.unsqueeze(1)?;
        let hidden = self.stack("head", 0..2, &pooled)?.squeeze(1)?;
        Ok(Forward {
            logits: self.last("classifier", &hidden)?,
            pooled: [input, feature, values],
        })
    }

    /// The matrices of a T-Net, and the input of its max-pool.
    fn tnet(&self, name: &str, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let values = self.stack(&format!("{name}.mlp"), 0..3, x)?;
        let pooled = (self.answer.max_points)(&values)?.unsqueeze(1)?;
        let hidden = self.stack(&format!("{name}.fc"), 0..2, &pooled)?.squeeze(1)?;
        let numbers = self.last(&format!("{name}.out"), &hidden)?;
        Ok(((self.answer.to_matrix)(&numbers, x.dim(2)?)?, values))
    }

    fn stack(&self, name: &str, layers: std::ops::Range<usize>, x: &Tensor) -> Result<Tensor> {
        let mut x = x.clone();
        for i in layers {
            let (w, b) = self.layer(&format!("{name}.{i}"))?;
            x = (self.answer.shared_layer)(&x, &w, &b)?;
        }
        Ok(x)
    }

    /// Weight and bias of a layer, with its batch norm folded into them.
    fn layer(&self, name: &str) -> Result<(Tensor, Tensor)> {
        let var = |part: &str| self.var(&format!("{name}.{part}"));
        let bn = BatchNorm {
            gamma: var("bn.weight")?,
            beta: var("bn.bias")?,
            mean: var("bn.running_mean")?,
            var: var("bn.running_var")?,
            momentum: BN_MOMENTUM,
            eps: BN_EPS,
        };
        Ok(bn.folded(&var("weight")?.as_detached_tensor())?)
    }

    fn last(&self, name: &str, x: &Tensor) -> Result<Tensor> {
        let var = |part: &str| self.var(&format!("{name}.{part}"));
        let (w, b) = (var("weight")?, var("bias")?);
        Ok(linear(x, &w, &b)?)
    }

    fn var(&self, name: &str) -> Result<Var> {
        self.vars
            .get(name)
            .cloned()
            .with_context(|| format!("the network has no {name}"))
    }
}
