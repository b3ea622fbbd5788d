use std::collections::HashMap;

use anyhow::Result;
use candle_core::{DType, Device, Tensor, TensorId, Var};

use super::embedding::{self, Embedding};
use super::layers::{self, Dense, Init, Last, Named, TNet};
use super::{Kind, PointNetConfig};
use crate::kernels::{self, Pass};

/// The result of a forward pass.
#[derive(Clone, Debug)]
pub struct Output {
    /// `[clouds, classes]`.
    pub logits: Tensor,
    /// The feature T-Net's matrices, `[clouds, 64, 64]`, for [`super::orthogonality`]; only of the full model.
    pub feature_transform: Option<Tensor>,
}

/// The network. A clone shares the variables.
#[derive(Clone, Debug)]
pub struct PointNet {
    pub(super) config: PointNetConfig,
    /// Input and feature T-Net; only of the full model.
    pub(super) transforms: Option<[TNet; 2]>,
    /// All layers of the shared MLP.
    pub(super) mlp: Vec<Dense>,
    pub(super) embedding: Option<Embedding>,
    /// The layers of the head before the last.
    pub(super) head: Vec<Dense>,
    pub(super) classifier: Last,
    pub(super) params: Vec<Named>,
    pub(super) buffers: Vec<Named>,
    /// The index of each parameter in `params`.
    places: HashMap<TensorId, usize>,
}

impl PointNet {
    /// A new network with PyTorch's default initial values, drawn by `seed` and the tensor's name: the
    /// same on every device, and in the full model as in the vanilla one for a layer that both have.
    ///
    /// # Errors
    /// Returns an error for a configuration out of range, and candle's errors.
    pub fn new(config: &PointNetConfig, device: &Device, dtype: DType, seed: u64) -> Result<Self> {
        config.check()?;
        let init = &mut Init {
            device,
            dtype,
            seed,
            params: Vec::new(),
            buffers: Vec::new(),
        };
        let width = config.width;
        let wide = |channels: &[usize]| channels.iter().map(|c| c / width).collect::<Vec<_>>();
        let transforms = match config.kind {
            Kind::Vanilla => None,
            Kind::Full => Some([
                TNet::new(init, "input_transform", 3, width)?,
                TNet::new(init, "feature_transform", 64 / width, width)?,
            ]),
        };
        let mlp = layers::stack(init, "mlp", config.inputs, &wide(&[64, 64, 64, 128, 1024]))?;
        let embedding = match config.categories {
            0 => None,
            categories => Some(Embedding::new(init, categories)?),
        };
        let feature = 1024 / width + embedding.as_ref().map_or(0, |_| embedding::WIDTH);
        let head = layers::stack(init, "head", feature, &wide(&[512, 256]))?;
        let classifier = Last::new(init, "classifier", 256 / width, config.classes)?;
        let (params, buffers) = (
            std::mem::take(&mut init.params),
            std::mem::take(&mut init.buffers),
        );
        Ok(Self {
            config: config.clone(),
            transforms,
            mlp,
            embedding,
            head,
            classifier,
            places: params
                .iter()
                .zip(0..)
                .map(|((_, var), i)| (var.id(), i))
                .collect(),
            params,
            buffers,
        })
    }

    /// The configuration it was created from.
    pub fn config(&self) -> &PointNetConfig {
        &self.config
    }

    /// The dtype of its weights.
    pub fn dtype(&self) -> DType {
        self.classifier.weight.dtype()
    }

    /// The device of its weights.
    pub fn device(&self) -> Device {
        self.classifier.weight.device().clone()
    }

    /// The parameters, always in this order: the input T-Net, the feature T-Net, the shared MLP,
    /// the embedding, the head, the classifier; in each layer weight, γ, β (or weight, bias).
    pub fn params(&self) -> Vec<(String, Var)> {
        self.params.clone()
    }

    /// Running means and variances, in the order of [`Self::params`].
    pub fn buffers(&self) -> Vec<(String, Var)> {
        self.buffers.clone()
    }

    /// The gradients of `loss`, a scalar of this pass, in the order of [`Self::params`]; zeros for a
    /// parameter that the loss does not depend on.
    pub fn gradients(&self, loss: &Tensor, pass: &Pass) -> Result<Vec<Tensor>> {
        let mut grads = vec![None; self.params.len()];
        self.gradients_with(loss, pass, &mut |i, gradient| {
            grads[i] = Some(gradient);
            Ok(())
        })?;
        let pairs = grads.into_iter().zip(&self.params);
        pairs
            .map(|(gradient, (_, var))| gradient.map_or_else(|| Ok(var.zeros_like()?), Ok))
            .collect()
    }

    /// As [`Self::gradients`], but calls `ready(i, gradient)` as soon as parameter i's gradient is complete, and keeps no
    /// gradient: from the last layer to the first; not for a parameter that the loss does not depend on.
    /// Errors of `ready` are returned unchanged.
    pub fn gradients_with(
        &self,
        loss: &Tensor,
        pass: &Pass,
        ready: &mut dyn FnMut(usize, Tensor) -> Result<()>,
    ) -> Result<()> {
        kernels::backward(
            loss,
            pass,
            &mut |var, gradient| match self.places.get(&var.id()) {
                Some(&i) => ready(i, gradient),
                None => Ok(()),
            },
        )
    }

    /// The number of trainable values.
    pub fn param_count(&self) -> usize {
        self.params.iter().map(|(_, var)| var.elem_count()).sum()
    }
}
