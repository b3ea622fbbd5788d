//! Lesson 07: large batches.

mod checks;
mod mistakes;
mod parts;
mod right;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;
mod walks;

use candle_core::{Result, Tensor, Var};
use canopy::{
    optim::{self, AdamState, LambConfig, LarsConfig},
    schedule::{self, Decay, OneCycle, RangeFound},
};
use grader::Lesson;

/// Gives the gradients of a micro-batch.
pub type Gradients<'a> = &'a mut dyn FnMut(usize) -> Result<Vec<Tensor>>;

/// What the lesson asks for; `stubs.rs` says it in words.
#[allow(clippy::type_complexity, reason = "a signature is clearest written out")]
#[derive(Clone, Copy)]
pub struct Lesson07 {
    /// 7.1
    pub scaled_warmup: fn(u64, u64, f64, usize, usize) -> f64,
    /// 7.2
    pub one_cycle: fn(&OneCycle, u64) -> Option<(f64, f64)>,
    /// 7.3
    pub decayed: fn(&Decay, u64, f64, f64) -> f64,
    /// 7.4
    pub range_test: fn(&[f64], f64, f64, &mut dyn FnMut(f64) -> f64) -> RangeFound,
    /// 7.5
    pub lars_step: fn(&[Var], &[Tensor], &[Var], f64, &LarsConfig) -> Result<()>,
    /// 7.6
    pub lamb_step: fn(&[Var], &[Tensor], &mut AdamState, f64, &LambConfig) -> Result<()>,
    /// 7.7
    pub accumulated: fn(&[f64], Gradients) -> Result<Vec<Tensor>>,
    /// 7.8
    pub loss_along: fn(&[Var], &[Tensor], &[f64], &mut dyn FnMut() -> Result<f64>) -> Result<Vec<f64>>,
}

/// The functions of a crate or module that has them all.
macro_rules! answers_of {
    ($from:ident) => {
        Lesson07 {
            scaled_warmup: $from::scaled_warmup,
            one_cycle: $from::one_cycle,
            decayed: $from::decayed,
            range_test: $from::range_test,
            lars_step: $from::lars_step,
            lamb_step: $from::lamb_step,
            accumulated: $from::accumulated,
            loss_along: $from::loss_along,
        }
    };
}

/// What the student wrote.
#[cfg(feature = "student")]
pub const STUDENT: Lesson07 = answers_of!(exercise07);

/// canopy's own.
pub const REFERENCE: Lesson07 = Lesson07 {
    scaled_warmup: schedule::scaled_warmup,
    one_cycle: schedule::one_cycle,
    decayed: schedule::decayed,
    range_test: schedule::range_test,
    lars_step: optim::lars_step,
    lamb_step: optim::lamb_step,
    accumulated: optim::accumulated,
    loss_along: optim::loss_along,
};

/// The whole lesson.
pub static LESSON: Lesson<Lesson07> = Lesson {
    manifest: include_str!("../lesson.toml"),
    stubs_text: include_str!("stubs.rs"),
    stubs: answers_of!(stubs),
    reference: REFERENCE,
    checks: checks::CHECKS,
    mistakes: mistakes::MISTAKES,
    right: right::RIGHT,
};
