//! Lesson 02: PointNet.

mod checks;
mod mistakes;
mod parts;
mod right;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use candle_core::{Result, Tensor};
use canopy::{kernels, loader, model};
use canopy_data::Philox;
use grader::Lesson;

/// What the lesson asks for; `stubs.rs` says it in words.
#[derive(Clone, Copy)]
pub struct Lesson02 {
    /// 2.1
    pub normalise: fn(&mut [[f32; 3]]),
    /// 2.2
    pub shared_layer: fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>,
    /// 2.3
    pub max_points: fn(&Tensor) -> Result<Tensor>,
    /// 2.4
    pub to_matrix: fn(&Tensor, usize) -> Result<Tensor>,
    /// 2.5
    pub orthogonality: fn(&Tensor) -> Result<Tensor>,
    /// 2.6
    pub turn: fn(&mut [[f32; 3]], f64),
    /// 2.7
    pub jitter: fn(&mut [[f32; 3]], f32, &mut Philox),
    /// 2.8
    pub survivors: fn(&Tensor) -> Result<Vec<usize>>,
}

/// The functions of a crate or module that has them all.
macro_rules! answers_of {
    ($from:ident) => {
        Lesson02 {
            normalise: $from::normalise,
            shared_layer: $from::shared_layer,
            max_points: $from::max_points,
            to_matrix: $from::to_matrix,
            orthogonality: $from::orthogonality,
            turn: $from::turn,
            jitter: $from::jitter,
            survivors: $from::survivors,
        }
    };
}

/// What the student wrote.
#[cfg(feature = "student")]
pub const STUDENT: Lesson02 = answers_of!(exercise02);

/// canopy's own.
pub const REFERENCE: Lesson02 = Lesson02 {
    normalise: loader::normalise,
    shared_layer: kernels::shared_layer,
    max_points: kernels::max_points,
    to_matrix: kernels::add_identity,
    orthogonality: kernels::orthogonality,
    turn: loader::turn,
    jitter: loader::jitter,
    survivors: model::survivors,
};

/// The whole lesson.
pub static LESSON: Lesson<Lesson02> = Lesson {
    manifest: include_str!("../lesson.toml"),
    stubs_text: include_str!("stubs.rs"),
    stubs: answers_of!(stubs),
    reference: REFERENCE,
    checks: checks::CHECKS,
    mistakes: mistakes::MISTAKES,
    right: right::RIGHT,
};
