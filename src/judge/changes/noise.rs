//! How far the values of a series scatter around their level, and for how long.

/// Values on either side of the middle of the running median. A burst of outliers that is no longer
/// than this cannot move the median.
const REACH: usize = 8;
/// The same for the newest and the oldest values, so that a level of five values is seen there. The
/// window is never wider on one side than on the other, which would move a step near an end.
const REACH_AT_END: usize = 4;
/// Further than this many noise deviations from the running median a value counts as this far.
const CUT: f64 = 3.0;
/// A jump of the level counts as at most this many noise deviations, which is beyond doubt. This
/// keeps the sums of squares small, so that they lose no digits.
const JUMP: f64 = 50.0;
/// Deviations of values that are further apart than this are taken as independent.
const LONGEST: usize = 7;
/// Lags whose mean stands for "far apart".
const FAR: usize = 4;
/// The share of the differences that is kept, the largest left out: those across a change.
const KEPT_DIFFERENCES: f64 = 0.85;
/// The most that the duration can raise the penalty.
const MOST: f64 = 12.0;
/// Below this a correlation is an accident of the estimate.
const LEAST_CORRELATION: f64 = 0.05;
/// From the median of the distances from the middle to the standard deviation of normal noise.
const MEDIAN_TO_DEVIATION: f64 = 1.4826;
/// From the mean of the distances, the largest twentieth left out, to the standard deviation.
const MEAN_TO_DEVIATION: f64 = 1.2533 * 1.18;

/// What is known of the noise of a series.
pub(super) struct Noise {
    deviation: f64,
    duration: f64,
    calmed: Vec<f64>,
}

impl Noise {
    /// The noise of `values`, or `None` where all of them are the same.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let medians = running_median(values);
        let residuals = distances(values, &medians);
        let deviation = deviation(&residuals);
        if deviation == 0.0 || repeats(values) {
            let deviation = without_noise(values)?;
            let medians = median_of_five(values);
            let residuals = distances(values, &medians);
            return Some(Self {
                deviation,
                duration: 1.0,
                calmed: calm(&medians, &residuals, deviation),
            });
        }
        let calmed = calm(&medians, &residuals, deviation);
        let duration = duration(&calmed) * excess(&residuals, deviation);
        Some(Self {
            deviation,
            duration,
            calmed,
        })
    }

    /// The standard deviation of a single value around its level, outliers left out.
    pub(super) fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The ratio of the variance of a mean of many values to what it would be if the values did not
    /// depend on one another: about as many runs as a deviation lasts. At least 1.
    pub(super) fn duration(&self) -> f64 {
        self.duration
    }

    /// The values in noise deviations, with outliers and jumps cut.
    pub(super) fn calmed(&self) -> &[f64] {
        &self.calmed
    }
}

/// The median, the mean of the two in the middle where their number is even; 0 of none.
pub(in crate::judge) fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    let is_odd = values.len() % 2 == 1;
    let (lower, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if is_odd {
        return upper;
    }
    let lower = lower.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    f64::midpoint(lower, upper)
}

/// The median of the values around each value, fewer near the ends.
fn running_median(values: &[f64]) -> Vec<f64> {
    let mut window = [0.0; 2 * REACH + 1];
    let around = |i: usize| {
        let reach = REACH.min(i.min(values.len() - 1 - i).max(REACH_AT_END));
        let taken = &values[i.saturating_sub(reach)..(i + reach + 1).min(values.len())];
        let window = &mut window[..taken.len()];
        window.copy_from_slice(taken);
        median(window)
    };
    (0..values.len()).map(around).collect()
}

/// The median of the five values nearest to each value, of five or more. Where values repeat
/// exactly it moves no step between levels of three values, and two outliers in a row do not show.
fn median_of_five(values: &[f64]) -> Vec<f64> {
    let around = |i: usize| {
        let from = i.saturating_sub(2).min(values.len() - 5);
        median(&mut values[from..from + 5].to_vec())
    };
    (0..values.len()).map(around).collect()
}

/// How far each value lies from its median.
fn distances(values: &[f64], medians: &[f64]) -> Vec<f64> {
    values.iter().zip(medians).map(|(x, m)| x - m).collect()
}

