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
}

impl PointNet {
    /// A new network with PyTorch's default initial values, drawn by `seed` and the tensor's name: the
    /// same on every device, and in the full model as in the vanilla one for a layer that both have.
    ///
    /// # Errors
    /// Returns an error for a configuration out of range, and candle's errors.
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
            Kind::Full => Some([
                TNet::new(init, "input_transform", 3, width)?,
                TNet::new(init, "feature_transform", 64 / width, width)?,
            ]),
        };
        let embedding = match config.categories {
            0 => None,
            categories => Some(Embedding::new(init, categories)?),
        };
        let feature = 1024 / width + embedding.as_ref().map_or(0, |_| embedding::WIDTH);
        Ok(Self {
            config: config.clone(),
            transforms,
            mlp: layers::stack(init, "mlp", config.inputs, &wide(&[64, 64, 64, 128, 1024]))?,
            embedding,
            head: layers::stack(init, "head", feature, &wide(&[512, 256]))?,
            classifier: Last::new(init, "classifier".to_owned(), 256 / width, config.classes)?,
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
        let mut params: Vec<Named> = self.tnets().flat_map(TNet::params).collect();
        params.extend(self.mlp.iter().flat_map(Dense::params));
        params.extend(self.embedding.iter().map(Embedding::param));
        params.extend(self.head.iter().flat_map(Dense::params));
        params.extend(self.classifier.params());
        params
    }

    /// Running means and variances, in the order of [`Self::params`].
    pub fn buffers(&self) -> Vec<(String, Var)> {
        let of_tnets = self.tnets().flat_map(|net| net.mlp.iter().chain(&net.fc));
        let own = self.mlp.iter().chain(&self.head);
        of_tnets.chain(own).flat_map(Dense::buffers).collect()
    }

    /// The gradients of `loss`, a scalar of this pass, in the order of [`Self::params`]; zeros for a
    /// parameter that the loss does not depend on.
    pub fn gradients(&self, loss: &Tensor, pass: &Pass) -> Result<Vec<Tensor>> {
        let params = self.params();
        let mut grads = vec![None; params.len()];
        self.gradients_with(loss, pass, &mut |i, gradient| {
            grads[i] = Some(gradient);
            Ok(())
        })?;
        let of = |(gradient, (_, var)): (Option<Tensor>, (String, Var))| match gradient {
            Some(gradient) => Ok(gradient),
            None => Ok(var.zeros_like()?),
        };
        grads.into_iter().zip(params).map(of).collect()
    }

    /// As [`Self::gradients`], but calls `ready(i, gradient)` as soon as parameter i's gradient is complete, and keeps no
    /// gradient: from the last layer to the first; not for a parameter that the loss does not depend on.
    ///
    /// # Errors
    /// Returns candle's errors, and those of `ready` unchanged.
    pub fn gradients_with(
        &self,
        loss: &Tensor,
        pass: &Pass,
        ready: &mut dyn FnMut(usize, Tensor) -> Result<()>,
    ) -> Result<()> {
        let places = self.places();
        kernels::backward(loss, pass, &mut |var, gradient| {
            places.get(&var.id()).map_or(Ok(()), |&i| ready(i, gradient))
        })
    }

    /// The number of trainable values.
    pub fn param_count(&self) -> usize {
        self.params().iter().map(|(_, var)| var.elem_count()).sum()
    }

    /// The index of each parameter in [`Self::params`].
    pub(super) fn places(&self) -> HashMap<TensorId, usize> {
        let params = self.params().into_iter().zip(0..);
        params.map(|((_, var), i)| (var.id(), i)).collect()
    }

    fn tnets(&self) -> impl Iterator<Item = &TNet> {
        self.transforms.iter().flatten()
    }
}
