//! Large buffers kept for the next step: a new buffer of 16 MB costs 4,096 page faults, more time than the sum that it
//! holds.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Shorter buffers are left to the allocator.
const SMALL: usize = 1 << 16;

/// The pool keeps no more than this many floats (1 GiB).
const MOST: usize = 1 << 28;

static FREE: Mutex<Vec<Vec<f32>>> = Mutex::new(Vec::new());

fn free() -> MutexGuard<'static, Vec<Vec<f32>>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A buffer of `len` floats with unspecified content: zeros, or the values of its last use.
pub(super) fn take(len: usize) -> Vec<f32> {
    if len >= SMALL {
        let mut free = free();
        // Of those that fit and are not twice too large, the smallest.
        let fits = |b: &Vec<f32>| (len..=2 * len).contains(&b.capacity());
        let best = (0..free.len())
            .filter(|&i| fits(&free[i]))
            .min_by_key(|&i| free[i].capacity());
        if let Some(i) = best {
            let mut buffer = free.swap_remove(i);
            drop(free);
            buffer.resize(len, 0.0);
            return buffer;
        }
    }
    vec![0.0; len]
}

/// Returns `buffer` to the pool.
pub(super) fn give(buffer: Vec<f32>) {
    if buffer.capacity() >= SMALL {
        let mut free = free();
        let held: usize = free.iter().map(Vec::capacity).sum();
        if held + buffer.capacity() <= MOST {
            free.push(buffer);
        }
    }
}

/// Frees all buffers of the pool, to measure memory or to use it elsewhere.
pub fn release_buffers() {
    free().clear();
}

/// A buffer of the pool, which returns there when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Pooled(Vec<f32>);

impl Pooled {
    /// See `take`.
    pub fn new(len: usize) -> Self {
        Self(take(len))
    }
}

impl Deref for Pooled {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.0
    }
}

impl DerefMut for Pooled {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        give(std::mem::take(&mut self.0));
    }
}
