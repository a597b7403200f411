//! The output of `size`, in any of its forms -> `size.<name>_bytes`.
//!
//! Read are the Berkeley, GNU (`-G`) and System V (`-A`) forms, in decimal, hexadecimal (`-x`) and
//! octal (`-o`), with totals (`-t`), and the members of archives. A name is the file's without its
//! folder; a member is called `libm.a(m.o)`. A row of totals becomes `size.total_bytes`.
//!
//! The Berkeley and the GNU form count what is loaded into memory, alike in sum. The System V form
//! counts every section that it lists, debug information too: it gives larger numbers, and the two
//! must not be mixed in one series.
//!
//! Of a set of files, such as plugins, [`Sizes::of_set`] gives `size.plugins_total_bytes` and
//! `size.plugin_count`.

use super::list::MetricList;
use super::{Dim, Kind, Reading, Unreadable, number, plural, tidy};

/// How large one file, or one member of an archive, is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSize {
    /// Its name, without its folder.
    pub name: String,
    /// The bytes it takes.
    pub bytes: u64,
}

/// How large some files are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Each of them.
    pub files: Vec<FileSize>,
    /// What the tool gave as their sum, where it did; it is their sum.
    pub total: Option<u64>,
}

impl Sizes {
    /// A metric for each file.
    ///
    /// # Errors
    /// What of a name or a number does not fit.
    pub fn of_files(&self) -> Result<Reading, Unreadable> {
        let mut list = MetricList::default();
        let total = self.total.map(|bytes| ("total".to_owned(), bytes));
        let files = self
            .files
            .iter()
            .map(|file| (file.name.clone(), file.bytes));
        for (name, bytes) in files.chain(total) {
            add(&mut list, &format!("size.{name}_bytes"), bytes)?;
        }
        self.check_any_bytes()?;
        let what = format!("sizes of {}", plural(self.files.len(), "file"));
        list.finish(what, "names no file")
    }

    /// An object file may hold nothing, but not all of them.
    fn check_any_bytes(&self) -> Result<(), Unreadable> {
        if self.files.iter().all(|file| file.bytes == 0) {
            let detail = "has 0 bytes in all: nothing was measured; give the linked files";
            return Err(Unreadable::whole(detail));
        }
        Ok(())
    }

    /// The metrics of the plugins as a set.
    ///
    /// # Errors
    /// When the set is too large to be added, or has one file twice.
    pub fn of_set(&self) -> Result<Reading, Unreadable> {
        let mut names: Vec<&str> = self.files.iter().map(|file| file.name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let detail = format!(
                "`{}` is in the set of plugins twice; give it once",
                twice[0]
            );
            return Err(Unreadable::whole(detail));
        }
        let total = sum(self.files.iter().map(|file| file.bytes))?;
        self.check_any_bytes()?;
        let mut list = MetricList::default();
        add(&mut list, "size.plugins_total_bytes", total)?;
        add(&mut list, "size.plugin_count", self.files.len() as u64)?;
        let what = format!("sizes of {}", plural(self.files.len(), "plugin"));
        list.finish(what, "names no plugin")
    }
}

fn add(list: &mut MetricList, key: &str, number: u64) -> Result<(), Unreadable> {
    number::count(number)
        .and_then(|value| list.add(key, &Dim::scalar(), value, Kind::Counted))
        .map_err(Unreadable::whole)
}

fn sum(bytes: impl Iterator<Item = u64>) -> Result<u64, Unreadable> {
    bytes
        .into_iter()
        .try_fold(0, |sum: u64, bytes| sum.checked_add(bytes))
        .ok_or_else(|| Unreadable::whole("the sizes are too large to be added"))
}

/// The name of a file, or of an archive's member, without folders: `m.o (ex lib/libm.a)` is
/// `libm.a(m.o)`.
pub(super) fn plain_name(name: &str) -> String {
    let name = name.trim();
    let member = name
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once(" (ex "));
    match member {
        Some((member, archive)) => format!("{}({})", base(archive), base(member)),
        None => base(name),
    }
}

fn base(path: &str) -> String {
    let path = path.trim().trim_end_matches('/');
    tidy(path.rsplit('/').next().unwrap_or(path))
}

/// Reads what `size` printed.
///
/// # Errors
/// The line that does not fit, and why.
pub fn read(text: &str) -> Result<Sizes, Unreadable> {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let Some(first) = first else {
        return Err(Unreadable::whole(
            "is empty: `size` printed nothing; it says why on standard error",
        ));
    };
    if !text.ends_with('\n') {
        let detail = "the last line has no end: the output was cut short";
        return Err(Unreadable::at(text.lines().count() as u64, detail));
    }
    let head: Vec<&str> = first.split_whitespace().collect();
    let sizes = if head.starts_with(&["text", "data", "bss"]) {
        read_tables(text)?
    } else {
        read_sections(text)?
    };
    if sizes.files.is_empty() {
        return Err(Unreadable::whole(
            "names no file: `size` read none; it says why on standard error",
        ));
    }
    check_total(&sizes)?;
    Ok(sizes)
}

