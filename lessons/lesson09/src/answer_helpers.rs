//! Right answers with switches, from which the known mistakes and other right answers are built.

use std::ops::Range;

use anyhow::{Result, bail, ensure};
use canopy::{
    parallel::{Collective, chunk},
    shard::{EngineState, Outcome, Update},
};

/// Chunks of one length: what does not divide is nobody's.
pub fn even(length: usize, rank: usize, p: usize) -> Range<usize> {
    let each = length / p;
    rank * each..(rank + 1) * each
}

/// Chunks of one length, rounded up; the last ones are shorter.
pub fn padded(length: usize, rank: usize, p: usize) -> Range<usize> {
    let each = length.div_ceil(p);
    (rank * each).min(length)..((rank + 1) * each).min(length)
}

/// This rank's chunk.
pub fn own(c: &dyn Collective, length: usize) -> Range<usize> {
    chunk(length, c.rank(), c.world_size())
}

/// Divides by the number of ranks.
pub fn divide(c: &dyn Collective, numbers: &mut [f32]) {
    numbers.iter_mut().for_each(|v| *v /= c.world_size() as f32);
}

/// A step of stage 1 with parts by `part`, of which `given` chooses the gradients of the part.
pub fn stage1(
    c: &dyn Collective,
    params: &mut [f32],
    gradients: &mut [f32],
    update: &mut Update,
    part: fn(usize, usize, usize) -> Range<usize>,
    given: fn(&[f32], Range<usize>) -> Vec<f32>,
) -> Result<()> {
    c.all_reduce(gradients)?;
    divide(c, gradients);
    let own = part(params.len(), c.rank(), c.world_size());
    let mut mine = params[own.clone()].to_vec();
    update(&mut mine, &given(gradients, own))?;
    c.all_gather(&mine, params)
}

/// How an engine steps.
pub struct Engine {
    /// Waits for the last micro-batch.
    pub waits: bool,
    /// Frees the gradients, and counts from 0 again.
    pub frees: bool,
    pub restarts: bool,
    /// What the gradients are divided by, from the scale.
    pub unscale: fn(f64) -> f64,
    /// The sum of squares of the own chunk, agreed over the ranks.
    pub agree: fn(&dyn Collective, &[f32]) -> Result<f64>,
    /// Whether to skip: by the agreed sum of squares and the own chunk.
    pub skips: fn(f64, &[f32]) -> bool,
    /// The factor, from clip and norm.
    pub clips: fn(f64, f64) -> f64,
    /// The norm in the result, from the norm and the factor.
    pub norm: fn(f64, f64) -> f64,
    /// How often the scale is updated, by whether the step is skipped.
    pub updates: fn(bool) -> usize,
    /// Gathers the parameters.
    pub gathers: fn(bool) -> bool,
}

pub const ENGINE: Engine = Engine {
    waits: true,
    frees: true,
    restarts: true,
    unscale: |scale| scale,
    agree: |c, own| {
        let mut sum = [squares(own) as f32];
        c.all_reduce(&mut sum)?;
        Ok(sum[0].into())
    },
    skips: |sum, _| !sum.is_finite(),
    clips: |clip, norm| {
        if clip > 0.0 && norm > clip {
            clip / norm
        } else {
            1.0
        }
    },
    norm: |norm, _| norm,
    updates: |_| 1,
    gathers: |skipped| !skipped,
};

pub fn squares(numbers: &[f32]) -> f64 {
    numbers.iter().map(|&g| f64::from(g).powi(2)).sum()
}

pub fn backward(state: &mut EngineState, gradients: &[f32]) -> Result<()> {
    ensure!(state.micro_batches < state.accumulation, "too many micro-batches");
    if state.micro_batches == 0 {
        state.gradients = vec![0.0; gradients.len()];
    }
    ensure!(state.gradients.len() == gradients.len(), "another length");
    for (sum, g) in state.gradients.iter_mut().zip(gradients) {
        *sum += g / state.accumulation as f32;
    }
    state.micro_batches += 1;
    Ok(())
}

pub fn step(
    state: &mut EngineState,
    c: &dyn Collective,
    params: &mut [f32],
    update: &mut Update,
    by: &Engine,
) -> Result<Outcome> {
    if by.waits && state.micro_batches < state.accumulation {
        return Ok(Outcome::Accumulating);
    }
    let all = state.gradients.clone();
    if by.frees {
        state.gradients = Vec::new();
    }
    if by.restarts {
        state.micro_batches = 0;
    }
    let part = own(c, all.len());
    let mut mine = vec![0.0; part.len()];
    c.reduce_scatter(&all, &mut mine)?;
    divide(c, &mut mine);
    let scale = (by.unscale)(state.scaler.scale()) as f32;
    mine.iter_mut().for_each(|g| *g /= scale);
    let sum = (by.agree)(c, &mine)?;
    let skipped = (by.skips)(sum, &mine);
    let norm = sum.sqrt();
    let factor = (by.clips)(state.clip, norm);
    if !skipped {
        mine.iter_mut().for_each(|g| *g *= factor as f32);
        if params.len() != all.len() {
            bail!("another number of parameters");
        }
        let mut own = params[part.clone()].to_vec();
        update(&mut own, &mine)?;
        params[part.clone()].copy_from_slice(&own);
    }
    if (by.gathers)(skipped) {
        let own = params[part].to_vec();
        c.all_gather(&own, params)?;
    }
    for _ in 0..(by.updates)(skipped) {
        state.scaler.update(skipped)?;
    }
    Ok(if skipped {
        Outcome::Skipped
    } else {
        Outcome::Taken {
            norm: (by.norm)(norm, factor),
        }
    })
}
