//! An allocator that tracks the current and peak memory of large blocks, such as tensors.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Smaller blocks are not counted: tensors are larger, and the readers allocate small blocks by the million.
const COUNTED: usize = 16 << 10;

static THERE: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Wraps the allocator `A` and counts blocks of 16 KiB and more. A program declares it as its `#[global_allocator]`.
#[derive(Debug, Default)]
pub struct Counted<A>(pub A);

fn add(size: usize) {
    if size >= COUNTED {
        THERE.store(true, Relaxed);
        let live = LIVE.fetch_add(size, Relaxed) + size;
        if live > PEAK.load(Relaxed) {
            PEAK.fetch_max(live, Relaxed);
        }
    }
}

fn take(size: usize) {
    if size >= COUNTED {
        LIVE.fetch_sub(size, Relaxed);
    }
}

// SAFETY: every call is forwarded to `A` unchanged, and so is its result; otherwise only atomics are changed.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counted<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `A`.
        let block = unsafe { self.0.alloc(layout) };
        if !block.is_null() {
            add(layout.size());
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        if !block.is_null() {
            add(layout.size());
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.0.dealloc(block, layout) };
        take(layout.size());
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = unsafe { self.0.realloc(block, layout, size) };
        if !moved.is_null() {
            take(layout.size());
            add(size);
        }
        moved
    }
}

/// Returns the bytes allocated now; `None` if [`Counted`] is not the program's allocator.
pub fn held() -> Option<u64> {
    THERE.load(Relaxed).then(|| LIVE.load(Relaxed) as u64)
}

/// Runs `work`, and returns its result and the peak of the bytes allocated meanwhile by all threads; `None` if [`Counted`]
/// is not the program's allocator.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
    PEAK.store(LIVE.load(Relaxed), Relaxed);
    let result = work();
    (result, held().map(|_| PEAK.load(Relaxed) as u64))
}
