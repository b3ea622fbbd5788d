use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// Which PointNet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// With both T-Nets: 3.48 M parameters at 40 classes.
    #[default]
    Full,
    /// Without T-Nets: 0.82 M parameters at 40 classes.
    Vanilla,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::Vanilla => "vanilla",
        })
    }
}

/// Batch norm's weight of the new batch in the running statistics, PyTorch's default.
pub const BN_MOMENTUM: f64 = 0.1;
/// What batch norm adds to the variance under the square root, PyTorch's default.
pub const BN_EPS: f64 = 1e-5;

/// The configuration of a PointNet. Weights fit only a model of the same `kind`, `inputs`, `classes` and `width`.
#[derive(Clone, Debug, PartialEq)]
pub struct PointNetConfig {
    /// With T-Nets or without.
    pub kind: Kind,
    /// Channels of a point: x, y, z, and in the vanilla model more.
    pub inputs: usize,
    /// Number of classes, at least 1; or of the outputs that describe a number.
    pub classes: usize,
    /// Categories of a cloud, whose embedding is appended to the global feature; 0: none.
    pub categories: usize,
    /// Divides the width of every hidden layer: 1 is the published model, 16 a small one for tests.
    pub width: usize,
    /// Dropout probability after each hidden layer of the head.
    pub dropout: f32,
}

impl Default for PointNetConfig {
    fn default() -> Self {
        Self {
            kind: Kind::Full,
            inputs: 3,
            classes: 7,
            categories: 0,
            width: 1,
            dropout: 0.3,
        }
    }
}

impl PointNetConfig {
    /// Checks the settings.
    ///
    /// # Errors
    /// Names the first setting out of range, and the range.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.inputs == 3 || (self.inputs > 3 && self.kind == Kind::Vanilla),
            "model: the {1} model does not accept {0} channels a point. vanilla accepts x, y, z and more; full accepts \
             only x, y, z, because its input T-Net transforms these. Use --model vanilla, or --features xyz",
            self.inputs,
            self.kind
        );
        ensure!(self.classes >= 1, "model: classes is 0, expected at least 1");
        ensure!(
            self.width >= 1 && 64 % self.width == 0,
            "model: width divides the layers' 64 to 1024 channels, so it must be 1, 2, 4, 8, 16, 32 or 64; got {}",
            self.width
        );
        ensure!(
            (0.0..1.0).contains(&self.dropout),
            "model: dropout is a probability, expected at least 0 and less than 1, got {}",
            self.dropout
        );
        Ok(())
    }
}
