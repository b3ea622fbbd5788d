//! The products of the fused operators in f32, or of operands rounded to bf16, with sums in f32, on the unit that the CPU
//! has for them.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod operands;
mod pairs;
#[cfg(test)]
mod tests;
mod unit;

pub(super) use operands::{Block, Buffers, Right, add_transposed, multiply, round};
pub use unit::Bf16Unit;
