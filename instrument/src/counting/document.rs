//! The metrics document, written without an allocation: the program may be ending in the handler of a signal that
//! interrupted one.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fs};

use super::block;
use super::names::{self, Entry};
use super::{Options, StartError};

/// The largest number that perf-tracking stores.
const MAX_VALUE: u64 = 9_999_999_999_999_999;

/// All but the counts.
#[derive(Debug)]
pub(super) struct Head {
    /// The file's name, before and after the number of the process.
    before: Vec<u8>,
    after: Option<Vec<u8>>,
    /// The document up to `succeeded`.
    opening: String,
}

static FORKED: AtomicBool = AtomicBool::new(false);

/// From here on this process is a forked child.
pub(super) fn is_forked() {
    FORKED.store(true, Ordering::Relaxed);
}

impl Head {
    pub(super) fn new(options: &Options) -> Result<Self, StartError> {
        let path = absolute(options)?;
        let (before, after) = match path.windows(2).rposition(|pair| pair == b"%p") {
            Some(place) => (path[..place].to_vec(), Some(path[place + 2..].to_vec())),
            None => (path, None),
        };
        let fields = [
            ("workload", or(&options.workload, program), 40),
            ("arch", or(&options.arch, arch), 20),
            ("distro", or(&options.distro, distro), 40),
            (
                "host_class",
                or(&options.host_class, || "unknown".to_owned()),
                40,
            ),
        ];
        let mut opening = String::from("{\"format_version\": 1");
        for (name, value, most) in fields {
            check(name, &value, most)?;
            opening.push_str(&format!(", \"{name}\": \"{}\"", json(&value)));
        }
        Ok(Self {
            before,
            after,
            opening,
        })
    }
}

/// The file whatever folder the program goes to.
fn absolute(options: &Options) -> Result<Vec<u8>, StartError> {
    let wrong = |why| StartError::Option {
        name: "output",
        why,
    };
    let bytes = options.output.as_os_str().as_bytes();
    if bytes.is_empty() {
        return Err(wrong("is empty; name the file that the document goes to"));
    }
    if bytes.contains(&0) {
        return Err(wrong("has a zero byte; name a file"));
    }
    if bytes.len() > 2000 {
        return Err(wrong("is longer than 2000 bytes; name a shorter path"));
    }
    let path = std::path::absolute(&options.output).unwrap_or_else(|_| options.output.clone());
    let path = path.into_os_string().into_vec();
    if path.len() > 3500 {
        return Err(wrong("is too long a path; name a shorter one"));
    }
    Ok(path)
}

fn or(given: &str, otherwise: impl FnOnce() -> String) -> String {
    if given.is_empty() {
        otherwise()
    } else {
        given.to_owned()
    }
}

fn check(name: &'static str, value: &str, most: usize) -> Result<(), StartError> {
    let why = if value.is_empty() || value.chars().count() > most {
        "must have 1 to 40 characters (20 for the architecture); name a shorter one"
    } else if value.chars().any(char::is_control) || value.trim() != value {
        "must have no control character and no white space at its ends; name it otherwise"
    } else {
        return Ok(());
    };
    Err(StartError::Option { name, why })
}

/// The name of this program, without its folder.
fn program() -> String {
    let path = env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&path).file_name().unwrap_or_default();
    let name: String = name.to_string_lossy().chars().take(40).collect();
    or(&name, || "program".to_owned())
}

/// What Debian calls this architecture.
fn arch() -> String {
    let name = match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "i386",
        "arm" => "armhf",
        "powerpc64" if cfg!(target_endian = "little") => "ppc64el",
        other => other,
    };
    name.to_owned()
}

/// The code name of this distribution, or its identity where it has no code name.
fn distro() -> String {
    let text = ["/etc/os-release", "/usr/lib/os-release"]
        .iter()
        .find_map(|path| fs::read_to_string(path).ok())
        .unwrap_or_default();
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        let value = line.trim_matches(['"', '\'']).trim();
        (!value.is_empty()).then(|| value.to_owned())
    };
    value("VERSION_CODENAME=")
        .or_else(|| value("ID="))
        .unwrap_or_else(|| "unknown".to_owned())
}

fn json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            c if c.is_control() => escaped.push_str(&format!("\\u{:04x}", c as u32)),
            c => escaped.push(c),
        }
    }
    escaped
}

unsafe extern "C" {
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn write(file: c_int, bytes: *const c_void, count: usize) -> isize;
    fn close(file: c_int) -> c_int;
    fn rename(from: *const c_char, to: *const c_char) -> c_int;
    fn unlink(path: *const c_char) -> c_int;
}

const O_WRONLY: c_int = 1;
const O_CREAT: c_int = 0o100;
const O_TRUNC: c_int = 0o1000;
const O_CLOEXEC: c_int = 0o2_000_000;
const STANDARD_ERROR: c_int = 2;

