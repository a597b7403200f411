//! What valgrind is told of regions, through its client requests.
//!
//! A client request is a sequence of instructions that does nothing on a processor, and that valgrind looks for: see
//! <https://valgrind.org/docs/manual/manual-core-adv.html#manual-core-adv.clientreq>. On another processor than x86-64 and
//! aarch64 nothing is told, and a region has no counts.
//!
//! Under callgrind each mark writes what was counted since the last mark as a part, and `Client Request: ` with the text of
//! the mark as its trigger. `perf-tracking` reads these texts:
//!
//! | text | the part before it |
//! | --- | --- |
//! | `perf-tracking-region enter NAME` | ran until the region was entered |
//! | `perf-tracking-region leave NAME` | ran inside it |
//! | `perf-tracking-region forked` | ran in a forked child before its first mark |
//! | `perf-tracking-region inherit NAME` | nothing: the child was forked inside the region |
//! | `perf-tracking-calibration …` | a region with nothing in it, for what the marks cost themselves |
//!
//! Under massif, with `PERF_TRACKING_REGION_FOLDER` set, each mark has it write a snapshot there, as
//! `region.PID.NUMBER.enter.NAME` or `….leave.NAME`. With `PERF_TRACKING_REGION` set to a name the regions of other names are
//! not marked.
//!
//! Nothing here allocates: massif would count it.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::abi::LockerState;
use crate::region::{Region, Site};

const RUNNING_ON_VALGRIND: usize = 0x1001;
const GDB_MONITOR_COMMAND: usize = 0x1202;
/// The fourth of callgrind's requests, which begin at `('C', 'T')`.
const DUMP_STATS_AT: usize = (b'C' as usize) << 24 | (b'T' as usize) << 16 | 3;

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// The texts of a site, and whether its region is one that is asked for.
#[derive(Debug)]
pub(crate) struct Marks {
    enter: &'static str,
    leave: &'static str,
    inherit: &'static str,
    wanted: AtomicU8,
}

impl Marks {
    pub(crate) const fn new(
        enter: &'static str,
        leave: &'static str,
        inherit: &'static str,
    ) -> Self {
        assert!(is_c_string(enter) && is_c_string(leave) && is_c_string(inherit));
        Self {
            enter,
            leave,
            inherit,
            wanted: AtomicU8::new(UNKNOWN),
        }
    }
}

const fn is_c_string(text: &str) -> bool {
    CStr::from_bytes_with_nul(text.as_bytes()).is_ok()
}

const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;
const MASSIF: u8 = 3;

static HERE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether the program runs under valgrind.
#[inline(always)]
pub(crate) fn is_here() -> bool {
    match HERE.load(Ordering::Relaxed) {
        NO => false,
        UNKNOWN => look(),
        _ => true,
    }
}

/// Not in the call that marks a region, for callgrind counts a function that calls itself in another way.
#[cold]
#[inline(never)]
fn look() -> bool {
    let found = if request(RUNNING_ON_VALGRIND, 0) == 0 {
        NO
    } else if variable(c"PERF_TRACKING_REGION_FOLDER").is_some() {
        MASSIF
    } else {
        YES
    };
    // Two threads may both look.
    if HERE.swap(found, Ordering::Relaxed) == UNKNOWN && found == YES {
        prepare();
    }
    found != NO
}

fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name is a C string. The environment is read while a program sets up, as the C library itself reads it.
    let value = unsafe { getenv(name.as_ptr()) };
    // SAFETY: `getenv` answers with null or a C string.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// Marks that a region is entered. The mark is the last that it does.
#[inline(always)]
pub(crate) fn enter(site: &'static Site) {
    if !is_wanted(site) {
        return;
    }
    open(site);
    mark(site.marks.enter, "enter", site);
}

/// Marks that a region is left. The mark is the first that it does.
#[inline(always)]
pub(crate) fn leave(site: &'static Site) {
    if site.marks.wanted.load(Ordering::Relaxed) != YES {
        return;
    }
    mark(site.marks.leave, "leave", site);
    close(site);
}

