//! Right answers with switches, from which the known mistakes are built: each switch turns on one mistake.

mod optimizers;

use candle_core::{DType, Result, Tensor, Var};
use canopy::{
    optim::{AdamState, LambConfig, LarsConfig},
    schedule::{Decay, OneCycle, RangeFound, valley},
};

use crate::REFERENCE;

pub use optimizers::*;

/// One cycle by the share of the rise done at a step, past 1 the fall: `at(cycle, step)` gives (falling, share).
pub fn cycle_by(
    cycle: &OneCycle,
    step: u64,
    at: impl Fn(f64, f64) -> (bool, f64),
    bend: impl Fn(f64) -> f64,
    last: f64,
) -> Option<(f64, f64)> {
    if step >= cycle.total {
        return None;
    }
    let (falling, share) = at(step as f64, cycle.rising * cycle.total as f64);
    let between = |a: f64, b: f64| a + (b - a) * bend(share);
    let (low, high) = (cycle.least_momentum, cycle.greatest_momentum);
    Some(if falling {
        (between(cycle.max, last), between(low, high))
    } else {
        (
            between(cycle.max / cycle.first_divisor, cycle.max),
            between(high, low),
        )
    })
}

/// The phase and share of a step as in a right answer.
pub fn phase(cycle: &OneCycle) -> impl Fn(f64, f64) -> (bool, f64) + use<> {
    let end = cycle.total as f64 - 1.0;
    move |step, top| {
        let top = top - 1.0;
        if step <= top {
            (false, step / top)
        } else {
            (true, (step - top) / (end - top))
        }
    }
}

pub fn half_cosine(share: f64) -> f64 {
    (1.0 - (std::f64::consts::PI * share).cos()) / 2.0
}

pub fn last_rate(cycle: &OneCycle) -> f64 {
    cycle.max / cycle.first_divisor / cycle.last_divisor
}

/// A cycle by phases between its turning points: `(end of the phase, rate and momentum at its start and end)`.
pub fn cycle_of(cycle: &OneCycle, step: u64, phases: &[(f64, [f64; 2], [f64; 2])]) -> Option<(f64, f64)> {
    if step >= cycle.total {
        return None;
    }
    let (step, mut from) = (step as f64, 0.0);
    for (i, &(to, a, b)) in phases.iter().enumerate() {
        if step <= to || i + 1 == phases.len() {
            let bend = half_cosine((step - from) / (to - from));
            let [rate, momentum] = [0, 1].map(|k| a[k] + (b[k] - a[k]) * bend);
            return Some((rate, momentum));
        }
        from = to;
    }
    None
}

/// What a range test may do differently.
#[derive(Clone, Copy)]
pub struct Test {
    /// Takes the bias out of the mean.
    pub unbiased: bool,
    /// Counts the steps from 0 where it does.
    pub from_0: bool,
    /// β is the share of the new loss.
    pub swapped: bool,
    /// Compares the loss itself, not its mean.
    pub raw: bool,
    /// Compares it with the least mean.
    pub mixed: bool,
    /// Compares with the first loss, not the least.
    pub first: bool,
    /// Compares with the smoothed loss of the step before.
    pub previous: bool,
    /// Compares with the least single loss.
    pub least_single: bool,
    /// Diverges already at the limit.
    pub at_limit: bool,
    /// Continues with the corrected mean.
    pub fed_back: bool,
    /// Breaks at so much more, not so many times more.
    pub adds: bool,
    /// Keeps the step that broke.
    pub keeps: bool,
    /// Detects a loss that is NaN.
    pub finite: bool,
    /// Detects only NaN.
    pub only_nan: bool,
    /// Ends there.
    pub stops: bool,
    /// Keeps the mean in f32.
    pub narrow: bool,
    /// Where on the smoothed losses the suggestion is.
    pub pick: fn(&[f64]) -> Option<usize>,
}

pub const TEST: Test = Test {
    unbiased: true,
    from_0: false,
    swapped: false,
    raw: false,
    mixed: false,
    first: false,
    previous: false,
    least_single: false,
    at_limit: false,
    fed_back: false,
    adds: false,
    keeps: false,
    finite: true,
    only_nan: false,
    stops: true,
    narrow: false,
    pick: valley,
};

pub fn tested(
    rates: &[f64],
    smoothing: f64,
    breaks: f64,
    train: &mut dyn FnMut(f64) -> f64,
    test: Test,
) -> RangeFound {
    let beta = if test.swapped { 1.0 - smoothing } else { smoothing };
    let (mut mean, mut left) = (0.0, 1.0);
    let mut least = f64::INFINITY;
    let (mut kept, mut losses, mut broke) = (Vec::new(), Vec::new(), false);
    for &rate in rates {
        let x = train(rate);
        mean = if test.narrow {
            let (beta, x) = (beta as f32, x as f32);
            f64::from(beta * mean as f32 + (1.0 - beta) * x)
        } else {
            beta * mean + (1.0 - beta) * x
        };
        let before = left;
        left *= beta;
        let gone = if test.from_0 { before } else { left };
        let smooth = if test.unbiased { mean / (1.0 - gone) } else { mean };
        if test.fed_back {
            mean = smooth;
        }
        let seen = if test.raw || test.mixed { x } else { smooth };
        let limit = if test.adds { breaks + least } else { breaks * least };
        let odd = if test.only_nan {
            seen.is_nan()
        } else {
            !seen.is_finite()
        };
        let high = seen > limit || (test.at_limit && seen == limit && least.is_finite());
        let breaks_here = (test.finite && odd) || high;
        broke |= breaks_here;
        if breaks_here && test.keeps {
            kept.push(rate);
            losses.push(smooth);
        }
        if breaks_here && test.stops {
            break;
        }
        least = if test.first && least.is_finite() {
            least
        } else if test.previous {
            smooth
        } else {
            least.min(if test.mixed {
                smooth
            } else if test.least_single {
                x
            } else {
                seen
            })
        };
        kept.push(rate);
        losses.push(smooth);
    }
    let suggestion = (test.pick)(&losses).map(|at| kept[at]);
    RangeFound {
        rates: kept,
        losses,
        suggestion,
        broke,
    }
}

