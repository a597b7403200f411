//! Wrappers of the locks of the standard library.
//!
//! Each gives out the guards of the standard library, so that what holds a lock need not know of the wrapper.

use std::sync::{
    Condvar, LockResult, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    TryLockResult, WaitTimeoutResult,
};
use std::time::Duration;

#[cfg(feature = "enabled")]
use std::sync::TryLockError;

#[cfg(feature = "enabled")]
use crate::abi::{self, Instrument, Kind, LockerState, Service, Wait, operation, outcome};

/// A [`Mutex`] that tells the implementation of each time it is taken.
///
/// With an implementation, `lock` tries first, and waits only where that fails, which is how a contended wait is told from
/// one that is not.
#[derive(Debug)]
pub struct TrackedMutex<T: ?Sized> {
    #[cfg(feature = "enabled")]
    instrument: Instrument,
    inner: Mutex<T>,
}

/// An [`RwLock`] that tells the implementation of each time it is taken.
#[derive(Debug)]
pub struct TrackedRwLock<T: ?Sized> {
    #[cfg(feature = "enabled")]
    instrument: Instrument,
    inner: RwLock<T>,
}

/// A [`Condvar`] that tells the implementation of each wait and each wake.
#[derive(Debug)]
pub struct TrackedCondvar {
    #[cfg(feature = "enabled")]
    instrument: Instrument,
    inner: Condvar,
}

/// Takes a lock: tries, and waits where that fails. Answers with the outcome, too.
#[cfg(feature = "enabled")]
#[inline(always)]
fn take<G>(
    service: &'static Service,
    instrument: &Instrument,
    operation: u32,
    try_take: impl FnOnce() -> TryLockResult<G>,
    wait_for: impl FnOnce() -> LockResult<G>,
) -> LockResult<G> {
    let mut state = LockerState::new();
    let wait = Wait::start(service, instrument, operation, &mut state);
    let (contended, taken) = match try_take() {
        Ok(guard) => (outcome::DONE, Ok(guard)),
        Err(TryLockError::Poisoned(poisoned)) => (outcome::DONE, Err(poisoned)),
        Err(TryLockError::WouldBlock) => (outcome::CONTENDED, wait_for()),
    };
    wait.end(contended | of(&taken));
    taken
}

#[cfg(feature = "enabled")]
#[inline(always)]
fn of<T, E>(result: &Result<T, E>) -> u32 {
    match result {
        Ok(_) => outcome::DONE,
        Err(_) => outcome::ERROR,
    }
}

/// Tries to take a lock. One that another thread holds is contended, and no error.
#[cfg(feature = "enabled")]
#[inline(always)]
fn try_take<G>(
    service: &'static Service,
    instrument: &Instrument,
    operation: u32,
    try_take: impl FnOnce() -> TryLockResult<G>,
) -> TryLockResult<G> {
    let mut state = LockerState::new();
    let wait = Wait::start(service, instrument, operation, &mut state);
    let taken = try_take();
    wait.end(match &taken {
        Ok(_) => outcome::DONE,
        Err(TryLockError::WouldBlock) => outcome::CONTENDED,
        Err(TryLockError::Poisoned(_)) => outcome::ERROR,
    });
    taken
}

impl<T> TrackedMutex<T> {
    /// A mutex around `value`. Mutexes of one name are counted together.
    #[inline]
    #[cfg_attr(
        not(feature = "enabled"),
        expect(unused_variables, reason = "a plain mutex has no name")
    )]
    pub const fn new(name: &'static str, value: T) -> Self {
        Self {
            #[cfg(feature = "enabled")]
            instrument: Instrument::new(Kind::Mutex, name),
            inner: Mutex::new(value),
        }
    }

    /// See [`Mutex::into_inner`].
    ///
    /// # Errors
    /// The value, where a thread panicked while it held the lock.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> TrackedMutex<T> {
    /// See [`Mutex::lock`].
    ///
    /// # Errors
    /// The guard, where a thread panicked while it held the lock.
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return take(
                service,
                &self.instrument,
                operation::MUTEX_LOCK,
                || self.inner.try_lock(),
                || self.inner.lock(),
            );
        }
        self.inner.lock()
    }

    /// See [`Mutex::try_lock`].
    ///
    /// # Errors
    /// That another thread holds the lock, or panicked while it did.
    #[inline]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return try_take(service, &self.instrument, operation::MUTEX_LOCK, || {
                self.inner.try_lock()
            });
        }
        self.inner.try_lock()
    }

    /// The mutex of the standard library, for what is not to be counted.
    #[inline]
    pub const fn untracked(&self) -> &Mutex<T> {
        &self.inner
    }

    /// See [`Mutex::get_mut`].
    ///
    /// # Errors
    /// The value, where a thread panicked while it held the lock.
    #[inline]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.inner.get_mut()
    }
}