fn check_total(sizes: &Sizes) -> Result<(), Unreadable> {
    let Some(total) = sizes.total else {
        return Ok(());
    };
    let found = sum(sizes.files.iter().map(|file| file.bytes))?;
    if found == total {
        return Ok(());
    }
    let detail = format!(
        "the files add up to {found} bytes and the totals say {total}; the file is not whole"
    );
    Err(Unreadable::whole(detail))
}

/// The two forms of one row a file; they differ in their columns alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Columns {
    /// `text data bss dec hex filename`, or `oct` for `dec`.
    Berkeley,
    /// `text data bss total filename`.
    Gnu,
}

impl Columns {
    fn of(words: &[&str]) -> Option<Self> {
        match words {
            ["text", "data", "bss", "dec" | "oct", "hex", "filename", ..] => Some(Self::Berkeley),
            ["text", "data", "bss", "total", "filename", ..] => Some(Self::Gnu),
            _ => None,
        }
    }

    /// The columns before the name.
    fn numbers(self) -> usize {
        match self {
            Self::Berkeley => 5,
            Self::Gnu => 4,
        }
    }
}

fn read_tables(text: &str) -> Result<Sizes, Unreadable> {
    let mut columns = None;
    let mut sizes = Sizes::default();
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        if let Some(found) = Columns::of(&words) {
            columns = Some(found);
            // A shell that was told so puts the whole output on one line.
            for row in words[found.numbers() + 1..].chunks(found.numbers() + 1) {
                take_row(&mut sizes, found, &row.join(" "), number)?;
            }
            continue;
        }
        let columns = columns.ok_or_else(|| unknown_line(line, number))?;
        take_row(&mut sizes, columns, line, number)?;
    }
    Ok(sizes)
}

fn unknown_line(line: &str, number: u64) -> Unreadable {
    let detail = if line.starts_with("size:") {
        format!(
            "`{}`: `size` could not read this file; leave it out",
            line.trim()
        )
    } else {
        format!(
            "`{}` is no line of `size`; give its output as it is",
            line.trim()
        )
    };
    Unreadable::at(number, detail)
}

fn take_row(
    sizes: &mut Sizes,
    columns: Columns,
    line: &str,
    number: u64,
) -> Result<(), Unreadable> {
    let unknown = || unknown_line(line, number);
    let (cells, name) = split_row(line, columns.numbers()).ok_or_else(unknown)?;
    let parts: Option<Vec<u64>> = cells[..3].iter().map(|cell| radix_number(cell)).collect();
    let parts = parts.ok_or_else(unknown)?;
    let bytes = match columns {
        // This column alone is in one radix whatever the flags.
        Columns::Berkeley => u64::from_str_radix(cells[4], 16).ok(),
        Columns::Gnu => radix_number(cells[3]),
    };
    let bytes = bytes.ok_or_else(unknown)?;
    if sum(parts.into_iter())? != bytes {
        let detail = format!(
            "`{}`: text, data and bss do not add up to the total; the line is damaged",
            line.trim()
        );
        return Err(Unreadable::at(number, detail));
    }
    if holds_row(name, columns.numbers()) {
        return Err(unknown());
    }
    if name == "(TOTALS)" {
        sizes.total = Some(bytes);
    } else {
        let name = plain_name(name);
        sizes.files.push(FileSize { name, bytes });
    }
    Ok(())
}

/// The first `count` words of a line, and the rest, which is a name and may hold spaces.
fn split_row(line: &str, count: usize) -> Option<(Vec<&str>, &str)> {
    let mut rest = line.trim();
    let mut cells = Vec::with_capacity(count);
    for _ in 0..count {
        let (cell, after) = rest.split_once(char::is_whitespace)?;
        cells.push(cell);
        rest = after.trim_start();
    }
    (!rest.is_empty()).then_some((cells, rest))
}

/// Whether a name is that of one row with another row or a header behind it, as where a line end got lost.
fn holds_row(name: &str, count: usize) -> bool {
    let words: Vec<&str> = name.split_whitespace().collect();
    if words.windows(3).any(|head| head == ["text", "data", "bss"]) {
        return true;
    }
    let is_number =
        |word: &&str| radix_number(word).is_some() || u64::from_str_radix(word, 16).is_ok();
    words
        .windows(count)
        .any(|row| radix_number(row[1]).is_some() && row[1..].iter().all(is_number))
}

/// A number with its radix: `0x1f`, `037` or `31`.
fn radix_number(word: &str) -> Option<u64> {
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Some(digits) = word.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16)
            .ok()
            .filter(|_| !digits.starts_with('+'));
    }
    match word.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => u64::from_str_radix(digits, 8).ok(),
        _ => word.parse().ok(),
    }
}

