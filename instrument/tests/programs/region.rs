//! Regions that do nothing, at three places and in another region, for what their marks cost.

use perf_instrument::region;

fn main() {
    {
        region!("outer");
        for _ in 0..5 {
            region!("empty");
        }
    }
    region!("empty");
}
