//! Batch norm and max over clouds of different lengths, padded to one: padding changes neither the result nor a gradient.
//!
//! Compositions of candle's own operators, for CPU and CUDA. A mask is f32, 1 where a point is and 0 where there is none.

use candle_core::{Result, Tensor};

use super::{BatchNorm, Pass, plain::max_points};

/// Where `mask` is 0, `other` stands in the place of x's values, whatever they are: also NaN, which 0·x would keep.
fn only(x: &Tensor, mask: &Tensor, other: f64) -> Result<Tensor> {
    let real = mask.detach().ne(0.0)?.unsqueeze(mask.rank())?;
    let other = Tensor::full(other as f32, x.shape(), x.device())?.to_dtype(x.dtype())?;
    real.broadcast_as(x.shape())?.contiguous()?.where_cond(x, &other)
}

/// Batch norm over the rows of x `[rows, channels]` that `mask` `[rows]` calls real. Rows of padding come out as zeros.
///
/// # Errors
/// Shapes that do not fit; candle's.
pub fn masked_batch_norm(x: &Tensor, mask: &Tensor, bn: &BatchNorm, pass: &Pass) -> Result<Tensor> {
    let (mean, var) = if pass.train {
        // A tensor, not a number: nothing waits for the device.
        let n = mask.detach().to_dtype(x.dtype())?.sum_all()?.maximum(1.0)?;
        let mean = only(x, mask, 0.0)?.sum_keepdim(0)?.broadcast_div(&n)?;
        let off = only(&x.broadcast_sub(&mean)?, mask, 0.0)?;
        let var = off.sqr()?.sum_keepdim(0)?.broadcast_div(&n)?;
        let unbiased = n.broadcast_div(&(&n - 1.0)?.maximum(1.0)?)?;
        let (m, v) = (
            mean.detach().squeeze(0)?,
            var.detach().squeeze(0)?.broadcast_mul(&unbiased)?,
        );
        let mixed = |old: &Tensor, new: Tensor| (old * (1.0 - bn.momentum))? + (new * bn.momentum)?;
        bn.mean.set(&mixed(&bn.mean.as_detached_tensor(), m)?)?;
        bn.var.set(&mixed(&bn.var.as_detached_tensor(), v)?)?;
        (mean, var)
    } else {
        (
            bn.mean.as_detached_tensor().unsqueeze(0)?,
            bn.var.as_detached_tensor().unsqueeze(0)?,
        )
    };
    let y = x
        .broadcast_sub(&mean)?
        .broadcast_div(&(var + bn.eps)?.sqrt()?)?
        .broadcast_mul(&bn.gamma)?
        .broadcast_add(&bn.beta)?;
    only(&y, mask, 0.0)
}

/// The greatest value of each channel over a cloud's real points: x `[clouds, points, channels]`, mask `[clouds, points]` →
/// `[clouds, channels]`; of equal points the first takes the gradient. A cloud without a real point gives −∞.
///
/// # Errors
/// Shapes that do not fit; candle's.
pub fn masked_max(x: &Tensor, mask: &Tensor) -> Result<Tensor> {
    max_points(&only(x, mask, f64::NEG_INFINITY)?)
}