#[inline(always)]
fn is_wanted(site: &'static Site) -> bool {
    match site.marks.wanted.load(Ordering::Relaxed) {
        YES => true,
        UNKNOWN => ask(site),
        _ => false,
    }
}

/// The first time that a site is come to.
#[cold]
#[inline(never)]
fn ask(site: &'static Site) -> bool {
    let name = variable(c"PERF_TRACKING_REGION");
    let wanted = name.is_none_or(|name| {
        name.to_bytes() == site.name().as_bytes()
            || ptr::eq(site, &raw const OUTER)
            || ptr::eq(site, &raw const INNER)
    });
    site.marks
        .wanted
        .store(if wanted { YES } else { NO }, Ordering::Relaxed);
    wanted
}

#[inline(always)]
fn mark(text: &'static str, done: &str, site: &Site) {
    if HERE.load(Ordering::Relaxed) == MASSIF {
        snapshot(done, site.name());
    } else {
        dump(text.as_ptr());
    }
}

/// Writes a part. One piece of code for all marks: callgrind counts the instructions right before a request with the part
/// after it where another request came last.
#[inline(never)]
fn dump(c_string: *const u8) {
    request(DUMP_STATS_AT, c_string as usize);
}

static OUTER: Site = Site::unheard(
    "perf-tracking-calibration enter outer\0",
    "perf-tracking-calibration leave outer\0",
);
static INNER: Site = Site::unheard(
    "perf-tracking-calibration enter inner\0",
    "perf-tracking-calibration leave inner\0",
);

/// Before the first region: shows what marks cost, twice, for the first time costs more.
#[cold]
#[inline(never)]
fn prepare() {
    // SAFETY: the handler touches nothing but what is its thread's own, and requests.
    unsafe { pthread_atfork(None, None, Some(forked)) };
    for _ in 0..2 {
        calibrate();
    }
}

#[inline(never)]
fn calibrate() {
    let mut state = LockerState::new();
    let _outer = Region::enter(&OUTER, &mut state);
    let mut state = LockerState::new();
    let _inner = Region::enter(&INNER, &mut state);
}

/// How many regions deep a forked child knows where it was forked.
const DEPTH: usize = 64;

thread_local! {
    static OPEN: [Cell<Option<&'static Site>>; DEPTH] = const { [const { Cell::new(None) }; DEPTH] };
    static DEEP: Cell<usize> = const { Cell::new(0) };
}

#[inline(always)]
fn open(site: &'static Site) {
    let deep = DEEP.get();
    DEEP.set(deep + 1);
    if deep < DEPTH {
        OPEN.with(|open| open[deep].set(Some(site)));
    }
}

/// Regions are left in any order; most are left in the reverse one.
#[inline(always)]
fn close(site: &'static Site) {
    let deep = DEEP.get().saturating_sub(1);
    DEEP.set(deep);
    if deep < DEPTH && !OPEN.with(|open| open[deep].get().is_some_and(|top| ptr::eq(top, site))) {
        close_below(site, deep);
    }
}

#[cold]
#[inline(never)]
fn close_below(site: &'static Site, top: usize) {
    OPEN.with(|open| {
        let place = (0..top)
            .rev()
            .find(|place| open[*place].get().is_some_and(|found| ptr::eq(found, site)));
        for place in place.into_iter().flat_map(|place| place..top) {
            open[place].set(open[place + 1].get());
        }
    });
}

/// A forked child starts with counts of its own, inside the regions of the thread that forked it.
extern "C" fn forked() {
    dump(c"perf-tracking-region forked".as_ptr().cast());
    OPEN.with(|open| {
        for site in open.iter().take(DEEP.get()).filter_map(Cell::get) {
            dump(site.marks.inherit.as_ptr());
        }
    });
}

/// Has massif write what the heap holds now.
#[inline(never)]
fn snapshot(done: &str, name: &str) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let Some(folder) = variable(c"PERF_TRACKING_REGION_FOLDER") else {
        return;
    };
    let mut text = Text::default();
    text.add(b"snapshot ");
    text.add(folder.to_bytes());
    text.add(b"/region.");
    text.add_number(std::process::id().into());
    text.add(b".");
    text.add_number(NUMBER.fetch_add(1, Ordering::Relaxed));
    text.add(b".");
    text.add(done.as_bytes());
    text.add(b".");
    text.add_escaped(name.as_bytes());
    if let Some(command) = text.as_c_string() {
        request(GDB_MONITOR_COMMAND, command.as_ptr() as usize);
    }
}

