//! Two tests that look at all values and not at the medians alone. They decide nothing: a reader
//! who doubts a verdict finds their p-values beside it.

use super::sample::SLACK;

/// Up to so many values on the larger side, p-values are counted.
const EXACT: usize = 10;

/// The Mann-Whitney test of two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// How many pairs the first side wins; a tie is half a win.
    pub u: f64,
    /// Two-sided. Exact for few values without ties, else from the normal distribution with a
    /// correction for continuity and for ties. 1 where all values are equal.
    pub p: f64,
}

/// The Mann-Whitney test; `None` where a side has no value.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let u = wins(a, b);
    let ties = tied_groups(a, b);
    let is_exact = ties.is_empty() && a.len().max(b.len()) <= EXACT;
    let p = if is_exact {
        exact_p(u, a.len(), b.len())
    } else {
        normal_p(u, a.len(), b.len(), &ties)
    };
    Some(MannWhitney { u, p })
}

fn wins(a: &[f64], b: &[f64]) -> f64 {
    let mut wins = 0.0;
    for one in a {
        for other in b {
            if one > other {
                wins += 1.0;
            } else if one == other {
                wins += 0.5;
            }
        }
    }
    wins
}

/// The sizes of the groups of equal values.
fn tied_groups(a: &[f64], b: &[f64]) -> Vec<usize> {
    let mut pool: Vec<f64> = a.iter().chain(b).copied().collect();
    pool.sort_by(f64::total_cmp);
    let groups = pool.chunk_by(|one, other| one == other);
    groups.map(<[f64]>::len).filter(|len| *len > 1).collect()
}

/// Twice the share of orderings with a U as far from the middle, counted by recursion over which
/// side the largest value belongs to.
fn exact_p(u: f64, m: usize, n: usize) -> f64 {
    let largest = m * n;
    // counts[j] has the number of orderings of i values against j, by their U.
    let mut counts: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for i in 1..=m {
        let mut next: Vec<Vec<f64>> = vec![vec![1.0]];
        for j in 1..=n {
            let mut row = vec![0.0; i * j + 1];
            for (u, count) in counts[j].iter().enumerate() {
                row[u + j] += count;
            }
            for (u, count) in next[j - 1].iter().enumerate() {
                row[u] += count;
            }
            next.push(row);
        }
        counts = next;
    }
    let row = &counts[n];
    let far = u.max(largest as f64 - u);
    let tail: f64 = row.iter().skip(far.ceil() as usize).sum();
    let all: f64 = row.iter().sum();
    (2.0 * tail / all).min(1.0)
}

fn normal_p(u: f64, m: usize, n: usize, ties: &[usize]) -> f64 {
    let (m, n) = (m as f64, n as f64);
    let all = m + n;
    let tied: f64 = ties
        .iter()
        .map(|len| (*len as f64).powi(3) - *len as f64)
        .sum();
    let variance = m * n / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = (u - m * n / 2.0).abs() - 0.5;
    two_sided_normal(distance / variance.sqrt())
}

/// The share of a normal distribution that lies at least `z` deviations from its mean; all of it
/// for a negative `z`.
pub(in crate::judge) fn two_sided_normal(z: f64) -> f64 {
    if z <= 0.0 {
        return 1.0;
    }
    complementary_error(z / std::f64::consts::SQRT_2)
}

/// erfc for positive arguments: a series near zero, and the continued fraction further out.
fn complementary_error(x: f64) -> f64 {
    let root_pi = std::f64::consts::PI.sqrt();
    if x < 2.0 {
        let (mut term, mut sum) = (x, x);
        for n in 1..80 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return 1.0 - 2.0 / root_pi * sum;
    }
    let mut fraction = x;
    for n in (1..60).rev() {
        fraction = x + f64::from(n) / 2.0 / fraction;
    }
    (-x * x).exp() / (fraction * root_pi)
}

/// The share of all splits whose means differ at least as much as those of the two sides; `None`
/// where a side has no value, or more than ten.
pub fn permutation_of_means(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() || a.len().max(b.len()) > EXACT {
        return None;
    }
    let pool: Vec<f64> = a.iter().chain(b).copied().collect();
    let largest = pool
        .iter()
        .fold(0.0, |size: f64, value| size.max(value.abs()));
    if largest == 0.0 {
        return Some(1.0);
    }
    let pool: Vec<f64> = pool.iter().map(|value| value / largest).collect();
    let total: f64 = pool.iter().sum();
    let (m, n) = (a.len() as f64, b.len() as f64);
    let difference = |sum: f64| (sum / m - (total - sum) / n).abs();
    let observed = difference(pool[..a.len()].iter().sum());
    let (mut reaching, mut all) = (0_u32, 0_u32);
    for choice in 0_u32..1 << pool.len() {
        if choice.count_ones() as usize != a.len() {
            continue;
        }
        let chosen = pool
            .iter()
            .enumerate()
            .filter(|(index, _)| choice >> index & 1 == 1);
        all += 1;
        if difference(chosen.map(|(_, value)| value).sum()) >= observed - SLACK {
            reaching += 1;
        }
    }
    Some(f64::from(reaching) / f64::from(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_tail_is_that_of_the_tables() {
        for (z, p) in [
            (0.0, 1.0),
            (1.0, 0.317_310_507_9),
            (1.96, 0.049_995_790_3),
            (3.5, 0.000_465_258_2),
        ] {
            assert!((two_sided_normal(z) - p).abs() < 1e-9, "{z}");
        }
        assert_eq!(two_sided_normal(-0.5), 1.0);
    }

    #[test]
    fn equal_values_and_empty_sides_are_no_difference() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[2.0; 5], &[2.0; 5]).unwrap().p, 1.0);
        assert_eq!(permutation_of_means(&[0.0; 3], &[0.0; 3]), Some(1.0));
        assert_eq!(permutation_of_means(&[1.0; 11], &[1.0; 11]), None);
    }
}
