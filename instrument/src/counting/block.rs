//! The counters: a block of them for each thread, which no other thread writes.
//!
//! Blocks are never freed. A thread that ends leaves its block, counts and all, to a thread that starts, so that the sum
//! over all blocks is the sum over all threads that ever were.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use super::names::SLOTS;
use crate::abi::outcome;

/// Operations that share an allocation.
const GROUP: usize = 32;

/// The counts of one operation of one instrument.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Counter {
    count: AtomicU64,
    errors: AtomicU64,
    contended: AtomicU64,
    bytes: AtomicU64,
    waited: AtomicU64,
}

/// What the counts of one operation come to over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) errors: u64,
    pub(super) contended: u64,
    pub(super) bytes: u64,
    pub(super) waited: u64,
}

type Group = [Counter; GROUP];

/// The counters of one thread.
#[derive(Debug)]
pub(super) struct Block {
    groups: [AtomicPtr<Group>; SLOTS / GROUP],
    is_used: AtomicBool,
    /// The block that was made before.
    next: AtomicPtr<Block>,
}

impl Block {
    const fn new() -> Self {
        Self {
            groups: [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS / GROUP],
            is_used: AtomicBool::new(true),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The counter of a slot, which is made where it is not there.
    #[inline(always)]
    fn counter(&self, slot: u32) -> Option<&Counter> {
        let slot = slot as usize;
        let place = self.groups.get(slot / GROUP)?;
        let mut group = place.load(Ordering::Acquire);
        if group.is_null() {
            group = make_group(place);
        }
        // SAFETY: a group is never freed.
        unsafe { group.as_ref() }.map(|group| &group[slot % GROUP])
    }

    /// The counter of a slot, if anything was counted in it.
    fn find(&self, slot: u32) -> Option<&Counter> {
        let slot = slot as usize;
        let group = self.groups.get(slot / GROUP)?.load(Ordering::Acquire);
        // SAFETY: a group is never freed.
        unsafe { group.as_ref() }.map(|group| &group[slot % GROUP])
    }

    fn counters(&self) -> impl Iterator<Item = &Counter> {
        (0..SLOTS as u32).filter_map(|slot| self.find(slot))
    }
}

#[cold]
#[inline(never)]
fn make_group(place: &AtomicPtr<Group>) -> *mut Group {
    let made = Box::into_raw(Box::new([const { Counter::new() }; GROUP]));
    match place.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => made,
        Err(other) => {
            // SAFETY: the box was made above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
            other
        }
    }
}

impl Counter {
    const fn new() -> Self {
        Self {
            count: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            contended: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            waited: AtomicU64::new(0),
        }
    }

    /// Adds to each number with `add`.
    #[inline(always)]
    fn add(&self, how: u32, bytes: u64, waited: u64, add: impl Fn(&AtomicU64, u64)) {
        add(&self.count, 1);
        if how != outcome::DONE {
            add(&self.errors, u64::from(how & outcome::ERROR != 0));
            add(&self.contended, u64::from(how & outcome::CONTENDED != 0));
        }
        if bytes != 0 {
            add(&self.bytes, bytes);
        }
        if waited != 0 {
            add(&self.waited, waited);
        }
    }

    fn reset(&self) {
        for number in [
            &self.count,
            &self.errors,
            &self.contended,
            &self.bytes,
            &self.waited,
        ] {
            number.store(0, Ordering::Relaxed);
        }
    }

