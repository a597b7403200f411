//! Regions of code: from [`region!`](crate::region!) to the end of the block that it stands in.

#[cfg(feature = "enabled")]
use std::future::Future;
#[cfg(feature = "enabled")]
use std::marker::PhantomData;

#[cfg(feature = "enabled")]
use crate::abi::{self, Instrument, Kind, LockerState, Wait, operation, outcome};
#[cfg(feature = "enabled")]
use crate::valgrind;

/// The longest name of a region, in bytes.
pub const MAX_NAME: usize = 80;

/// A place in the code where a region begins. Made by [`region!`](crate::region!).
#[cfg(feature = "enabled")]
#[derive(Debug)]
pub struct Site {
    instrument: Instrument,
    pub(crate) marks: valgrind::Marks,
}

#[cfg(feature = "enabled")]
impl Site {
    /// A site, with what valgrind is told of it: C strings that name the region.
    #[must_use]
    pub const fn new(
        name: &'static str,
        enter: &'static str,
        leave: &'static str,
        inherit: &'static str,
    ) -> Self {
        assert!(
            is_region_name(name),
            "a region's name has 1 to 80 bytes and no control character"
        );
        Self {
            instrument: Instrument::new(Kind::Region, name),
            marks: valgrind::Marks::new(enter, leave, inherit),
        }
    }

    /// A site that no implementation hears of.
    pub(crate) const fn unheard(enter: &'static str, leave: &'static str) -> Self {
        Self {
            instrument: Instrument::off(Kind::Region, ""),
            marks: valgrind::Marks::new(enter, leave, "\0"),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.instrument.name()
    }
}

/// Whether a region can have this name.
#[doc(hidden)]
#[must_use]
pub const fn is_region_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        if bytes[index].is_ascii_control() {
            return false;
        }
        index += 1;
    }
    !bytes.is_empty() && bytes.len() <= MAX_NAME
}

/// A region that was entered. It is left when this is dropped, also by a panic.
///
/// It stays on the thread that entered it.
#[cfg(feature = "enabled")]
#[derive(Debug)]
#[must_use = "a region that is not kept is left at once"]
pub struct Region<'a>(Option<Entered<'a>>, PhantomData<*const ()>);

#[cfg(feature = "enabled")]
#[derive(Debug)]
struct Entered<'a> {
    site: &'static Site,
    wait: Option<Wait<'a>>,
}

#[cfg(feature = "enabled")]
impl<'a> Region<'a> {
    /// Enters a region; [`region!`](crate::region!) does it for the rest of a block.
    #[inline(always)]
    pub fn enter(site: &'static Site, state: &'a mut LockerState) -> Self {
        if abi::service().is_none() && !valgrind::is_here() {
            return Self(None, PhantomData);
        }
        Self::enter_told(site, state)
    }

    // Calls of their own, and the mark next to the caller: so each entry costs the same wherever it stands.
    #[inline(never)]
    fn enter_told(site: &'static Site, state: &'a mut LockerState) -> Self {
        let wait = abi::service()
            .map(|service| Wait::start(service, &site.instrument, operation::REGION_RUN, state));
        if valgrind::is_here() {
            valgrind::enter(site);
        }
        Self(Some(Entered { site, wait }), PhantomData)
    }

    #[inline(never)]
    fn leave_told(&mut self) {
        let Some(entered) = self.0.take() else { return };
        if valgrind::is_here() {
            valgrind::leave(entered.site);
        }
        if let Some(wait) = entered.wait {
            wait.end(outcome::DONE);
        }
    }
}

#[cfg(feature = "enabled")]
impl Drop for Region<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0.is_some() {
            self.leave_told();
        }
    }
}

/// Enters a region that ends with the block it stands in.
///
/// A statement, with a literal as the name. Regions may nest, and may enter themselves again.
///
/// ```
/// fn parse(text: &str) -> usize {
///     perf_instrument::region!("parse");
///     text.split_whitespace().count()
/// }
/// # assert_eq!(parse("a b"), 2);
/// ```
#[cfg(feature = "enabled")]
#[macro_export]
macro_rules! region {
    ($name:literal) => {
        static SITE: $crate::Site = $crate::Site::new(
            $name,
            ::core::concat!("perf-tracking-region enter ", $name, "\0"),
            ::core::concat!("perf-tracking-region leave ", $name, "\0"),
            ::core::concat!("perf-tracking-region inherit ", $name, "\0"),
        );
        let mut state = $crate::abi::LockerState::new();
        let _region = $crate::Region::enter(&SITE, &mut state);
    };
}

/// Enters a region that ends with the block it stands in.
///
/// A statement, with a literal as the name. Regions may nest, and may enter themselves again.
///
/// ```
/// fn parse(text: &str) -> usize {
///     perf_instrument::region!("parse");
///     text.split_whitespace().count()
/// }
/// # assert_eq!(parse("a b"), 2);
/// ```
#[cfg(not(feature = "enabled"))]
#[macro_export]
macro_rules! region {
    ($name:literal) => {
        const _: () = ::core::assert!(
            $crate::is_region_name($name),
            "a region's name has 1 to 80 bytes and no control character"
        );
    };
}

/// A place in the code where something is waited for. Made by [`awaited!`](crate::awaited!).
#[cfg(feature = "enabled")]
#[doc(hidden)]
#[derive(Debug)]
pub struct Awaited(Instrument);

#[cfg(feature = "enabled")]
impl Awaited {
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(Instrument::new(Kind::Region, name))
    }

    /// Tells of `future` from its first poll until it is done; one that is dropped before has failed.
    pub async fn wait_for<F: Future>(&'static self, future: F) -> F::Output {
        let Some(service) = abi::service() else {
            return future.await;
        };
        let mut state = LockerState::new();
        let wait = Wait::start(service, &self.0, operation::REGION_RUN, &mut state);
        let output = future.await;
        wait.end(outcome::DONE);
        output
    }
}

/// Makes a future that is counted as a region of this name, from its first poll until it is done.
///
/// Such a region is not marked for valgrind: other tasks run while it waits.
///
/// ```
/// async fn answer() -> u32 {
///     perf_instrument::awaited!("answer", async { 42 }).await
/// }
/// # let mut answer = std::pin::pin!(answer());
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # assert!(answer.as_mut().poll(&mut context).is_ready());
/// ```
#[cfg(feature = "enabled")]
#[macro_export]
macro_rules! awaited {
    ($name:literal, $future:expr) => {{
        static PLACE: $crate::Awaited = $crate::Awaited::new($name);
        PLACE.wait_for($future)
    }};
}

/// Makes a future that is counted as a region of this name, from its first poll until it is done.
///
/// ```
/// async fn answer() -> u32 {
///     perf_instrument::awaited!("answer", async { 42 }).await
/// }
/// # let mut answer = std::pin::pin!(answer());
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # assert!(answer.as_mut().poll(&mut context).is_ready());
/// ```
#[cfg(not(feature = "enabled"))]
#[macro_export]
macro_rules! awaited {
    ($name:literal, $future:expr) => {
        $future
    };
}
