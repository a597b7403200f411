//! How long the search for change points takes, alone: no store, no network.
//!
//! A thousand series of 400 values in under a second on one core, and 10,000 values in under 50 ms;
//! and ten times the values in at most fifteen times the time. `cargo bench --bench changes`

use std::hint::black_box;
use std::time::{Duration, Instant};

use perf_tracking::judge::changes;

/// Noise without dependencies, the same in every run.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1_u64 << 31) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// Values with a step of `step` deviations after each 150.
fn series(length: usize, step: f64, seed: u64) -> Vec<f64> {
    let mut noise = Noise(seed);
    (0..length)
        .map(|index| 1000.0 + noise.normal() + step * ((index / 150) % 2) as f64)
        .collect()
}

/// The best of several runs, which other work on the machine disturbs least.
fn best(times: usize, mut work: impl FnMut()) -> Duration {
    let once = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..times).map(once).min().unwrap_or_default()
}

fn main() {
    for (what, step) in [("no change", 0.0), ("a step each 150 values", 3.0)] {
        let thousand: Vec<Vec<f64>> = (0..1000).map(|seed| series(400, step, seed)).collect();
        let all = best(3, || {
            for values in &thousand {
                black_box(changes::find(values));
            }
        });
        let long = series(10_000, step, 1);
        let one = best(5, || {
            black_box(changes::find(&long));
        });
        let short = series(1000, step, 1);
        let tenth = best(20, || {
            black_box(changes::find(&short));
        });
        println!("{what}:");
        println!(
            "  1,000 series of 400 values: {:.0} ms",
            all.as_secs_f64() * 1000.0
        );
        println!("  10,000 values: {:.1} ms", one.as_secs_f64() * 1000.0);
        let ratio = one.as_secs_f64() / tenth.as_secs_f64();
        println!("  10,000 values take {ratio:.1} times as long as 1,000");
        assert!(
            ratio < 15.0,
            "the time grows faster than the number of values"
        );
    }
}
