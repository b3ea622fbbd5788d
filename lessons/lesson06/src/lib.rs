//! Lesson 06: mixed precision.

mod checks;
mod mistakes;
mod parts;
mod right;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use candle_core::{Result, Tensor, Var};
use canopy::precision::{
    self, BytesPerParameter, Casting, DynamicScaler, Format, Operator, Product, ScaledGradients, TensorCores,
};
use grader::Lesson;

/// An optimizer's step by gradients.
pub type Step<'a> = &'a mut dyn FnMut(&[Tensor]) -> Result<()>;
/// Rounds a tensor.
pub type Low<'a> = &'a dyn Fn(&Tensor) -> Result<Tensor>;

/// What the lesson asks for; `stubs.rs` says it in words.
#[allow(clippy::type_complexity, reason = "a signature is clearest written out")]
#[derive(Clone, Copy)]
pub struct Lesson06 {
    /// 6.1
    pub round_to: fn(f32, Format) -> f32,
    /// 6.2
    pub autocast: fn(Operator) -> Casting,
    /// 6.3
    pub scaled_gradients: ScaledGradients,
    /// 6.4
    pub update_scale: fn(&mut DynamicScaler, bool),
    /// 6.5
    pub master_step: fn(&[Var], &[Var], &[Tensor], Step, Low) -> Result<()>,
    /// 6.6
    pub bytes_per_parameter: fn(Format, u32) -> BytesPerParameter,
    /// 6.7
    pub scale_for: fn(f32, Format, u32) -> f32,
    /// 6.8
    pub tensor_cores: fn(Product, Format) -> TensorCores,
}

/// The functions of a crate or module that has them all.
macro_rules! answers_of {
    ($from:ident) => {
        Lesson06 {
            round_to: $from::round_to,
            autocast: $from::autocast,
            scaled_gradients: $from::scaled_gradients,
            update_scale: $from::update_scale,
            master_step: $from::master_step,
            bytes_per_parameter: $from::bytes_per_parameter,
            scale_for: $from::scale_for,
            tensor_cores: $from::tensor_cores,
        }
    };
}

/// What the student wrote.
#[cfg(feature = "student")]
pub const STUDENT: Lesson06 = answers_of!(exercise06);

/// canopy's own.
pub const REFERENCE: Lesson06 = answers_of!(precision);

/// The whole lesson.
pub static LESSON: Lesson<Lesson06> = Lesson {
    manifest: include_str!("../lesson.toml"),
    stubs_text: include_str!("stubs.rs"),
    stubs: answers_of!(stubs),
    reference: REFERENCE,
    checks: checks::CHECKS,
    mistakes: mistakes::MISTAKES,
    right: right::RIGHT,
};
