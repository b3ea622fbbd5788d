//! Known wrong answers to exercise 12.3.

use super::*;

/// z = (y − μ)/σ.
fn z(d: &Tensor, log_std: &Tensor) -> Result<Tensor> {
    d * log_std.neg()?.exp()?
}

/// −½z² − ln σ and a constant, times factors.
fn density(d: &Tensor, s: &Tensor, [half, log, constant]: [f64; 3]) -> Result<Tensor> {
    ((z(d, s)?.sqr()? * -half)? - (s * log)?)? - constant
}

const CONSTANT: f64 = TERMS.constant;

/// The log-sum-exp without a maximum.
fn naive(x: &Tensor) -> Result<Tensor> {
    x.exp()?.sum(D::Minus1)?.log()
}

fn softmax(logits: &Tensor) -> Result<Tensor> {
    log_weights(logits)?.exp()
}

pub const MISTAKES: &[Mistake<Lesson12>] = &[
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "The constant ½·ln 2π is missing.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { density: |d, s| density(d, s, [0.5, 1.0, 0.0]), ..MIXING })),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "The constant is ½·ln 2π, not ln 2π.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { density: |d, s| density(d, s, [0.5, 1.0, 2.0 * CONSTANT]), ..MIXING })),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "The constant is ½·ln 2π, not ½·ln π.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { density: |d, s| density(d, s, [0.5, 1.0, 0.5 * std::f64::consts::PI.ln()]), ..MIXING })),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "The constant has the wrong sign: ln N has −½·ln 2π.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { density: |d, s| density(d, s, [0.5, 1.0, -CONSTANT]), ..MIXING })),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "The absolute distance is used; a Gaussian has its square.",
    mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing {
        density: |d, s| ((z(d, s)?.abs()? * -0.5)? - s)? - CONSTANT, ..MIXING
    })),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "The absolute value of the loss is returned; it is negative where the density is above 1.",
        mixture_nll: |w, m, s, y| (REFERENCE.mixture_nll)(w, m, s, y)?.abs()),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "−ln σ is missing in the density: without it, the largest σ is always the best.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { density: |d, s| density(d, s, [0.5, 0.0, CONSTANT]), ..MIXING })),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "The factor ½ of the squared distance is missing.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { density: |d, s| density(d, s, [1.0, 1.0, CONSTANT]), ..MIXING })),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "ln σ has the wrong sign: ln N has −ln σ.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { density: |d, s| density(d, s, [0.5, -1.0, CONSTANT]), ..MIXING })),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "The squared distance has the wrong sign: ln N has −½·((y − μ)/σ)².",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { density: |d, s| density(d, s, [-0.5, 1.0, CONSTANT]), ..MIXING })),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "`log_std` is ln σ, and it is used as ln σ².",
        mixture_nll: |w, m, s, y| (REFERENCE.mixture_nll)(w, m, &(s * 0.5)?, y)),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "The distance is multiplied by σ; divide it: exp(−ln σ).",
    mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing {
        density: |d, s| (((d * s.exp()?)?.sqr()? * -0.5)? - s)? - CONSTANT, ..MIXING
    })),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "`log_std` is used as σ itself; σ is its exponential.",
    mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing {
        density: |d, s| (((d / s)?.sqr()? * -0.5)? - s.abs()?.log()?)? - CONSTANT, ..MIXING
    })),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "This is the log-likelihood; its negative is to minimise.",
        mixture_nll: |w, m, s, y| (REFERENCE.mixture_nll)(w, m, s, y)?.neg()),
    wrong!("12.3", is_the_density_of_one_gaussian_for_k_1, "This is the density; its negative logarithm is the loss.",
        mixture_nll: |w, m, s, y| (REFERENCE.mixture_nll)(w, m, s, y)?.neg()?.exp()),
    wrong!("12.3", sums_the_densities_of_the_components, "The logarithms of the densities are averaged; add the densities first, and take the logarithm of the sum.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { sum: |w, n| (w.exp()? * n)?.sum(D::Minus1), ..MIXING })),
    wrong!("12.3", sums_the_densities_of_the_components, "The logarithms are added over the components; add the densities first, and take the logarithm of the sum.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { sum: |w, n| (w + n)?.sum(D::Minus1), ..MIXING })),
    wrong!("12.3", sums_the_densities_of_the_components, "Only the most likely component counts; add the densities of all.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { sum: |w, n| (w + n)?.max(D::Minus1), ..MIXING })),
    wrong!("12.3", sums_the_densities_of_the_components, "The maximum is subtracted before the exponential and not added again after the logarithm.",
    mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { sum: |w, n| {
        let terms = (w + n)?;
        naive(&terms.broadcast_sub(&terms.max_keepdim(D::Minus1)?)?)
    }, ..MIXING })),
    wrong!("12.3", sums_the_densities_of_the_components, "The weights are left out: the densities must be weighted, also if all logits are equal.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { weights: Tensor::zeros_like, ..MIXING })),
    wrong!("12.3", sums_the_densities_of_the_components, "The weights are added to the logarithms of the densities; add their logarithms.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { weights: softmax, ..MIXING })),
    wrong!("12.3", sums_the_densities_of_the_components, "The means are mixed first: this is the density of one Gaussian at their mean.",
    mixture_nll: |w, m, s, y| {
        (REFERENCE.mixture_nll)(w, m, s, y)?;
        let mix = |x: &Tensor| (softmax(w)? * x)?.sum(D::Minus1);
        (REFERENCE.gaussian_nll)(&mix(m)?, &mix(s)?, y)
    }),
    wrong!("12.3", weights_components_by_the_softmax, "The logits are used as ln w; subtract the log-sum-exp of the row first.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { weights: |w| Ok(w.clone()), ..MIXING })),
    wrong!("12.3", weights_components_by_the_softmax, "All components have the same weight; the logits are not used.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { weights: |w| log_weights(&w.zeros_like()?), ..MIXING })),
    wrong!("12.3", weights_components_by_the_softmax, "The softmax is taken of the negative logits.",
        mixture_nll: |w, m, s, y| (REFERENCE.mixture_nll)(&w.neg()?, m, s, y)),
    wrong!("12.3", weights_components_by_the_softmax, "The softmax is taken twice.",
        mixture_nll: |w, m, s, y| (REFERENCE.mixture_nll)(&softmax(w)?, m, s, y)),
    wrong!("12.3", weights_components_by_the_softmax, "The weights are sigmoids, which do not add up to 1; use the softmax.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { weights: |w| (w.neg()?.exp()? + 1.0)?.log()?.neg(), ..MIXING })),
    wrong!("12.3", weights_components_by_the_softmax, "A small number is added to the weights: a component with a tiny weight then counts too much. Use ln w = logit − log-sum-exp.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { weights: |w| (softmax(w)? + 1e-8)?.log(), ..MIXING })),
    wrong!("12.3", weights_components_by_the_softmax, "A small number is added to the weights: a component with a tiny weight then counts too much. Use ln w = logit − log-sum-exp.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { weights: |w| (softmax(w)? + 1e-12)?.log(), ..MIXING })),
    wrong!("12.3", weights_components_by_the_softmax, "A small number is added to the weights: a component with a tiny weight then counts too much. Use ln w = logit − log-sum-exp.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { weights: |w| (softmax(w)? + 1e-6)?.log(), ..MIXING })),
    wrong!("12.3", weights_components_by_the_softmax, "Small weights are clamped: a component with a tiny weight then counts too much. Use ln w = logit − log-sum-exp.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { weights: |w| softmax(w)?.clamp(1e-6, 1.0)?.log(), ..MIXING })),
    wrong!("12.3", weights_components_by_the_softmax, "Only the component with the greatest weight counts; add the densities of all.",
    mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { sum: |w, n| {
        let most = w.argmax_keepdim(D::Minus1)?;
        (w + n)?.gather(&most, D::Minus1)?.squeeze(D::Minus1)
    }, ..MIXING })),
    wrong!("12.3", averages_over_the_rows, "The losses are added; return their mean.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { mean: |x| x.sum_all()?.neg(), ..MIXING })),
    wrong!("12.3", averages_over_the_rows, "The loss of each row is returned; return their mean, a scalar.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { mean: Tensor::neg, ..MIXING })),
    wrong!("12.3", averages_over_the_rows, "The mean has the shape [1]; a scalar has the shape [].",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { mean: |x| x.mean_keepdim(0)?.neg(), ..MIXING })),
    wrong!("12.3", averages_over_the_rows, "The sum is divided by n·k; divide it by the n rows.",
    mixture_nll: |w, m, s, y| {
        let k = w.dim(1)? as f64;
        (REFERENCE.mixture_nll)(w, m, s, y)? / k
    }),
    wrong!("12.3", averages_over_the_rows, "The softmax goes over the rows (dimension 0); it goes over the components of a row.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { weights: |w| log_weights(&w.t()?)?.t(), ..MIXING })),
    wrong!("12.3", averages_over_the_rows, "The softmax goes over the logits of all rows; each row has its own.",
    mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing {
        weights: |w| log_weights(&w.flatten_all()?.unsqueeze(0)?)?.reshape(w.shape()), ..MIXING
    })),
    wrong!("12.3", averages_over_the_rows, "The densities of all rows are added before the logarithm; each row has its own likelihood, and the mean is of their logarithms.",
    mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing {
        sum: |w, n| log_sum_exp(&(w + n)?.flatten_all()?.unsqueeze(0)?)? - (w.dim(0)? as f64).ln(), ..MIXING
    })),
    wrong!("12.3", averages_over_the_rows, "Only the first row counts.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { mean: |x| x.get(0)?.neg(), ..MIXING })),
    wrong!("12.3", has_the_gradients_of_the_mixture, "The loss is built from numbers or detached: `backward` does not reach the inputs.",
        mixture_nll: |w, m, s, y| Ok((REFERENCE.mixture_nll)(w, m, s, y)?.detach())),
    wrong!("12.3", has_the_gradients_of_the_mixture, "The weights are detached: the logits are not trained.",
        mixture_nll: |w, m, s, y| (REFERENCE.mixture_nll)(&w.detach(), m, s, y)),
    wrong!("12.3", has_the_gradients_of_the_mixture, "`target` is detached; the gradient reaches all four.",
        mixture_nll: |w, m, s, y| (REFERENCE.mixture_nll)(w, m, s, &y.detach())),
    wrong!("12.3", has_the_gradients_of_the_mixture, "`log_std` is detached: σ is not trained.",
        mixture_nll: |w, m, s, y| (REFERENCE.mixture_nll)(w, m, &s.detach(), y)),
    wrong!("12.3", has_the_gradients_of_the_mixture, "The normalisation of the softmax is detached: its gradient is missing.",
    mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing {
        weights: |w| w.broadcast_sub(&log_sum_exp(w)?.unsqueeze(1)?.detach()), ..MIXING
    })),
    wrong!("12.3", stays_finite_far_from_every_component, "The densities themselves are added: far from all components they are 0 in f32, and ln 0 is infinite. Use the log-sum-exp.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { sum: |w, n| naive(&(w + n)?), ..MIXING })),
    wrong!("12.3", stays_finite_far_from_every_component, "A small number is added to the density, so that it has a logarithm: far from all components the loss is constant. Use the log-sum-exp.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { sum: |w, n| ((w + n)?.exp()?.sum(D::Minus1)? + 1e-12)?.log(), ..MIXING })),
    wrong!("12.3", stays_finite_far_from_every_component, "A small number is added to the density, so that it has a logarithm: far from all components the loss is constant. Use the log-sum-exp.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { sum: |w, n| ((w + n)?.exp()?.sum(D::Minus1)? + 1e-10)?.log(), ..MIXING })),
    wrong!("12.3", stays_finite_far_from_every_component, "A small number is added to the density, so that it has a logarithm: far from all components the loss is constant. Use the log-sum-exp.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { sum: |w, n| ((w + n)?.exp()?.sum(D::Minus1)? + 1e-8)?.log(), ..MIXING })),
    wrong!("12.3", stays_finite_far_from_every_component, "A small number is added to the density, so that it has a logarithm: far from all components the loss is constant. Use the log-sum-exp.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { sum: |w, n| ((w + n)?.exp()?.sum(D::Minus1)? + 1e-6)?.log(), ..MIXING })),
    wrong!("12.3", stays_finite_far_from_every_component, "A small number is added to the density, so that it has a logarithm: far from all components the loss is constant. Use the log-sum-exp.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { sum: |w, n| ((w + n)?.exp()?.sum(D::Minus1)? + 1e-30)?.log(), ..MIXING })),
    wrong!("12.3", stays_finite_far_from_every_component, "The logarithms of the densities are clamped from below: far from all components the loss is constant.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { sum: |w, n| log_sum_exp(&(w + n.clamp(-80.0, 80.0)?)?), ..MIXING })),
    wrong!("12.3", stays_finite_far_from_every_component, "The maximum over all rows is subtracted; a row that is far below it becomes 0. Each row needs its own.",
    mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { sum: |w, n| {
        let terms = (w + n)?;
        let top = terms.max_all()?;
        naive(&terms.broadcast_sub(&top)?)?.broadcast_add(&top)
    }, ..MIXING })),
    wrong!("12.3", stays_finite_for_large_logits, "exp of a large logit is infinite in f32: subtract the row's largest logit first.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { weights: |w| w.broadcast_sub(&naive(w)?.unsqueeze(1)?), ..MIXING })),
    wrong!("12.3", stays_finite_for_large_logits, "exp of a large logit is infinite in f32: subtract the row's largest logit first.",
    mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing {
        weights: |w| w.exp()?.broadcast_div(&w.exp()?.sum_keepdim(1)?)?.log(), ..MIXING
    })),
    wrong!("12.3", stays_finite_for_large_logits, "The logarithm of a weight that has become 0 has no finite gradient: subtract the log-sum-exp from the logits instead.",
        mixture_nll: |w, m, s, y| mixed((w, m, s, y), Mixing { weights: |w| softmax(w)?.log(), ..MIXING })),
    wrong!("12.3", stays_finite_for_large_logits, "The logits are clamped; they may be as large as ±10,000.",
        mixture_nll: |w, m, s, y| (REFERENCE.mixture_nll)(&w.clamp(-50.0, 50.0)?, m, s, y)),
    wrong!("12.3", keeps_the_dtype_of_the_mixture, "The loss is f32; it has the dtype of the inputs.",
        mixture_nll: |w, m, s, y| (REFERENCE.mixture_nll)(w, m, s, y)?.to_dtype(DType::F32)),
    wrong!("12.3", keeps_the_dtype_of_the_mixture, "The loss is f64; it has the dtype of the inputs.",
        mixture_nll: |w, m, s, y| (REFERENCE.mixture_nll)(w, m, s, y)?.to_dtype(DType::F64)),
    wrong!("12.3", keeps_the_dtype_of_the_mixture, "The inputs are rounded to f32; f64 has more digits.",
    mixture_nll: |w, m, s, y| {
        let low = |x: &Tensor| x.to_dtype(DType::F32)?.to_dtype(x.dtype());
        (REFERENCE.mixture_nll)(&low(w)?, &low(m)?, &low(s)?, &low(y)?)
    }),
    wrong!("12.3", keeps_the_dtype_of_the_mixture, "The loss is computed in f32; f64 has more digits.",
    mixture_nll: |w, m, s, y| {
        let low = |x: &Tensor| x.to_dtype(DType::F32);
        (REFERENCE.mixture_nll)(&low(w)?, &low(m)?, &low(s)?, &low(y)?)?.to_dtype(w.dtype())
    }),
    wrong!("12.3", rejects_shapes_that_do_not_fit, "A broadcast accepts any dimension of size 1: compare the shapes first.",
    mixture_nll: |w, m, s, y| {
        let d = y.unsqueeze(1)?.broadcast_sub(m)?;
        let z = d.broadcast_mul(&s.neg()?.exp()?)?;
        let n = ((z.sqr()? * -0.5)?.broadcast_sub(s)? - CONSTANT)?;
        log_sum_exp(&log_weights(w)?.broadcast_add(&n)?)?.mean_all()?.neg()
    }),
    wrong!("12.3", rejects_shapes_that_do_not_fit, "`broadcast_sub` repeats a single row of means: compare the shapes first.",
    mixture_nll: |w, m, s, y| {
        if m.dim(0)? != 1 { return (REFERENCE.mixture_nll)(w, m, s, y); }
        (REFERENCE.mixture_nll)(w, &m.broadcast_as(w.shape())?, s, y)
    }),
    wrong!("12.3", rejects_shapes_that_do_not_fit, "A single target is used for all rows: compare the shapes first.",
    mixture_nll: |w, m, s, y| {
        if y.dims() != [1] { return (REFERENCE.mixture_nll)(w, m, s, y); }
        (REFERENCE.mixture_nll)(w, m, s, &y.broadcast_as(w.dim(0)?)?)
    }),
    wrong!("12.3", rejects_shapes_that_do_not_fit, "Shapes that do not fit panic; return an error.",
    mixture_nll: |w, m, s, y| {
        assert_eq!(w.dims(), m.dims());
        assert_eq!(w.dims(), s.dims());
        assert_eq!(w.dim(0)?, y.dim(0)?);
        (REFERENCE.mixture_nll)(w, m, s, y)
    }),
];
