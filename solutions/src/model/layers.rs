//! The layers: a shared MLP layer, the T-Net, the last linear layer.

use candle_core::{DType, Device, Result, Tensor, Var};
use canopy_data::Purpose;

use super::{BN_EPS, BN_MOMENTUM};
use crate::kernels::{self, BatchNorm, Clouds, MlpLayer, Operator, Pass};

/// How new layers are initialised, and what they have been given so far.
pub(super) struct Init<'a> {
    pub device: &'a Device,
    pub dtype: DType,
    pub seed: u64,
    /// The parameters, in the order of the layers.
    pub params: Vec<Named>,
    /// Running means and variances, in the same order.
    pub buffers: Vec<Named>,
}

impl Init<'_> {
    /// PyTorch's default for `Linear` and `Conv1d`, weight and bias alike: uniform within ±1/√fan_in.
    /// The random stream is chosen by the tensor's name, so that adding a layer changes no other's values.
    pub fn uniform(&mut self, name: String, shape: &[usize], fan_in: usize) -> Result<Var> {
        let bound = 1.0 / (fan_in as f64).sqrt();
        let mut random = Purpose::Init.stream(self.seed, stream_of(&name));
        let values: Vec<f64> = (0..shape.iter().product())
            .map(|_| random.range(-bound, bound))
            .collect();
        let values = Tensor::from_vec(values, shape, self.device)?.to_dtype(self.dtype)?;
        Ok(named(&mut self.params, name, Var::from_tensor(&values)?))
    }

    fn zeros(&mut self, name: String, shape: &[usize]) -> Result<Var> {
        let zeros = Var::zeros(shape, self.dtype, self.device)?;
        Ok(named(&mut self.params, name, zeros))
    }

    fn batch_norm(&mut self, layer: &str, channels: usize) -> Result<BatchNorm> {
        let ones = || Var::ones(channels, self.dtype, self.device);
        let zeros = || Var::zeros(channels, self.dtype, self.device);
        let (params, buffers) = (&mut self.params, &mut self.buffers);
        Ok(BatchNorm {
            gamma: named(params, format!("{layer}.bn.weight"), ones()?),
            beta: named(params, format!("{layer}.bn.bias"), zeros()?),
            mean: named(buffers, format!("{layer}.bn.running_mean"), zeros()?),
            var: named(buffers, format!("{layer}.bn.running_var"), ones()?),
            momentum: BN_MOMENTUM,
            eps: BN_EPS,
        })
    }
}

/// A variable with its name in a file of weights.
pub(super) type Named = (String, Var);

/// Adds `var` to `list` as `name`.
fn named(list: &mut Vec<Named>, name: String, var: Var) -> Var {
    list.push((name, var.clone()));
    var
}

/// FNV-1a, 64 bits, of the tensor's name.
fn stream_of(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// `relu(bn(x·wᵀ))`: a layer of a shared MLP over points, or of a head over clouds.
///
/// It has no bias: batch norm subtracts the mean, and a bias with it.
#[derive(Clone, Debug)]
pub(super) struct Dense {
    weight: Var,
    bn: BatchNorm,
}

impl Dense {
    fn new(init: &mut Init, name: &str, from: usize, to: usize) -> Result<Self> {
        Ok(Self {
            weight: init.uniform(format!("{name}.weight"), &[to, from], from)?,
            bn: init.batch_norm(name, to)?,
        })
    }

    fn as_layer(&self) -> MlpLayer<'_> {
        MlpLayer {
            weight: &self.weight,
            bn: &self.bn,
            relu: true,
        }
    }
}

/// `x·wᵀ + b`: the last layer of a head.
#[derive(Clone, Debug)]
pub(super) struct Last {
    pub weight: Var,
    bias: Var,
}

impl Last {
    pub fn new(init: &mut Init, name: &str, from: usize, to: usize) -> Result<Self> {
        Ok(Self {
            weight: init.uniform(format!("{name}.weight"), &[to, from], from)?,
            bias: init.uniform(format!("{name}.bias"), &[to], from)?,
        })
    }

    pub fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let inputs = [x, self.weight.as_tensor(), self.bias.as_tensor()];
        pass.operate(Operator::Linear, inputs, |[x, w, b]| kernels::linear(&x, &w, &b))
    }
}

/// Predicts a k×k matrix for each cloud (Qi et al. 2017, section 4.2, supplementary C).
///
/// The last layer gives the difference from the identity and starts at zero, so that weight decay pulls
/// a transform toward doing nothing.
#[derive(Clone, Debug)]
pub(super) struct TNet {
    mlp: Vec<Dense>,
    fc: Vec<Dense>,
    out: Last,
    k: usize,
}

impl TNet {
    pub fn new(init: &mut Init, name: &str, k: usize, width: usize) -> Result<Self> {
        let wide = |channels: usize| channels / width;
        let mlp = [wide(64), wide(128), wide(1024)];
        Ok(Self {
            mlp: stack(init, &format!("{name}.mlp"), k, &mlp)?,
            fc: stack(init, &format!("{name}.fc"), wide(1024), &[wide(512), wide(256)])?,
            out: Last {
                weight: init.zeros(format!("{name}.out.weight"), &[k * k, wide(256)])?,
                bias: init.zeros(format!("{name}.out.bias"), &[k * k])?,
            },
            k,
        })
    }

    /// `[points of all clouds, k]` → `[clouds, k, k]`.
    pub fn forward(&self, x: &Tensor, clouds: &Clouds, pass: &Pass) -> Result<Tensor> {
        let pooled = forward_max(&self.mlp, x, clouds, pass)?;
        let hidden = forward(&self.fc, &pooled, pass)?;
        let t = kernels::add_identity(&self.out.forward(&hidden, pass)?, self.k)?;
        // In evaluation, candle's graph would keep every later tensor.
        Ok(if pass.train { t } else { t.detach() })
    }
}

/// Layers `NAME.0`, `NAME.1`, … of the widths given.
pub(super) fn stack(init: &mut Init, name: &str, from: usize, widths: &[usize]) -> Result<Vec<Dense>> {
    let inputs = std::iter::once(&from).chain(widths);
    let layers = inputs.zip(widths).enumerate();
    layers
        .map(|(i, (&from, &to))| Dense::new(init, &format!("{name}.{i}"), from, to))
        .collect()
}

/// Layer after layer: `[rows, from]` → `[rows, to]`.
pub(super) fn forward(layers: &[Dense], x: &Tensor, pass: &Pass) -> Result<Tensor> {
    let layers: Vec<_> = layers.iter().map(Dense::as_layer).collect();
    kernels::shared_mlp(x, &layers, pass)
}

/// Layer after layer, then the maximum over each cloud's points:
/// `[points of all clouds, from]` → `[clouds, to]`.
pub(super) fn forward_max(layers: &[Dense], x: &Tensor, clouds: &Clouds, pass: &Pass) -> Result<Tensor> {
    let layers: Vec<_> = layers.iter().map(Dense::as_layer).collect();
    kernels::shared_mlp_max(x, &layers, clouds.clone(), pass)
}