/// The larger of two robust estimates. The first is blind to noise that less than half of the values
/// have, such as a counter that repeats exactly most of the time; the second is not.
fn deviation(residuals: &[f64]) -> f64 {
    let mut distances: Vec<f64> = residuals.iter().map(|residual| residual.abs()).collect();
    let by_median = MEDIAN_TO_DEVIATION * median(&mut distances);
    let kept = distances.len() - distances.len().div_ceil(20);
    let by_mean = MEAN_TO_DEVIATION * mean_of_smallest(&mut distances, kept, |distance| distance);
    by_median.max(by_mean)
}

/// Whether four of five values are the same as the one before them: then what differs is no noise.
fn repeats(values: &[f64]) -> bool {
    let same = values.windows(2).filter(|pair| pair[0] == pair[1]).count();
    same * 5 >= (values.len() - 1) * 4
}

/// A tenth of the smallest difference between neighbours, for a series that repeats exactly; `None`
/// where there is no difference at all.
fn without_noise(values: &[f64]) -> Option<f64> {
    let differences = values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let differences = differences.filter(|&difference| difference > 0.0);
    differences.min_by(f64::total_cmp).map(|least| least / 10.0)
}

/// The mean of `of` over the `kept` smallest of `values`; 0 where none is kept.
fn mean_of_smallest(values: &mut [f64], kept: usize, of: impl Fn(f64) -> f64) -> f64 {
    if kept == 0 {
        return 0.0;
    }
    if kept < values.len() {
        values.select_nth_unstable_by(kept - 1, f64::total_cmp);
    }
    values[..kept].iter().map(|&value| of(value)).sum::<f64>() / kept as f64
}

/// Running medians and residuals in noise deviations, both cut.
fn calm(medians: &[f64], residuals: &[f64], deviation: f64) -> Vec<f64> {
    let mut level = 0.0;
    let mut previous = medians.first().copied().unwrap_or(0.0);
    let cut = |(&median, residual): (&f64, &f64)| {
        level += ((median - previous) / deviation).clamp(-JUMP, JUMP);
        previous = median;
        level + (residual / deviation).clamp(-CUT, CUT)
    };
    medians.iter().zip(residuals).map(cut).collect()
}

/// How much more the cut residuals scatter than normal noise of the same deviation does; at least 1.
/// Values that scatter further than the estimate says make changes by accident more often.
fn excess(residuals: &[f64], deviation: f64) -> f64 {
    let cut = |residual: &f64| (residual / deviation).clamp(-CUT, CUT);
    let squares: f64 = residuals.iter().map(|residual| cut(residual).powi(2)).sum();
    (squares / residuals.len() as f64).sqrt().max(1.0)
}

/// One plus twice the sum of the correlations between neighbours, from a robust variogram: unlike
/// a sum over residuals, differences between near values do not need to know where the levels are.
fn duration(calmed: &[f64]) -> f64 {
    let far: Vec<f64> = (LONGEST..LONGEST + FAR)
        .filter_map(|lag| variogram(calmed, lag))
        .collect();
    let far = far.iter().sum::<f64>() / far.len() as f64;
    if far.is_nan() || far <= 0.0 {
        return 1.0;
    }
    let correlation = |lag| variogram(calmed, lag).map_or(0.0, |near| 1.0 - near / far);
    let correlations = (1..LONGEST).map(correlation);
    let sum: f64 = correlations
        .take_while(|&correlation| correlation > LEAST_CORRELATION)
        .sum();
    (1.0 + 2.0 * sum).min(MOST)
}

/// The mean squared difference of values that are `lag` apart, the largest differences left out.
fn variogram(calmed: &[f64], lag: usize) -> Option<f64> {
    let later = calmed.get(lag..).filter(|later| later.len() > 5)?;
    let difference = |(early, late): (&f64, &f64)| (late - early).abs();
    let mut differences: Vec<f64> = calmed.iter().zip(later).map(difference).collect();
    let kept = (differences.len() as f64 * KEPT_DIFFERENCES) as usize;
    Some(mean_of_smallest(&mut differences, kept, |x| x * x))
}