impl<T> TrackedRwLock<T> {
    /// A reader-writer lock around `value`. Locks of one name are counted together.
    #[inline]
    #[cfg_attr(
        not(feature = "enabled"),
        expect(unused_variables, reason = "a plain lock has no name")
    )]
    pub const fn new(name: &'static str, value: T) -> Self {
        Self {
            #[cfg(feature = "enabled")]
            instrument: Instrument::new(Kind::RwLock, name),
            inner: RwLock::new(value),
        }
    }

    /// See [`RwLock::into_inner`].
    ///
    /// # Errors
    /// The value, where a thread panicked while it held the lock for writing.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> TrackedRwLock<T> {
    /// See [`RwLock::read`].
    ///
    /// # Errors
    /// The guard, where a thread panicked while it held the lock for writing.
    #[inline]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return take(
                service,
                &self.instrument,
                operation::RWLOCK_READ,
                || self.inner.try_read(),
                || self.inner.read(),
            );
        }
        self.inner.read()
    }

    /// See [`RwLock::write`].
    ///
    /// # Errors
    /// The guard, where a thread panicked while it held the lock for writing.
    #[inline]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return take(
                service,
                &self.instrument,
                operation::RWLOCK_WRITE,
                || self.inner.try_write(),
                || self.inner.write(),
            );
        }
        self.inner.write()
    }

    /// See [`RwLock::try_read`].
    ///
    /// # Errors
    /// That another thread holds the lock for writing, or panicked while it did.
    #[inline]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return try_take(service, &self.instrument, operation::RWLOCK_READ, || {
                self.inner.try_read()
            });
        }
        self.inner.try_read()
    }

    /// See [`RwLock::try_write`].
    ///
    /// # Errors
    /// That another thread holds the lock, or panicked while it held it for writing.
    #[inline]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return try_take(service, &self.instrument, operation::RWLOCK_WRITE, || {
                self.inner.try_write()
            });
        }
        self.inner.try_write()
    }

    /// The lock of the standard library, for what is not to be counted.
    #[inline]
    pub const fn untracked(&self) -> &RwLock<T> {
        &self.inner
    }
}

impl TrackedCondvar {
    /// A condition variable. Those of one name are counted together.
    #[inline]
    #[must_use]
    #[cfg_attr(
        not(feature = "enabled"),
        expect(unused_variables, reason = "a plain condition variable has no name")
    )]
    pub const fn new(name: &'static str) -> Self {
        Self {
            #[cfg(feature = "enabled")]
            instrument: Instrument::new(Kind::Cond, name),
            inner: Condvar::new(),
        }
    }

    /// See [`Condvar::wait`]. The mutex is given up and taken back inside the wait, which counts for the condition
    /// variable and not for the mutex.
    ///
    /// # Errors
    /// The guard, where a thread panicked while it held the lock.
    #[inline]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            let mut state = LockerState::new();
            let wait = self.start(service, operation::COND_WAIT, &mut state);
            let woken = self.inner.wait(guard);
            wait.end(of(&woken));
            return woken;
        }
        self.inner.wait(guard)
    }

    /// See [`Condvar::wait_while`]. Each wake counts as a wait.
    ///
    /// # Errors
    /// The guard, where a thread panicked while it held the lock.
    pub fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// See [`Condvar::wait_timeout`]. A wait that times out is no error.
    ///
    /// # Errors
    /// The guard, where a thread panicked while it held the lock.
    #[inline]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            let mut state = LockerState::new();
            let wait = self.start(service, operation::COND_WAIT, &mut state);
            let woken = self.inner.wait_timeout(guard, limit);
            wait.end(of(&woken));
            return woken;
        }
        self.inner.wait_timeout(guard, limit)
    }

    /// See [`Condvar::notify_one`].
    #[inline]
    pub fn notify_one(&self) {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return self.notify(service, Condvar::notify_one);
        }
        self.inner.notify_one();
    }

    /// See [`Condvar::notify_all`].
    #[inline]
    pub fn notify_all(&self) {
        #[cfg(feature = "enabled")]
        if let Some(service) = abi::service() {
            return self.notify(service, Condvar::notify_all);
        }
        self.inner.notify_all();
    }

    #[cfg(feature = "enabled")]
    #[inline(always)]
    fn start<'a>(
        &self,
        service: &'static Service,
        operation: u32,
        state: &'a mut LockerState,
    ) -> Wait<'a> {
        Wait::start(service, &self.instrument, operation, state)
    }

    #[cfg(feature = "enabled")]
    #[inline(always)]
    fn notify(&self, service: &'static Service, notify: impl FnOnce(&Condvar)) {
        let mut state = LockerState::new();
        let wait = self.start(service, operation::COND_NOTIFY, &mut state);
        notify(&self.inner);
        wait.end(outcome::DONE);
    }
}
