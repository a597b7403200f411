//! The ABI layer: a table of functions that an implementation registers and that every point calls.
//!
//! The layout is that of `struct pti_service_v1` in `c/pti.h`, field by field. A later release adds fields at the end of
//! the table, and never moves, changes or removes one. `size` says how many bytes of the table the implementation fills:
//! [`register`] fills the rest with functions that do nothing. So a program runs with an older implementation, and an
//! older program with a newer one.
//!
//! A point calls the table in three steps:
//!
//! 1. `start` announces the operation. It gets 64 bytes on the caller's stack for what the implementation must remember,
//!    and answers with a locker, or null if it does not want to know how the operation ends.
//! 2. The caller does the operation.
//! 3. `end` (`end_io` for a read or a write) tells how the operation ended.

use std::ffi::c_char;
use std::mem::{MaybeUninit, offset_of};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The version of the table that this crate describes.
pub const VERSION: u32 = 1;

/// What an instrument is. The number is part of the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// A mutex; its operation is [`operation::MUTEX_LOCK`].
    Mutex = 1,
    /// A reader-writer lock.
    RwLock = 2,
    /// A condition variable.
    Cond = 3,
    /// A file.
    File = 4,
    /// A region of code.
    Region = 5,
}

/// What is done with an instrument. The numbers are part of the ABI; each kind counts its operations from 0.
pub mod operation {
    /// Takes a mutex.
    pub const MUTEX_LOCK: u32 = 0;
    /// Takes a reader-writer lock for reading.
    pub const RWLOCK_READ: u32 = 0;
    /// Takes a reader-writer lock for writing.
    pub const RWLOCK_WRITE: u32 = 1;
    /// Waits for a condition variable.
    pub const COND_WAIT: u32 = 0;
    /// Wakes one or all that wait for a condition variable.
    pub const COND_NOTIFY: u32 = 1;
    /// Reads from a file.
    pub const FILE_READ: u32 = 0;
    /// Writes to a file.
    pub const FILE_WRITE: u32 = 1;
    /// Waits until what was written is on disk.
    pub const FILE_SYNC: u32 = 2;
    /// Runs a region of code.
    pub const REGION_RUN: u32 = 0;
}

/// How an operation ended: a sum of these.
pub mod outcome {
    /// It ended well, and nobody had to wait for another thread.
    pub const DONE: u32 = 0;
    /// It failed. A poisoned lock counts as failed, although it was taken.
    pub const ERROR: u32 = 1;
    /// Another thread held the lock when the operation began.
    pub const CONTENDED: u32 = 2;
}

/// What the implementation remembers between the start and the end of an operation; it lives on the caller's stack.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub struct LockerState(pub [MaybeUninit<u64>; 8]);

impl LockerState {
    /// A state that nobody has written to, which costs nothing.
    #[inline(always)]
    #[must_use]
    pub const fn new() -> Self {
        Self([MaybeUninit::uninit(); 8])
    }
}

impl Default for LockerState {
    fn default() -> Self {
        Self::new()
    }
}

/// What `start` hands to `end`. Only the implementation knows what is behind the pointer.
#[derive(Debug)]
#[repr(C)]
pub struct Locker {
    _opaque: [u8; 0],
}

/// Tells the implementation of an instrument: kind, name, and bytes of the name. It answers with a number from 1 on, the
/// same for the same kind and name, or with 0 if it does not count this instrument.
pub type RegisterInstrument =
    unsafe extern "C" fn(kind: u32, name: *const c_char, length: usize) -> u32;
/// Announces an operation of an instrument.
pub type Start =
    unsafe extern "C" fn(state: *mut LockerState, instrument: u32, operation: u32) -> *mut Locker;
/// Tells how an operation ended. Called once for each locker that is not null. A task that waits may end it on another thread
/// than the one that started it, never at the same time.
pub type End = unsafe extern "C" fn(locker: *mut Locker, outcome: u32);
/// Tells how a read or a write ended, and how many bytes it moved.
pub type EndIo = unsafe extern "C" fn(locker: *mut Locker, outcome: u32, bytes: u64);

