//! The values of a model's tensors, as ranks send and compare them.

use anyhow::Result;
use candle_core::{DType, Device, Tensor, Var};
use rayon::prelude::*;

use crate::model::PointNet;

/// Returns the values of `var`, in f32 on the host.
pub fn numbers(var: &Var) -> Result<Vec<f32>> {
    Ok(var
        .as_detached_tensor()
        .to_dtype(DType::F32)?
        .flatten_all()?
        .to_vec1()?)
}

/// Sets `var` to `numbers`.
pub fn set(var: &Var, numbers: Vec<f32>) -> Result<()> {
    Ok(var.set(&like(var, numbers)?)?)
}

/// Returns a tensor of `numbers` with the shape, dtype and device of `param`.
pub fn like(param: &Var, numbers: Vec<f32>) -> Result<Tensor> {
    let made = Tensor::from_vec(numbers, param.shape(), &Device::Cpu)?;
    Ok(made.to_dtype(param.dtype())?.to_device(param.device())?)
}

/// Returns a hash (FNV-1a of each tensor) of all bits of the parameters, and with `buffers` also of the running statistics.
pub fn digest(model: &PointNet, buffers: bool) -> Result<u64> {
    let mut vars = model.params();
    if buffers {
        vars.extend(model.buffers());
    }
    let hash = |values: u64, bits: u32| (values ^ u64::from(bits)).wrapping_mul(0x0000_0100_0000_01b3);
    let of = |(_, var): &(String, Var)| -> Result<u64> {
        Ok(numbers(var)?
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |h, v| hash(h, v.to_bits())))
    };
    let each = vars.par_iter().map(of).collect::<Result<Vec<u64>>>()?;
    Ok(each.into_iter().fold(0, |all, one| all.rotate_left(7) ^ one))
}
