//! Known wrong answers to exercise 12.2.

use super::*;

/// ½·(y − μ)² times a factor from ln σ.
fn scaled(d: &Tensor, factor: Result<Tensor>) -> Result<Tensor> {
    (d.sqr()? * factor?)? * 0.5
}

/// A clamped ln σ.
fn clamped(m: &Tensor, s: &Tensor, y: &Tensor, [least, most]: [f64; 2]) -> Result<Tensor> {
    (REFERENCE.gaussian_nll)(m, &s.clamp(least, most)?, y)
}

/// ½·((y − μ)/(σ + ε))².
fn with_epsilon(d: &Tensor, s: &Tensor, epsilon: f64) -> Result<Tensor> {
    (d * (s.exp()? + epsilon)?.recip()?)?.sqr()? * 0.5
}

/// ½·(y − μ)²/(σ² + ε).
fn with_epsilon_squared(d: &Tensor, s: &Tensor, epsilon: f64) -> Result<Tensor> {
    scaled(d, ((s * 2.0)?.exp()? + epsilon)?.recip())
}

pub const MISTAKES: &[Mistake<Lesson12>] = &[
    wrong!("12.2", measures_the_distance_in_units_of_the_deviation, "The distance is multiplied by σ; divide it: exp(−ln σ).",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| scaled(d, (s * 2.0)?.exp()), ..TERMS })),
    wrong!("12.2", measures_the_distance_in_units_of_the_deviation, "The squared distance is divided by σ; divide it by σ².",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| scaled(d, s.neg()?.exp()), ..TERMS })),
    wrong!("12.2", measures_the_distance_in_units_of_the_deviation, "`log_std` is ln σ, and it is used as ln σ²: the distance is divided by e^(ln σ), and ln σ is halved.",
    gaussian_nll: |m, s, y| {
        gaussian(m, s, y, Terms { of_distance: |d, s| scaled(d, s.neg()?.exp()), of_std: |s| s * 0.5, ..TERMS })
    }),
    wrong!("12.2", measures_the_distance_in_units_of_the_deviation, "`log_std` is used as σ itself; σ is its exponential.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| scaled(d, s.sqr()?.recip()), ..TERMS })),
    wrong!("12.2", measures_the_distance_in_units_of_the_deviation, "`log_std` is used as σ, and its logarithm is taken; it is ln σ already.",
    gaussian_nll: |m, s, y| {
        gaussian(m, s, y, Terms { of_distance: |d, s| scaled(d, s.sqr()?.recip()), of_std: |s| s.log(), ..TERMS })
    }),
    wrong!("12.2", measures_the_distance_in_units_of_the_deviation, "The factor ½ of the squared distance is missing.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| (d * s.neg()?.exp()?)?.sqr(), ..TERMS })),
    wrong!("12.2", measures_the_distance_in_units_of_the_deviation, "The absolute distance is used; a Gaussian has its square.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| (d * s.neg()?.exp()?)?.abs()? * 0.5, ..TERMS })),
    wrong!("12.2", measures_the_distance_in_units_of_the_deviation, "The distance is not divided by σ: this is the squared error.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, _| d.sqr()? * 0.5, ..TERMS })),
    wrong!("12.2", measures_the_distance_in_units_of_the_deviation, "This is the log-likelihood; its negative is to minimise.",
        gaussian_nll: |m, s, y| (REFERENCE.gaussian_nll)(m, s, y)?.neg()),
    wrong!("12.2", measures_the_distance_in_units_of_the_deviation, "The squared distance has the wrong sign: the farther a target is, the greater its loss.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| (d * s.neg()?.exp()?)?.sqr()? * -0.5, ..TERMS })),
    wrong!("12.2", measures_the_distance_in_units_of_the_deviation, "This is the density; its negative logarithm is the loss.",
        gaussian_nll: |m, s, y| (REFERENCE.gaussian_nll)(m, s, y)?.neg()?.exp()),
    wrong!("12.2", includes_the_constant_and_the_deviation, "The constant ½·ln 2π is missing.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { constant: 0.0, ..TERMS })),
    wrong!("12.2", includes_the_constant_and_the_deviation, "The constant is ½·ln 2π, not ln 2π.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { constant: std::f64::consts::TAU.ln(), ..TERMS })),
    wrong!("12.2", includes_the_constant_and_the_deviation, "The constant is ½·ln 2π, not ½·ln π.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { constant: 0.5 * std::f64::consts::PI.ln(), ..TERMS })),
    wrong!("12.2", includes_the_constant_and_the_deviation, "The constant has the wrong sign.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { constant: -TERMS.constant, ..TERMS })),
    wrong!("12.2", includes_the_constant_and_the_deviation, "The absolute value of the loss is returned; it is negative where the density is above 1.",
        gaussian_nll: |m, s, y| (REFERENCE.gaussian_nll)(m, s, y)?.abs()),
    wrong!("12.2", includes_the_constant_and_the_deviation, "ln σ is missing: without it, the largest σ is always the best.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_std: |s| s.zeros_like(), ..TERMS })),
    wrong!("12.2", includes_the_constant_and_the_deviation, "ln σ is halved; it is ½·ln σ² = ln σ.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_std: |s| s * 0.5, ..TERMS })),
    wrong!("12.2", includes_the_constant_and_the_deviation, "ln σ has the wrong sign.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_std: |s| s.neg(), ..TERMS })),
    wrong!("12.2", includes_the_constant_and_the_deviation, "σ is added instead of ln σ.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_std: |s| s.exp(), ..TERMS })),
    wrong!("12.2", averages_over_the_targets, "The losses are added; return their mean.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { mean: |x| x.sum_all(), ..TERMS })),
    wrong!("12.2", averages_over_the_targets, "The loss of each target is returned; return their mean, a scalar.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { mean: |x| Ok(x.clone()), ..TERMS })),
    wrong!("12.2", averages_over_the_targets, "The mean has the shape [1]; a scalar has the shape [].",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { mean: |x| x.mean_keepdim(0), ..TERMS })),
    wrong!("12.2", averages_over_the_targets, "The sum is divided by n − 1; divide it by n.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { mean: |x| x.sum_all()? / (x.dim(0)? as f64 - 1.0).max(1.0), ..TERMS })),
    wrong!("12.2", averages_over_the_targets, "Only the first target counts.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { mean: |x| x.get(0), ..TERMS })),
    wrong!("12.2", averages_over_the_targets, "One σ is used for all targets, the mean of ln σ; each target has its own.",
    gaussian_nll: |m, s, y| {
        alike(m, s, y)?;
        (REFERENCE.gaussian_nll)(m, &s.mean_keepdim(0)?.broadcast_as(m.shape())?, y)
    }),
    wrong!("12.2", has_the_gradients_of_the_formula, "The loss is built from numbers or detached: `backward` does not reach the inputs.",
        gaussian_nll: |m, s, y| Ok((REFERENCE.gaussian_nll)(m, s, y)?.detach())),
    wrong!("12.2", has_the_gradients_of_the_formula, "`log_std` is detached: σ is not trained.",
        gaussian_nll: |m, s, y| (REFERENCE.gaussian_nll)(m, &s.detach(), y)),
    wrong!("12.2", has_the_gradients_of_the_formula, "`mean` is detached: μ is not trained.",
        gaussian_nll: |m, s, y| (REFERENCE.gaussian_nll)(&m.detach(), s, y)),
    wrong!("12.2", has_the_gradients_of_the_formula, "`target` is detached; the gradient reaches all three.",
        gaussian_nll: |m, s, y| (REFERENCE.gaussian_nll)(m, s, &y.detach())),
    wrong!("12.2", stays_finite_for_extreme_deviations, "σ² or 1/σ² is computed first, which overflows or becomes 0 in f32. Compute (y − μ)·exp(−ln σ) and square it.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| (d.sqr()? / (s * 2.0)?.exp()?)? * 0.5, ..TERMS })),
    wrong!("12.2", stays_finite_for_extreme_deviations, "The logarithm of σ² is taken, which overflows or is 0 in f32; ln σ is `log_std` itself.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_std: |s| s.exp()?.sqr()?.log()? * 0.5, ..TERMS })),
    wrong!("12.2", stays_finite_for_extreme_deviations, "σ² or 1/σ² is computed first, which overflows or becomes 0 in f32. Compute (y − μ)·exp(−ln σ) and square it.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| scaled(d, (s * -2.0)?.exp()), ..TERMS })),
    wrong!("12.2", stays_finite_for_extreme_deviations, "ln σ is clamped; it may be between −60 and 60.",
        gaussian_nll: |m, s, y| clamped(m, s, y, [-20.0, 20.0])),
    wrong!("12.2", stays_finite_for_extreme_deviations, "ln σ is clamped; it may be between −60 and 60.",
        gaussian_nll: |m, s, y| clamped(m, s, y, [-10.0, 10.0])),
    wrong!("12.2", stays_finite_for_extreme_deviations, "ln σ is clamped; it may be between −60 and 60.",
        gaussian_nll: |m, s, y| clamped(m, s, y, [-5.0, 5.0])),
    wrong!("12.2", stays_finite_for_extreme_deviations, "ln σ is clamped; it may be between −60 and 60.",
        gaussian_nll: |m, s, y| clamped(m, s, y, [-7.0, 7.0])),
    wrong!("12.2", stays_finite_for_extreme_deviations, "ln σ is clamped; it may be between −60 and 60.",
        gaussian_nll: |m, s, y| clamped(m, s, y, [-3.0, 3.0])),
    wrong!("12.2", stays_finite_for_extreme_deviations, "ln σ is clamped; it may be between −60 and 60.",
        gaussian_nll: |m, s, y| clamped(m, s, y, [-30.0, 30.0])),
    wrong!("12.2", stays_finite_for_extreme_deviations, "ln σ is clamped from below; it may be −60.",
        gaussian_nll: |m, s, y| clamped(m, s, y, [-20.0, 1e3])),
    wrong!("12.2", stays_finite_for_extreme_deviations, "ln σ is clamped from below; it may be −60.",
        gaussian_nll: |m, s, y| clamped(m, s, y, [-10.0, 1e3])),
    wrong!("12.2", stays_finite_for_extreme_deviations, "ln σ is clamped from below; it may be −60.",
        gaussian_nll: |m, s, y| clamped(m, s, y, [-7.0, 1e3])),
    wrong!("12.2", stays_finite_for_extreme_deviations, "ln σ is clamped from below; it may be −60.",
        gaussian_nll: |m, s, y| clamped(m, s, y, [-5.0, 1e3])),
    wrong!("12.2", stays_finite_for_extreme_deviations, "ln σ is clamped from below; it may be −60.",
        gaussian_nll: |m, s, y| clamped(m, s, y, [-3.0, 1e3])),
    wrong!("12.2", stays_finite_for_extreme_deviations, "ln σ is clamped from below; it may be −60.",
        gaussian_nll: |m, s, y| clamped(m, s, y, [-30.0, 1e3])),
    wrong!("12.2", stays_finite_for_extreme_deviations, "A small number is added to σ, which changes the loss when σ is small.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| with_epsilon(d, s, 1e-6), ..TERMS })),
    wrong!("12.2", stays_finite_for_extreme_deviations, "A small number is added to σ, which changes the loss when σ is small.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| with_epsilon(d, s, 1e-7), ..TERMS })),
    wrong!("12.2", stays_finite_for_extreme_deviations, "A small number is added to σ, which changes the loss when σ is small.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| with_epsilon(d, s, 1e-8), ..TERMS })),
    wrong!("12.2", stays_finite_for_extreme_deviations, "A small number is added to σ, which changes the loss when σ is small.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| with_epsilon(d, s, 1e-10), ..TERMS })),
    wrong!("12.2", stays_finite_for_extreme_deviations, "A small number is added to σ², which changes the loss when σ is small.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| with_epsilon_squared(d, s, 1e-6), ..TERMS })),
    wrong!("12.2", stays_finite_for_extreme_deviations, "A small number is added to σ², which changes the loss when σ is small.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| with_epsilon_squared(d, s, 1e-8), ..TERMS })),
    wrong!("12.2", stays_finite_for_extreme_deviations, "A small number is added to σ², which changes the loss when σ is small.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| with_epsilon_squared(d, s, 1e-10), ..TERMS })),
    wrong!("12.2", stays_finite_for_extreme_deviations, "A small number is added to σ², which changes the loss when σ is small.",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| with_epsilon_squared(d, s, 1e-12), ..TERMS })),
    wrong!("12.2", keeps_gradients_finite_for_extreme_deviations, "y − μ is divided by σ: candle's gradient of a division squares the divisor, which overflows or becomes 0 in f32. Multiply by exp(−ln σ).",
        gaussian_nll: |m, s, y| gaussian(m, s, y, Terms { of_distance: |d, s| (d / s.exp()?)?.sqr()? * 0.5, ..TERMS })),
    wrong!("12.2", keeps_the_dtype_of_its_inputs, "The loss is f32; it has the dtype of the inputs.",
        gaussian_nll: |m, s, y| (REFERENCE.gaussian_nll)(m, s, y)?.to_dtype(DType::F32)),
    wrong!("12.2", keeps_the_dtype_of_its_inputs, "The loss is f64; it has the dtype of the inputs.",
        gaussian_nll: |m, s, y| (REFERENCE.gaussian_nll)(m, s, y)?.to_dtype(DType::F64)),
    wrong!("12.2", keeps_the_dtype_of_its_inputs, "The inputs are rounded to f32; f64 has more digits.",
    gaussian_nll: |m, s, y| {
        let low = |x: &Tensor| x.to_dtype(DType::F32)?.to_dtype(x.dtype());
        (REFERENCE.gaussian_nll)(&low(m)?, &low(s)?, &low(y)?)
    }),
    wrong!("12.2", keeps_the_dtype_of_its_inputs, "The loss is computed in f32; f64 has more digits.",
    gaussian_nll: |m, s, y| {
        let low = |x: &Tensor| x.to_dtype(DType::F32);
        (REFERENCE.gaussian_nll)(&low(m)?, &low(s)?, &low(y)?)?.to_dtype(m.dtype())
    }),
    wrong!("12.2", rejects_shapes_that_differ, "A tensor of shape [1] is broadcast to the others; test that the shapes are equal.",
    gaussian_nll: |m, s, y| {
        let d = y.broadcast_sub(m)?;
        let z = d.broadcast_mul(&s.neg()?.exp()?)?;
        ((z.sqr()? * 0.5)?.broadcast_add(s)? + TERMS.constant)?.mean_all()
    }),
    wrong!("12.2", rejects_shapes_that_differ, "A single σ is used for all targets; test that the shapes are equal.",
    gaussian_nll: |m, s, y| {
        if s.dims() != [1] { return (REFERENCE.gaussian_nll)(m, s, y); }
        (REFERENCE.gaussian_nll)(m, &s.broadcast_as(m.shape())?, y)
    }),
    wrong!("12.2", rejects_shapes_that_differ, "Only the numbers of elements are compared: [3, 1] is another shape than [3].",
        gaussian_nll: |m, s, y| (REFERENCE.gaussian_nll)(&m.flatten_all()?, &s.flatten_all()?, &y.flatten_all()?)),
    wrong!("12.2", rejects_shapes_that_differ, "Shapes that differ panic; return an error.",
    gaussian_nll: |m, s, y| {
        assert_eq!(m.dims(), s.dims());
        assert_eq!(m.dims(), y.dims());
        (REFERENCE.gaussian_nll)(m, s, y)
    }),
];
