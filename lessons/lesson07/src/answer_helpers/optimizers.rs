//! Steps of LARS and LAMB with other parts.

use super::*;

pub fn norm(t: &Tensor) -> Result<f64> {
    t.to_dtype(DType::F64)?.sqr()?.sum_all()?.sqrt()?.to_scalar()
}

/// LARS by two rules: `ratio(‖w‖, ‖g‖, λ)`, and `step(w, g, v, ratio, λ)`, which gives the next velocity and weights.
pub fn lars_by(
    (params, grads, velocities): (&[Var], &[Tensor], &[Var]),
    config: &LarsConfig,
    ratio: impl Fn(f64, f64, f64) -> f64,
    step: impl Fn(&Tensor, &Tensor, &Tensor, f64, f64) -> Result<(Tensor, Tensor)>,
) -> Result<()> {
    for ((p, g), v) in params.iter().zip(grads).zip(velocities) {
        let w = p.as_detached_tensor();
        let (ratio, decay) = if w.rank() > 1 || config.vectors {
            let (long, slope) = (norm(&w)?, norm(g)?);
            (ratio(long, slope, config.weight_decay), config.weight_decay)
        } else {
            (1.0, 0.0)
        };
        let (next, w) = step(&w, g, &v.as_detached_tensor(), ratio, decay)?;
        v.set(&next)?;
        p.set(&w)?;
    }
    Ok(())
}

/// LARS with the ratio and decay for the parameters that `scaled` says, and plain steps for the others.
pub fn lars_if(
    (params, grads, velocities): (&[Var], &[Tensor], &[Var]),
    lr: f64,
    config: &LarsConfig,
    scaled: impl Fn(&Tensor) -> bool,
) -> Result<()> {
    for i in 0..params.len() {
        let one = (&params[i..=i], &grads[i..=i], &velocities[i..=i]);
        if config.vectors || scaled(params[i].as_tensor()) {
            let all = LarsConfig {
                vectors: true,
                ..config.clone()
            };
            (REFERENCE.lars_step)(one.0, one.1, one.2, lr, &all)?;
        } else {
            let none = LarsConfig {
                weight_decay: 0.0,
                ..config.clone()
            };
            lars_by(one, &none, |_, _, _| 1.0, moved(lr, config.momentum))?;
        }
    }
    Ok(())
}

/// The ratio as in a right answer.
pub fn trusted(trust: f64) -> impl Fn(f64, f64, f64) -> f64 {
    move |w, g, decay| {
        if w == 0.0 || g == 0.0 {
            1.0
        } else {
            trust * w / (g + decay * w)
        }
    }
}

/// The step as in a right answer.
pub fn moved(
    lr: f64,
    momentum: f64,
) -> impl Fn(&Tensor, &Tensor, &Tensor, f64, f64) -> Result<(Tensor, Tensor)> {
    move |w, g, v, ratio, decay| {
        let v = ((v * momentum)? + ((g + (w * decay)?)? * (lr * ratio))?)?;
        Ok((v.clone(), (w - v)?))
    }
}

/// What a wrong LAMB does differently.
#[derive(Clone, Copy)]
pub struct Twist {
    /// Corrects the bias of the mean.
    pub corrects_mean: bool,
    /// Corrects the bias of the square.
    pub corrects_square: bool,
    pub eps_inside: bool,
    /// Adds ε before the correction.
    pub eps_early: bool,
    /// The share of the new square is in the square.
    pub share_squared: bool,
    /// Does not take the root.
    pub no_root: bool,
    pub decays_after: bool,
    /// Measures the direction before the decay, and adds the decay before the ratio.
    pub measures_before: bool,
    pub decays_gradient: bool,
    /// Decays vectors as well.
    pub decays_vectors: bool,
    pub keeps: bool,
    /// Uses the moments of the step before.
    pub late: bool,
    pub count_each: bool,
    pub counts: bool,
    /// Corrects as if each step were the first.
    pub always_first: bool,
    /// Measures vectors as well.
    pub vectors: bool,
    pub adds: bool,
    pub norm: fn(&Tensor) -> Result<f64>,
    /// ‖w‖, ‖r‖, ‖g‖ to what the step is multiplied by.
    pub ratio: fn(f64, f64, f64) -> f64,
}

