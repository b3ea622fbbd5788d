//! Whether forecasts keep their promises, and how good they are.

/// For each nominal level the observed share of true values inside the central interval of that level.
///
/// `pits` has, for each true value, the probability that its forecast gave to values up to it: the probability integral
/// transform, 0 to 1. The central interval of level c reaches from quantile (1 − c)/2 to quantile (1 + c)/2, ends
/// included. Forecasts are calibrated if each share is about its level. If the shares are lower, the intervals are too
/// narrow.
///
/// Expects at least one forecast, and levels from 0 to 1.
pub fn calibration(pits: &[f64], levels: &[f64]) -> Vec<f64> {
    let share = |&level: &f64| {
        let interval = 0.5 * (1.0 - level)..=0.5 * (1.0 + level);
        let inside = pits.iter().filter(|u| interval.contains(u)).count();
        inside as f64 / pits.len() as f64
    };
    levels.iter().map(share).collect()
}

/// The continuous ranked probability score of a forecast over bins, as in [`summarise`](super::summarise), when the true
/// value is `target`: ∫ (F(x) − 1{x ≥ target})² dx, in the unit of the edges (Gneiting and Raftery 2007). Lower is better,
/// and 0 is a certain and correct forecast.
///
/// F is linear within a bin. Over a piece of width w, at whose ends F − 1{…} is a and b, the integral is w·(a² + ab +
/// b²)/3. A target outside of the edges adds its distance to the nearest one.
pub fn crps(edges: &[f64], probabilities: &[f64], target: f64) -> f64 {
    let total: f64 = probabilities.iter().sum();
    let piece = |width: f64, a: f64, b: f64| width * (a * a + a * b + b * b) / 3.0;
    let (mut score, mut below) = (0.0, 0.0);
    for (edge, p) in edges.windows(2).zip(probabilities) {
        let (width, p) = (edge[1] - edge[0], p / total);
        // The part of the bin that is below the target.
        let part = ((target - edge[0]) / width).clamp(0.0, 1.0);
        let at_target = below + part * p;
        score += piece(part * width, below, at_target);
        below += p;
        score += piece((1.0 - part) * width, at_target - 1.0, below - 1.0);
    }
    let distance = |edge: &f64, sign: f64| (sign * (target - edge)).max(0.0);
    score + edges.first().map_or(0.0, |e| distance(e, -1.0)) + edges.last().map_or(0.0, |e| distance(e, 1.0))
}
