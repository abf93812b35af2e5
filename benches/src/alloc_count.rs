//! The system's allocator, with counters that are off unless something is being counted.
//!
//! Keeps true: while they are off they cost one predictable branch, so that code which allocates
//! much is not measured slower than it is.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

/// The global allocator of this program.
pub(crate) struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// Bytes that are held, beside those that were held when counting began.
static LIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

/// What was allocated while something ran.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// How many times memory was asked for; growing in place counts, too.
    pub(crate) allocations: u64,
    /// The most bytes that were held at a time, above what was held before.
    pub(crate) peak: u64,
}

/// Runs something and counts.
pub(crate) fn counted<T>(run: impl FnOnce() -> T) -> (T, Counted) {
    ALLOCATIONS.store(0, Relaxed);
    LIVE.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    ON.store(true, Relaxed);
    let answer = run();
    ON.store(false, Relaxed);
    let counted =
        Counted { allocations: ALLOCATIONS.load(Relaxed), peak: PEAK.load(Relaxed).unsigned_abs() };
    (answer, counted)
}

#[inline]
fn note(allocations: u64, more: usize, less: usize) {
    if ON.load(Relaxed) {
        let change = more as i64 - less as i64;
        let live = LIVE.fetch_add(change, Relaxed) + change;
        PEAK.fetch_max(live, Relaxed);
        ALLOCATIONS.fetch_add(allocations, Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator as it came; the counters touch no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size(), 0);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size(), 0);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(1, size, layout.size());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        note(0, 0, layout.size());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(at, layout) }
    }
}
