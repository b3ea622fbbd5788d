//! Buffers for gathered parameters, which count what they hold.

use std::{
    cell::Cell,
    ops::{Deref, DerefMut},
};

/// Gives out buffers, and counts the numbers that they hold.
#[derive(Debug, Default)]
pub struct Memory {
    live: Cell<usize>,
    peak: Cell<usize>,
}

// ANCHOR: Memory
impl Memory {
    /// Returns a buffer of `length` numbers, all 0. Its memory is free again when it is dropped.
    pub fn buffer(&self, length: usize) -> Gathered<'_> {
        self.live.set(self.live.get() + length);
        self.peak.set(self.peak.get().max(self.live.get()));
        Gathered {
            numbers: vec![0.0; length],
            memory: self,
        }
    }

    /// Returns how many numbers are in buffers now.
    pub fn live(&self) -> usize {
        self.live.get()
    }

    /// Returns how many numbers were in buffers at once, at most.
    pub fn peak(&self) -> usize {
        self.peak.get()
    }
}
// ANCHOR_END: Memory

/// A buffer of a [`Memory`]. It is used like a slice.
#[derive(Debug)]
pub struct Gathered<'a> {
    numbers: Vec<f32>,
    memory: &'a Memory,
}

impl Deref for Gathered<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.numbers
    }
}

impl DerefMut for Gathered<'_> {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.numbers
    }
}

impl Drop for Gathered<'_> {
    fn drop(&mut self) {
        self.memory.live.set(self.memory.live.get() - self.numbers.len());
    }
}
