//! The instruments that are known: a number for each kind and name.
//!
//! Registered once for each instrument, so a lock is taken; the path of an operation never comes here.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::{ptr, thread};

/// How many operations can be counted: those of all instruments together. The slot 0 is nobody's.
pub(super) const SLOTS: usize = 1024;

/// The longest dimension that perf-tracking stores is 120 characters, with `name=`.
const MAX_NAME: usize = 115;

/// What is counted of a class of operations.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: &'static str,
    pub(super) contends: bool,
    pub(super) moves_bytes: bool,
}

const fn class(name: &'static str) -> Class {
    Class {
        name,
        contends: false,
        moves_bytes: false,
    }
}

const fn lock(name: &'static str) -> Class {
    Class {
        contends: true,
        ..class(name)
    }
}

const fn transfer(name: &'static str) -> Class {
    Class {
        moves_bytes: true,
        ..class(name)
    }
}

/// The classes of each kind, in the order of its operations; kinds count from 1.
static CLASSES: [&[Class]; 5] = [
    &[lock("mutex")],
    &[lock("rwlock_read"), lock("rwlock_write")],
    &[class("cond_wait"), class("cond_notify")],
    &[
        transfer("file_read"),
        transfer("file_write"),
        class("file_sync"),
    ],
    &[class("region")],
];

/// One operation of an instrument.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) class: &'static Class,
    /// As it stands in a dimension, escaped.
    pub(super) name: String,
}

static ENTRIES: [AtomicPtr<Entry>; SLOTS] = [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS];
static USED: AtomicU32 = AtomicU32::new(1);
static LEFT_OUT: AtomicU32 = AtomicU32::new(0);

/// A lock that a forked child can open: the thread that held it may not be there.
static TAKEN: AtomicBool = AtomicBool::new(false);

struct Taken;

impl Taken {
    fn take() -> Self {
        while TAKEN
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            thread::yield_now();
        }
        Self
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::Release);
    }
}

/// In a forked child, which has one thread.
pub(super) fn open() {
    TAKEN.store(false, Ordering::Release);
}

/// The number of an instrument: its first slot. 0 where its kind is unknown, or there is no slot left.
pub(super) fn register(kind: u32, name: &[u8]) -> u32 {
    let kind = usize::try_from(kind).unwrap_or(0);
    let Some(classes) = kind.checked_sub(1).and_then(|index| CLASSES.get(index)) else {
        return 0;
    };
    let name = escape(name);
    let _taken = Taken::take();
    let used = USED.load(Ordering::Relaxed);
    if let Some(number) = find(used, &classes[0], &name) {
        return number;
    }
    let end = used as usize + classes.len();
    if end > SLOTS {
        LEFT_OUT.fetch_add(1, Ordering::Relaxed);
        return 0;
    }
    for (class, slot) in classes.iter().zip(&ENTRIES[used as usize..]) {
        let entry = Box::new(Entry {
            class,
            name: name.clone(),
        });
        slot.store(Box::into_raw(entry), Ordering::Release);
    }
    USED.store(end as u32, Ordering::Release);
    used
}

fn find(used: u32, class: &'static Class, name: &str) -> Option<u32> {
    (1..used).find(|slot| {
        entry(*slot).is_some_and(|entry| ptr::eq(entry.class, class) && entry.name == name)
    })
}

fn entry(slot: u32) -> Option<&'static Entry> {
    let entry = ENTRIES.get(slot as usize)?.load(Ordering::Acquire);
    // SAFETY: an entry is never freed.
    unsafe { entry.as_ref() }
}

/// All operations that are known, by slot.
pub(super) fn entries() -> impl Iterator<Item = (u32, &'static Entry)> {
    (1..USED.load(Ordering::Acquire)).filter_map(|slot| Some((slot, entry(slot)?)))
}

/// How many instruments found no slot.
pub(super) fn left_out() -> u32 {
    LEFT_OUT.load(Ordering::Relaxed)
}

/// A name as a dimension's value holds it, in the form that perf-tracking writes: `%`, `,`, `=`, control characters, white
/// space at either end and what is no UTF-8 is `%` and two hexadecimal digits for each byte. One that is too long is cut.
fn escape(name: &[u8]) -> String {
    let inner = name.trim_ascii();
    let start = name.len() - name.trim_ascii_start().len();
    let mut escaped = String::new();
    let mut position = 0;
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            let padding = position < start || position >= start + inner.len();
            let plain = !padding && !c.is_control() && !matches!(c, '%' | ',' | '=');
            let piece = if plain {
                c.to_string()
            } else {
                hexadecimal(c.encode_utf8(&mut [0; 4]).as_bytes())
            };
            if !push(&mut escaped, &piece) {
                return escaped;
            }
            position += c.len_utf8();
        }
        if !push(&mut escaped, &hexadecimal(chunk.invalid())) {
            return escaped;
        }
        position += chunk.invalid().len();
    }
    escaped
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02X}")).collect()
}

/// Adds a piece, if it fits.
fn push(escaped: &mut String, piece: &str) -> bool {
    let fits = escaped.chars().count() + piece.chars().count() <= MAX_NAME;
    if fits {
        escaped.push_str(piece);
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_escaped_as_perf_tracking_does() {
        for (name, escaped) in [
            (&b"wal"[..], "wal"),
            (b" a,b=c% \n", "%20a%2Cb%3Dc%25%20%0A"),
            (b"caf\xc3\xa9 \xff", "caf\u{e9} %FF"),
            (b"", ""),
        ] {
            assert_eq!(escape(name), escaped);
        }
        assert_eq!(escape(&[b'a'; 500]).len(), MAX_NAME);
        assert_eq!(escape(&[b'%'; 500]).len(), MAX_NAME / 3 * 3);
    }

    #[test]
    fn an_instrument_keeps_its_number_and_a_kind_its_own() {
        let first = register(1, b"names-test");
        assert_eq!(register(1, b"names-test"), first);
        let other = register(4, b"names-test");
        assert_ne!(other, first);
        assert_ne!(register(1, b"names-test-2"), first);
        let classes: Vec<&str> = entries()
            .filter(|(slot, _)| (other..other + 3).contains(slot))
            .map(|(_, entry)| entry.class.name)
            .collect();
        assert_eq!(classes, ["file_read", "file_write", "file_sync"]);
        assert_eq!(register(0, b"x"), 0);
        assert_eq!(register(6, b"x"), 0);
        assert_eq!(register(u32::MAX, b"x"), 0);
    }
}
