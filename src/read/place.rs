//! Where a value stands in a text, and the faults that were found in the text.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt::{self, Write as _};

use super::{Fault, Faults};
use crate::domain::is_invisible;

/// Where a value stands. It is written down only when there is a fault to tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'p> {
    above: Option<&'p Place<'p>>,
    step: Step<'p>,
    /// The value's first byte in a TOML text; 0 in other formats, whose places have names.
    offset: usize,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Root,
    Field(&'p str),
    Item(usize),
}

impl<'p> Place<'p> {
    /// The outermost value.
    pub(crate) const ROOT: Place<'static> = Place {
        above: None,
        step: Step::Root,
        offset: 0,
    };

    /// The field `name` of the object that stands here.
    pub(crate) fn field(&'p self, name: &'p str, offset: usize) -> Self {
        Self {
            above: Some(self),
            step: Step::Field(name),
            offset,
        }
    }

    /// The item `index` of the list that stands here.
    pub(crate) fn item(&'p self, index: usize, offset: usize) -> Self {
        Self {
            above: Some(self),
            step: Step::Item(index),
            offset,
        }
    }

    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// The key that this value stands under, itself or the list that holds it.
    fn key(&self) -> Option<&'p str> {
        match self.step {
            Step::Field(name) => Some(name),
            Step::Item(_) => self.above.and_then(Place::key),
            Step::Root => None,
        }
    }
}

/// A JSON pointer (RFC 6901).
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(above) = self.above {
            above.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) => {
                f.write_char('/')?;
                name.chars().try_for_each(|c| match c {
                    '~' => f.write_str("~0"),
                    '/' => f.write_str("~1"),
                    c => f.write_char(c),
                })
            }
            Step::Item(index) => write!(f, "/{index}"),
        }
    }
}

/// How a fault says where it is.
#[derive(Clone, Copy)]
enum Style<'t> {
    /// `/metrics/3/value`, in JSON.
    Pointer,
    /// `workload`, in a query.
    Parameter,
    /// `4:10` and the key in the detail, in a TOML text.
    Line(&'t str),
}

/// The faults of one text, noted while it is read.
pub(crate) struct Notes<'t> {
    style: Style<'t>,
    found: RefCell<Vec<(usize, Fault)>>,
    more: Cell<usize>,
    /// The first byte of each line of a TOML text.
    lines: OnceCell<Vec<usize>>,
}

impl<'t> Notes<'t> {
    fn new(style: Style<'t>) -> Self {
        Self {
            style,
            found: RefCell::default(),
            more: Cell::new(0),
            lines: OnceCell::new(),
        }
    }

    /// Of a JSON text.
    pub(crate) fn of_json() -> Self {
        Self::new(Style::Pointer)
    }

    /// Of a query string.
    pub(crate) fn of_query() -> Self {
        Self::new(Style::Parameter)
    }

    /// Of a TOML text.
    pub(super) fn of_toml(text: &'t str) -> Self {
        Self::new(Style::Line(text))
    }

    /// Notes a fault of the value at `place`.
    pub(crate) fn add(&self, place: &Place<'_>, detail: impl fmt::Display) {
        let key = place.key();
        match (self.style, key) {
            (Style::Pointer, _) => self.push(0, place, detail),
            (Style::Parameter, key) => self.push(0, key.unwrap_or_default(), detail),
            (Style::Line(_), None) => self.add_at(place.offset, detail),
            (Style::Line(_), Some(key)) => {
                self.add_at(place.offset, format_args!("`{key}` {detail}"));
            }
        }
    }

    /// Notes a fault of the object at `place` as a whole.
    pub(super) fn add_here(&self, place: &Place<'_>, detail: impl fmt::Display) {
        match self.style {
            Style::Line(_) => self.add_at(place.offset, detail),
            Style::Pointer | Style::Parameter => self.add(place, detail),
        }
    }

    /// Notes a fault at a byte of a TOML text.
    pub(super) fn add_at(&self, offset: usize, detail: impl fmt::Display) {
        if self.is_full() {
            return self.more.set(self.more.get() + 1);
        }
        let (line, column) = self.line_and_column(offset);
        self.push(offset, format_args!("{line}:{column}"), OneLine(detail));
    }

    fn is_full(&self) -> bool {
        self.found.borrow().len() == Faults::MOST_TOLD
    }

    fn push(&self, offset: usize, pointer: impl fmt::Display, detail: impl fmt::Display) {
        if self.is_full() {
            self.more.set(self.more.get() + 1);
        } else {
            let fault = Fault::new(pointer, detail);
            self.found.borrow_mut().push((offset, fault));
        }
    }

    /// The first words of the fault of a field that nobody knows.
    pub(super) fn unknown(&self, known: &[&str]) -> String {
        match self.style {
            Style::Pointer => "is not a field of this object".to_owned(),
            Style::Parameter => "is not a parameter of this query".to_owned(),
            Style::Line(_) => {
                let mut known = known.to_vec();
                known.sort_unstable();
                format!("is no key of this table; it knows {}", known.join(", "))
            }
        }
    }

    /// Whether nothing was noted.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// The value that was read, unless there are faults. Those of a TOML text are sorted by place.
    pub(crate) fn finish<T>(self, read: Option<T>) -> Result<T, Faults> {
        let mut found = self.found.into_inner();
        if let Style::Line(_) = self.style {
            found.sort_by(|a, b| (a.0, &a.1.detail).cmp(&(b.0, &b.1.detail)));
        }
        match read {
            Some(read) if found.is_empty() => Ok(read),
            _ if found.is_empty() => Err(Fault::new("", "does not fit").into()),
            _ => {
                let told = found.into_iter().map(|(_, fault)| fault).collect();
                Err(Faults::new(told, self.more.get()))
            }
        }
    }

    /// Line and column, both from 1 and the column in characters, of a byte of a TOML text.
    fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let Style::Line(text) = self.style else {
            return (1, 1);
        };
        let line = self.line(offset);
        let start = self.lines.get().map_or(0, |starts| starts[line - 1]);
        let before = text.get(start..offset).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    /// The line of a byte of a TOML text, from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        let Style::Line(text) = self.style else {
            return 1;
        };
        let starts = self.lines.get_or_init(|| {
            let ends = memchr::memchr_iter(b'\n', text.as_bytes());
            std::iter::once(0).chain(ends.map(|end| end + 1)).collect()
        });
        starts.partition_point(|start| *start <= offset)
    }
}

/// A detail without characters that are not seen, which it may quote from the text.
struct OneLine<D>(D);

impl<D: fmt::Display> fmt::Display for OneLine<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Spelled(f), "{}", self.0)
    }
}

struct Spelled<'f, 'b>(&'f mut fmt::Formatter<'b>);

impl fmt::Write for Spelled<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|c| {
            if is_invisible(c) {
                write!(self.0, "{}", c.escape_unicode())
            } else {
                self.0.write_char(c)
            }
        })
    }
}
