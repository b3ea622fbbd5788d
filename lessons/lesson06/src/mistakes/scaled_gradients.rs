//! Known wrong answers to exercise 6.3.

use super::*;

fn overflowed(grad: &Tensor) -> bool {
    let numbers = grad.flatten_all().and_then(|g| g.to_vec1());
    numbers.is_ok_and(|v| not_finite(&[v]))
}

pub const MISTAKES: &[Mistake<Lesson06>] = &[
    wrong!("6.3", runs_backward_from_the_scaled_loss, "`backward` gets the loss itself; pass it the loss times the scale.",
        scaled_gradients: |l, s, w| backward_scaled(l, (1.0, 1.0), w, |g| s.is_nan() || not_finite(g))),
    wrong!("6.3", runs_backward_from_the_scaled_loss, "The loss is divided by the scale; multiply it.",
        scaled_gradients: |l, s, w| backward_scaled(l, (1.0 / s, 1.0 / s), w, not_finite)),
    wrong!("6.3", returns_unscaled_gradients, "The gradients are those of the scaled loss; divide them by the scale.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, 1.0), w, not_finite)),
    wrong!("6.3", returns_unscaled_gradients, "The gradients are multiplied by the scale again; divide them.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, 1.0 / s), w, not_finite)),
    wrong!("6.3", returns_unscaled_gradients, "Only the first gradient is divided.",
    scaled_gradients: |l, s, w| {
        let (mut grads, found) = backward_scaled(l, (s, 1.0), w, not_finite)?;
        if let Some(first) = grads.first_mut() { *first = (&*first / s)?; }
        Ok((grads, found))
    }),
    wrong!("6.3", converts_to_fp32_before_dividing, "The gradients are divided in their own dtype: in fp16 the quotient is 0. Convert them to fp32 first.",
    scaled_gradients: |l, s, backward| {
        backward_scaled(l, (s, 1.0), &mut |l| backward(l)?.iter().map(|g| g / s).collect(), not_finite)
    }),
    wrong!("6.3", converts_to_fp32_before_dividing, "The gradients are returned in fp16; return fp32.",
    scaled_gradients: |l, s, backward| {
        let mut types = Vec::new();
        let (grads, found) = backward_scaled(l, (s, s), &mut |l| {
            let grads = backward(l)?;
            types = grads.iter().map(Tensor::dtype).collect();
            Ok(grads)
        }, not_finite)?;
        let back = grads.iter().zip(&types).map(|(g, t)| g.to_dtype(*t));
        Ok((back.collect::<Result<_>>()?, found))
    }),
    wrong!("6.3", finds_inf_and_nan, "Infinities are found, but NaN is not: no comparison with NaN is true. `is_finite` finds both.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |g| g.iter().flatten().any(|v| v.is_infinite()))),
    wrong!("6.3", finds_inf_and_nan, "NaN is found, but infinities are not.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |g| g.iter().flatten().any(|v| v.is_nan()))),
    wrong!("6.3", finds_inf_and_nan, "Only the last gradient decides; any of them is enough.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |g| not_finite(&g[g.len().saturating_sub(1)..]))),
    wrong!("6.3", finds_inf_and_nan, "Only the first gradient is checked.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |g| not_finite(&g[..1.min(g.len())]))),
    wrong!("6.3", returns_gradients_that_overflowed, "Gradients that overflowed are missing in the result; return all of them.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        Ok((if found { Vec::new() } else { grads }, found))
    }),
    wrong!("6.3", accepts_large_finite_gradients, "The sum is checked, which can overflow although no gradient does. Multiply by 0 first, or check each number.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |g| g.iter().any(|g| !g.iter().sum::<f32>().is_finite()))),
    wrong!("6.3", accepts_large_finite_gradients, "Squares are summed, which can overflow although no gradient does.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |g| g.iter().flatten().any(|v| !(v * v).is_finite()))),
    wrong!("6.3", runs_backward_once, "`backward` is called twice: that costs a second backward pass.",
    scaled_gradients: |l, s, backward| {
        backward(&(l * s)?)?;
        backward_scaled(l, (s, s), backward, not_finite)
    }),
    wrong!("6.3", returns_errors_of_the_backward_pass, "An error of `backward` is ignored as if there were no gradients.",
    scaled_gradients: |l, s, backward| {
        backward_scaled(l, (s, s), &mut |l| Ok(backward(l).unwrap_or_default()), not_finite)
    }),
    wrong!("6.3", runs_backward_from_the_scaled_loss, "The loss passed to `backward` must keep its shape [], without any axis.",
        scaled_gradients: |l, s, w| backward_scaled(&l.reshape(1)?, (s, s), w, not_finite)),
    wrong!("6.3", runs_backward_from_the_scaled_loss, "`detach` and a new tensor from a number cut the graph, so that there is no path back to the parameters. Multiply `loss` itself.",
        scaled_gradients: |l, s, w| backward_scaled(&l.detach(), (s, s), w, not_finite)),
    wrong!("6.3", returns_unscaled_gradients, "The gradients are in the opposite order; return them in the order of `backward`.",
    scaled_gradients: |l, s, w| {
        let (mut grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        grads.reverse();
        Ok((grads, found))
    }),
    wrong!("6.3", returns_unscaled_gradients, "The gradients are f64; return f32.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, 1.0), w, not_finite)?;
        Ok((grads.iter().map(|g| g.to_dtype(DType::F64)? / s).collect::<Result<_>>()?, found))
    }),
    wrong!("6.3", returns_unscaled_gradients, "The gradients are flattened; return each in its shape.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        Ok((grads.iter().map(Tensor::flatten_all).collect::<Result<_>>()?, found))
    }),
    wrong!("6.3", returns_unscaled_gradients, "`found_inf` is inverted: it must be true if a gradient is infinite or NaN.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |g| !not_finite(g))),
    wrong!("6.3", returns_unscaled_gradients, "The gradients are divided by the scale twice.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s * s), w, not_finite)),
    wrong!("6.3", returns_unscaled_gradients, "One gradient is returned; return one for each parameter.",
    scaled_gradients: |l, s, w| {
        let (mut grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        grads.truncate(1);
        Ok((grads, found))
    }),
    wrong!("6.3", converts_to_fp32_before_dividing, "With a scale of 1, the gradients are not converted: return fp32 for every scale.",
    scaled_gradients: |l, s, backward| {
        if s == 1.0 { Ok((backward(l)?, false)) } else { backward_scaled(l, (s, s), backward, not_finite) }
    }),
    wrong!("6.3", finds_inf_and_nan, "`found_inf` is always false.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |_| false)),
    wrong!("6.3", finds_inf_and_nan, "-inf is not found: a comparison with `f32::INFINITY` is only true for +inf. `is_finite` finds both.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |g| g.iter().flatten().any(|v| v.is_nan() || *v == f32::INFINITY))),
    wrong!("6.3", finds_inf_and_nan, "All gradients must be infinite or NaN here; one is enough.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |g| g.iter().all(|g| not_finite(std::slice::from_ref(g))))),
    wrong!("6.3", finds_inf_and_nan, "Only the first number of each gradient is checked.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |g| g.iter().any(|g| g.first().is_some_and(|v| !v.is_finite())))),
    wrong!("6.3", finds_inf_and_nan, "The sum of all numbers is infinite only if no -inf is among them: inf − inf is NaN. Multiply by 0 and look for NaN.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |g| g.iter().flatten().sum::<f32>().is_infinite())),
    wrong!("6.3", returns_gradients_that_overflowed, "The gradients from the first that is not finite are missing; return all of them.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        Ok((grads.into_iter().take_while(|g| !overflowed(g)).collect(), found))
    }),
    wrong!("6.3", returns_gradients_that_overflowed, "The gradients after the first that is not finite are missing; return all of them.",
    scaled_gradients: |l, s, w| {
        let (mut grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        if let Some(at) = grads.iter().position(overflowed) { grads.truncate(at + 1); }
        Ok((grads, found))
    }),
    wrong!("6.3", returns_gradients_that_overflowed, "The gradients are replaced by 0 after an overflow; return them as they are.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        if !found { return Ok((grads, found)); }
        Ok((grads.iter().map(Tensor::zeros_like).collect::<Result<_>>()?, found))
    }),
    wrong!("6.3", returns_gradients_that_overflowed, "Numbers that are not finite are replaced by 0; return them as they are.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        let fine = |g: &Tensor| -> Result<Tensor> {
            let list: Vec<f32> = g.flatten_all()?.to_vec1()?;
            let list: Vec<f32> = list.into_iter().map(|v| if v.is_finite() { v } else { 0.0 }).collect();
            Tensor::from_vec(list, g.dims(), g.device())
        };
        Ok((grads.iter().map(fine).collect::<Result<_>>()?, found))
    }),
    wrong!("6.3", accepts_large_finite_gradients, "What is beyond 65,504 counts as an overflow; the gradients are fp32 here, and only infinite and NaN ones count.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |g| g.iter().flatten().any(|v| v.is_nan() || v.abs() > 65504.0))),
    wrong!("6.3", accepts_large_finite_gradients, "The sum of all gradients is checked, which can overflow although no gradient does. Multiply by 0 first, or check each number.",
        scaled_gradients: |l, s, w| backward_scaled(l, (s, s), w, |g| !g.iter().flatten().sum::<f32>().is_finite())),
    wrong!("6.3", looks_at_the_returned_gradients, "The gradients are checked before they are divided; a scale below 1 makes large ones infinite.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, 1.0), w, not_finite)?;
        Ok((grads.iter().map(|g| g / s).collect::<Result<_>>()?, found))
    }),
    wrong!("6.3", accepts_no_gradients, "Tensors of an empty list cannot be stacked, concatenated or reduced: return no gradients and false.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        let flat = grads.iter().map(Tensor::flatten_all).collect::<Result<Vec<_>>>()?;
        Tensor::cat(&flat, 0)?;
        Ok((grads, found))
    }),
    wrong!("6.3", accepts_no_gradients, "Tensors of an empty list cannot be stacked, concatenated or reduced: return no gradients and false.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        let sums = grads.iter().map(Tensor::sum_all).collect::<Result<Vec<_>>>()?;
        Tensor::stack(&sums, 0)?;
        Ok((grads, found))
    }),
    wrong!("6.3", accepts_no_gradients, "An empty list has no first gradient, so that `grads[0]` panics: return no gradients and false.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        let _ = grads[0].device();
        Ok((grads, found))
    }),
    wrong!("6.3", accepts_no_gradients, "An empty list is taken for an error; return no gradients and false.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        let none = grads.is_empty();
        Ok((grads, found || none))
    }),
    wrong!("6.3", runs_backward_once, "`backward` is called again after an overflow; call it once.",
    scaled_gradients: |l, s, w| {
        let first = backward_scaled(l, (s, s), w, not_finite)?;
        if first.1 { backward_scaled(l, (s, s), w, not_finite) } else { Ok(first) }
    }),
    wrong!("6.3", returns_errors_of_the_backward_pass, "An error of `backward` becomes a panic; return it with `?`.",
    scaled_gradients: |l, s, backward| {
        let backward: canopy::precision::Backward = backward;
        backward_scaled(l, (s, s), &mut |l| Ok(backward(l).unwrap()), not_finite)
    }),
    wrong!("6.3", returns_gradients_that_overflowed, "Gradients that are not finite are left out; return all of them.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        Ok((grads.into_iter().filter(|g| !overflowed(g)).collect(), found))
    }),
    wrong!("6.3", returns_gradients_that_overflowed, "A gradient that is not finite is replaced by zeros; return it as it is.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        let fine = |g: &Tensor| if overflowed(g) { g.zeros_like() } else { Ok(g.clone()) };
        Ok((grads.iter().map(fine).collect::<Result<_>>()?, found))
    }),
    wrong!("6.3", returns_gradients_that_overflowed, "After an overflow the gradients are not divided; divide them in any case.",
    scaled_gradients: |l, s, w| {
        let (grads, found) = backward_scaled(l, (s, s), w, not_finite)?;
        if !found { return Ok((grads, found)); }
        Ok((grads.iter().map(|g| g * s).collect::<Result<_>>()?, found))
    }),
];
