//! The same work with the standard library's types and with the wrappers, for counting its instructions.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::sync::MutexGuard;

#[cfg(bare)]
mod types {
    pub use std::fs::File as WorkFile;
    pub use std::sync::{Condvar as WorkCondvar, Mutex as WorkMutex, RwLock as WorkRwLock};

    macro_rules! named {
        ($type:ident, $name:literal $(, $value:expr)?) => {
            $type::new($($value)?)
        };
        (file $file:expr) => {
            $file
        };
    }
    macro_rules! region {
        ($name:literal) => {};
    }
    pub(crate) use {named, region};
}

#[cfg(not(bare))]
mod types {
    pub use perf_instrument::{
        TrackedCondvar as WorkCondvar, TrackedFile as WorkFile, TrackedMutex as WorkMutex,
        TrackedRwLock as WorkRwLock, region,
    };

    macro_rules! named {
        ($type:ident, $name:literal $(, $value:expr)?) => {
            $type::new($name $(, $value)?)
        };
        (file $file:expr) => {
            WorkFile::new("file", $file)
        };
    }
    pub(crate) use named;
}

use types::{WorkCondvar, WorkFile, WorkMutex, WorkRwLock, named, region};

static MUTEX: WorkMutex<u64> = named!(WorkMutex, "mutex", 1);
static RWLOCK: WorkRwLock<u64> = named!(WorkRwLock, "rwlock", 1);
static CONDVAR: WorkCondvar = named!(WorkCondvar, "condvar");

fn add(guard: MutexGuard<'_, u64>) -> u64 {
    *guard + 1
}

#[unsafe(no_mangle)]
#[inline(never)]
fn work(out: &mut WorkFile, input: &mut WorkFile, times: u64) -> u64 {
    region!("work");
    let mut sum = 0;
    let mut bytes = [0; 16];
    for _ in 0..times {
        sum += add(MUTEX.lock().expect("not poisoned"));
        if let Ok(mut value) = MUTEX.try_lock() {
            *value = sum;
        }
        sum += *RWLOCK.read().expect("not poisoned");
        *RWLOCK.write().expect("not poisoned") += 1;
        CONDVAR.notify_one();
        CONDVAR.notify_all();
        region!("files");
        sum += out.write(&bytes).expect("is written") as u64;
        sum += input.read(&mut bytes).expect("is read") as u64;
        sum += u64::from(out.sync_data().is_ok());
    }
    sum
}

fn main() {
    let mut out = named!(file File::options().write(true).open("/dev/null").expect("is there"));
    let mut input = named!(file File::open("/dev/zero").expect("is there"));
    println!("{}", work(&mut out, &mut input, 100));
}