/// The form of one row a section, with a `Total` that ends a file.
fn read_sections(text: &str) -> Result<Sizes, Unreadable> {
    let mut sizes = Sizes::default();
    let mut open: Option<(String, Vec<u64>)> = None;
    let mut last = 0;
    for (number, line) in (1..).zip(text.lines()) {
        last = number;
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), &mut open) {
            ([], _) | (["section", "size", "addr"], Some(_)) => {}
            ([.., last], None) if last.ends_with(':') && !line.starts_with("size:") => {
                open = Some((
                    plain_name(line.trim_end().trim_end_matches(':')),
                    Vec::new(),
                ));
            }
            (["Total", total], Some(_)) => {
                let total = radix_number(total).ok_or_else(|| unknown_line(line, number))?;
                let (name, sections) = open.take().unwrap_or_default();
                if sum(sections.into_iter())? != total {
                    let detail =
                        "the sections do not add up to the `Total`; the output is not whole";
                    return Err(Unreadable::at(number, detail));
                }
                sizes.files.push(FileSize { name, bytes: total });
            }
            ([_, .., size, _address], Some((_, sections))) => {
                let bytes = radix_number(size).ok_or_else(|| unknown_line(line, number))?;
                sections.push(bytes);
            }
            _ => return Err(unknown_line(line, number)),
        }
    }
    if let Some((name, _)) = open {
        let detail = format!("`{name}` has no `Total`: the output was cut short");
        return Err(Unreadable::at(last, detail));
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Vec<(String, u64)> {
        let read = read(text).unwrap();
        read.files.into_iter().map(|f| (f.name, f.bytes)).collect()
    }

    fn fault(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn a_flattened_output_is_read() {
        let text = "text data bss dec hex filename 10512 0 2072 12584 3128 bL051.elf\n";
        assert_eq!(sizes(text), [("bL051.elf".to_owned(), 12584)]);
    }

    #[test]
    fn names_lose_their_folder_and_keep_their_spaces() {
        let text = "text data bss dec hex filename\n 1 2 3 6 6 /build/my app\n 1 2 3 6 6 m.o (ex lib/libm.a)\n";
        let expected = [("my app".to_owned(), 6), ("libm.a(m.o)".to_owned(), 6)];
        assert_eq!(sizes(text), expected);
    }

    #[test]
    fn a_radix_is_that_of_the_number() {
        for (word, number) in [
            ("0", Some(0)),
            ("010", Some(8)),
            ("0x10", Some(16)),
            ("10", Some(10)),
            ("08", None),
            ("x", None),
            ("0x", None),
            ("+1", None),
            ("0x+1", None),
            ("", None),
        ] {
            assert_eq!(radix_number(word), number, "{word}");
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error_with_its_line() {
        assert!(fault("").contains("is empty"));
        for joined in ["1 2 3 6 6 a1 2 3 6 6 b", "1 2 3 6 6 a 1 2 3 6 6 b"] {
            let text = format!("text data bss dec hex filename\n{joined}\n");
            assert!(fault(&text).contains("is no line of `size`"), "{text}");
        }
        let nothing = read("text data bss dec hex filename\n0 0 0 0 0 a\n").unwrap();
        assert!(
            nothing
                .of_files()
                .unwrap_err()
                .to_string()
                .contains("nothing was measured")
        );
        assert!(fault("hello\n").starts_with("line 1: `hello` is no line of `size`"));
        assert!(fault("text data bss dec hex filename\n").contains("names no file"));
        assert!(fault("text data bss dec hex filename\n1 2 3 7 7 a\n").starts_with("line 2: "));
        assert!(
            fault("text data bss dec hex filename\nsize: a.c: file format not recognized\n")
                .contains("leave it out")
        );
        assert!(
            fault("text data bss dec hex filename\n1 2 3 6 6 a\n1 2 3 7 7 (TOTALS)\n")
                .starts_with("line 3")
        );
        assert!(
            fault("text data bss dec hex filename\n1 2 3 6 6 a\n2 2 3 7 7 (TOTALS)\n")
                .contains("add up to 6")
        );
        assert!(fault("a  :\nsection size addr\n.text 4 0\n").contains("cut short"));
        assert!(fault("a  :\nsection size addr\n.text 4 0\nTotal 5\n").contains("do not add up"));
    }

    #[test]
    fn a_set_is_counted_and_summed() {
        let file = |name: &str, bytes| FileSize {
            name: name.to_owned(),
            bytes,
        };
        let mut set = Sizes {
            files: vec![file("a.so", 3), file("b.so", 4)],
            total: None,
        };
        let found: Vec<String> = set
            .of_set()
            .unwrap()
            .metrics
            .iter()
            .map(|m| format!("{} {}", m.name.metric_key, m.value))
            .collect();
        assert_eq!(found, ["size.plugins_total_bytes 7", "size.plugin_count 2"]);
        set.files.push(file("a.so", 3));
        assert!(set.of_set().is_err());
    }
}
