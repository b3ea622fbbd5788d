//! The stored product of a layer.

use crate::kernels::Bf16Unit;
use crate::kernels::pool::{Halves, Pooled};

/// The numbers of a product. bf16 takes half the memory, and nothing is lost, because autocast rounds a product anyway.
pub enum Stored {
    Nothing,
    Single(Pooled),
    Bf16(Halves),
}

/// A part of the numbers.
pub enum Part<'a> {
    Single(&'a mut [f32]),
    Bf16(&'a mut [u16]),
}

impl Stored {
    /// `len` numbers, in bf16 if `unit` is not off.
    pub fn new(unit: Bf16Unit, len: usize) -> Self {
        match unit {
            Bf16Unit::Off => Self::Single(Pooled::new(len)),
            _ => Self::Bf16(Halves::new(len)),
        }
    }

    /// Parts of `len` numbers; the last one may be shorter.
    pub fn parts(&mut self, len: usize) -> Vec<Part<'_>> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Single(y) => y.chunks_mut(len).map(Part::Single).collect(),
            Self::Bf16(y) => y.chunks_mut(len).map(Part::Bf16).collect(),
        }
    }
}

impl Part<'_> {
    pub fn len(&self) -> usize {
        match self {
            Self::Single(y) => y.len(),
            Self::Bf16(y) => y.len(),
        }
    }
}
