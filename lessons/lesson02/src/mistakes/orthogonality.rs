//! Known wrong answers to exercise 2.5.

use super::*;

pub const MISTAKES: &[Mistake<Lesson02>] = &[
    wrong!("2.5", is_zero_for_rotations_and_reflections, "This is A·A; the second A must be transposed.",
        orthogonality: |a| distance(a, |a| a.matmul(a), Tensor::sqr)),
    wrong!("2.5", is_zero_for_rotations_and_reflections,
        "`-` requires equal shapes; `broadcast_sub` subtracts the matrices from the one identity.",
        orthogonality: |a| (Tensor::eye(a.dim(1)?, a.dtype(), a.device())? - product(a)?)?.sqr()?.sum_all()),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "This is the distance of A itself from I: every rotation would be penalised.",
        orthogonality: |a| distance(a, |a| Ok(a.clone()), Tensor::sqr)),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "I is missing: A·Aᵀ would be pulled to 0.",
        orthogonality: |a| product(a)?.sqr()?.sum_all()? / a.dim(0)? as f64),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "This is the norm; the term is its square.",
        orthogonality: |a| (eye(a)?.broadcast_sub(&product(a)?)?.sqr()?.sum((1, 2))? + 1e-20)?.sqrt()?.mean_all()),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The absolute values of the entries are summed; sum their squares.",
        orthogonality: |a| distance(a, product, Tensor::abs)),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "This is the mean over the entries; sum them.",
        orthogonality: |a| eye(a)?.broadcast_sub(&product(a)?)?.sqr()?.mean_all()),
    wrong!("2.5", penalises_rows_of_length_other_than_1,
        "The diagonal is ignored; it shows the length of the rows.",
        orthogonality: |a| distance(a, product, |off| off.broadcast_mul(&eye(off)?.affine(-1.0, 1.0)?)?.sqr())),
    wrong!("2.5", penalises_rows_that_are_not_orthogonal,
        "Only the diagonal of A·Aᵀ is used; the other entries show whether rows are orthogonal to each other.",
        orthogonality: |a| distance(a, product, |off| off.broadcast_mul(&eye(off)?)?.sqr())),
    wrong!("2.5", is_the_mean_over_clouds, "The clouds are summed; take their mean.",
        orthogonality: |a| distance(a, product, Tensor::sqr)? * a.dim(0)? as f64),
    wrong!("2.5", is_the_mean_over_clouds, "The matrices of all clouds are stacked into one: rows of other clouds are counted too.",
    orthogonality: |a| {
        let one = a.flatten_to(1)?.unsqueeze(0)?;
        distance(&one, product, Tensor::sqr)? / a.dim(0)? as f64
    }),
    wrong!("2.5", has_the_right_gradient, "The matrices were detached, or converted to numbers: no gradient reaches them.",
        orthogonality: |a| (REFERENCE.orthogonality)(&a.detach())),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "The result has an axis of length 1; it should be one number, of shape [].",
        orthogonality: |a| (REFERENCE.orthogonality)(a)?.reshape(1)),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "This is a number for each cloud; take their mean.",
        orthogonality: |a| eye(a)?.broadcast_sub(&product(a)?)?.sqr()?.sum((1, 2))),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "The identity is added to A·Aᵀ; subtract one from the other.",
        orthogonality: |a| distance(a, |a| product(a)?.neg(), Tensor::sqr)),
    wrong!("2.5", is_zero_for_rotations_and_reflections,
        "The transpose swaps clouds and rows; swap the last two axes, 1 and 2, as `t()` does.",
        orthogonality: |a| distance(a, |a| a.matmul(&a.transpose(0, 1)?), Tensor::sqr)),
    wrong!("2.5", is_zero_for_rotations_and_reflections,
        "The transpose swaps clouds and rows; swap the last two axes, 1 and 2, as `t()` does.",
    orthogonality: |a| distance(a, |a| {
        let swapped = a.transpose(0, 1)?.contiguous()?.reshape(a.shape())?;
        a.matmul(&swapped.t()?)
    }, Tensor::sqr)),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "All ones are subtracted, not the identity.",
        orthogonality: |a| (product(a)? - 1.0)?.sqr()?.sum_all()? / a.dim(0)? as f64),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "This multiplies entry by entry; A·Aᵀ is a product of matrices, `matmul`.",
        orthogonality: |a| distance(a, |a| a * a.t()?, Tensor::sqr)),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The sum is divided by k; take the mean over the clouds only.",
        orthogonality: |a| (REFERENCE.orthogonality)(a)? * (a.dim(0)? as f64 / a.dim(1)? as f64)),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The sum is divided by k; sum the entries, and take the mean over the clouds.",
        orthogonality: |a| (REFERENCE.orthogonality)(a)? / a.dim(1)? as f64),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The entries are summed, and the sum is squared; square each entry, then sum.",
        orthogonality: |a| eye(a)?.broadcast_sub(&product(a)?)?.sum((1, 2))?.sqr()?.mean_all()),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The entries are summed without a square: those above and below 0 cancel.",
        orthogonality: |a| eye(a)?.broadcast_sub(&product(a)?)?.sum((1, 2))?.mean_all()),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The rows are scaled to length 1 first; a multiple of a rotation is not orthogonal.",
    orthogonality: |a| {
        let rows = a.broadcast_div(&(a.sqr()?.sum_keepdim(2)? + 1e-30)?.sqrt()?)?;
        (REFERENCE.orthogonality)(&rows)
    }),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The result is multiplied by 0.001; training does that.",
        orthogonality: |a| (REFERENCE.orthogonality)(a)? * 0.001),
    wrong!("2.5", penalises_rows_that_are_not_orthogonal, "Each pair of rows is counted once; the square of ‖·‖ sums all entries.",
    orthogonality: |a| {
        let k = a.dim(1)?;
        let upper = Tensor::triu2(k, a.dtype(), a.device())?.unsqueeze(0)?;
        eye(a)?.broadcast_sub(&product(a)?)?.sqr()?.broadcast_mul(&upper)?.sum_all()? / a.dim(0)? as f64
    }),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "The identity is left out of some matrices: subtract it from each cloud's product.",
    orthogonality: |a| {
        let first = Tensor::arange(0u32, a.dim(0)? as u32, a.device())?.eq(0u32)?.to_dtype(a.dtype())?;
        let one = first.reshape(((), 1, 1))?.broadcast_mul(&eye(a)?)?;
        (one - product(a)?)?.sqr()?.sum_all()? / a.dim(0)? as f64
    }),
    wrong!("2.5", is_the_mean_over_clouds, "The sum is divided by the number of clouds twice.",
        orthogonality: |a| (REFERENCE.orthogonality)(a)? / a.dim(0)? as f64),
    wrong!("2.5", is_the_mean_over_clouds, "The norms are averaged, and their mean is squared; average the squares.",
    orthogonality: |a| {
        let sums = eye(a)?.broadcast_sub(&product(a)?)?.sqr()?.sum((1, 2))?;
        (sums + 1e-30)?.sqrt()?.mean_all()?.sqr()
    }),
    wrong!("2.5", is_the_mean_over_clouds, "Only the first cloud is measured; take the mean over all.",
        orthogonality: |a| (REFERENCE.orthogonality)(&a.narrow(0, 0, 1)?)),
    wrong!("2.5", is_the_mean_over_clouds,
        "The matrices, or their products, are averaged before they are squared, so that errors cancel; average the sums.",
        orthogonality: |a| (product(a)?.mean(0)? - Tensor::eye(a.dim(1)?, a.dtype(), a.device())?)?.sqr()?.sum_all()),
    wrong!("2.5", is_zero_for_rotations_and_reflections,
        "The matrices, or their products, are averaged before they are squared, so that errors cancel; average the sums.",
        orthogonality: |a| (REFERENCE.orthogonality)(&a.mean_keepdim(0)?)),
    wrong!("2.5", computes_in_the_dtype_of_a, "The identity is f32, whatever a is; create it with `a.dtype()`.",
        orthogonality: |a| Tensor::eye(a.dim(1)?, DType::F32, a.device())?.unsqueeze(0)?.broadcast_sub(&product(a)?)),
    wrong!("2.5", computes_in_the_dtype_of_a, "The identity is f32, whatever a is; create it with `a.dtype()`.",
        orthogonality: |a| product(a)?.broadcast_sub(&Tensor::eye(a.dim(1)?, DType::F32, a.device())?)),
    wrong!("2.5", computes_in_the_dtype_of_a, "The result is f32, whatever a is; it should have the dtype of a.",
        orthogonality: |a| (REFERENCE.orthogonality)(a)?.to_dtype(DType::F32)),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "This is half of the sum of squares; the measure is the whole sum.",
        orthogonality: |a| (REFERENCE.orthogonality)(a)? / 2.0),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "Entries of A·Aᵀ that are too small cost nothing; square every difference, without a ReLU.",
        orthogonality: |a| distance(a, product, |off| off.neg()?.relu()?.sqr())),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "Entries of A·Aᵀ that are too large cost nothing; square every difference, without a ReLU.",
        orthogonality: |a| distance(a, product, |off| off.relu()?.sqr())),
    wrong!("2.5", is_the_mean_over_clouds, "The sum is divided by the number of clouds less 1; the mean divides by their number.",
        orthogonality: |a| (REFERENCE.orthogonality)(a)? * (a.dim(0)? as f64 / (a.dim(0)? - 1).max(1) as f64)),
    wrong!("2.5", has_the_right_gradient, "One of the two factors A is detached: half of the gradient is lost.",
        orthogonality: |a| distance(a, |a| a.matmul(&a.detach().t()?), Tensor::sqr)),
];