/// A text on the stack.
struct Text {
    bytes: [u8; 4096],
    length: usize,
}

impl Default for Text {
    fn default() -> Self {
        Self {
            bytes: [0; 4096],
            length: 0,
        }
    }
}

impl Text {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = *byte;
            }
            self.length += 1;
        }
    }

    fn add_number(&mut self, number: u64) {
        if number >= 10 {
            self.add_number(number / 10);
        }
        self.add(&[b'0' + (number % 10) as u8]);
    }

    /// A name as a part of a file's name: anything but letters, digits, `-` and `_` is `%` and two hexadecimal digits.
    fn add_escaped(&mut self, name: &[u8]) {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        for byte in name {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
                self.add(&[*byte]);
            } else {
                self.add(&[
                    b'%',
                    DIGITS[usize::from(byte >> 4)],
                    DIGITS[usize::from(byte & 15)],
                ]);
            }
        }
    }

    /// The text, unless it did not fit.
    fn as_c_string(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(self.bytes.get(..=self.length)?).ok()
    }
}

/// A client request with one argument. Without valgrind the answer is 0.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn request(code: usize, argument: usize) -> usize {
    let arguments = [code, argument, 0, 0, 0, 0];
    let answer: usize;
    // SAFETY: rdi is turned by 128 bits in all and so stays what it was, and rbx is exchanged with itself. Valgrind reads the
    // six words behind rax, and what the argument points to, and writes rdx.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inlateout("rdx") 0_usize => answer,
            options(nostack),
        );
    }
    answer
}

/// A client request with one argument. Without valgrind the answer is 0.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn request(code: usize, argument: usize) -> usize {
    let arguments = [code, argument, 0, 0, 0, 0];
    let answer: usize;
    // SAFETY: x12 is turned by 128 bits in all and so stays what it was, and x10 is set to itself. Valgrind reads the six
    // words behind x4, and what the argument points to, and writes x3.
    unsafe {
        std::arch::asm!(
            "ror x12, x12, #3",
            "ror x12, x12, #13",
            "ror x12, x12, #51",
            "ror x12, x12, #61",
            "orr x10, x10, x10",
            in("x4") arguments.as_ptr(),
            inlateout("x3") 0_usize => answer,
            options(nostack),
        );
    }
    answer
}

/// There is no client request for this processor.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn request(_: usize, _: usize) -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_valgrind_is_nothing() {
        assert_eq!(request(RUNNING_ON_VALGRIND, 0), 0);
        assert!(!is_here());
    }

    #[test]
    fn regions_are_closed_in_any_order() {
        let sites: [&'static Site; 3] = [&OUTER, &INNER, &OUTER];
        let left = || {
            OPEN.with(|open| {
                open.iter()
                    .take(DEEP.get())
                    .map(|s| s.get().unwrap() as *const Site)
                    .collect::<Vec<_>>()
            })
        };
        sites.into_iter().for_each(open);
        close(&INNER);
        assert_eq!(left(), [&raw const OUTER, &raw const OUTER]);
        close(&OUTER);
        close(&OUTER);
        assert!(left().is_empty());
        close(&OUTER);
        assert!(left().is_empty());
        // Deeper than is remembered.
        for _ in 0..DEPTH + 3 {
            open(&OUTER);
        }
        for _ in 0..DEPTH + 3 {
            close(&OUTER);
        }
        assert!(left().is_empty());
    }

    #[test]
    fn a_text_that_does_not_fit_is_not_sent() {
        let mut text = Text::default();
        text.add(b"region.");
        text.add_number(1203);
        text.add_escaped(b"/a b-");
        assert_eq!(text.as_c_string().unwrap(), c"region.1203%2Fa%20b-");
        text.add(&[b'x'; 4096]);
        assert!(text.as_c_string().is_none());
    }
}