/// The table of functions, version 1.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ServiceV1 {
    /// [`VERSION`].
    pub version: u32,
    /// How many bytes of the table are filled, from `version` on.
    pub size: u32,
    /// Since 1.0.
    pub register_instrument: Option<RegisterInstrument>,
    /// Since 1.0.
    pub start: Option<Start>,
    /// Since 1.0.
    pub end: Option<End>,
    /// Since 1.1.
    pub end_io: Option<EndIo>,
}

/// Bytes of the first release of the table, which every implementation fills.
pub const SIZE_1_0: u32 = offset_of!(ServiceV1, end_io) as u32;

const _: () = {
    assert!(offset_of!(ServiceV1, size) == 4);
    assert!(offset_of!(ServiceV1, register_instrument) == 8);
    assert!(offset_of!(ServiceV1, end) == 8 + 2 * size_of::<usize>());
    assert!(size_of::<LockerState>() == 64);
};

/// Why an implementation was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterError {
    /// The table is of another version, or smaller than the first release of version 1.
    NotVersion1,
    /// An implementation is registered already. It stays: operations that it was told of have not ended.
    AlreadyRegistered,
}

impl std::fmt::Display for RegisterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotVersion1 => {
                "the table of the implementation is not version 1 of the interface; build both against the same header"
            }
            Self::AlreadyRegistered => {
                "an implementation is registered already; register one, at the start of the program"
            }
        })
    }
}

impl std::error::Error for RegisterError {}

/// The functions as points call them: none is missing.
#[derive(Debug)]
pub(crate) struct Service {
    register_instrument: RegisterInstrument,
    start: Start,
    end: End,
    end_io: EndIo,
}

static SERVICE: AtomicPtr<Service> = AtomicPtr::new(ptr::null_mut());

/// Registers an implementation for all points of this program. It cannot be taken back.
///
/// # Errors
/// [`RegisterError`].
///
/// # Safety
/// `table` points to a table of which `size` bytes are readable. Its functions can be called from any thread, with the
/// arguments that their types describe, until the program has ended.
pub unsafe fn register(table: *const ServiceV1) -> Result<(), RegisterError> {
    // SAFETY: the caller promises a table, and its first two fields are in every one.
    let (version, size) = unsafe { ((*table).version, (*table).size) };
    if version != VERSION || size < SIZE_1_0 {
        return Err(RegisterError::NotVersion1);
    }
    let mut known = ServiceV1 {
        version,
        size,
        register_instrument: None,
        start: None,
        end: None,
        end_io: None,
    };
    let bytes = usize::try_from(size).map_or(size_of::<ServiceV1>(), |size| {
        size.min(size_of::<ServiceV1>())
    });
    // SAFETY: `bytes` are readable at `table` as the caller promises, and writable at `known`. A field of which only a part
    // would be copied cannot be: an implementation fills whole fields.
    unsafe { ptr::copy_nonoverlapping(table.cast::<u8>(), (&raw mut known).cast(), bytes) };
    let service = Box::into_raw(Box::new(Service {
        register_instrument: known.register_instrument.unwrap_or(registers_nothing),
        start: known.start.unwrap_or(starts_nothing),
        end: known.end.unwrap_or(ends_nothing),
        end_io: known.end_io.unwrap_or(ends_no_io),
    }));
    let set = SERVICE.compare_exchange(
        ptr::null_mut(),
        service,
        Ordering::Release,
        Ordering::Relaxed,
    );
    if set.is_err() {
        // SAFETY: the box was made above, and nobody else has seen it.
        drop(unsafe { Box::from_raw(service) });
        return Err(RegisterError::AlreadyRegistered);
    }
    Ok(())
}

unsafe extern "C" fn registers_nothing(_: u32, _: *const c_char, _: usize) -> u32 {
    0
}

