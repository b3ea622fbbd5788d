//! Known wrong answers to exercise 1.4.

use super::*;

pub const MISTAKES: &[Mistake<Lesson01>] = &[
    wrong!("1.4", accumulates_velocity, "The velocity stays 0: store the new one, μ·v + g, with `set`, for each parameter and in the first step too. A new `Var` is another variable.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let next = ((v * mu)? + g)?;
        Ok((v.copy()?, (w - (next * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The parameter has not changed: store its new value with `set`.",
    momentum_step: |_, g, v, _, mu| v.iter().zip(g).try_for_each(|(v, g)| v.set(&((v.as_detached_tensor() * mu)? + g)?))),
    wrong!("1.4", first_step_is_plain_sgd, "The gradient is multiplied by 1−μ (that is dampening); here it is added as it is.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + (g * (1.0 - mu))?)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "μ multiplies the new gradient as well: μ·v + g, not μ·(v + g).",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v + g)? * mu)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "μ multiplies the gradient, and not the old velocity: μ·v + g.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = (v + (g * mu)?)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "μ multiplies the gradient and 1−μ the velocity: μ·v + g.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * (1.0 - mu))? + (g * mu)?)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "μ multiplies the step of the parameter as well: w − lr·v.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        Ok((v.clone(), (w - (v * (lr * mu))?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The parameter moves by the old velocity: update the velocity first, then the parameter.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        Ok((((v * mu)? + g)?, (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd,
    "The parameter moves by g + μ·v with the new v, which is Nesterov's momentum. If you meant the old v: a tensor from `as_detached_tensor` shows the new value after `set`.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        let ahead = (g + (&v * mu)?)?;
        Ok((v, (w - (ahead * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The parameter moves by velocity and gradient; the new velocity contains the gradient.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        let both = (&v + g)?;
        Ok((v, (w - (both * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The step goes along the velocity; the loss decreases in the opposite direction: w − lr·v.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        Ok((v.clone(), (w + (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The gradient is subtracted from the velocity, and the velocity from the parameter, which goes uphill: v ← μ·v + g.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? - g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The learning rate is left out.",
    momentum_step: |p, g, v, _, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        Ok((v.clone(), (w - v)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The learning rate is applied twice, in the velocity and in the step; it belongs to the step.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + (g * lr)?)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "Only the first parameter is changed; change all of them.",
    momentum_step: |p, g, v, lr, mu| moved(&p[..p.len().min(1)], g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The last parameter is left out: the loop ends one too early.",
        momentum_step: |p, g, v, lr, mu| (REFERENCE.momentum_step)(
            &p[..p.len().max(1) - 1], &g[..g.len().max(1) - 1], &v[..v.len().max(1) - 1], lr, mu)),
    wrong!("1.4", moves_on_without_a_gradient, "An empty list of parameters is an error; such a step has nothing to do, and is Ok.",
    momentum_step: |p, g, v, lr, mu| {
        if p.is_empty() {
            bail!("no parameters");
        }
        (REFERENCE.momentum_step)(p, g, v, lr, mu)
    }),
    wrong!("1.4", first_step_is_plain_sgd, "All parameters share the first velocity; each has its own.",
    momentum_step: |p, g, v, lr, mu| p.iter().zip(g).try_for_each(|(p, g)| {
        moved(std::slice::from_ref(p), std::slice::from_ref(g), v, |w, g, v| {
            let v = ((v * mu)? + g)?;
            Ok((v.clone(), (w - (v * lr)?)?))
        })
    })),
    wrong!("1.4", accumulates_velocity, "The old velocity is not multiplied by μ.",
    momentum_step: |p, g, v, lr, _| moved(p, g, v, |w, g, v| {
        let v = (v + g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", accumulates_velocity, "μ is always 0.9; use `momentum`.",
    momentum_step: |p, g, v, lr, _| moved(p, g, v, |w, g, v| {
        let v = ((v * 0.9)? + g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", accumulates_velocity, "The velocity is updated, but the parameter moves by the gradient alone: w − lr·v.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        Ok((((v * mu)? + g)?, (w - (g * lr)?)?))
    })),
    wrong!("1.4", accumulates_velocity, "The gradient is stored as the velocity; store the new velocity, μ·v + g.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let next = ((v * mu)? + g)?;
        Ok((g.clone(), (w - (next * lr)?)?))
    })),
    wrong!("1.4", accumulates_velocity, "Where the gradient changes its sign, the velocity starts anew; the rule keeps μ·v.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let same = (v * g)?.ge(0.0)?.to_dtype(g.dtype())?;
        let v = (((v * same)? * mu)? + g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", stores_the_velocity,
    "The learning rate is inside the velocity, so that an old rate stays in it; multiply by the rate in the step.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + (g * lr)?)?;
        Ok((v.clone(), (w - v)?))
    })),
    wrong!("1.4", stores_the_velocity,
    "The learning rate is inside the velocity, and its sign is turned: v ← μ·v + g, then w ← w − lr·v.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? - (g * lr)?)?;
        Ok((v.clone(), (w + v)?))
    })),
    wrong!("1.4", accumulates_velocity, "The first step stores lr·g as the velocity; it stores g, like every other step.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let next = ((v * mu)? + g)?;
        let kept = if is_zero(v)? { (g * lr)? } else { next.clone() };
        Ok((kept, (w - (next * lr)?)?))
    })),
    wrong!("1.4", stores_the_velocity, "The velocity has the opposite sign: v ← μ·v + g, then w ← w − lr·v.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? - g)?;
        Ok((v.clone(), (w + (v * lr)?)?))
    })),
    wrong!("1.4", stores_the_velocity, "The velocity is stored times μ: store v itself, and multiply by μ in the next step.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = (v + g)?;
        Ok(((&v * mu)?, (w - (v * lr)?)?))
    })),
    wrong!("1.4", excludes_the_learning_rate_from_the_velocity, "Nothing is done if the learning rate is 0; the velocity must still be updated.",
    momentum_step: |p, g, v, lr, mu| if lr == 0.0 { Ok(()) } else { (REFERENCE.momentum_step)(p, g, v, lr, mu) }),
    wrong!("1.4", moves_on_without_a_gradient, "A gradient of 0 skips the parameter, or ends the function; the velocity still moves the parameter, and falls.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        if is_zero(g)? {
            return Ok((v.copy()?, w.copy()?));
        }
        let v = ((v * mu)? + g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", uses_the_current_momentum, "With μ = 0 the velocity is not updated; it is then the gradient.",
    momentum_step: |p, g, v, lr, mu| if mu == 0.0 { (REFERENCE.sgd_step)(p, g, lr) } else { (REFERENCE.momentum_step)(p, g, v, lr, mu) }),
    wrong!("1.4", keeps_the_dtype_of_the_velocity, "The step is computed in f32; compute it in the dtype of the parameter.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let f = |t: &Tensor| t.to_dtype(DType::F32);
        let v = ((f(v)? * mu)? + f(g)?)?;
        Ok((v.to_dtype(w.dtype())?, (f(w)? - (v * lr)?)?.to_dtype(w.dtype())?))
    })),
    wrong!("1.4", keeps_the_dtype_of_the_velocity, "lr or μ is rounded to f32; a number of f64 combines with a tensor of any dtype.",
    momentum_step: |p, g, v, lr, mu| (REFERENCE.momentum_step)(p, g, v, lr, f64::from(mu as f32))),
    wrong!("1.4", keeps_the_dtype_of_the_velocity, "lr or μ is rounded to f32; a number of f64 combines with a tensor of any dtype.",
    momentum_step: |p, g, v, lr, mu| (REFERENCE.momentum_step)(p, g, v, f64::from(lr as f32), f64::from(mu as f32))),
    wrong!("1.4", keeps_the_dtype_of_the_velocity,
        "A tensor of f32 does not combine with a parameter of another dtype. A number does: `grad * lr`.",
        momentum_step: |p, _, _, lr, _| p.iter().try_for_each(|p| p.as_detached_tensor().broadcast_mul(&Tensor::new(lr as f32, p.device())?).map(|_| ()))),
    wrong!("1.4", keeps_the_dtype_of_the_velocity, "The values are read as f32, and the parameter has another dtype: compute with tensors.",
        momentum_step: |p, _, _, _, _| p.iter().try_for_each(|p| p.flatten_all()?.to_vec1::<f32>().map(|_| ()))),
];