/// Writes the document, whole or not at all. Says on standard error why it could not.
pub(super) fn write_whole(head: &Head, succeeded: bool, times: bool) -> bool {
    let path = Text::path(head, b"");
    let part = Text::path(head, b".part");
    let (Some(path), Some(part)) = (path.as_c_string(), part.as_c_string()) else {
        return say(b"the name of the document's file is too long", b"");
    };
    // SAFETY: the path is a C string, and the mode is given because of O_CREAT.
    let file = unsafe {
        open(
            part.as_ptr(),
            O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
            0o644 as c_int,
        )
    };
    if file < 0 {
        return say(b"the document cannot be written to ", path.to_bytes());
    }
    let mut out = Out::new(file);
    body(&mut out, head, succeeded, times);
    let is_whole = out.finish();
    // SAFETY: the file was opened above and is not used any more; both paths are C strings.
    let is_there =
        unsafe { close(file) == 0 && is_whole && rename(part.as_ptr(), path.as_ptr()) == 0 };
    if !is_there {
        // SAFETY: the path is a C string.
        unsafe { unlink(part.as_ptr()) };
        return say(b"the document cannot be written whole to ", path.to_bytes());
    }
    if names::left_out() > 0 {
        say(
            b"there are more than a thousand operations, and the instruments that came last are not in ",
            path.to_bytes(),
        );
    }
    true
}

/// Tells a person; answers `false`, for whoever gives up.
fn say(what: &[u8], which: &[u8]) -> bool {
    let mut out = Out::new(STANDARD_ERROR);
    for piece in [b"perf-instrument: ".as_slice(), what, which, b"\n"] {
        out.add(piece);
    }
    out.finish();
    false
}

fn body(out: &mut Out, head: &Head, succeeded: bool, times: bool) {
    out.add(head.opening.as_bytes());
    out.add(b", \"succeeded\": ");
    out.add(if succeeded { b"true" } else { b"false" });
    out.add(b", \"parameters\": {}, \"metrics\": [");
    let mut is_first = true;
    for (slot, entry) in names::entries() {
        let sum = block::sum(slot);
        let Entry { class, .. } = entry;
        let numbers = [
            ("count", sum.count, true, false),
            ("errors", sum.errors, true, false),
            ("contended", sum.contended, class.contends, true),
            ("bytes", sum.bytes, class.moves_bytes, false),
            ("wait_ns", sum.waited, times, true),
        ];
        for (what, value, is_there, wallclock) in numbers {
            if is_there {
                out.add(if is_first { b"\n " } else { b",\n " });
                is_first = false;
                metric(out, entry, what, value, wallclock);
            }
        }
    }
    out.add(b"\n]}\n");
}

fn metric(out: &mut Out, entry: &Entry, what: &str, value: u64, wallclock: bool) {
    out.add(b"{\"metric_key\": \"instrument.");
    out.add(entry.class.name.as_bytes());
    out.add(b".");
    out.add(what.as_bytes());
    out.add(b"\", \"dim_key\": \"name=");
    for byte in entry.name.bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.add(b"\\");
        }
        out.add(&[byte]);
    }
    out.add(b"\", \"value\": ");
    out.add(Digits::of(value.min(MAX_VALUE)).bytes());
    out.add(b", \"wallclock\": ");
    out.add(if wallclock { b"true}" } else { b"false}" });
}

/// A whole number in decimal.
struct Digits {
    bytes: [u8; 20],
    start: usize,
}

impl Digits {
    fn of(mut number: u64) -> Self {
        let mut digits = Self {
            bytes: [b'0'; 20],
            start: 20,
        };
        loop {
            digits.start -= 1;
            digits.bytes[digits.start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return digits;
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// A file's name, on the stack.
struct Text {
    bytes: [u8; 4096],
    length: usize,
}

impl Text {
    fn path(head: &Head, suffix: &[u8]) -> Self {
        let mut text = Self {
            bytes: [0; 4096],
            length: 0,
        };
        let process = Digits::of(std::process::id().into());
        text.add(&head.before);
        match &head.after {
            Some(after) => {
                text.add(process.bytes());
                text.add(after);
            }
            None if FORKED.load(Ordering::Relaxed) => {
                text.add(b".");
                text.add(process.bytes());
            }
            None => {}
        }
        text.add(suffix);
        text
    }

    fn add(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        if let Some(place) = self.bytes.get_mut(self.length..end) {
            place.copy_from_slice(bytes);
        }
        self.length = end;
    }

    fn as_c_string(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(self.bytes.get(..=self.length)?).ok()
    }
}

/// A file that is written in pieces.
struct Out {
    file: c_int,
    bytes: [u8; 4096],
    length: usize,
    has_failed: bool,
}

impl Out {
    fn new(file: c_int) -> Self {
        Self {
            file,
            bytes: [0; 4096],
            length: 0,
            has_failed: false,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.length == self.bytes.len() {
                self.send();
            }
            self.bytes[self.length] = *byte;
            self.length += 1;
        }
    }

    fn send(&mut self) {
        let mut sent = 0;
        while sent < self.length && !self.has_failed {
            let rest = &self.bytes[sent..self.length];
            // SAFETY: the bytes are readable.
            let wrote = unsafe { write(self.file, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(wrote) {
                Ok(wrote) => sent += wrote,
                Err(_)
                    if std::io::Error::last_os_error().kind()
                        == std::io::ErrorKind::Interrupted => {}
                Err(_) => self.has_failed = true,
            }
        }
        self.length = 0;
    }

    /// Whether all of it was written.
    fn finish(mut self) -> bool {
        self.send();
        !self.has_failed
    }
}
