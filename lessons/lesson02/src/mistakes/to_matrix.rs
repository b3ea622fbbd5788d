//! Known wrong answers to exercise 2.4.

use super::*;

pub const MISTAKES: &[Mistake<Lesson02>] = &[
    wrong!("2.4", is_the_identity_for_zero_output, "The identity is not added: an untrained T-Net would send every point to the origin.",
        to_matrix: |x, k| x.reshape((x.dim(0)?, k, k))),
    wrong!("2.4", is_the_identity_for_zero_output,
        "`+` requires equal shapes; `broadcast_add` adds the one identity to each of the matrices.",
        to_matrix: |x, k| x.reshape((x.dim(0)?, k, k))? + Tensor::eye(k, x.dtype(), x.device())?),
    wrong!("2.4", is_the_identity_for_zero_output, "1 is added to every entry; the identity has it along the diagonal only.",
        to_matrix: |x, k| x.reshape((x.dim(0)?, k, k))? + 1.0),
    wrong!("2.4", fills_matrices_row_by_row, "The matrices are transposed: the first k numbers are the first row.",
        to_matrix: |x, k| (REFERENCE.to_matrix)(x, k)?.t()),
    wrong!("2.4", is_the_identity_for_zero_output, "The identity is subtracted; add it.",
    to_matrix: |x, k| {
        let x = x.reshape((x.dim(0)?, k, k))?;
        x.broadcast_sub(&eye(&x)?)
    }),
    wrong!("2.4", fills_matrices_row_by_row, "The diagonal is set to 1; 1 should be added to it.",
    to_matrix: |x, k| {
        let x = x.reshape((x.dim(0)?, k, k))?;
        let one = eye(&x)?;
        x.broadcast_mul(&one.affine(-1.0, 1.0)?)?.broadcast_add(&one)
    }),
    wrong!("2.4", fills_matrices_row_by_row, "Only the diagonal of the output is kept.",
    to_matrix: |x, k| {
        let x = x.reshape((x.dim(0)?, k, k))?;
        x.broadcast_mul(&eye(&x)?)?.broadcast_add(&eye(&x)?)
    }),
    wrong!("2.4", gives_each_cloud_its_own_matrix, "All clouds get the matrix of the first one.",
    to_matrix: |x, k| {
        let all = (REFERENCE.to_matrix)(x, k)?;
        all.narrow(0, 0, 1)?.broadcast_as(all.shape())?.contiguous()
    }),
    wrong!("2.4", gives_each_cloud_its_own_matrix, "The identity is added to the first cloud's matrix only.",
    to_matrix: |x, k| {
        let x = x.reshape((x.dim(0)?, k, k))?;
        let first = Tensor::arange(0u32, x.dim(0)? as u32, x.device())?.eq(0u32)?.to_dtype(x.dtype())?;
        &x + first.reshape(((), 1, 1))?.broadcast_mul(&eye(&x)?)?
    }),
    wrong!("2.4", passes_the_gradient_to_its_input,
        "The output was detached, or converted to numbers: no gradient reaches the network.",
        to_matrix: |x, k| (REFERENCE.to_matrix)(&x.detach(), k)),
    wrong!("2.4", is_the_identity_for_zero_output, "1 is added to each k-th number, a column; the diagonal is each (k + 1)-th.",
    to_matrix: |x, k| {
        let column = Tensor::arange(0u32, k as u32, x.device())?.eq(0u32)?.to_dtype(x.dtype())?;
        x.reshape((x.dim(0)?, k, k))?.broadcast_add(&column)
    }),
    wrong!("2.4", is_the_identity_for_zero_output, "1 is added along the other diagonal, from the upper right to the lower left.",
    to_matrix: |x, k| {
        let at = Tensor::arange(0u32, k as u32, x.device())?;
        let from_end = Tensor::from_vec((0..k as u32).rev().collect::<Vec<_>>(), (k, 1), x.device())?;
        let one = at.reshape((1, k))?.broadcast_eq(&from_end)?.to_dtype(x.dtype())?;
        x.reshape((x.dim(0)?, k, k))?.broadcast_add(&one)
    }),
    wrong!("2.4", is_the_identity_for_zero_output, "The axis of the clouds is dropped if there is one cloud; it stays.",
    to_matrix: |x, k| {
        let y = (REFERENCE.to_matrix)(x, k)?;
        if y.dim(0)? == 1 { y.squeeze(0) } else { Ok(y) }
    }),
    wrong!("2.4", is_the_identity_for_zero_output, "The identity is divided by the number of clouds; each cloud gets the whole of it.",
    to_matrix: |x, k| {
        let x = x.reshape((x.dim(0)?, k, k))?;
        x.broadcast_add(&(eye(&x)? / x.dim(0)? as f64)?)
    }),
    wrong!("2.4", fills_matrices_row_by_row,
        "The identity is added only if all numbers are 0; it is added always, and the T-Net learns the difference.",
    to_matrix: |x, k| {
        let zero = x.detach().abs()?.sum_all()?.to_dtype(DType::F64)?.to_scalar::<f64>()? == 0.0;
        if zero { (REFERENCE.to_matrix)(x, k) } else { x.reshape((x.dim(0)?, k, k)) }
    }),
    wrong!("2.4", fills_matrices_row_by_row, "The numbers pass a tanh; they are used as they are.",
        to_matrix: |x, k| (REFERENCE.to_matrix)(&x.tanh()?, k)),
    wrong!("2.4", fills_matrices_row_by_row, "The rows are scaled to length 1; the numbers are used as they are.",
    to_matrix: |x, k| {
        let y = (REFERENCE.to_matrix)(x, k)?;
        y.broadcast_div(&y.sqr()?.sum_keepdim(2)?.sqrt()?)
    }),
    wrong!("2.4", fills_matrices_row_by_row, "The numbers are subtracted from the identity; add them.",
        to_matrix: |x, k| (REFERENCE.to_matrix)(&x.neg()?, k)),
    wrong!("2.4", gives_each_cloud_its_own_matrix, "The clouds are mixed: reshape [clouds, k·k] to [clouds, k, k] as it is.",
    to_matrix: |x, k| {
        let clouds = x.dim(0)?;
        let x = x.reshape((k, k, clouds))?.permute((2, 0, 1))?;
        x.broadcast_add(&eye(&x)?)
    }),
    wrong!("2.4", adds_in_the_dtype_of_x, "The identity is f32, whatever x is; create it with `x.dtype()`.",
        to_matrix: |x, k| x.reshape((x.dim(0)?, k, k))?.broadcast_add(&Tensor::eye(k, DType::F32, x.device())?)),
    wrong!("2.4", adds_in_the_dtype_of_x, "The result is f32, whatever x is; it should have the dtype of x.",
        to_matrix: |x, k| (REFERENCE.to_matrix)(&x.to_dtype(DType::F32)?, k)),
    wrong!("2.4", is_the_identity_for_zero_output, "k is taken to be 3; it may be any number, such as 64.",
    to_matrix: |x, _| {
        let x = x.reshape((x.dim(0)?, 3, 3))?;
        x.broadcast_add(&eye(&x)?)
    }),
    wrong!("2.4", is_the_identity_for_zero_output, "The last entry of the diagonal gets no 1; the identity has k of them.",
    to_matrix: |x, k| {
        let mut one = vec![0f32; k * k];
        (0..k - 1).for_each(|i| one[i * k + i] = 1.0);
        let one = Tensor::from_vec(one, (1, k, k), x.device())?.to_dtype(x.dtype())?;
        x.reshape((x.dim(0)?, k, k))?.broadcast_add(&one)
    }),
    wrong!("2.4", is_the_identity_for_zero_output, "The identity is added twice.",
    to_matrix: |x, k| {
        let y = (REFERENCE.to_matrix)(x, k)?;
        y.broadcast_add(&eye(&y)?)
    }),
    wrong!("2.4", is_the_identity_for_zero_output, "The result is still rows of k·k numbers; reshape it to [clouds, k, k].",
        to_matrix: |x, k| (REFERENCE.to_matrix)(x, k)?.flatten_from(1)),
];
