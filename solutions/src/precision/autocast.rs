//! Which number type an operator takes (PyTorch's list for CUDA autocast).

/// What an operator does with its inputs' types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Casting {
    /// All to the low type: products, which tensor cores take and whose sums they keep in fp32.
    Low,
    /// All to fp32: long sums, and functions whose result outgrows their input.
    Full,
    /// All to the widest type that comes: several tensors meet and none may lose bits.
    Widest,
    /// As it comes: comparisons, views, and what is safe in either.
    AsIs,
}

/// Kinds of operators that a network is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the field's names")]
pub enum Operator {
    Matmul,
    Linear,
    Convolution,
    Relu,
    Max,
    Dropout,
    Reshape,
    Add,
    Concatenate,
    Sum,
    Mean,
    Norm,
    Exp,
    Log,
    Power,
    Softmax,
    CrossEntropy,
    BatchNorm,
    LayerNorm,
    MeanSquaredError,
}

/// The rule for `operator`.
pub fn autocast(operator: Operator) -> Casting {
    use Operator::*;
    match operator {
        Matmul | Linear | Convolution => Casting::Low,
        Sum | Mean | Norm | Exp | Log | Power | Softmax | CrossEntropy | BatchNorm | LayerNorm
        | MeanSquaredError => Casting::Full,
        Add | Concatenate => Casting::Widest,
        Relu | Max | Dropout | Reshape => Casting::AsIs,
    }
}
