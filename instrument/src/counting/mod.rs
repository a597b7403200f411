//! The default implementation: counts the operations of each instrument, and writes them as a metrics document when the
//! program ends.
//!
//! # The document
//!
//! | metric | is | kind |
//! | --- | --- | --- |
//! | `instrument.CLASS.count` | operations that have ended | a count |
//! | `instrument.CLASS.errors` | those that failed | a count |
//! | `instrument.CLASS.contended` | those that found the lock taken by another thread | of a real clock |
//! | `instrument.CLASS.bytes` | bytes that were read or written | a count |
//! | `instrument.CLASS.wait_ns` | nanoseconds between start and end, with `times` | of a real clock |
//!
//! The dimension is `name=NAME`. The classes are `mutex`, `rwlock_read`, `rwlock_write`, `cond_wait`, `cond_notify`,
//! `file_read`, `file_write`, `file_sync` and `region`; a class has the metrics that make sense for it. Which operations
//! are contended depends on when the machine runs which thread, so that number says it is of a real clock, too.
//!
//! # When it is written
//!
//! When the program returns from `main` or calls `exit`, also from the handler of a signal; and whenever
//! [`write_now`] is called, as a program must do that ends by `_exit` or `abort`. With the GNU C library the document says
//! `succeeded: false` if the exit code is not 0. A forked child starts at zero and writes a file of its own, with its process
//! number: `%p` in the name of the file stands for it, and is added to the child's file where it is missing. A child that runs
//! another program writes nothing.
//!
//! # How it counts
//!
//! Each thread has counters of its own, which no other thread writes: no lock, no atomic read-modify-write and no allocation, but
//! for the first operation of a thread and of a group of 32 instruments. A thread that ends leaves its counters to the
//! next one, so that the sum over all counters is the sum over all threads. Operations of thread-local destructors that run after
//! the thread gave up its counters go to a shared set.

mod block;
mod document;
mod names;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::abi::{self, Locker, LockerState, RegisterError, ServiceV1, VERSION};
use document::Head;

/// What the document says beside the counts, and where it goes.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The file; `%p` in its name stands for the number of the process.
    pub output: PathBuf,
    /// What was run, up to 40 characters; the name of the program where it is empty.
    pub workload: String,
    /// The processor architecture as Debian calls it; this machine's where it is empty.
    pub arch: String,
    /// The distribution's code name; this machine's where it is empty.
    pub distro: String,
    /// The kind of host that ran it; `unknown` where it is empty.
    pub host_class: String,
    /// Whether operations are timed, which reads a clock twice for each.
    pub times: bool,
}

/// Why counting did not start.
#[derive(Debug)]
pub enum StartError {
    /// Another implementation is registered, or this one twice.
    Register(RegisterError),
    /// An option cannot stand in a document.
    Option {
        /// Which.
        name: &'static str,
        /// What is wrong with it, and what to do about it.
        why: &'static str,
    },
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Register(error) => error.fmt(f),
            Self::Option { name, why } => write!(f, "the option `{name}` {why}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<RegisterError> for StartError {
    fn from(error: RegisterError) -> Self {
        Self::Register(error)
    }
}

/// Starts counting, if the environment says where the document goes. Answers whether it does.
///
/// `PERF_INSTRUMENT_OUTPUT` is the file, `PERF_INSTRUMENT_TIMES=1` times operations, and `PERF_INSTRUMENT_WORKLOAD`, `…_ARCH`,
/// `…_DISTRO` and `…_HOST_CLASS` are the options of these names.
///
/// # Errors
/// [`StartError`].
pub fn start_from_environment() -> Result<bool, StartError> {
    let Some(output) = std::env::var_os("PERF_INSTRUMENT_OUTPUT").filter(|path| !path.is_empty())
    else {
        return Ok(false);
    };
    let text = |name: &str| std::env::var(name).unwrap_or_default();
    start(&Options {
        output: output.into(),
        workload: text("PERF_INSTRUMENT_WORKLOAD"),
        arch: text("PERF_INSTRUMENT_ARCH"),
        distro: text("PERF_INSTRUMENT_DISTRO"),
        host_class: text("PERF_INSTRUMENT_HOST_CLASS"),
        times: text("PERF_INSTRUMENT_TIMES") == "1",
    })?;
    Ok(true)
}

/// Starts counting, for the rest of the program.
///
/// # Errors
/// [`StartError`].
pub fn start(options: &Options) -> Result<(), StartError> {
    let table = prepare(options)?;
    // SAFETY: the table is a static of this module, and its functions do as the types say.
    unsafe { abi::register(table) }?;
    write_at_the_end();
    Ok(())
}

/// Writes the document now, besides the one at the end, which will take its place. Answers whether it could.
///
/// Allocates nothing and takes no lock, so that the handler of a signal may call it.
pub fn write_now() -> bool {
    write(true)
}

static HEAD: OnceLock<Head> = OnceLock::new();
static TIMES: AtomicBool = AtomicBool::new(false);
static EPOCH: OnceLock<Instant> = OnceLock::new();

/// The table of this implementation, once its options are taken.
fn prepare(options: &Options) -> Result<&'static ServiceV1, StartError> {
    let head = Head::new(options)?;
    if HEAD.set(head).is_err() {
        return Err(RegisterError::AlreadyRegistered.into());
    }
    EPOCH.get_or_init(Instant::now);
    TIMES.store(options.times, Ordering::Relaxed);
    Ok(&TABLE)
}

