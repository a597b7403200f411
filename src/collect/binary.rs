//! A program, a library or an archive -> how large it is, as `size` counts it.
//!
//! What `size` prints as `dec` is the sum of the sections that are loaded into memory: code, data
//! and what starts as zeros. Debug information, symbols and comments are no part of it, so that a
//! stripped binary is as large as it was.

use object::read::archive::ArchiveFile;
use object::{Object as _, ObjectSection as _, ReadRef, SectionFlags};

use super::Unreadable;
use super::size::{FileSize, Sizes, plain_name};

/// The flag of a section that is loaded.
const LOADED: u64 = object::elf::SHF_ALLOC as u64;

/// Reads an ELF file or an archive of such; `name` is what its metric is called by.
///
/// # Errors
/// Why the file is neither.
pub fn read<'data>(name: &str, data: impl ReadRef<'data>) -> Result<Sizes, Unreadable> {
    if let Ok(archive) = ArchiveFile::parse(data) {
        return read_archive(name, &archive, data);
    }
    Ok(Sizes {
        files: vec![FileSize {
            name: plain_name(name),
            bytes: loaded_bytes(data)?,
        }],
        total: None,
    })
}

fn read_archive<'data, R: ReadRef<'data>>(
    name: &str,
    archive: &ArchiveFile<'data, R>,
    data: R,
) -> Result<Sizes, Unreadable> {
    let mut sizes = Sizes::default();
    for member in archive.members() {
        let member = member.map_err(damaged)?;
        let member_name = String::from_utf8_lossy(member.name()).into_owned();
        let bytes = loaded_bytes(member.data(data).map_err(damaged)?)
            .map_err(|error| Unreadable::whole(format!("member `{member_name}` {error}")))?;
        sizes.files.push(FileSize {
            name: plain_name(&format!("{member_name} (ex {name})")),
            bytes,
        });
    }
    if sizes.files.is_empty() {
        return Err(Unreadable::whole("is an archive without members"));
    }
    Ok(sizes)
}

fn damaged(error: object::Error) -> Unreadable {
    Unreadable::whole(format!("is damaged or cut short: {error}"))
}

fn loaded_bytes<'data>(data: impl ReadRef<'data>) -> Result<u64, Unreadable> {
    let file = object::File::parse(data).map_err(|error| {
        Unreadable::whole(format!(
            "is no ELF program, library or archive ({error}); give the output of `size` instead"
        ))
    })?;
    let mut sections = 0;
    let mut bytes: u64 = 0;
    for section in file.sections() {
        sections += 1;
        if let SectionFlags::Elf { sh_flags } = section.flags()
            && sh_flags & LOADED != 0
        {
            bytes = bytes
                .checked_add(section.size())
                .ok_or_else(|| Unreadable::whole("has sections too large to be added"))?;
        }
    }
    if sections == 0 {
        let detail = "has no section headers, which its size is read off; give it as it was linked";
        return Err(Unreadable::whole(detail));
    }
    Ok(bytes)
}
