use std::collections::HashMap;

use anyhow::{Result, ensure};
use candle_core::{DType, Device, Tensor, Var};

use super::layers::{self, Dense, Init, Last, Named, TNet};
use super::{Kind, PointNetConfig};
use crate::kernels::{self, Operator, Pass};

/// What a forward pass gives.
#[derive(Clone, Debug)]
pub struct Output {
    /// `[clouds, classes]`.
    pub logits: Tensor,
    /// The feature T-Net's matrices, `[clouds, 64, 64]`, for [`super::orthogonality`]; the full model's only.
    pub feature_transform: Option<Tensor>,
}

/// The network. A clone shares the variables.
#[derive(Clone, Debug)]
pub struct PointNet {
    config: PointNetConfig,
    transforms: Option<Transforms>,
    mlp: Vec<Dense>,
    head: Vec<Dense>,
    classifier: Last,
}

#[derive(Clone, Debug)]
struct Transforms {
    input: TNet,
    feature: TNet,
}

/// Layers of the shared MLP before the feature transform.
pub(super) const BEFORE_FEATURE_TRANSFORM: usize = 2;

impl PointNet {
    /// A new network with PyTorch's default initial values, drawn by `seed` and the tensor's name: the
    /// same on every device, and in the full model as in the vanilla one where they share a layer.
    ///
    /// # Errors
    /// A configuration out of range; candle's.
    pub fn new(config: &PointNetConfig, device: &Device, dtype: DType, seed: u64) -> Result<Self> {
        config.check()?;
        let init = &Init {
            device,
            dtype,
            seed,
            bn_momentum: config.bn_momentum,
            bn_eps: config.bn_eps,
        };
        let width = config.width;
        let wide = |channels: &[usize]| channels.iter().map(|c| c / width).collect::<Vec<_>>();
        let transforms = match config.kind {
            Kind::Vanilla => None,
            Kind::Full => Some(Transforms {
                input: TNet::new(init, "input_transform", "input_transform.out", 3, width)?,
                feature: TNet::new(
                    init,
                    "feature_transform",
                    "feature_transform.out",
                    64 / width,
                    width,
                )?,
            }),
        };
        Ok(Self {
            config: config.clone(),
            transforms,
            mlp: layers::stack(init, "mlp", config.inputs, &wide(&[64, 64, 64, 128, 1024]))?,
            head: layers::stack(init, "head", 1024 / width, &wide(&[512, 256]))?,
            classifier: Last::new(init, "classifier", 256 / width, config.classes)?,
        })
    }

    /// What it was made from.
    pub fn config(&self) -> &PointNetConfig {
        &self.config
    }

    /// Number type of its weights.
    pub fn dtype(&self) -> DType {
        self.classifier.weight().dtype()
    }

    /// Where its weights are.
    pub fn device(&self) -> Device {
        self.classifier.weight().device().clone()
    }

    /// Points `[clouds, points, inputs]`, any unit that training used, to logits.
    ///
    /// # Errors
    /// Points of another shape; in training a single cloud, for which batch norm in the head has nothing
    /// to average over; candle's.
    pub fn forward(&self, points: &Tensor, pass: &Pass) -> Result<Output> {
        let clouds = points.dims().first().copied().unwrap_or(0);
        ensure!(
            !pass.train || clouds != 1 || pass.synchronised(),
            "training needs at least 2 clouds in a batch, got 1: batch norm in the head would divide by a \
             variance of nothing. Take a larger batch, or drop the epoch's last one where it holds a single cloud"
        );
        let (x, feature_transform) = self.transformed(points, pass)?;
        let pooled = layers::forward_max(self.after_transforms(), &x, clouds, pass)?;
        Ok(Output {
            logits: self.classify(pooled, pass)?,
            feature_transform,
        })
    }

    /// Up to the feature transform: `[clouds, points, inputs]` → `[clouds × points, 64]`; all of a vanilla model's
    /// shared MLP lies behind it, so its points pass as they are.
    pub(super) fn transformed(&self, points: &Tensor, pass: &Pass) -> Result<(Tensor, Option<Tensor>)> {
        let inputs = self.config.inputs;
        let rows = match *points.dims() {
            [clouds, points, k] if clouds > 0 && points > 0 && k == inputs => clouds * points,
            _ => anyhow::bail!(
                "points: expected shape [clouds, points, {inputs}] with at least one cloud and one point, got {:?}",
                points.dims()
            ),
        };
        let clouds = points.dim(0)?;
        let x = points.reshape((rows, inputs))?;
        let Some(transforms) = &self.transforms else {
            return Ok((x, None));
        };
        let product = |[x, t]: [Tensor; 2]| kernels::transform(&x, &t);
        let t = transforms.input.forward(&x, clouds, pass)?;
        let x = pass.operate(Operator::Matmul, [&x, &t], product)?;
        let x = layers::forward(&self.mlp[..BEFORE_FEATURE_TRANSFORM], &x, pass)?;
        let t = transforms.feature.forward(&x, clouds, pass)?;
        Ok((pass.operate(Operator::Matmul, [&x, &t], product)?, Some(t)))
    }