static TABLE: ServiceV1 = ServiceV1 {
    version: VERSION,
    size: size_of::<ServiceV1>() as u32,
    register_instrument: Some(register_instrument),
    start: Some(start_operation),
    end: Some(end_operation),
    end_io: Some(end_transfer),
};

unsafe extern "C" fn register_instrument(kind: u32, name: *const c_char, length: usize) -> u32 {
    // SAFETY: the caller names `length` readable bytes.
    let name = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), length) };
    names::register(kind, name)
}

/// What is remembered of an operation, in the state on the caller's stack.
#[repr(C)]
struct Started {
    counters: *const block::Block,
    slot: u32,
    began: u64,
}

const _: () = assert!(size_of::<Started>() <= size_of::<LockerState>());

/// No clock was read.
const UNTIMED: u64 = u64::MAX;

unsafe extern "C" fn start_operation(
    state: *mut LockerState,
    instrument: u32,
    operation: u32,
) -> *mut Locker {
    let started = Started {
        counters: block::own(),
        slot: instrument.wrapping_add(operation),
        began: if TIMES.load(Ordering::Relaxed) {
            now()
        } else {
            UNTIMED
        },
    };
    let place = state.cast::<Started>();
    // SAFETY: the state is writable, large enough and aligned, as asserted above and by its type.
    unsafe { place.write(started) };
    place.cast()
}

unsafe extern "C" fn end_operation(locker: *mut Locker, outcome: u32) {
    // SAFETY: the locker is one of `start_operation`, whose state is still there.
    let started = unsafe { locker.cast::<Started>().read() };
    count(&started, outcome, 0);
}

unsafe extern "C" fn end_transfer(locker: *mut Locker, outcome: u32, bytes: u64) {
    // SAFETY: the locker is one of `start_operation`, whose state is still there.
    let started = unsafe { locker.cast::<Started>().read() };
    count(&started, outcome, bytes);
}

#[inline(always)]
fn count(started: &Started, outcome: u32, bytes: u64) {
    let waited = if started.began == UNTIMED {
        0
    } else {
        now().saturating_sub(started.began)
    };
    block::add(started.counters, started.slot, outcome, bytes, waited);
}

fn now() -> u64 {
    let epoch = EPOCH.get_or_init(Instant::now);
    u64::try_from(epoch.elapsed().as_nanos()).unwrap_or(UNTIMED - 1)
}

unsafe extern "C" {
    #[cfg(target_env = "gnu")]
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    #[cfg(not(target_env = "gnu"))]
    fn atexit(function: extern "C" fn()) -> c_int;
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

fn write_at_the_end() {
    // SAFETY: the functions live as long as the program and take what the C library gives them.
    unsafe {
        #[cfg(target_env = "gnu")]
        on_exit(ended_with, std::ptr::null_mut());
        #[cfg(not(target_env = "gnu"))]
        atexit(ended);
        pthread_atfork(None, None, Some(forked));
    }
}

#[cfg(target_env = "gnu")]
extern "C" fn ended_with(code: c_int, _: *mut c_void) {
    write(code == 0);
}

#[cfg(not(target_env = "gnu"))]
extern "C" fn ended() {
    write(true);
}

/// What the child's parent did is in the parent's document.
extern "C" fn forked() {
    block::start_anew();
    document::is_forked();
}

fn write(succeeded: bool) -> bool {
    let Some(head) = HEAD.get() else { return false };
    document::write_whole(head, succeeded, TIMES.load(Ordering::Relaxed))
}

/// Starts counting for a program in C; see `c/pti_counting.h`.
///
/// # Safety
/// Each text is null or a C string.
#[doc(hidden)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pti_counting_v1(options: *const COptions) -> *const ServiceV1 {
    // SAFETY: the caller promises the options and their texts.
    let options = unsafe { options.as_ref() }.map(|options| unsafe { options.read() });
    let prepared = match options {
        Some(options) => prepare(&options),
        None => return std::ptr::null(),
    };
    match prepared {
        Ok(table) => {
            write_at_the_end();
            table
        }
        Err(error) => {
            eprintln!("perf-instrument: {error}");
            std::ptr::null()
        }
    }
}

/// Writes the document of a program in C now.
#[doc(hidden)]
#[unsafe(no_mangle)]
pub extern "C" fn pti_counting_write_now() -> c_int {
    c_int::from(write_now())
}

/// `struct pti_counting_options`.
#[doc(hidden)]
#[derive(Debug)]
#[repr(C)]
pub struct COptions {
    output: *const c_char,
    workload: *const c_char,
    arch: *const c_char,
    distro: *const c_char,
    host_class: *const c_char,
    times: c_int,
}

impl COptions {
    /// # Safety
    /// Each text is null or a C string.
    unsafe fn read(&self) -> Options {
        use std::os::unix::ffi::OsStrExt as _;
        let bytes = |text: *const c_char| {
            // SAFETY: the caller promises a C string where there is one.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes())
        };
        let text = |text| String::from_utf8_lossy(bytes(text).unwrap_or_default()).into_owned();
        let output = bytes(self.output).unwrap_or_default();
        Options {
            output: std::ffi::OsStr::from_bytes(output).into(),
            workload: text(self.workload),
            arch: text(self.arch),
            distro: text(self.distro),
            host_class: text(self.host_class),
            times: self.times != 0,
        }
    }
}
