//! Known wrong answers to exercise 1.3.

use super::*;

pub const MISTAKES: &[Mistake<Lesson01>] = &[
    wrong!("1.3", steps_down_the_gradient, "The step goes along the gradient; the loss decreases in the opposite direction.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w + (g * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "The learning rate is left out.",
        sgd_step: |p, g, _| each(p, g, |w, g| w - g)),
    wrong!("1.3", steps_down_the_gradient, "The gradient is divided by the learning rate; it is multiplied by it.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g / lr)?)),
    wrong!("1.3", steps_down_the_gradient, "Only the sign of the gradient is used; its size matters as well.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g.sign()? * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "The parameter is set to the step; subtract the step from the parameter.",
        sgd_step: |p, g, lr| each(p, g, |_, g| g * -lr)),
    wrong!("1.3", steps_down_the_gradient, "The parameter is set to lr·g; subtract that from the parameter.",
        sgd_step: |p, g, lr| each(p, g, |_, g| g * lr)),
    wrong!("1.3", steps_down_the_gradient, "The parameter is multiplied by the learning rate as well: w − lr·g, not lr·(w − g).",
        sgd_step: |p, g, lr| each(p, g, |w, g| (w - g)? * lr)),
    wrong!("1.3", steps_down_the_gradient, "The parameter is multiplied by 1 − lr as well; w − lr·g is all.",
        sgd_step: |p, g, lr| each(p, g, |w, g| (w * (1.0 - lr))? - (g * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "The parameter is subtracted from the step; it is the other way round.",
        sgd_step: |p, g, lr| each(p, g, |w, g| (g * lr)? - w)),
    wrong!("1.3", steps_down_the_gradient, "The gradient is cut off at ±1; use it as it is.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g.clamp(-1.0, 1.0)? * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "The gradient is scaled to length 1; its size matters as well.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g.broadcast_div(&g.sqr()?.sum_all()?.sqrt()?)? * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "All entries move by the mean of the gradient; each moves by its own.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w.broadcast_sub(&(g.mean_all()? * lr)?))),
    wrong!("1.3", steps_down_the_gradient, "The step is taken twice.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g * (2.0 * lr))?)),
    wrong!("1.3", steps_down_the_gradient, "The step is divided by the number of entries; use the gradient as it is.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g * (lr / g.elem_count() as f64))?)),
    wrong!("1.3", steps_down_the_gradient, "The step is divided by the number of parameters; each one takes the whole step.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g * (lr / p.len() as f64))?)),
    wrong!("1.3", steps_down_the_gradient, "All parameters use the first gradient; each has its own.",
        sgd_step: |p, g, lr| each(p, g, |w, _| w - (&g[0] * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "Parameters and gradients are paired in opposite order.",
        sgd_step: |p, g, lr| p.iter().zip(g.iter().rev()).try_for_each(|(p, g)| p.set(&(p.as_detached_tensor() - (g * lr)?)?))),
    wrong!("1.3", steps_down_the_gradient, "The variable has not changed: store the new value with `param.set(&new)`. A new `Var` is another variable.",
        sgd_step: |p, g, lr| p.iter().zip(g).try_for_each(|(p, g)| (p.as_tensor() - (g * lr)?).map(|_| ()))),
    wrong!("1.3", steps_down_the_gradient, "`set` cannot copy a variable onto itself: pass it a new tensor.",
        sgd_step: |p, _, _| p.iter().try_for_each(|p| p.set(&p.as_detached_tensor()))),
    wrong!("1.3", steps_down_the_gradient, "Only parameters with one axis can be read with `to_vec1`: compute with tensors of any shape.",
        sgd_step: |p, _, _| p.iter().try_for_each(|p| p.to_dtype(DType::F64)?.to_vec1::<f64>().map(|_| ()))),
    wrong!("1.3", steps_down_the_gradient, "Only parameters with one axis can be read with `to_vec1`: compute with tensors of any shape.",
        sgd_step: |p, _, _| p.iter().try_for_each(|p| p.to_vec1::<f32>().map(|_| ()))),
    wrong!("1.3", steps_down_the_gradient, "The new value is flat: `set` requires the shape of the variable.",
        sgd_step: |p, g, lr| p.iter().zip(g).try_for_each(|(p, g)| p.set(&(p.flatten_all()?.detach() - (g.flatten_all()? * lr)?)?))),
    wrong!("1.3", steps_down_the_gradient, "Only the first parameter is changed; change all of them.",
        sgd_step: |p, g, lr| each(&p[..p.len().min(1)], g, |w, g| w - (g * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "Only the last parameter is changed; change all of them.",
        sgd_step: |p, g, lr| each(&p[p.len().max(1) - 1..], &g[p.len().max(1) - 1..], |w, g| w - (g * lr)?)),
    wrong!("1.3", updates_every_parameter, "Parameters are stacked, which requires equal shapes; step them one by one.",
        sgd_step: |p, _, _| Tensor::stack(&p.iter().map(|p| p.as_tensor()).collect::<Vec<_>>(), 0).map(|_| ())),
    wrong!("1.3", updates_every_parameter, "The last parameter is left out: the loop ends one too early.",
        sgd_step: |p, g, lr| each(&p[..p.len().max(1) - 1], g, |w, g| w - (g * lr)?)),
    wrong!("1.3", updates_every_parameter, "An empty list of parameters is an error; such a step has nothing to do, and is Ok.",
    sgd_step: |p, g, lr| {
        if p.is_empty() {
            bail!("no parameters");
        }
        each(p, g, |w, g| w - (g * lr)?)
    }),
    wrong!("1.3", updates_every_parameter, "The first parameter is used although there may be none.",
    sgd_step: |p, g, lr| {
        let dtype = p[0].dtype();
        each(p, g, |w, g| w - (g.to_dtype(dtype)? * lr)?)
    }),
    wrong!("1.3", updates_every_parameter, "Only parameters with two axes can be read with `to_vec2` or `dims2`: compute with tensors of any shape.",
    sgd_step: |p, g, lr| each(p, g, |w, g| {
        w.to_vec2::<f32>()?;
        w - (g * lr)?
    })),
    wrong!("1.3", updates_every_parameter, "A parameter of shape [] has no first axis: compute with whole tensors, of any shape.",
    sgd_step: |p, g, lr| each(p, g, |w, g| {
        w.dim(0)?;
        w - (g * lr)?
    })),
    wrong!("1.3", updates_every_parameter, "Parameters are taken in pairs, so that the last of an odd number is left out.",
        sgd_step: |p, g, lr| each(&p[..p.len() / 2 * 2], g, |w, g| w - (g * lr)?)),
    wrong!("1.3", updates_every_parameter, "A gradient of 0 ends the function; the parameters after it must still be changed.",
    sgd_step: |p, g, lr| {
        for (p, g) in p.iter().zip(g) {
            if is_zero(g)? {
                return Ok(());
            }
            p.set(&(p.as_detached_tensor() - (g * lr)?)?)?;
        }
        Ok(())
    }),
    wrong!("1.3", computes_in_the_dtype_of_the_parameter, "The step is computed in f32; compute it in the dtype of the parameter.",
    sgd_step: |p, g, lr| each(p, g, |w, g| {
        let new = (w.to_dtype(DType::F32)? - (g.to_dtype(DType::F32)? * lr)?)?;
        new.to_dtype(w.dtype())
    })),
    wrong!("1.3", computes_in_the_dtype_of_the_parameter, "The learning rate is rounded to f32; a number of f64 combines with a tensor of any dtype.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g * f64::from(lr as f32))?)),
    wrong!("1.3", computes_in_the_dtype_of_the_parameter,
        "A tensor of f32 does not combine with a parameter of another dtype. A number does: `grad * lr`.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - g.broadcast_mul(&Tensor::new(lr as f32, g.device())?)?)),
    wrong!("1.3", computes_in_the_dtype_of_the_parameter, "The values are read as f32, and the parameter has another dtype: compute with tensors.",
    sgd_step: |p, g, lr| each(p, g, |w, g| {
        w.flatten_all()?.to_vec1::<f32>()?;
        w - (g * lr)?
    })),
    wrong!("1.3", computes_in_the_dtype_of_the_parameter, "The dtype of the first parameter is used for all; each has its own.",
    sgd_step: |p, g, lr| {
        let Some(first) = p.first() else { return Ok(()) };
        each(p, g, |w, g| w.to_dtype(first.dtype())? - (g.to_dtype(first.dtype())? * lr)?)
    }),
    wrong!("1.3", computes_in_the_dtype_of_the_parameter, "Something is added that the rule does not have, such as weight decay: w − lr·g is all.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - ((g + (w * 1e-4)?)? * lr)?)),
];
