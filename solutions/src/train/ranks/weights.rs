//! The values of a model's tensors, as ranks send and compare them.

use anyhow::Result;
use candle_core::{DType, Device, Tensor, Var};
use rayon::prelude::*;

use crate::model::PointNet;

/// Returns the values of `tensor`, in f32 on the host.
pub fn numbers(tensor: &Tensor) -> Result<Vec<f32>> {
    let tensor = tensor.detach().to_dtype(DType::F32)?;
    Ok(tensor.flatten_all()?.to_vec1()?)
}

/// Sets `var` to `numbers`.
pub fn set(var: &Var, numbers: Vec<f32>) -> Result<()> {
    let values = Tensor::from_vec(numbers, var.shape(), &Device::Cpu)?;
    Ok(var.set(&values.to_dtype(var.dtype())?.to_device(var.device())?)?)
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
