//! Lesson 06: mixed precision.

mod answers;
mod bytes;
mod cores;
mod formats;
mod fp8;
mod gradients;
mod master;
mod policy;
mod right;
mod rounding;
mod scale;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use candle_core::{Result, Tensor, Var};
use canopy::precision::{
    self, BytesPerParameter, Casting, DynamicScaler, Format, Operator, Product, ScaledGradients, TensorCores,
};

/// An optimizer's step by gradients.
pub type Step<'a> = &'a mut dyn FnMut(&[Tensor]) -> Result<()>;
/// Rounds a tensor.
pub type Low<'a> = &'a dyn Fn(&Tensor) -> Result<Tensor>;

grader::contract! {
    pub struct Lesson06 of exercise06 with rounding, policy, gradients, scale, master, bytes, fp8, cores;
    "6.1" round_to: fn(f32, Format) -> f32 = precision::round_to;
    "6.2" autocast: fn(Operator) -> Casting = precision::autocast;
    "6.3" scaled_gradients: ScaledGradients = precision::scaled_gradients;
    "6.4" update_scale: fn(&mut DynamicScaler, bool) = precision::update_scale;
    "6.5" master_step: fn(&[Var], &[Var], &[Tensor], Step, Low) -> Result<()> = precision::master_step;
    "6.6" bytes_per_parameter: fn(Format, u32) -> BytesPerParameter = precision::bytes_per_parameter;
    "6.7" scale_for: fn(f32, Format, u32) -> f32 = precision::scale_for;
    "6.8" tensor_cores: fn(Product, Format) -> TensorCores = precision::tensor_cores;
}
