//! Right answers with switches, from which the known mistakes are built: each switch turns on one mistake.

use candle_core::{DType, Result, Tensor, Var};
use canopy::precision::{Backward, DynamicScaler, Format, Overflow, Product, TensorCores};

use crate::{Low, Step};

/// What rounding may do differently.
#[derive(Clone, Copy)]
pub struct Round {
    /// The quotient to a whole number.
    pub whole: fn(f64) -> f64,
    /// The exponent that the spacing belongs to, of x's own and the format's least.
    pub exponent: fn(i32, i32) -> i32,
    /// Whether it does not fit: before rounding, after it, the greatest.
    pub over: fn(f64, f64, f64) -> bool,
    /// What then comes of x.
    pub then: fn(f32, Format) -> f32,
    /// What comes of NaN.
    pub nan: f32,
    /// Whether a result of 0 has x's sign.
    pub signed: bool,
}

pub const ROUND: Round = Round {
    whole: f64::round_ties_even,
    exponent: |own, least| if own < least { least } else { own },
    over: |_, after, max| after > max,
    then: overflow,
    nan: f32::NAN,
    signed: true,
};

pub fn overflow(x: f32, format: Format) -> f32 {
    match format.overflow {
        Overflow::Infinity => f32::INFINITY.copysign(x),
        Overflow::Nan => f32::NAN,
        Overflow::Saturate => (format.max as f32).copysign(x),
    }
}

pub fn rounded(x: f32, format: Format, by: Round) -> f32 {
    if x.is_nan() {
        return by.nan;
    }
    if x.is_infinite() {
        return (by.then)(x, format);
    }
    let size = f64::from(x).abs();
    let own = if size == 0.0 {
        -200
    } else {
        size.log2().floor() as i32
    };
    let exponent = (by.exponent)(own, format.least_exponent());
    let spacing = 2f64.powi(exponent - format.mantissa as i32);
    let after = (by.whole)(f64::from(x) / spacing) * spacing;
    if (by.over)(size, after.abs(), format.max) {
        return (by.then)(x, format);
    }
    if after == 0.0 {
        return if by.signed { 0f32.copysign(x) } else { 0.0 };
    }
    after as f32
}

/// All in f32, whose smallest numbers have no spacing there.
pub fn in_f32(x: f32, format: Format, exponent: fn(i32, i32) -> i32) -> f32 {
    if x.is_nan() || x == 0.0 {
        return x;
    }
    if x.is_infinite() {
        return overflow(x, format);
    }
    let own = f64::from(x).abs().log2().floor() as i32;
    let spacing = 2f32.powi(exponent(own, format.least_exponent()) - format.mantissa as i32);
    let after = (x / spacing).round_ties_even() * spacing;
    if f64::from(after.abs()) > format.max {
        return overflow(x, format);
    }
    after
}

/// Gradients of the loss times one scale, over another, and whether `bad` says so of one of them.
pub fn backward_scaled(
    loss: &Tensor,
    (up, down): (f64, f64),
    backward: Backward,
    bad: impl Fn(&[Vec<f32>]) -> bool,
) -> Result<(Vec<Tensor>, bool)> {
    let grads = backward(&(loss * up)?)?;
    let divided: Vec<Tensor> = grads
        .iter()
        .map(|g| g.to_dtype(DType::F32)? / down)
        .collect::<Result<_>>()?;
    let numbers = divided
        .iter()
        .map(|g| g.flatten_all()?.to_vec1())
        .collect::<Result<Vec<Vec<f32>>>>()?;
    let found = bad(&numbers);
    Ok((divided, found))
}

pub fn not_finite(grads: &[Vec<f32>]) -> bool {
    grads.iter().flatten().any(|v| !v.is_finite())
}

/// What following the loss scale may do differently.
#[derive(Clone, Copy)]
pub struct Follow {
    /// Good steps are forgotten at an overflow.
    pub forgets: bool,
    /// And when it grew.
    pub begins_anew: bool,
    /// Whether it is time to grow, at so many good steps and this interval.
    pub due: fn(u32, u32) -> bool,
    /// Growth and backoff of the state.
    pub by: fn(&DynamicScaler) -> (f64, f64),
    /// The greatest scale.
    pub most: f64,
    /// An overflow counts as a step.
    pub counts_bad: bool,
}

pub const FOLLOW: Follow = Follow {
    forgets: true,
    begins_anew: true,
    due: |good, interval| good >= interval,
    by: |s| (s.growth, s.backoff),
    most: f32::MAX as f64,
    counts_bad: false,
};

pub fn followed(state: &mut DynamicScaler, found_inf: bool, how: Follow) {
    let (growth, backoff) = (how.by)(state);
    if found_inf {
        state.scale *= backoff;
        if how.forgets {
            state.good = 0;
        }
        state.good += u32::from(how.counts_bad);
        return;
    }
    state.good += 1;
    if (how.due)(state.good, state.interval) {
        if state.scale * growth <= how.most {
            state.scale *= growth;
        }
        if how.begins_anew {
            state.good = 0;
        }
    }
}

/// Gradients in fp32.
pub fn wide(grads: &[Tensor]) -> Result<Vec<Tensor>> {
    grads.iter().map(|g| g.to_dtype(DType::F32)).collect()
}

/// Weights from masters.
pub fn copied(masters: &[Var], weights: &[Var], low: Low) -> Result<()> {
    for i in 0..weights.len() {
        weights[i].set(&low(&masters[i].as_detached_tensor())?)?;
    }
    Ok(())
}

/// Widened, stepped, copied; what comes between is the caller's.
pub fn stepped(
    (masters, weights, grads): (&[Var], &[Var], &[Tensor]),
    step: Step,
    low: Low,
    before: impl Fn() -> Result<()>,
    after: impl Fn() -> Result<()>,
) -> Result<()> {
    before()?;
    step(&wide(grads)?)?;
    copied(masters, weights, low)?;
    after()
}

/// Tensor cores by a rule for a side, its number of bytes given, and one for what is worth it.
pub fn cores(
    p: Product,
    format: Format,
    side: impl Fn(usize, usize) -> usize,
    worth: impl Fn([usize; 3]) -> bool,
) -> TensorCores {
    let bytes = match format.bits() {
        0..=8 => 1,
        9..=16 => 2,
        _ => 4,
    };
    TensorCores {
        served: format.mantissa < 23,
        padded: Product {
            m: side(p.m, bytes),
            n: side(p.n, bytes),
            k: side(p.k, bytes),
        },
        worth: worth([p.m, p.n, p.k]),
    }
}

pub fn up(side: usize, bytes: usize) -> usize {
    let piece = 16 / bytes;
    side.div_ceil(piece) * piece
}

pub fn large(sides: [usize; 3]) -> bool {
    sides.iter().all(|&s| s >= 128)
}
