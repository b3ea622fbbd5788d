//! An allocator that counts: how much memory the tensors of a stretch of work took at their height.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Smaller blocks are not counted: tensors are larger, and small blocks come and go by the million in the readers.
const COUNTED: usize = 16 << 10;

static THERE: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The allocator `A`, its blocks of 16 KiB and more counted. A program makes it its `#[global_allocator]`.
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

// SAFETY: every call goes to `A` as it came, and its answer back; besides only atomics are changed.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counted<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are A's.
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

/// Bytes held now; none where [`Counted`] is not the program's allocator.
pub fn held() -> Option<u64> {
    THERE.load(Relaxed).then(|| LIVE.load(Relaxed) as u64)
}

/// Runs `work`, and gives with its result the most bytes that were held during it, by all threads; none where [`Counted`]
/// is not the program's allocator.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
    PEAK.store(LIVE.load(Relaxed), Relaxed);
    let result = work();
    (result, held().map(|_| PEAK.load(Relaxed) as u64))
}