    fn add_to(&self, sum: &mut Sum) {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        sum.count = sum.count.saturating_add(read(&self.count));
        sum.errors = sum.errors.saturating_add(read(&self.errors));
        sum.contended = sum.contended.saturating_add(read(&self.contended));
        sum.bytes = sum.bytes.saturating_add(read(&self.bytes));
        sum.waited = sum.waited.saturating_add(read(&self.waited));
    }
}

/// The newest block; each names the one before.
static BLOCKS: AtomicPtr<Block> = AtomicPtr::new(ptr::null_mut());
/// Blocks that a thread has left.
static FREE: AtomicUsize = AtomicUsize::new(0);
/// For threads that have left their own.
static SHARED: Block = Block::new();

thread_local! {
    /// Null before the first operation of the thread; [`SHARED`] after its end.
    static OWN: Cell<*const Block> = const { Cell::new(ptr::null()) };
    static LEAVES: Leaves = const { Leaves };
}

/// Gives up the thread's block at its end.
struct Leaves;

impl Drop for Leaves {
    fn drop(&mut self) {
        let own = OWN.replace(&raw const SHARED);
        // SAFETY: the pointer is null or to a block, and blocks are never freed.
        if let Some(own) = unsafe { own.as_ref() } {
            own.is_used.store(false, Ordering::Release);
            FREE.fetch_add(1, Ordering::Release);
        }
    }
}

/// The block of this thread.
#[inline(always)]
pub(super) fn own() -> *const Block {
    let own = OWN.get();
    if own.is_null() { begin() } else { own }
}

/// The first operation of a thread.
#[cold]
#[inline(never)]
fn begin() -> *const Block {
    let block = if LEAVES.try_with(|_| ()).is_ok() {
        claim().unwrap_or_else(make)
    } else {
        &raw const SHARED
    };
    OWN.set(block);
    block
}

/// A block that another thread left.
fn claim() -> Option<*const Block> {
    let free = FREE.fetch_update(Ordering::AcqRel, Ordering::Acquire, |free| {
        free.checked_sub(1)
    });
    free.ok()?;
    // One is free for whoever took one off the number, if not at the first look.
    loop {
        let found = blocks().find(|block| {
            block
                .is_used
                .compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        });
        if let Some(found) = found {
            return Some(ptr::from_ref(found));
        }
        std::thread::yield_now();
    }
}

fn make() -> *const Block {
    let made = Box::into_raw(Box::new(Block::new()));
    let mut newest = BLOCKS.load(Ordering::Acquire);
    loop {
        // SAFETY: the box was made above and is never freed.
        unsafe { &*made }.next.store(newest, Ordering::Relaxed);
        match BLOCKS.compare_exchange_weak(newest, made, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return made,
            Err(other) => newest = other,
        }
    }
}

/// All blocks but the shared one.
fn blocks() -> impl Iterator<Item = &'static Block> {
    let mut next = BLOCKS.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: the pointer is null or to a block, and blocks are never freed.
        let block = unsafe { next.as_ref() }?;
        next = block.next.load(Ordering::Acquire);
        Some(block)
    })
}

/// Counts an operation that was started with the block `started`.
#[inline(always)]
pub(super) fn add(started: *const Block, slot: u32, how: u32, bytes: u64, waited: u64) {
    // What ends after its thread gave up the block must not write to it: it is another's.
    if ptr::eq(started, OWN.get()) && !ptr::eq(started, &raw const SHARED) {
        // SAFETY: blocks are never freed.
        if let Some(counter) = unsafe { &*started }.counter(slot) {
            counter.add(how, bytes, waited, |number, more| {
                let sum = number.load(Ordering::Relaxed).wrapping_add(more);
                number.store(sum, Ordering::Relaxed);
            });
        }
    } else {
        add_shared(slot, how, bytes, waited);
    }
}

#[cold]
#[inline(never)]
fn add_shared(slot: u32, how: u32, bytes: u64, waited: u64) {
    if let Some(counter) = SHARED.counter(slot) {
        counter.add(how, bytes, waited, |number, more| {
            number.fetch_add(more, Ordering::Relaxed);
        });
    }
}

/// What was counted of an operation on all threads so far.
pub(super) fn sum(slot: u32) -> Sum {
    let mut sum = Sum::default();
    for block in blocks().chain([&SHARED]) {
        if let Some(counter) = block.find(slot) {
            counter.add_to(&mut sum);
        }
    }
    sum
}

/// Sets all counts to zero in a forked child, which has one thread.
pub(super) fn start_anew() {
    super::names::open();
    let own = OWN.get();
    let mut free = 0;
    for block in blocks() {
        block.counters().for_each(Counter::reset);
        let is_own = ptr::eq(block, own);
        block.is_used.store(is_own, Ordering::Relaxed);
        free += usize::from(!is_own);
    }
    SHARED.counters().for_each(Counter::reset);
    FREE.store(free, Ordering::Release);
}
