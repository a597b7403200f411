//! A piecewise constant level, fitted with the least squared deviation and a penalty a change.
//!
//! [`fit`] is optimal partitioning with functional pruning: Maidstone, Hocking, Rigaill and
//! Fearnhead, "On optimal multiple changepoint algorithms for large data" (Statistics and Computing
//! 27, 2017). It keeps, for each level that the newest values could have, the best start of that
//! level. A start that is the best for no level is forgotten, so that a long series takes nearly
//! linear time whether it has changes or not.

use std::collections::VecDeque;

/// Calmed values with their running sums.
pub(super) struct Calm {
    values: Vec<f64>,
    sums: Vec<f64>,
}

impl Calm {
    pub(super) fn new(values: &[f64]) -> Self {
        let mut sum = 0.0;
        let running = values.iter().map(|value| {
            sum += value;
            sum
        });
        Self {
            sums: std::iter::once(0.0).chain(running).collect(),
            values: values.to_vec(),
        }
    }

    fn mean(&self, from: usize, to: usize) -> f64 {
        (self.sums[to] - self.sums[from]) / (to - from) as f64
    }

    /// By how much two levels, `from..at` and `at..to`, fit better than one: the squared number of
    /// noise deviations that the step stands out by.
    pub(super) fn gain(&self, from: usize, at: usize, to: usize) -> f64 {
        let step = self.mean(at, to) - self.mean(from, at);
        step * step * (at - from) as f64 * (to - at) as f64 / (to - from) as f64
    }
}

/// Drops the weakest change until each gains at least `penalty` against its two neighbours.
pub(super) fn drop_weak(calm: &Calm, starts: &mut Vec<usize>, penalty: f64) {
    let end = calm.values.len();
    let gain = |starts: &[usize], index: usize| {
        let from = index.checked_sub(1).map_or(0, |before| starts[before]);
        let to = starts.get(index + 1).copied().unwrap_or(end);
        calm.gain(from, starts[index], to)
    };
    let mut gains: Vec<f64> = (0..starts.len()).map(|i| gain(starts, i)).collect();
    loop {
        let weakest = (0..gains.len()).min_by(|&a, &b| gains[a].total_cmp(&gains[b]));
        let Some(weakest) = weakest.filter(|&index| gains[index] < penalty) else {
            return;
        };
        starts.remove(weakest);
        gains.remove(weakest);
        let neighbours = gains.iter_mut().enumerate().take(weakest + 1);
        for (index, neighbour) in neighbours.skip(weakest.saturating_sub(1)) {
            *neighbour = gain(starts, index);
        }
    }
}

/// The least cost of all values so far, given the first value of the newest level, as a function of
/// that level: `square`·x² + `linear`·x + `constant`.
#[derive(Clone, Copy, Debug)]
struct Cost {
    start: usize,
    square: f64,
    linear: f64,
    constant: f64,
}

impl Cost {
    /// The cost of a level that starts at `start`, where everything before it costs `constant`.
    fn starting(start: usize, constant: f64) -> Self {
        Self {
            start,
            square: 0.0,
            linear: 0.0,
            constant,
        }
    }

    fn add(&mut self, value: f64) {
        self.square += 1.0;
        self.linear -= 2.0 * value;
        self.constant += value * value;
    }

    /// The least cost of the levels from `low` to `high`.
    fn least(&self, low: f64, high: f64) -> f64 {
        let level = (-self.linear / (2.0 * self.square)).clamp(low, high);
        (self.square * level + self.linear) * level + self.constant
    }

    /// The levels between which `self`, which started earlier than `newer`, costs less than it.
    fn cheaper_than(&self, newer: &Self) -> Option<(f64, f64)> {
        let square = self.square - newer.square;
        let linear = self.linear - newer.linear;
        let constant = self.constant - newer.constant;
        let discriminant = linear * linear - 4.0 * square * constant;
        if discriminant <= 0.0 {
            return None;
        }
        let middle = -linear / (2.0 * square);
        let half = discriminant.sqrt() / (2.0 * square);
        Some((middle - half, middle + half))
    }
}

/// A range of levels with the cost that is least there.
#[derive(Clone, Copy, Debug)]
struct Piece {
    low: f64,
    high: f64,
    cost: Cost,
}

/// The ranges of levels in order, without gaps.
struct Pieces {
    pieces: Vec<Piece>,
    /// Kept between calls, so that no step allocates.
    spare: Vec<Piece>,
}

impl Pieces {
    fn add(&mut self, value: f64) {
        for piece in &mut self.pieces {
            piece.cost.add(value);
        }
    }

    /// Gives the levels at which `newer` costs less to it.
    fn admit(&mut self, newer: Cost) {
        self.spare.clear();
        for piece in &self.pieces {
            let Some((low, high)) = piece.cost.cheaper_than(&newer) else {
                push(&mut self.spare, piece.low, piece.high, newer);
                continue;
            };
            let (low, high) = (
                low.clamp(piece.low, piece.high),
                high.clamp(piece.low, piece.high),
            );
            push(&mut self.spare, piece.low, low, newer);
            push(&mut self.spare, low, high, piece.cost);
            push(&mut self.spare, high, piece.high, newer);
        }
        std::mem::swap(&mut self.pieces, &mut self.spare);
    }

    /// The least cost and the start of the newest level that it belongs to.
    fn least(&self) -> (f64, usize) {
        let of = |piece: &Piece| (piece.cost.least(piece.low, piece.high), piece.cost.start);
        let least = self
            .pieces
            .iter()
            .map(of)
            .min_by(|a, b| a.0.total_cmp(&b.0));
        least.unwrap_or((f64::INFINITY, 0))
    }
}

/// Appends a range, and extends the last one where it has the same cost.
fn push(pieces: &mut Vec<Piece>, low: f64, high: f64, cost: Cost) {
    if low >= high {
        return;
    }
    match pieces.last_mut() {
        Some(last) if last.cost.start == cost.start => last.high = high,
        _ => pieces.push(Piece { low, high, cost }),
    }
}

/// The first values of all levels but the first one. A level has at least `shortest` values.
pub(super) fn fit(calm: &Calm, penalty: f64, shortest: usize) -> Vec<usize> {
    let values = &calm.values;
    let (low, high) = values
        .iter()
        .fold((0.0_f64, 0.0_f64), |(low, high), &value| {
            (low.min(value), high.max(value))
        });
    let mut pieces = Pieces {
        pieces: Vec::new(),
        spare: Vec::new(),
    };
    // Levels with too few values to end; the oldest is admitted when it has enough.
    let mut young = VecDeque::from([Cost::starting(0, 0.0)]);
    // For each number of values, the start of the last level of their best fit.
    let mut last_start = vec![0; values.len() + 1];
    for (index, &value) in values.iter().enumerate() {
        pieces.add(value);
        for cost in &mut young {
            cost.add(value);
        }
        let taken = index + 1;
        let is_grown = |cost: &Cost| taken - cost.start >= shortest;
        if let Some(cost) = young.front().copied().filter(is_grown) {
            young.pop_front();
            match pieces.pieces.is_empty() {
                true => pieces.pieces.push(Piece { low, high, cost }),
                false => pieces.admit(cost),
            }
        }
        if taken >= shortest {
            let (cost, start) = pieces.least();
            last_start[taken] = start;
            young.push_back(Cost::starting(taken, cost + penalty));
        }
    }
    starts(&last_start)
}

/// Follows the starts back from the end.
fn starts(last_start: &[usize]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = last_start.len() - 1;
    while last_start[at] > 0 {
        at = last_start[at];
        starts.push(at);
    }
    starts.reverse();
    starts
}
