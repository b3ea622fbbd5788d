//! Known wrong answers to exercise 7.5.

use super::*;

pub const MISTAKES: &[Mistake<Lesson07>] = &[
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The ratio is missing: this is plain momentum.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |_, _, _| 1.0, moved(lr, c.momentum))),
    wrong!("7.5", scales_the_step_by_the_trust_ratio,
    "f32 numbers are read as f64: use `to_dtype(DType::F64)?` before `to_scalar`.",
    lars_step: |_, g, _, _, _| g[0].sum_all()?.to_scalar::<f64>().map(|_| ())),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The ratio is inverted: divide ‖w‖ by ‖g‖.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, _| c.trust * g / w, moved(lr, c.momentum))),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "η (`config.trust`) is missing in the ratio.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(1.0), moved(lr, c.momentum))),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The squared norms are divided: the square roots are missing.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, |w, g, _| c.trust * w * w / (g * g), moved(lr, c.momentum))
    }),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "There is one ratio for the whole network: each parameter has its own norms.",
    lars_step: |p, g, v, lr, c| {
        let (long, slope) = (norm_of_all(p.iter().map(|p| p.as_tensor()))?, norm_of_all(g)?);
        lars_by((p, g, v), c, |_, _, l| trusted(c.trust)(long, slope, l), moved(lr, c.momentum))
    }),
    wrong!("7.5", takes_plain_steps_for_vectors, "Biases are scaled and decayed as well; they should take plain steps.",
    lars_step: |p, g, v, lr, c| {
        let all = canopy::optim::LarsConfig { vectors: true, ..c.clone() };
        (REFERENCE.lars_step)(p, g, v, lr, &all)
    }),
    wrong!("7.5", takes_plain_steps_for_vectors, "Biases are not scaled, but they are decayed; their λ should be 0.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr, c.momentum)(w, g, v, ratio, if w.rank() < 2 { c.weight_decay } else { l })
    })),
    wrong!("7.5", includes_the_decay_in_the_ratio, "λ·‖w‖ is missing in the denominator of the ratio.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, _| trusted(c.trust)(w, g, 0.0), moved(lr, c.momentum))),
    wrong!("7.5", includes_the_decay_in_the_ratio, "The decay is in the ratio, but λ·w is not added to the gradient.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, _| moved(lr, c.momentum)(w, g, v, ratio, 0.0))
    }),
    wrong!("7.5", includes_the_decay_in_the_ratio, "The decay is not multiplied by the ratio: it should multiply g + λ·w.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr, c.momentum)(w, &((g * ratio)? + (w * l)?)?, v, 1.0, 0.0)
    })),
    wrong!("7.5", keeps_the_rate_in_the_velocity, "The rate is outside the velocity; LARS has it inside, with the ratio.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        let v = moved(1.0, c.momentum)(w, g, v, ratio, l)?.0;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("7.5", keeps_the_rate_in_the_velocity, "The velocity is never stored: store it in its variable with `set`.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        Ok((v.copy()?, moved(lr, c.momentum)(w, g, v, ratio, l)?.1))
    })),
    wrong!("7.5", keeps_the_rate_in_the_velocity, "Rate and ratio are both outside the velocity; LARS has both inside.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        let v = moved(1.0, c.momentum)(w, g, v, 1.0, l)?.0;
        Ok((v.clone(), (w - (v * (lr * ratio))?)?))
    })),
    wrong!("7.5", keeps_the_rate_in_the_velocity, "μ multiplies the new direction as well: μ·v + lr·ratio·(g + λw).",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr * c.momentum, c.momentum)(w, g, v, ratio, l)
    })),
    wrong!("7.5", has_trust_ratio_1_for_zero_norms, "Weights with norm 0 have ratio 0 and never move; their ratio should be 1.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, |w, g, l| if g == 0.0 { 1.0 } else { c.trust * w / (g + l * w) }, moved(lr, c.momentum))
    }),
    wrong!("7.5", has_trust_ratio_1_for_zero_norms, "The ratio is not 1 for a gradient with norm 0.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, |w, g, l| if w == 0.0 { 1.0 } else { c.trust * w / (g + l * w) }, moved(lr, c.momentum))
    }),
    wrong!("7.5", scales_vectors_if_configured, "`config.vectors` is ignored: if it is true, vectors are scaled too.",
    lars_step: |p, g, v, lr, c| {
        let none = canopy::optim::LarsConfig { vectors: false, ..c.clone() };
        (REFERENCE.lars_step)(p, g, v, lr, &none)
    }),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The weights move by the velocity of the step before; move them by the new one.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        Ok((moved(lr, c.momentum)(w, g, v, ratio, l)?.0, (w - v)?))
    })),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The velocity is added to the weights; subtract it.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        let v = moved(lr, c.momentum)(w, g, v, ratio, l)?.0;
        Ok((v.clone(), (w + v)?))
    })),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "This is Nesterov's step; move the weights by the velocity alone.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        let new = moved(lr, c.momentum)(w, g, v, ratio, l)?.0;
        let ahead = ((&new * c.momentum)? + ((g + (w * l)?)? * (lr * ratio))?)?;
        Ok((new, (w - ahead)?))
    })),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The new direction is multiplied by 1 − μ; it enters the velocity as it is.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr * (1.0 - c.momentum), c.momentum)(w, g, v, ratio, l)
    })),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The momentum is 0.9 always; use `config.momentum`.",
    lars_step: |p, g, v, lr, c| {
        let c = canopy::optim::LarsConfig { momentum: 0.9, ..c.clone() };
        (REFERENCE.lars_step)(p, g, v, lr, &c)
    }),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The norms are sums of absolute values; the 2-norm is the root of the sum of the squares.",
    lars_step: |p, g, v, lr, c| {
        for i in 0..p.len() {
            let ratio = |_: f64, _: f64, l: f64| match (norm_1(&p[i]), norm_1(&g[i])) {
                (Ok(w), Ok(g)) => trusted(c.trust)(w, g, l),
                _ => f64::NAN,
            };
            lars_by((&p[i..=i], &g[i..=i], &v[i..=i]), c, ratio, moved(lr, c.momentum))?;
        }
        Ok(())
    }),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The ratio is limited to 1, as in LARC; in LARS it may be any number.",
    lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, |w, g, l| trusted(c.trust)(w, g, l).min(1.0), moved(lr, c.momentum))
    }),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "Parameters with two axes take plain steps; only those with at most one axis should.",
        lars_step: |p, g, v, lr, c| lars_if((p, g, v), lr, c, |w| w.rank() > 2)),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "A parameter of shape [n, 1] takes plain steps; it has two axes. Count the axes, not the numbers.",
        lars_step: |p, g, v, lr, c| lars_if((p, g, v), lr, c, |w| w.rank() > 1 && w.elem_count() > w.dims()[0])),
    wrong!("7.5", takes_plain_steps_for_vectors, "A parameter without axes, a single number, is scaled; it should take plain steps.",
        lars_step: |p, g, v, lr, c| lars_if((p, g, v), lr, c, |w| w.rank() != 1)),
    wrong!("7.5", takes_plain_steps_for_vectors, "Biases have no velocity; only ratio and decay are left out for them.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr, if w.rank() < 2 { 0.0 } else { c.momentum })(w, g, v, ratio, l)
    })),
    wrong!("7.5", has_trust_ratio_1_for_zero_norms, "If a norm is 0, the parameter is left out; it should take a step with the ratio 1.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        if ratio == 1.0 && l > 0.0 { Ok((v.copy()?, w.copy()?)) } else { moved(lr, c.momentum)(w, g, v, ratio, l) }
    })),
    wrong!("7.5", has_trust_ratio_1_for_zero_norms, "If a norm is 0, only the ratio is 1: λ·w is still added to the gradient.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr, c.momentum)(w, g, v, ratio, if ratio == 1.0 { 0.0 } else { l })
    })),
    wrong!("7.5", keeps_velocity_and_decay_without_gradient, "A gradient of zeros resets the velocity; only the ratio is 1 then.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr, if ratio == 1.0 && l > 0.0 { 0.0 } else { c.momentum })(w, g, v, ratio, l)
    })),
    wrong!("7.5", scales_vectors_if_configured, "With `config.vectors`, biases are scaled but not decayed; λ applies to them as well.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, l| trusted(c.trust)(w, g, l), |w, g, v, ratio, l| {
        moved(lr, c.momentum)(w, g, v, ratio, if w.rank() < 2 { 0.0 } else { l })
    })),
    wrong!("7.5", scales_vectors_if_configured, "With `config.vectors`, biases have λ 0, also in the ratio; λ applies to them as well.",
    lars_step: |p, g, v, lr, c| {
        for i in 0..p.len() {
            let decay = if p[i].rank() < 2 { 0.0 } else { c.weight_decay };
            let c = canopy::optim::LarsConfig { weight_decay: decay, ..c.clone() };
            (REFERENCE.lars_step)(&p[i..=i], &g[i..=i], &v[i..=i], lr, &c)?;
        }
        Ok(())
    }),
    wrong!("7.5", includes_the_decay_in_the_ratio, "The ratio is divided by ‖g + λ·w‖; divide by the sum of the two norms, ‖g‖ + λ·‖w‖.",
    lars_step: |p, g, v, lr, c| {
        for i in 0..p.len() {
            let both = norm(&(&g[i] + (p[i].as_tensor() * c.weight_decay)?)?)?;
            let ratio = |w: f64, g: f64, _: f64| if w == 0.0 || g == 0.0 { 1.0 } else { c.trust * w / both };
            lars_by((&p[i..=i], &g[i..=i], &v[i..=i]), c, ratio, moved(lr, c.momentum))?;
        }
        Ok(())
    }),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "Parameters with three axes take plain steps; only those with at most one axis should.",
        lars_step: |p, g, v, lr, c| lars_if((p, g, v), lr, c, |w| w.rank() == 2)),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The ratio multiplies the whole velocity, with the steps before; it should multiply only the new direction, in the velocity.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        let v = moved(lr, c.momentum)(w, g, v, 1.0, l)?.0;
        Ok((v.clone(), (w - (v * ratio)?)?))
    })),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The learning rate is missing.",
        lars_step: |p, g, v, _, c| (REFERENCE.lars_step)(p, g, v, 1.0, c)),
    wrong!("7.5", accepts_tiny_gradients, "A small number is added to the denominator of the ratio, or small norms are taken for 0; only a norm of exactly 0 is special.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, l| if w * g == 0.0 { 1.0 } else { c.trust * w / (g + l * w + 1e-8) }, moved(lr, c.momentum))),
    wrong!("7.5", accepts_tiny_gradients, "A small number is added to the denominator of the ratio, or small norms are taken for 0; only a norm of exactly 0 is special.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, l| if w * g == 0.0 { 1.0 } else { c.trust * w / (g + l * w + 1e-12) }, moved(lr, c.momentum))),
    wrong!("7.5", has_trust_ratio_1_for_zero_norms, "A gradient of zeros is skipped; with the ratio 1, λ·w and the velocity still move the parameter.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        let skips = l > 0.0 && norm(g)? == 0.0;
        if skips { Ok((v.copy()?, w.copy()?)) } else { moved(lr, c.momentum)(w, g, v, ratio, l) }
    })),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The momentum is missing: multiply the old velocity by μ and add it.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), moved(lr, 0.0))),
    wrong!("7.5", scales_the_step_by_the_trust_ratio, "The old velocity is not multiplied by μ.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), moved(lr, 1.0))),
    wrong!("7.5", includes_the_decay_in_the_ratio, "λ is added to ‖g‖ in the ratio without ‖w‖; it should be λ·‖w‖.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, l| if w * g == 0.0 { 1.0 } else { c.trust * w / (g + l) }, moved(lr, c.momentum))),
    wrong!("7.5", includes_the_decay_in_the_ratio, "λ·w is subtracted from the gradient; add it.",
    lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, trusted(c.trust), |w, g, v, ratio, l| {
        moved(lr, c.momentum)(w, g, v, ratio, -l)
    })),
    wrong!("7.5", scales_tiny_weights, "Small norms are taken for 0; only a norm of exactly 0 is special.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, l| if w < 1e-8 || g == 0.0 { 1.0 } else { c.trust * w / (g + l * w) }, moved(lr, c.momentum))),
    wrong!("7.5", accepts_tiny_gradients, "A small number is added to the denominator of the ratio, or small norms are taken for 0; only a norm of exactly 0 is special.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, l| if w == 0.0 || g < 1e-8 { 1.0 } else { c.trust * w / (g + l * w) }, moved(lr, c.momentum))),
    wrong!("7.5", accepts_tiny_gradients, "Small norms are taken for 0; only a norm of exactly 0 is special.",
        lars_step: |p, g, v, lr, c| lars_by((p, g, v), c, |w, g, l| if w < 1e-8 || g < 1e-8 { 1.0 } else { c.trust * w / (g + l * w) }, moved(lr, c.momentum))),
];