pub const LAMB: Twist = Twist {
    corrects_mean: true,
    corrects_square: true,
    eps_inside: false,
    eps_early: false,
    share_squared: false,
    no_root: false,
    decays_after: false,
    measures_before: false,
    decays_gradient: false,
    decays_vectors: true,
    keeps: true,
    late: false,
    count_each: false,
    counts: true,
    always_first: false,
    vectors: true,
    adds: false,
    norm,
    ratio: |w, r, _| if w > 0.0 && r > 0.0 { w / r } else { 1.0 },
};

pub fn twisted(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    c: &LambConfig,
    twist: Twist,
) -> Result<()> {
    state.step += u64::from(twist.counts && !twist.count_each);
    for (i, (p, g)) in params.iter().zip(grads).enumerate() {
        state.step += u64::from(twist.count_each);
        let w = p.as_detached_tensor();
        let decay = if twist.decays_vectors || w.rank() > 1 {
            (&w * c.weight_decay)?
        } else {
            w.zeros_like()?
        };
        let g = if twist.decays_gradient { &(g + &decay)? } else { g };
        let square = if twist.share_squared {
            (g * (1.0 - c.beta2))?.sqr()?
        } else {
            (g.sqr()? * (1.0 - c.beta2))?
        };
        let before = [&state.mean[i], &state.square[i]].map(|v| v.as_tensor().copy());
        let m = ((state.mean[i].as_detached_tensor() * c.beta1)? + (g * (1.0 - c.beta1))?)?;
        let v = ((state.square[i].as_detached_tensor() * c.beta2)? + square)?;
        let [used_m, used_v] = match (twist.late, before) {
            (true, [m, v]) => [m?, v?],
            _ => [m.clone(), v.clone()],
        };
        let t = if twist.always_first {
            1.0
        } else {
            state.step as f64
        };
        let correction = |corrects: bool, beta: f64| if corrects { 1.0 - beta.powf(t) } else { 1.0 };
        let c1 = correction(twist.corrects_mean, c.beta1);
        let c2 = correction(twist.corrects_square, c.beta2);
        let below = if twist.eps_inside {
            ((used_v / c2)? + c.eps)?.sqrt()?
        } else if twist.eps_early {
            ((used_v.sqrt()? + c.eps)? / c2.sqrt())?
        } else if twist.no_root {
            ((used_v / c2)? + c.eps)?
        } else {
            ((used_v / c2)?.sqrt()? + c.eps)?
        };
        let adam = ((used_m / c1)? / below)?;
        let mut r = if twist.decays_after || twist.decays_gradient {
            adam
        } else {
            (adam + &decay)?
        };
        let measured = if twist.measures_before {
            (&r - &decay)?
        } else {
            r.clone()
        };
        let ratio = if twist.vectors || w.rank() > 1 {
            (twist.ratio)((twist.norm)(&w)?, (twist.norm)(&measured)?, (twist.norm)(g)?)
        } else {
            1.0
        };
        r = (r * ratio)?;
        if twist.decays_after {
            r = (r + decay)?;
        }
        let lr = if twist.adds { -lr } else { lr };
        p.set(&(w - (r * lr)?)?)?;
        if twist.keeps {
            state.mean[i].set(&m)?;
            state.square[i].set(&v)?;
        }
    }
    Ok(())
}

/// The sum of the absolute values.
pub fn norm_1(t: &Tensor) -> Result<f64> {
    t.to_dtype(DType::F64)?.abs()?.sum_all()?.to_scalar()
}

/// The 2-norm of all tensors together.
pub fn norm_of_all<'a>(list: impl IntoIterator<Item = &'a Tensor>) -> Result<f64> {
    let norms = list.into_iter().map(norm).collect::<Result<Vec<_>>>()?;
    Ok(norms.iter().map(|n| n * n).sum::<f64>().sqrt())
}
