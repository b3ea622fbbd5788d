//! Known wrong answers to exercise 6.2.

use super::*;

/// Each operator with each casting that is not its own, under one cause.
macro_rules! table {
    ($($check:ident, $cause:literal, $operator:ident: $($to:ident)+;)+) => {
        &[$($(wrong!("6.2", $check, $cause, autocast: |o| cast(o, Operator::$operator, Casting::$to)),)+)+]
    };
}

pub const TABLE: &[Mistake<Lesson06>] = table! {
casts_products_to_low_precision, "A matrix product is computed by tensor cores, in low precision.", Matmul: Full AsIs Widest;
casts_products_to_low_precision, "A linear layer is a product, computed by tensor cores in low precision.", Linear: Full AsIs Widest;
casts_products_to_low_precision, "A convolution is a product as well, computed by tensor cores in low precision.", Convolution: Full AsIs Widest;
keeps_long_sums_in_fp32, "A long sum loses its small terms in 16 bits: `Sum` needs fp32.", Sum: Low AsIs Widest;
keeps_long_sums_in_fp32, "A mean starts with a long sum, which overflows fp16 before the division: it needs fp32.", Mean: Low AsIs Widest;
keeps_long_sums_in_fp32, "A norm is a long sum of squares, and the square of 300 overflows fp16: it needs fp32.", Norm: Low AsIs Widest;
keeps_losses_and_norms_in_fp32, "Softmax sums exponentials: it needs fp32.", Softmax: Low AsIs Widest;
keeps_losses_and_norms_in_fp32, "Cross-entropy sums logarithms: it needs fp32, as every loss does.", CrossEntropy: Low AsIs Widest;
keeps_losses_and_norms_in_fp32, "The mean squared error is a long sum of squares: it needs fp32, as every loss does.", MeanSquaredError: Low AsIs Widest;
keeps_losses_and_norms_in_fp32, "Batch norm computes mean and variance of many numbers: it needs fp32.", BatchNorm: Low AsIs Widest;
keeps_losses_and_norms_in_fp32, "Layer norm computes mean and variance of many numbers: it needs fp32.", LayerNorm: Low AsIs Widest;
keeps_growing_functions_in_fp32, "exp(12) already overflows fp16: `Exp` needs fp32.", Exp: Low AsIs Widest;
keeps_growing_functions_in_fp32, "A logarithm turns tiny numbers into ordinary ones, so it must read them in fp32.", Log: Low AsIs Widest;
keeps_growing_functions_in_fp32, "The square of 300 overflows fp16: `Power` needs fp32.", Power: Low AsIs Widest;
promotes_to_the_widest_dtype, "`Add` has several inputs, whose dtypes may differ: none may lose bits, and none needs more than the widest of them.", Add: Low Full AsIs;
promotes_to_the_widest_dtype, "`Concatenate` has several inputs, whose dtypes may differ: none may lose bits, and none needs more than the widest of them.", Concatenate: Low Full AsIs;
leaves_other_operators_unchanged, "A ReLU returns its input or 0, which is safe in any dtype: do not cast it.", Relu: Low Full Widest;
leaves_other_operators_unchanged, "A maximum returns one of its inputs and sums nothing: do not cast it.", Max: Low Full Widest;
leaves_other_operators_unchanged, "Dropout returns its inputs, scaled, or 0, which is safe in any dtype: do not cast it.", Dropout: Low Full Widest;
leaves_other_operators_unchanged, "A reshape computes nothing, and has one input: do not cast it.", Reshape: Low Full Widest;
};

pub const MISTAKES: &[Mistake<Lesson06>] = &[
    wrong!("6.2", keeps_long_sums_in_fp32, "Every operator runs in low precision: only the products may.", autocast: |_| Casting::Low),
    wrong!("6.2", casts_products_to_low_precision, "Every operator runs in fp32: then nothing is gained. The products run in low precision.", autocast: |_| Casting::Full),
    wrong!("6.2", casts_products_to_low_precision, "`Low` and `Full` are exchanged: products run in low precision, long sums in fp32.", autocast: |o| match (REFERENCE.autocast)(o) {
        Casting::Low => Casting::Full,
        Casting::Full => Casting::Low,
        other => other,
    }),
    wrong!("6.2", promotes_to_the_widest_dtype, "`Widest` and `AsIs` are exchanged: `Widest` is for operators with several inputs.", autocast: |o| match (REFERENCE.autocast)(o) {
        Casting::Widest => Casting::AsIs,
        Casting::AsIs => Casting::Widest,
        other => other,
    }),
];
