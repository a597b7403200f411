//! Does what its first argument says, and counts into the file that the second names.

use std::cell::RefCell;
use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use std::{env, thread};

use perf_instrument::{
    TrackedCondvar, TrackedFile, TrackedMutex, TrackedRwLock, awaited, counting, region,
};

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn signal(signal: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn raise(signal: c_int) -> c_int;
    fn _exit(code: c_int) -> !;
}

const SIGTERM: c_int = 15;

static MUTEX: TrackedMutex<u64> = TrackedMutex::new("m", 0);

fn main() {
    let args: Vec<String> = env::args().collect();
    counting::start(&counting::Options {
        output: args[2].clone().into(),
        times: args.get(3).is_some_and(|arg| arg == "times"),
        ..counting::Options::default()
    })
    .expect("starts counting");
    match args[1].as_str() {
        "locks" => locks(),
        "contended" => contended(),
        "condvar" => condvar(),
        "panics" => panics(),
        "files" => files(&args[2]),
        "regions" => regions(),
        "awaits" => awaits(),
        "fork" => forks(|| std::process::exit(0)),
        // SAFETY: ends the process.
        "fork_exit" => forks(|| unsafe { _exit(c_int::from(!counting::write_now())) }),
        "exit" => {
            take(3);
            std::process::exit(7)
        }
        "signal" => signalled(),
        "destructors" => destructors(),
        "threads" => threads(args[3].parse().expect("a number")),
        other => panic!("{other} is nothing to do"),
    }
}

fn take(times: u64) {
    for _ in 0..times {
        *MUTEX.lock().unwrap() += 1;
    }
}

fn locks() {
    take(1000);
    thread::spawn(|| take(500)).join().unwrap();
    let lock = TrackedRwLock::new("rw", 1);
    for _ in 0..10 {
        assert_eq!(*lock.read().unwrap(), 1);
    }
    *lock.write().unwrap() = 2;
    let held = lock.write().unwrap();
    assert!(lock.try_read().is_err());
    drop(held);
    let other = TrackedMutex::new("a \"quoted\", odd=name%", ());
    drop(other.lock().unwrap());
    assert_eq!(*MUTEX.untracked().lock().unwrap(), 1500);
}

fn contended() {
    let held = MUTEX.lock().unwrap();
    let waiter = thread::spawn(|| take(1));
    thread::sleep(Duration::from_millis(50));
    drop(held);
    waiter.join().unwrap();
}

/// Two threads hand the lock to each other, ten times each.
fn condvar() {
    static TURN: TrackedMutex<u32> = TrackedMutex::new("turn", 0);
    static CHANGED: TrackedCondvar = TrackedCondvar::new("changed");
    let other = thread::spawn(|| play(1));
    play(0);
    other.join().unwrap();
    assert_eq!(*TURN.lock().unwrap(), 20);
    let guard = TURN.lock().unwrap();
    let (guard, result) = CHANGED.wait_timeout(guard, Duration::from_millis(1)).unwrap();
    assert!(result.timed_out());
    drop(guard);

    fn play(parity: u32) {
        for _ in 0..10 {
            let guard = TURN.lock().unwrap();
            let mut guard = CHANGED
                .wait_while(guard, |turn| *turn % 2 != parity)
                .unwrap();
            *guard += 1;
            drop(guard);
            CHANGED.notify_all();
        }
    }
}

fn panics() {
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(|| {
        region!("panics");
        let _held = MUTEX.lock().unwrap();
        panic!("in a guarded section");
    });
    assert!(result.is_err());
    // The mutex of the standard library is poisoned, can be taken all the same, and can be waited for.
    let poisoned = MUTEX.lock().unwrap_err();
    drop(poisoned.into_inner());
    assert!(MUTEX.try_lock().is_err());
    let lock = TrackedRwLock::new("rw", ());
    let result = catch_unwind(AssertUnwindSafe(|| {
        let _held = lock.write().unwrap();
        panic!("in a guarded section");
    }));
    assert!(result.is_err());
    assert!(lock.read().is_err());
    let changed = TrackedCondvar::new("changed");
    let held = MUTEX.lock().unwrap_err().into_inner();
    assert!(changed.wait_timeout(held, Duration::ZERO).is_err());
}

