//! The settings of one step of Adam and of SGD, and the factors of Adam's formula.

/// The settings of one step of Adam, AdamW or LAMB.
#[derive(Clone, Copy, Debug)]
pub struct AdamStep {
    /// Learning rate.
    pub lr: f64,
    /// Decay rate of the first moment.
    pub beta1: f64,
    /// Decay rate of the second moment.
    pub beta2: f64,
    /// Added to the square root of the second moment.
    pub eps: f64,
    /// Weight decay.
    pub weight_decay: f64,
    /// Whether the decay applies to the weight itself, as in AdamW, or is added to the gradient, as in Adam.
    pub decoupled: bool,
    /// Number of this step, starting at 1.
    pub step: u64,
}

/// Factors of Adam's formula, in f32.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdamFactors {
    pub lr: f32,
    /// lr over the first moment's correction.
    pub size: f32,
    /// Corrections of the moments, which start at zero.
    pub first: f32,
    pub root: f32,
    pub keep1: f32,
    pub beta2: f32,
    pub keep2: f32,
    pub eps: f32,
    /// AdamW's factor on the weight.
    pub shrink: f32,
    /// Adam's and LAMB's decay.
    pub decay: f32,
}

impl AdamFactors {
    pub fn new(s: &AdamStep) -> Self {
        let first = 1.0 - s.beta1.powf(s.step as f64);
        Self {
            lr: s.lr as f32,
            size: (s.lr / first) as f32,
            first: first as f32,
            root: (1.0 - s.beta2.powf(s.step as f64)).sqrt() as f32,
            keep1: (1.0 - s.beta1) as f32,
            beta2: s.beta2 as f32,
            keep2: (1.0 - s.beta2) as f32,
            eps: s.eps as f32,
            shrink: if s.decoupled {
                (1.0 - s.lr * s.weight_decay) as f32
            } else {
                1.0
            },
            decay: if s.decoupled { 0.0 } else { s.weight_decay as f32 },
        }
    }
}

/// The settings of one step of LARS.
#[derive(Clone, Copy, Debug)]
pub struct LarsStep {
    /// Learning rate.
    pub lr: f64,
    /// Momentum.
    pub momentum: f64,
    /// Weight decay: this times the weight is added to the gradient.
    pub weight_decay: f64,
    /// η of the trust ratio.
    pub trust: f64,
    /// Whether the tensors have a trust ratio and weight decay.
    pub adapted: bool,
}

/// The settings of one step of SGD.
#[derive(Clone, Copy, Debug)]
pub struct SgdStep {
    /// Learning rate.
    pub lr: f64,
    /// Momentum.
    pub momentum: f64,
    /// Weight decay: this times the weight is added to the gradient.
    pub weight_decay: f64,
    /// Whether to use Nesterov momentum.
    pub nesterov: bool,
}
