//! The known fields of an object.

use super::{Node, Notes, Place};

/// The known fields of one object, under a reader that notes faults instead of stopping at the
/// first.
///
/// A getter answers `None` for a field that is left out and for one that does not fit, whose fault
/// it notes. So a caller reads all its fields before it uses any. Fields that nobody knows and, in
/// JSON, fields that stand twice are noted at the start.
pub(crate) struct Fields<'p, 'a> {
    place: Place<'p>,
    known: &'static [&'static str],
    found: Vec<(&'static str, Node<'a>)>,
    notes: &'p Notes<'p>,
}

impl<'p, 'a> Fields<'p, 'a> {
    /// The fields of the object `node`, which stands at `place` and has only `known` fields. Notes
    /// a fault if it is no object.
    pub(crate) fn of(
        node: Node<'a>,
        place: Place<'p>,
        notes: &'p Notes<'p>,
        known: &'static [&'static str],
    ) -> Option<Self> {
        let mut found: Vec<(&'static str, Node<'a>)> = Vec::with_capacity(known.len());
        let mut repeated = Vec::new();
        let read = node.entries(&mut |name, at, value| {
            let here = place.field(&name, at);
            let Some(name) = known.iter().find(|known| **known == name) else {
                return notes.add(&here, notes.unknown(known));
            };
            if found.iter().all(|(other, _)| other != name) {
                found.push((name, value));
            } else if !repeated.contains(name) {
                repeated.push(*name);
                notes.add(&here, "stands here more than once");
            }
        });
        if let Err(detail) = read {
            notes.add(&place, detail);
            return None;
        }
        found.retain(|(_, value)| !value.is_null());
        Some(Self {
            place,
            known,
            found,
            notes,
        })
    }

    /// The line of a TOML text that the object starts on.
    pub(crate) fn line(&self) -> usize {
        self.notes.line(self.place.offset())
    }

    /// Whether the field stands here, whatever its value.
    pub(crate) fn has(&self, name: &'static str) -> bool {
        self.get(name).is_some()
    }

    fn get(&self, name: &'static str) -> Option<Node<'a>> {
        debug_assert!(self.known.contains(&name), "`{name}` is read but not known");
        let found = self.found.iter().find(|(found, _)| *found == name);
        found.map(|(_, node)| *node)
    }

    /// The field `name`, which must be there, read by `read`.
    pub(crate) fn needed<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(Node<'a>) -> Result<T, String>,
    ) -> Option<T> {
        self.check_there(name);
        self.optional(name, read)
    }

    /// The field `name`, read by `read`.
    pub(crate) fn optional<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(Node<'a>) -> Result<T, String>,
    ) -> Option<T> {
        read(self.get(name)?)
            .map_err(|detail| self.fault(name, detail))
            .ok()
    }

    /// The list `name`, each item read by `read`. `wanted` names the list in a message.
    pub(crate) fn list<T>(
        &self,
        name: &'static str,
        wanted: &str,
        read: impl Fn(Node<'a>) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        let mut list = Vec::new();
        let read = self.each_of(name, wanted, |node, place, notes| match read(node) {
            Ok(item) => list.push(item),
            Err(detail) => notes.add(&place, detail),
        });
        read.map(|()| list)
    }

    /// The number of items of the list `name`. Answers `None` if the field is left out or no list.
    pub(crate) fn count(&self, name: &'static str) -> Option<usize> {
        let mut count = 0;
        let read = self.get(name)?.items("a list", &mut |_, _| count += 1);
        read.map_err(|detail| self.fault(name, detail)).ok()?;
        Some(count)
    }

    /// Hands each item of the list `name` to `each`, with its place. Answers `None` if the field is
    /// left out or no list.
    pub(crate) fn each(
        &self,
        name: &'static str,
        each: impl FnMut(Node<'a>, Place<'_>, &'p Notes<'p>),
    ) -> Option<()> {
        self.each_of(name, "a list", each)
    }

    fn each_of(
        &self,
        name: &'static str,
        wanted: &str,
        mut each: impl FnMut(Node<'a>, Place<'_>, &'p Notes<'p>),
    ) -> Option<()> {
        let list = self.get(name)?;
        let here = self.place.field(name, list.offset());
        list.items(wanted, &mut |index, node| {
            each(node, here.item(index, node.offset()), self.notes);
        })
        .map_err(|detail| self.fault(name, detail))
        .ok()
    }

    /// Hands each entry of the object `name`, whose names are free, to `each`: the name, the value
    /// and its place. Answers `None` if the field is left out or no object.
    pub(crate) fn entries(
        &self,
        name: &'static str,
        mut each: impl FnMut(&str, Node<'a>, Place<'_>, &'p Notes<'p>),
    ) -> Option<()> {
        let object = self.get(name)?;
        let here = self.place.field(name, object.offset());
        object
            .entries(&mut |name, _, node| {
                each(&name, node, here.field(&name, node.offset()), self.notes);
            })
            .map_err(|detail| self.fault(name, detail))
            .ok()
    }

    /// The object `name`, with only `known` fields, read by `read`.
    pub(crate) fn object<T>(
        &self,
        name: &'static str,
        known: &'static [&'static str],
        read: impl FnOnce(&Fields<'_, 'a>) -> T,
    ) -> Option<T> {
        let node = self.get(name)?;
        let here = self.place.field(name, node.offset());
        Fields::of(node, here, self.notes, known).map(|fields| read(&fields))
    }

    /// Every object of the list `name` that `read` makes something of. `wanted` names the list in a
    /// message.
    pub(crate) fn objects<T>(
        &self,
        name: &'static str,
        wanted: &str,
        known: &'static [&'static str],
        mut read: impl FnMut(&Fields<'_, 'a>) -> Option<T>,
    ) -> Vec<T> {
        let mut all = Vec::new();
        self.each_of(name, wanted, |node, place, notes| {
            let fields = Fields::of(node, place, notes, known);
            all.extend(fields.and_then(|fields| read(&fields)));
        });
        all
    }

    /// Notes that the field `name` is missing, if it is.
    pub(crate) fn check_there(&self, name: &'static str) {
        if !self.has(name) {
            self.fault(name, "is missing");
        }
    }

    /// Notes a fault of the field `name`.
    pub(crate) fn fault(&self, name: &'static str, detail: impl std::fmt::Display) {
        let offset = self.get(name).map_or(self.place.offset(), Node::offset);
        self.notes.add(&self.place.field(name, offset), detail);
    }

    /// Notes a fault of the object as a whole.
    pub(crate) fn fault_here(&self, detail: impl std::fmt::Display) {
        self.notes.add_here(&self.place, detail);
    }
}
