//! A wrapper of the file of the standard library.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

#[cfg(feature = "enabled")]
use crate::abi::{self, Instrument, Kind, LockerState, Service, Wait, operation, outcome};

/// A [`File`] that tells the implementation of each read, write and sync, with its bytes.
#[derive(Debug)]
pub struct TrackedFile {
    #[cfg(feature = "enabled")]
    instrument: Instrument,
    inner: File,
}

impl TrackedFile {
    /// Wraps an open file. Files of one name are counted together: name what the file is for, not its path.
    #[inline]
    #[must_use]
    #[cfg_attr(
        not(feature = "enabled"),
        expect(unused_variables, reason = "a plain file has no name")
    )]
    pub const fn new(name: &'static str, file: File) -> Self {
        Self {
            #[cfg(feature = "enabled")]
            instrument: Instrument::new(Kind::File, name),
            inner: file,
        }
    }

    /// The file of the standard library, for what is not to be counted.
    #[inline]
    pub const fn untracked(&self) -> &File {
        &self.inner
    }

    /// Unwraps the file.
    #[must_use]
    pub fn into_inner(self) -> File {
        self.inner
    }

    /// See [`File::sync_all`].
    ///
    /// # Errors
    /// As the file says.
    #[inline]
    pub fn sync_all(&self) -> io::Result<()> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return self.sync(service, File::sync_all);
        }
        self.inner.sync_all()
    }

    /// See [`File::sync_data`].
    ///
    /// # Errors
    /// As the file says.
    #[inline]
    pub fn sync_data(&self) -> io::Result<()> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return self.sync(service, File::sync_data);
        }
        self.inner.sync_data()
    }

    #[cfg(feature = "enabled")]
    fn sync(
        &self,
        service: &'static Service,
        sync: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut state = LockerState::new();
        let wait = Wait::start(service, &self.instrument, operation::FILE_SYNC, &mut state);
        let synced = sync(&self.inner);
        wait.end(if synced.is_ok() {
            outcome::DONE
        } else {
            outcome::ERROR
        });
        synced
    }

    #[cfg(feature = "enabled")]
    #[inline(always)]
    fn transfer(
        &self,
        service: &'static Service,
        operation: u32,
        transfer: impl FnOnce(&File) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut state = LockerState::new();
        let wait = Wait::start(service, &self.instrument, operation, &mut state);
        let moved = transfer(&self.inner);
        match &moved {
            Ok(bytes) => wait.end_io(outcome::DONE, *bytes),
            Err(_) => wait.end_io(outcome::ERROR, 0),
        }
        moved
    }
}

impl Read for &TrackedFile {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return self.transfer(service, operation::FILE_READ, |mut file| file.read(buffer));
        }
        (&self.inner).read(buffer)
    }
}

impl Write for &TrackedFile {
    #[inline]
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return self.transfer(service, operation::FILE_WRITE, |mut file| {
                file.write(buffer)
            });
        }
        (&self.inner).write(buffer)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        (&self.inner).flush()
    }
}

impl Seek for &TrackedFile {
    #[inline]
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&self.inner).seek(to)
    }
}

impl Read for TrackedFile {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return self.transfer(service, operation::FILE_READ, |mut file| file.read(buffer));
        }
        self.inner.read(buffer)
    }
}

impl Write for TrackedFile {
    #[inline]
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return self.transfer(service, operation::FILE_WRITE, |mut file| {
                file.write(buffer)
            });
        }
        self.inner.write(buffer)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Seek for TrackedFile {
    #[inline]
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}