unsafe extern "C" fn starts_nothing(_: *mut LockerState, _: u32, _: u32) -> *mut Locker {
    ptr::null_mut()
}

unsafe extern "C" fn ends_nothing(_: *mut Locker, _: u32) {}

/// An implementation of 1.0 was told of the start of a read and is not told of its end.
unsafe extern "C" fn ends_no_io(_: *mut Locker, _: u32, _: u64) {}

/// The implementation that is registered, if there is one.
#[inline(always)]
pub(crate) fn service() -> Option<&'static Service> {
    let service = SERVICE.load(Ordering::Acquire);
    // SAFETY: the pointer is null, or to a box that is never freed.
    unsafe { service.as_ref() }
}

/// An instrument that has no number yet.
const UNKNOWN: u32 = 0;
/// An instrument that the implementation does not count.
const OFF: u32 = u32::MAX;

/// One instrument of the program: what it is, its name, and its number once the implementation has given one.
#[derive(Debug)]
pub(crate) struct Instrument {
    kind: Kind,
    name: &'static str,
    number: AtomicU32,
}

impl Instrument {
    pub(crate) const fn new(kind: Kind, name: &'static str) -> Self {
        Self {
            kind,
            name,
            number: AtomicU32::new(UNKNOWN),
        }
    }

    /// One that no implementation is asked about.
    pub(crate) const fn off(kind: Kind, name: &'static str) -> Self {
        Self {
            kind,
            name,
            number: AtomicU32::new(OFF),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    #[cold]
    fn register(&self, service: &Service) -> u32 {
        // SAFETY: the name is readable, and the function takes any kind and name, as `register` was promised.
        let number = unsafe {
            (service.register_instrument)(
                self.kind as u32,
                self.name.as_ptr().cast(),
                self.name.len(),
            )
        };
        let number = if number == 0 { OFF } else { number };
        self.number.store(number, Ordering::Relaxed);
        number
    }
}

/// An operation that was announced and has not ended.
#[derive(Debug)]
pub(crate) struct Wait<'a> {
    service: &'static Service,
    locker: *mut Locker,
    /// The locker may point into it.
    _state: std::marker::PhantomData<&'a mut LockerState>,
}

impl<'a> Wait<'a> {
    /// Announces an operation.
    #[inline(always)]
    pub(crate) fn start(
        service: &'static Service,
        instrument: &Instrument,
        operation: u32,
        state: &'a mut LockerState,
    ) -> Self {
        let mut number = instrument.number.load(Ordering::Relaxed);
        if number == UNKNOWN {
            number = instrument.register(service);
        }
        let locker = if number == OFF {
            ptr::null_mut()
        } else {
            // SAFETY: the state is writable and stays where it is until the wait has ended, for it is borrowed; the number
            // is one that the implementation gave.
            unsafe { (service.start)(state, number, operation) }
        };
        Self {
            service,
            locker,
            _state: std::marker::PhantomData,
        }
    }

    /// Tells how the operation ended.
    #[inline(always)]
    pub(crate) fn end(self, outcome: u32) {
        self.tell(outcome);
        std::mem::forget(self);
    }

    /// Tells how a read or a write ended, and how many bytes it moved.
    #[inline(always)]
    pub(crate) fn end_io(self, outcome: u32, bytes: usize) {
        if !self.locker.is_null() {
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            // SAFETY: the locker came from `start`, and is told of once.
            unsafe { (self.service.end_io)(self.locker, outcome, bytes) };
        }
        std::mem::forget(self);
    }

    #[inline(always)]
    fn tell(&self, outcome: u32) {
        if !self.locker.is_null() {
            // SAFETY: the locker came from `start`, and is told of once.
            unsafe { (self.service.end)(self.locker, outcome) };
        }
    }
}

// SAFETY: the locker may be ended on another thread, as [`End`] says, and the service is a table of functions for any thread.
unsafe impl Send for Wait<'_> {}

/// An operation that panics has failed.
impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.tell(outcome::ERROR);
    }
}
