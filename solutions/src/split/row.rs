//! A linear layer whose inputs are split over the ranks.

use anyhow::Result;
use candle_core::Tensor;

use super::{LinearGrads, sum_over_ranks};
use crate::parallel::Collective;

/// Returns all outputs of a linear layer, x·Wᵀ + b: `[rows, outputs]`, the same on every rank. Each rank has its columns of
/// the input, `x_part` of `[rows, inputs / p]`, and the same columns of W, `weight_part` of `[outputs, inputs / p]`. `bias`
/// is whole on every rank and is added once, after the only all-reduce.
///
/// # Errors
/// Returns an error if the shapes do not fit, or if the all-reduce fails.
pub fn row_parallel(
    collective: &dyn Collective,
    x_part: &Tensor,
    weight_part: &Tensor,
    bias: &Tensor,
) -> Result<Tensor> {
    let part = x_part.matmul(&weight_part.t()?)?;
    Ok(sum_over_ranks(collective, &part)?.broadcast_add(bias)?)
}

/// The backward pass of [`row_parallel`], from the gradient of all outputs, which is the same on every rank. Nothing is sent:
/// the gradients of `x_part` and `weight_part` depend on this rank's part alone, and every rank computes that of the bias.
///
/// # Errors
/// Returns an error if the shapes do not fit.
pub fn row_parallel_backward(x_part: &Tensor, weight_part: &Tensor, grad_y: &Tensor) -> Result<LinearGrads> {
    Ok(LinearGrads {
        x: grad_y.matmul(weight_part)?,
        weight: grad_y.t()?.matmul(x_part)?,
        bias: grad_y.sum(0)?,
    })
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use candle_core::{DType, Device};

    use super::*;
    use crate::{
        parallel::{Algorithm, Rank, chunk, threads::group},
        split::{column_parallel, column_parallel_backward},
    };

    const ROWS: usize = 3;
    const WIDTHS: [usize; 3] = [4, 7, 5];

    /// Numbers that differ, between −1 and 1.
    fn numbers(shape: &[usize], seed: usize) -> Tensor {
        let n: usize = shape.iter().product();
        let values: Vec<f64> = (0..n).map(|i| ((i * 37 + seed * 11) as f64).sin()).collect();
        Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
    }

    fn f32s(tensor: &Tensor) -> Tensor {
        tensor.to_dtype(DType::F32).unwrap().contiguous().unwrap()
    }

    fn assert_close(part: &Tensor, whole: &Tensor) {
        let difference = (part.to_dtype(DType::F64).unwrap() - whole)
            .unwrap()
            .abs()
            .unwrap();
        let worst = difference.flatten_all().unwrap().max(0).unwrap();
        assert!(worst.to_scalar::<f64>().unwrap() < 1e-5, "{worst}");
    }

    /// Two linear layers, the first split by columns and the second by rows, on one rank of a group.
    fn two_layers(rank: &Rank) {
        let [input, hidden, output] = WIDTHS;
        let (x, grad) = (numbers(&[ROWS, input], 0), numbers(&[ROWS, output], 1));
        let (w1, b1) = (numbers(&[hidden, input], 2), numbers(&[hidden], 3));
        let (w2, b2) = (numbers(&[output, hidden], 4), numbers(&[output], 5));
        // All in f64 by one rank: each layer is its own case of the split one.
        let h = column_parallel(&x, &w1, &b1).unwrap();
        let y = h.matmul(&w2.t().unwrap()).unwrap().broadcast_add(&b2).unwrap();
        let second = row_parallel_backward(&h, &w2, &grad).unwrap();
        let first_x = second.x.matmul(&w1).unwrap();

        let world = Collective::world_size(rank);
        let own = chunk(hidden, Collective::rank(rank), world);
        let narrow = |t: &Tensor, dim| f32s(&t.narrow(dim, own.start, own.len()).unwrap());
        let (w1_part, w2_part) = (narrow(&w1, 0), narrow(&w2, 1));
        let h_part = column_parallel(&f32s(&x), &w1_part, &narrow(&b1, 0)).unwrap();
        assert_eq!(rank.traffic().messages, 0);
        assert_close(&row_parallel(rank, &h_part, &w2_part, &f32s(&b2)).unwrap(), &y);
        let messages = rank.traffic().messages;
        let grads = row_parallel_backward(&h_part, &w2_part, &f32s(&grad)).unwrap();
        assert_eq!(rank.traffic().messages, messages);
        assert_close(&grads.x, &second.x.narrow(1, own.start, own.len()).unwrap());
        assert_close(
            &grads.weight,
            &second.weight.narrow(1, own.start, own.len()).unwrap(),
        );
        assert_close(&grads.bias, &second.bias);
        let first = column_parallel_backward(rank, &f32s(&x), &w1_part, &grads.x).unwrap();
        assert_close(&first.x, &first_x);
        let of_own = second.x.narrow(1, own.start, own.len()).unwrap();
        assert_close(&first.weight, &of_own.t().unwrap().matmul(&x).unwrap());
        assert_close(&first.bias, &of_own.sum(0).unwrap());
        assert_eq!(rank.traffic().messages, 2 * messages);
    }

    #[test]
    fn two_split_layers_equal_whole_ones() {
        for world in 1..=4 {
            let ranks = group(world, Algorithm::Ring, Duration::from_secs(10));
            thread::scope(|scope| {
                for rank in ranks {
                    scope.spawn(move || two_layers(&rank));
                }
            });
        }
    }
}