fn files(beside: &str) {
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(true).clone();
    let mut file = TrackedFile::new("data", options.open(format!("{beside}.data")).unwrap());
    file.write_all(&[1; 1000]).unwrap();
    file.write_all(&[2; 24]).unwrap();
    file.sync_all().unwrap();
    file.sync_data().unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut back = Vec::new();
    file.read_to_end(&mut back).unwrap();
    assert_eq!(back.len(), 1024);
    let mut unwritable = TrackedFile::new("unwritable", File::open(format!("{beside}.data")).unwrap());
    assert!(unwritable.write(&[0; 5]).is_err());
}

fn regions() {
    fn recurse(deep: u32) {
        region!("recursive");
        if deep > 0 {
            recurse(deep - 1);
        }
        thread::sleep(Duration::from_millis(2));
    }
    region!("outer");
    recurse(4);
    {
        region!("inner");
    }
}

/// A task that begins on one thread and ends on another, and one that is given up.
fn awaits() {
    async fn waits() -> u32 {
        let mut polled = false;
        awaited!(
            "task",
            std::future::poll_fn(move |_| {
                if std::mem::replace(&mut polled, true) {
                    std::task::Poll::Ready(7)
                } else {
                    std::task::Poll::Pending
                }
            })
        )
        .await
    }
    fn poll(task: &mut std::pin::Pin<Box<impl Future<Output = u32>>>) -> bool {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        task.as_mut().poll(&mut context).is_ready()
    }
    let mut task = Box::pin(waits());
    assert!(!poll(&mut task));
    let moved = thread::spawn(move || poll(&mut task));
    assert!(moved.join().unwrap());
    let mut given_up = Box::pin(waits());
    assert!(!poll(&mut given_up));
}

fn forks(end: impl FnOnce()) {
    region!("forks");
    take(3);
    // Another thread holds a lock and counts while this one forks.
    static STOP: AtomicBool = AtomicBool::new(false);
    let busy = thread::spawn(|| {
        let own = TrackedMutex::new("busy", ());
        while !STOP.load(Ordering::Relaxed) {
            drop(own.lock().unwrap());
        }
    });
    thread::sleep(Duration::from_millis(5));
    // SAFETY: the child takes locks that no other thread holds, and ends.
    let child = unsafe { fork() };
    if child == 0 {
        take(5);
        thread::spawn(|| take(2)).join().unwrap();
        return end();
    }
    let mut status = 0;
    // SAFETY: the status is writable.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    STOP.store(true, Ordering::Relaxed);
    busy.join().unwrap();
    take(1);
}

fn signalled() {
    extern "C" fn ends(_: c_int) {
        std::process::exit(0);
    }
    take(4);
    // SAFETY: the handler ends the process.
    unsafe {
        signal(SIGTERM, ends);
        raise(SIGTERM);
    }
    unreachable!("the handler ends the process");
}

/// A destructor that takes a lock, registered before the thread's first operation and so run after it is gone.
fn destructors() {
    struct Late(u64);
    impl Drop for Late {
        fn drop(&mut self) {
            region!("late");
            take(self.0);
        }
    }
    thread_local! {
        static LATE: RefCell<Late> = const { RefCell::new(Late(10)) };
    }
    for first_touch in [true, false] {
        thread::spawn(move || {
            if first_touch {
                LATE.with(|late| late.borrow_mut().0 = 10);
            }
            take(1);
            LATE.with(|late| late.borrow_mut().0 = 10);
        })
        .join()
        .unwrap();
    }
    // A thread whose only operations are those of the destructor.
    thread::spawn(|| LATE.with(|_| ())).join().unwrap();
}

/// All alive at once, then the same number one group after another.
fn threads(count: usize) {
    let began = Instant::now();
    static HERE: AtomicUsize = AtomicUsize::new(0);
    let start = Arc::new(Barrier::new(count + 1));
    let spawn = |barrier: Option<Arc<Barrier>>| {
        thread::Builder::new()
            .stack_size(32 * 1024)
            .spawn(move || {
                take(3);
                HERE.fetch_add(1, Ordering::Relaxed);
                if let Some(barrier) = barrier {
                    barrier.wait();
                }
            })
            .unwrap()
    };
    let all: Vec<_> = (0..count).map(|_| spawn(Some(start.clone()))).collect();
    start.wait();
    all.into_iter().for_each(|thread| thread.join().unwrap());
    for _ in 0..count / 100 {
        let group: Vec<_> = (0..100).map(|_| spawn(None)).collect();
        group.into_iter().for_each(|thread| thread.join().unwrap());
    }
    println!("{} ms", began.elapsed().as_millis());
}