/// The result of a right range test, and the single losses.
pub fn watched(
    rates: &[f64],
    smoothing: f64,
    breaks: f64,
    train: &mut dyn FnMut(f64) -> f64,
) -> (RangeFound, Vec<f64>) {
    let mut single = Vec::new();
    let found = (REFERENCE.range_test)(rates, smoothing, breaks, &mut |rate| {
        let loss = train(rate);
        single.push(loss);
        loss
    });
    (found, single)
}

/// Start and length of the first longest fall.
pub fn longest(losses: &[f64]) -> Option<(usize, usize)> {
    let falls = falls(losses).into_iter().rev();
    falls.max_by_key(|fall| fall.1).filter(|fall| fall.1 > 1)
}

/// Start and length of the falls of some losses; a loss that does not fall is a fall of 1.
pub fn falls(losses: &[f64]) -> Vec<(usize, usize)> {
    let mut falls: Vec<(usize, usize)> = Vec::new();
    for i in 0..losses.len() {
        match falls.last_mut() {
            Some((_, length)) if losses[i] < losses[i - 1] => *length += 1,
            _ => falls.push((i, 1)),
        }
    }
    falls
}

/// The suggestion on the longest fall with gaps: losses that fall, with higher ones between them.
pub fn with_gaps(losses: &[f64]) -> Option<usize> {
    let mut falls: Vec<(usize, usize)> = Vec::new();
    for i in 0..losses.len() {
        let before = (0..i).rev().filter(|&j| losses[i] < losses[j]);
        let longest = before.map(|j| falls[j]).max_by_key(|fall| fall.1);
        falls.push(longest.map_or((i, 1), |(start, length)| (start, length + 1)));
    }
    let longest = falls.into_iter().rev().max_by_key(|fall| fall.1);
    longest.filter(|fall| fall.1 > 1).map(|(s, n)| s + n / 3 + n / 6)
}

/// Gradients of each micro-batch times `share(i)`, added up.
pub fn summed(
    count: usize,
    gradients: crate::Gradients,
    share: impl Fn(usize) -> f64,
) -> Result<Vec<Tensor>> {
    let mut sum: Vec<Tensor> = Vec::new();
    for i in 0..count {
        for (k, grad) in gradients(i)?.iter().enumerate() {
            let grad = (grad * share(i))?;
            match sum.get_mut(k) {
                Some(sum) => *sum = (&*sum + grad)?,
                None => sum.push(grad),
            }
        }
    }
    Ok(sum)
}

/// The losses along `way(w, d)`, starting at `params`.
pub fn losses_along(
    (params, directions, alphas): (&[Var], &[Tensor], &[f64]),
    loss: &mut dyn FnMut() -> Result<f64>,
    way: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Vec<f64>> {
    let start = params
        .iter()
        .map(|p| p.as_tensor().copy())
        .collect::<Result<Vec<_>>>()?;
    let mut losses = Vec::new();
    let mut failed = None;
    for &alpha in alphas {
        for ((p, w), d) in params.iter().zip(&start).zip(directions) {
            p.set(&(w + (way(w, d)? * alpha)?)?)?;
        }
        match loss() {
            Ok(loss) => losses.push(loss),
            Err(e) => {
                failed = Some(e);
                break;
            }
        }
    }
    for (p, w) in params.iter().zip(&start) {
        p.set(w)?;
    }
    failed.map_or(Ok(losses), Err)
}

/// The direction as in a right answer, filter by filter.
pub fn stretched(w: &Tensor, d: &Tensor) -> Result<Tensor> {
    if w.rank() < 2 {
        return d.zeros_like();
    }
    let filters = (0..w.dim(0)?).map(|i| {
        let (w, d) = (w.get(i)?, d.get(i)?);
        let own = norm(&d)?;
        if own == 0.0 { Ok(d) } else { d * (norm(&w)? / own) }
    });
    Tensor::stack(&filters.collect::<Result<Vec<_>>>()?, 0)
}

/// Each falling form for itself, the others as they should be.
pub fn falling(
    decay: &Decay,
    step: u64,
    gamma: f64,
    base: f64,
    k: impl Fn(&Decay, u64) -> Option<f64>,
) -> f64 {
    match k(decay, step) {
        Some(k) => base * gamma.powf(k),
        None => (REFERENCE.decayed)(decay, step, gamma, base),
    }
}

/// Any rate by the right number of decays.
pub fn falling_by(decay: &Decay, step: u64, rate: impl Fn(u64) -> f64) -> f64 {
    rate(match decay {
        Decay::Step(size) => step / (*size).max(1),
        Decay::Milestones(list) => list.iter().filter(|&&m| step >= m).count() as u64,
        Decay::Exponential => step,
    })
}