/// A layer of a shared MLP, relu(bn(x·wᵀ)), over the real ones of rows `[rows, in]`.
///
/// # Errors
/// Shapes that do not fit; candle's.
pub fn masked_layer(x: &Tensor, w: &Tensor, bn: &BatchNorm, mask: &Tensor, pass: &Pass) -> Result<Tensor> {
    let y = masked_batch_norm(&x.matmul(&w.t()?)?, mask, bn, pass)?;
    super::plain::relu(&y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{DType, Device, Var};
    use canopy_data::Philox;

    fn random(shape: &[usize], seed: u64) -> Tensor {
        let mut r = Philox::new(seed, 4);
        let values: Vec<f64> = (0..shape.iter().product()).map(|_| r.normal()).collect();
        Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
    }

    fn norm(channels: usize) -> BatchNorm {
        let var = |seed| Var::from_tensor(&random(&[channels], seed)).unwrap();
        BatchNorm {
            gamma: var(5),
            beta: var(6),
            mean: Var::zeros(channels, DType::F64, &Device::Cpu).unwrap(),
            var: Var::ones(channels, DType::F64, &Device::Cpu).unwrap(),
            momentum: 0.1,
            eps: 1e-5,
        }
    }

    fn list(t: &Tensor) -> Vec<f64> {
        t.flatten_all().unwrap().to_vec1().unwrap()
    }

    /// Rows 0, 2 and 3 of 5 are real; padding is whatever `padding` says.
    fn padded(real: &Tensor, padding: f64) -> (Tensor, Tensor) {
        let row = |i| real.narrow(0, i, 1).unwrap();
        let pad = Tensor::full(padding, (1, 4), &Device::Cpu).unwrap();
        let x = Tensor::cat(&[&row(0), &pad, &row(1), &row(2), &pad], 0).unwrap();
        let mask = Tensor::new(&[1f32, 0.0, 1.0, 1.0, 0.0], &Device::Cpu).unwrap();
        (x, mask)
    }

    #[test]
    fn batch_norm_over_real_rows_is_batch_norm_of_them_alone() {
        let real = random(&[3, 4], 1);
        for (padding, train) in [(0.0, true), (7e5, true), (f64::NAN, true), (7e5, false)] {
            let pass = if train { Pass::train(1, 1) } else { Pass::eval() };
            let (own, other) = (norm(4), norm(4));
            let expected = super::super::plain::batch_norm(
                &real,
                (own.gamma.as_tensor(), own.beta.as_tensor()),
                &own,
                &pass,
            )
            .unwrap();
            let (x, mask) = padded(&real, padding);
            let got = masked_batch_norm(&x, &mask, &other, &pass).unwrap();
            for (at, row) in [(0, 0), (2, 1), (3, 2)] {
                let pair = (list(&got.get(at).unwrap()), list(&expected.get(row).unwrap()));
                approx::assert_relative_eq!(pair.0[..], pair.1[..], epsilon = 1e-12);
            }
            assert_eq!(list(&got.get(1).unwrap()), [0.0; 4]);
            approx::assert_relative_eq!(list(&own.mean)[..], list(&other.mean)[..], epsilon = 1e-12);
            approx::assert_relative_eq!(list(&own.var)[..], list(&other.var)[..], epsilon = 1e-12);
        }
    }

    #[test]
    fn padding_takes_no_gradient_and_gives_none() {
        let (real, pass) = (random(&[3, 4], 2), Pass::train(1, 1));
        let weights = random(&[3, 4], 3);
        let grads = |padding: f64| {
            let (x, mask) = padded(&real, padding);
            let (x, bn) = (Var::from_tensor(&x).unwrap(), norm(4));
            let y = masked_batch_norm(&x, &mask, &bn, &pass).unwrap();
            let picked = y
                .index_select(&Tensor::new(&[0u32, 2, 3], &Device::Cpu).unwrap(), 0)
                .unwrap();
            let store = ((picked * &weights).unwrap().sum_all().unwrap()
                + y.get(1).unwrap().sum_all().unwrap())
            .unwrap()
            .backward()
            .unwrap();
            let of = |v: &Var| list(store.get(v).unwrap());
            (of(&x), of(&bn.gamma), of(&bn.beta))
        };
        let (x, gamma, beta) = grads(0.0);
        assert_eq!((&x[4..8], &x[16..]), (&[0.0; 4][..], &[0.0; 4][..]));
        assert!(x.iter().any(|g| *g != 0.0) && x.iter().all(|g| g.is_finite()));
        assert_eq!((x, gamma, beta), grads(-3e4));
    }

    #[test]
    fn the_max_is_over_real_points_even_where_all_are_negative() {
        let x = Tensor::new(
            &[
                [[-3.0, -1.0], [-2.0, -5.0], [9.0, 9.0]],
                [[4.0, 0.5], [9.0, 9.0], [4.0, 1.0]],
            ],
            &Device::Cpu,
        )
        .unwrap();
        let mask = Tensor::new(&[[1f32, 1.0, 0.0], [1.0, 0.0, 1.0]], &Device::Cpu).unwrap();
        let x = Var::from_tensor(&x).unwrap();
        let y = masked_max(&x, &mask).unwrap();
        assert_eq!(y.to_vec2::<f64>().unwrap(), [[-2.0, -1.0], [4.0, 1.0]]);
        let store = y.sum_all().unwrap().backward().unwrap();
        // Of the two 4s the first takes it all.
        assert_eq!(
            list(store.get(&x).unwrap()),
            [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        );
    }
}