    /// The layers of the shared MLP that what [`Self::transformed`] gives has not been through.
    pub(super) fn after_transforms(&self) -> &[Dense] {
        match self.config.kind {
            Kind::Full => &self.mlp[BEFORE_FEATURE_TRANSFORM..],
            Kind::Vanilla => &self.mlp,
        }
    }

    /// `[clouds, 1024]` → `[clouds, classes]`.
    pub(super) fn classify(&self, pooled: Tensor, pass: &Pass) -> Result<Tensor> {
        let mut x = pooled;
        for (i, layer) in self.head.iter().enumerate() {
            let hidden = layers::forward(std::slice::from_ref(layer), &x, pass)?;
            x = kernels::dropout(&hidden, self.config.dropout, i as u64, pass)?;
        }
        Ok(self.classifier.forward(&x, pass)?)
    }

    /// What training changes, always in this order: the input T-Net, the feature T-Net, the shared MLP,
    /// the head, the classifier; in each layer weight, γ, β (or weight, bias).
    pub fn params(&self) -> Vec<(String, Var)> {
        let mut params: Vec<Named> = Vec::new();
        for net in self.tnets() {
            params.extend(net.mlp.iter().chain(&net.fc).flat_map(Dense::params));
            params.extend(net.out.params());
        }
        params.extend(self.mlp.iter().chain(&self.head).flat_map(Dense::params));
        params.extend(self.classifier.params());
        params
    }

    /// Running means and variances, in the order of [`Self::params`].
    pub fn buffers(&self) -> Vec<(String, Var)> {
        let of_tnets = self.tnets().flat_map(|net| net.mlp.iter().chain(&net.fc));
        let own = self.mlp.iter().chain(&self.head);
        of_tnets.chain(own).flat_map(Dense::buffers).collect()
    }

    /// The gradients of `loss`, one number of this pass, in the order of [`Self::params`]; zeros for a
    /// parameter that the loss does not depend on.
    ///
    /// # Errors
    /// candle's.
    pub fn gradients(&self, loss: &Tensor, pass: &Pass) -> Result<Vec<Tensor>> {
        self.gradients_with(loss, pass, &mut |_, _| Ok(()))
    }

    /// As [`Self::gradients`], calling `ready(i, gradient)` as soon as parameter i's gradient is complete, from the last
    /// layer to the first; not for a parameter that the loss does not depend on.
    ///
    /// # Errors
    /// candle's; those of `ready`.
    pub fn gradients_with(
        &self,
        loss: &Tensor,
        pass: &Pass,
        ready: &mut dyn FnMut(usize, &Tensor) -> Result<()>,
    ) -> Result<Vec<Tensor>> {
        let places: HashMap<_, _> = self
            .params()
            .iter()
            .enumerate()
            .map(|(i, (_, p))| (p.id(), i))
            .collect();
        let mut grads = kernels::backward_with(loss, pass, &mut |var, gradient| {
            let told = places.get(&var.id()).map_or(Ok(()), |&i| ready(i, gradient));
            told.map_err(|e| candle_core::Error::Msg(format!("{e:#}")))
        })?;
        let of = |(_, var): (String, Var)| match grads.take(&var) {
            Some(grad) => Ok(grad),
            None => Ok(var.zeros_like()?),
        };
        self.params().into_iter().map(of).collect()
    }

    /// Numbers that training changes.
    pub fn param_count(&self) -> usize {
        self.params().iter().map(|(_, var)| var.elem_count()).sum()
    }

    /// All of the shared MLP.
    pub(super) fn mlp(&self) -> &[Dense] {
        &self.mlp
    }

    /// Input and feature T-Net; the full model's only.
    pub(super) fn transforms(&self) -> Option<(&TNet, &TNet)> {
        self.transforms.as_ref().map(|t| (&t.input, &t.feature))
    }

    fn tnets(&self) -> impl Iterator<Item = &TNet> {
        self.transforms.iter().flat_map(|t| [&t.input, &t.feature])
    }
}
