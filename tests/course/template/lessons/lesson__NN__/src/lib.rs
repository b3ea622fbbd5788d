//! Lesson __NN__: __TITLE__.

mod answers;
mod iterations;
mod right;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use canopy::loader;

grader::contract! {
    pub struct Lesson__NN__ of exercise__NN__ with iterations;
    "__N__.1" iterations: fn(usize, usize, bool) -> usize = loader::iterations;
}
