//! Known wrong answers to exercise 6.5.

use super::*;

pub const MISTAKES: &[Mistake<Lesson06>] = &[
    wrong!("6.5", gives_the_optimizer_fp32_gradients, "The optimizer gets gradients in bf16; convert them to fp32.",
        master_step: |m, w, g, step, low| { step(g)?; copied(m, w, low) }),
    wrong!("6.5", rounds_masters_into_weights, "The weights are not changed; set each to its rounded master.",
        master_step: |_, _, g, step, _| step(&wide(g)?)),
    wrong!("6.5", rounds_masters_into_weights, "The weights are set before the step, so they are one step behind.",
        master_step: |m, w, g, step, low| { copied(m, w, low)?; step(&wide(g)?) }),
    wrong!("6.5", rounds_masters_into_weights, "Only the first weight is set.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        copied(m, &w[..1.min(w.len())], low)
    }),
    wrong!("6.5", does_not_round_the_masters, "The masters are rounded as well; they must keep all their bits.",
    master_step: |m, w, g, step, low| stepped((m, w, g), step, low, || Ok(()), || {
        m.iter().try_for_each(|m| m.set(&low(m.as_tensor())?.to_dtype(DType::F32)?))
    })),
    wrong!("6.5", does_not_round_the_masters, "A master is set to what `low` returns, which has the dtype of the weights. Set the weight; the masters stay fp32.",
    master_step: |m, _, g, step, low| {
        step(&wide(g)?)?;
        m.iter().try_for_each(|m| m.set(&low(m.as_tensor())?))
    }),
    wrong!("6.5", rounds_masters_into_weights, "A weight is set to the master as it is, in fp32. Set it to what `low` returns, which has the dtype of the weights.",
    master_step: |m, w, g, step, _| {
        step(&wide(g)?)?;
        m.iter().zip(w).try_for_each(|(m, w)| w.set(m.as_tensor()))
    }),
    wrong!("6.5", accumulates_small_updates, "The step starts from the rounded weights, so that small updates are lost each time. Start from the masters.",
    master_step: |m, w, g, step, low| stepped((m, w, g), step, low, || {
        m.iter().zip(w).try_for_each(|(m, w)| m.set(&w.as_detached_tensor().to_dtype(DType::F32)?))
    }, || Ok(()))),
    wrong!("6.5", calls_the_optimizer_once, "`step` is called twice: the optimizer takes two steps.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        step(&wide(g)?)?;
        copied(m, w, low)
    }),
    wrong!("6.5", calls_the_optimizer_once, "`step` is called for each gradient separately; call it once with all of them.",
    master_step: |m, w, g, step, low| {
        wide(g)?.iter().try_for_each(|g| step(std::slice::from_ref(g)))?;
        copied(m, w, low)
    }),
    wrong!("6.5", leaves_weights_unchanged_on_error, "The weights are set although the step failed: use `?` after it.",
    master_step: |m, w, g, step, low| {
        let done = step(&wide(g)?);
        copied(m, w, low)?;
        done
    }),
    wrong!("6.5", leaves_weights_unchanged_on_error, "The error of the step is ignored.",
    master_step: |m, w, g, step, low| {
        if step(&wide(g)?).is_ok() { copied(m, w, low)?; }
        Ok(())
    }),
    wrong!("6.5", gives_the_optimizer_fp32_gradients, "The optimizer gets gradients in f64; convert them to fp32.",
    master_step: |m, w, g, step, low| {
        let f64s = g.iter().map(|g| g.to_dtype(DType::F64)).collect::<Result<Vec<_>>>()?;
        step(&f64s)?;
        copied(m, w, low)
    }),
    wrong!("6.5", gives_the_optimizer_fp32_gradients, "The gradients are passed in the opposite order; keep the order of the masters.",
    master_step: |m, w, g, step, low| {
        let mut wide = wide(g)?;
        wide.reverse();
        step(&wide)?;
        copied(m, w, low)
    }),
    wrong!("6.5", does_not_round_gradients, "The gradients are rounded by `low` as well; convert them with `to_dtype(DType::F32)` only.",
    master_step: |m, w, g, step, low| {
        let rounded = g.iter().map(|g| low(g)?.to_dtype(DType::F32)).collect::<Result<Vec<_>>>()?;
        step(&rounded)?;
        copied(m, w, low)
    }),
    wrong!("6.5", calls_the_optimizer_once, "`step` is never called.",
        master_step: |m, w, _, _, low| copied(m, w, low)),
    wrong!("6.5", rounds_masters_into_weights, "The last weight is not set.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        copied(m, &w[..w.len().saturating_sub(1)], low)
    }),
    wrong!("6.5", rounds_masters_into_weights, "`low` rounds the old weights; round the masters, and set the weights to that.",
    master_step: |_, w, g, step, low| {
        step(&wide(g)?)?;
        w.iter().try_for_each(|w| w.set(&low(w.as_tensor())?))
    }),
    wrong!("6.5", accumulates_small_updates, "The change of the master is added to the rounded weight; set the weight to the rounded master itself.",
    master_step: |m, w, g, step, low| {
        let before = m.iter().map(|m| m.as_detached_tensor().copy()).collect::<Result<Vec<_>>>()?;
        step(&wide(g)?)?;
        for ((m, w), b) in m.iter().zip(w).zip(&before) {
            let change = (m.as_detached_tensor() - b)?;
            w.set(&low(&(w.as_detached_tensor().to_dtype(DType::F32)? + change)?)?)?;
        }
        Ok(())
    }),
    wrong!("6.5", rounds_by_low, "The master is cast to the weight's dtype, and `low` is not used.",
    master_step: |m, w, g, step, _| {
        step(&wide(g)?)?;
        m.iter().zip(w).try_for_each(|(m, w)| w.set(&m.as_detached_tensor().to_dtype(w.dtype())?.copy()?))
    }),
    wrong!("6.5", rounds_by_low, "The master is cast to the weight's dtype before `low` rounds it: it is rounded twice.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        m.iter().zip(w).try_for_each(|(m, w)| w.set(&low(&m.as_detached_tensor().to_dtype(w.dtype())?)?.to_dtype(w.dtype())?))
    }),
    wrong!("6.5", rounds_every_master, "Weights whose gradient is 0 are not set, but momentum or weight decay may have changed their masters.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        for ((m, w), g) in m.iter().zip(w).zip(wide(g)?) {
            if g.abs()?.sum_all()?.to_scalar::<f32>()? > 0.0 { copied(std::slice::from_ref(m), std::slice::from_ref(w), low)?; }
        }
        Ok(())
    }),
    wrong!("6.5", rounds_every_master, "Weights whose gradient is not finite are not set; each weight is its master, whatever its gradient is.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        for ((m, w), g) in m.iter().zip(w).zip(wide(g)?) {
            if g.sum_all()?.to_scalar::<f32>()?.is_finite() { copied(std::slice::from_ref(m), std::slice::from_ref(w), low)?; }
        }
        Ok(())
    }),
    wrong!("6.5", calls_the_optimizer_once, "Gradients that are not finite become 0; pass them as they are. The loss scaler decides what follows.",
    master_step: |m, w, g, step, low| {
        let fine = |g: &Tensor| if g.sum_all()?.to_scalar::<f32>()?.is_finite() { Ok(g.clone()) } else { g.zeros_like() };
        let fine = wide(g)?.iter().map(fine).collect::<Result<Vec<_>>>()?;
        step(&fine)?;
        copied(m, w, low)
    }),
    wrong!("6.5", gives_the_optimizer_fp32_gradients, "Only bf16 gradients are converted; fp16 ones must be fp32 as well.",
    master_step: |m, w, g, step, low| {
        let some = |g: &Tensor| if g.dtype() == DType::BF16 { g.to_dtype(DType::F32) } else { Ok(g.clone()) };
        step(&g.iter().map(some).collect::<Result<Vec<_>>>()?)?;
        copied(m, w, low)
    }),
    wrong!("6.5", leaves_weights_unchanged_on_error, "An error of the step becomes a panic; return it with `?`.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?).unwrap();
        copied(m, w, low)
    }),
    wrong!("6.5", returns_errors_of_low, "An error of `low` is ignored; return it with `?`.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        let _ = copied(m, w, low);
        Ok(())
    }),
    wrong!("6.5", returns_errors_of_low, "An error of `low` becomes a panic; return it with `?`.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        m.iter().zip(w).try_for_each(|(m, w)| w.set(&low(&m.as_detached_tensor()).unwrap()))
    }),
    wrong!("6.5", calls_the_optimizer_once, "The step is skipped if a gradient is not finite; the loss scaler decides that, not this function.",
    master_step: |m, w, g, step, low| {
        let g = wide(g)?;
        let sums = g.iter().map(|g| (g * 0.0)?.sum_all()?.to_scalar::<f32>());
        if sums.collect::<Result<Vec<_>>>()?.iter().any(|s| s.is_nan()) { return Ok(()); }
        step(&g)?;
        copied(m, w, low)
    }),
    wrong!("6.5", rounds_by_low, "The result of `low` is converted to bf16; it has the dtype of the weights, so set them to it as it is.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        m.iter().zip(w).try_for_each(|(m, w)| w.set(&low(&m.as_detached_tensor())?.to_dtype(DType::BF16)?))
    }),
    wrong!("6.5", rounds_by_low, "Weights in fp32 are not rounded: `low` may round to a smaller format than their dtype.",
    master_step: |m, w, g, step, low| {
        step(&wide(g)?)?;
        m.iter().zip(w).try_for_each(|(m, w)| {
            let master = m.as_detached_tensor();
            w.set(&if w.dtype() == DType::F32 { master.copy()? } else { low(&master)? })
        })
    }),
    wrong!("6.5", rounds_masters_into_weights, "The masters are set back to their values before the step; leave them as the optimizer left them.",
    master_step: |m, w, g, step, low| {
        let before = m.iter().map(|m| m.as_detached_tensor().copy()).collect::<Result<Vec<_>>>()?;
        stepped((m, w, g), step, low, || Ok(()), || m.iter().zip(&before).try_for_each(|(m, b)| m.set(b)))
    }),
    wrong!("6.5", gives_the_optimizer_fp32_gradients, "The gradients are overwritten by 0 before the step.",
    master_step: |m, w, g, step, low| {
        for g in g.iter().filter(|g| g.rank() > 0) { g.slice_set(&g.zeros_like()?, 0, 0)?; }
        step(&wide(g)?)?;
        copied(m, w, low)
    }),
];
