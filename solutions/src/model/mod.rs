//! PointNet (Qi et al. 2017, "PointNet: deep learning on point sets for 3D classification and
//! segmentation", CVPR), over `[clouds × points, channels]`.
//!
//! Widths at `width` 1; ReLU after every batch norm, also before the max:
//!
//! | part | layers | names |
//! |---|---|---|
//! | input T-Net | 64, 128, 1024, max, 512, 256, 9 | `input_transform.{mlp.0‥2, fc.0‥1, out}` |
//! | points | 64, 64 | `mlp.0`, `mlp.1` |
//! | feature T-Net | 64, 128, 1024, max, 512, 256, 64² | `feature_transform.{mlp.0‥2, fc.0‥1, out}` |
//! | points | 64, 128, 1024, max | `mlp.2`, `mlp.3`, `mlp.4` |
//! | categories, if the model has any | an embedding of 8, appended to the maxima | `embedding` |
//! | head | 512, dropout, 256, dropout | `head.0`, `head.1` |
//! | classes, or the outputs that describe a number | classes | `classifier` |
//!
//! The vanilla model is the same without the two T-Nets. Tensors of a layer NAME, as PyTorch's:
//!
//! | tensor | shape | what |
//! |---|---|---|
//! | `NAME.weight` | `[out, in]` | of `y = x·wᵀ` |
//! | `NAME.bn.weight`, `NAME.bn.bias` | `[out]` | γ and β of its batch norm |
//! | `NAME.bn.running_mean`, `NAME.bn.running_var` | `[out]` | buffers, not parameters |
//! | `classifier.bias`, `….out.bias` | `[out]` | only layers without batch norm have a bias |
//!
//! A PyTorch module with the same names is `solutions/tests/goldens/pointnet.py`.

mod config;
mod critical;
mod embedding;
mod forward;
mod layers;
mod pointnet;
mod weights;

pub use config::{BN_EPS, BN_MOMENTUM, Kind, PointNetConfig};
pub use critical::survivors;
pub use pointnet::{Output, PointNet};

pub use crate::kernels::orthogonality;
