//! Lesson 09: sharding, as a student completes the third hints of `lesson.toml`.

use anyhow::{Context, Result, bail, ensure};
use canopy::{
    parallel::{Collective, chunk},
    precision::BytesPerParameter,
    shard::{
        BatchSizes, BatchWanted, EngineState, LayerBackward, LayerForward, Memory, Outcome, Sharded, Slice,
        Stage, Update,
    },
};

pub fn slices_of_rank(sizes: &[usize], rank: usize, world_size: usize) -> Vec<Slice> {
    let own = chunk(sizes.iter().sum(), rank, world_size);
    let mut slices = Vec::new();
    let mut start = 0;
    for (param, &size) in sizes.iter().enumerate() {
        let from = own.start.max(start);
        let to = own.end.min(start + size);
        if from < to {
            let range = from - start..to - start;
            slices.push(Slice { param, range });
        }
        start += size;
    }
    slices
}

pub fn stage1_step(
    collective: &dyn Collective,
    params: &mut [f32],
    gradients: &mut [f32],
    update: &mut Update,
) -> Result<()> {
    collective.all_reduce(gradients)?;
    let p = collective.world_size();
    for g in gradients.iter_mut() {
        *g /= p as f32;
    }
    let own = chunk(params.len(), collective.rank(), p);
    let mut mine = params[own.clone()].to_vec();
    update(&mut mine, &gradients[own])?;
    collective.all_gather(&mine, params)
}

pub fn reduce_gradients(collective: &dyn Collective, gradients: Vec<f32>) -> Result<Vec<f32>> {
    let (rank, p) = (collective.rank(), collective.world_size());
    let own = chunk(gradients.len(), rank, p);
    let mut mine = vec![0.0; own.len()];
    collective.reduce_scatter(&gradients, &mut mine)?;
    for g in &mut mine {
        *g /= p as f32;
    }
    Ok(mine)
}

pub fn forward_sharded(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerForward,
) -> Result<()> {
    for (index, layer) in layers.iter().enumerate() {
        let mut buffer = memory.buffer(layer.length);
        collective.all_gather(&layer.own, &mut buffer)?;
        work(index, &buffer)?;
    }
    Ok(())
}

pub fn backward_sharded(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerBackward,
) -> Result<Vec<Vec<f32>>> {
    let mut means = vec![Vec::new(); layers.len()];
    for (index, layer) in layers.iter().enumerate().rev() {
        let mut buffer = memory.buffer(layer.length);
        collective.all_gather(&layer.own, &mut buffer)?;
        let gradients = work(index, &buffer)?;
        drop(buffer);
        means[index] = reduce_gradients(collective, gradients)?;
    }
    Ok(means)
}

pub fn bytes_per_rank(parameters: u64, each: BytesPerParameter, stage: Stage, ranks: u64) -> [u64; 3] {
    let share = parameters.div_ceil(ranks);
    let of = |from: u8, bytes: u32| {
        let shared = stage as u8 >= from;
        let n = if shared { share } else { parameters };
        n * u64::from(bytes)
    };
    [
        of(3, each.weight) + of(1, each.master),
        of(2, each.gradient),
        of(1, each.optimizer),
    ]
}

pub fn numbers_sent(parameters: u64, stage: Stage, ranks: u64) -> u64 {
    let passes = if stage == Stage::Zero3 { 3 } else { 2 };
    passes * (ranks - 1) * parameters.div_ceil(ranks)
}

pub fn settle_batch(wanted: BatchWanted, world_size: usize) -> Result<BatchSizes> {
    let p = world_size;
    let given = [wanted.train, wanted.micro, wanted.accumulation];
    ensure!(!given.contains(&Some(0)) && p > 0, "a size is 0");
    let (train, micro, accumulation) =
        match (wanted.train, wanted.micro, wanted.accumulation) {
            (Some(t), Some(m), Some(a)) => (t, m, a),
            (Some(t), Some(m), None) => (t, m, t / (m * p)),
            (Some(t), None, a) => {
                let a = a.unwrap_or(1);
                (t, t / (a * p), a)
            }
            (None, Some(m), a) => {
                let a = a.unwrap_or(1);
                (m * a * p, m, a)
            }
            (None, None, _) => bail!("set train or micro"),
        };
    ensure!(
        train == micro * accumulation * p,
        "{wanted:?} do not agree on {p} ranks"
    );
    Ok(BatchSizes { train, micro, accumulation })
}

pub fn engine_step(
    state: &mut EngineState,
    collective: &dyn Collective,
    params: &mut [f32],
    update: &mut Update,
) -> Result<Outcome> {
    if state.micro_batches < state.accumulation {
        return Ok(Outcome::Accumulating);
    }
    state.micro_batches = 0;
    let mut mine = reduce_gradients(collective, std::mem::take(&mut state.gradients))?;
    let mut squares = 0.0;
    for g in &mut mine {
        *g /= state.scaler.scale() as f32;
        squares += f64::from(*g).powi(2);
    }
    let mut sum = [squares as f32];
    collective.all_reduce(&mut sum)?;
    let norm = f64::from(sum[0]).sqrt();
    let found_inf = !norm.is_finite();
    if !found_inf {
        if state.clip > 0.0 && norm > state.clip {
            let factor = (state.clip / norm) as f32;
            for g in &mut mine {
                *g *= factor;
            }
        }
        let own = chunk(params.len(), collective.rank(), collective.world_size());
        let mut own = params[own].to_vec();
        update(&mut own, &mine)?;
        collective.all_gather(&own, params)?;
    }
    state.scaler.update(found_inf)?;
    Ok(if found_inf { Outcome::Skipped } else { Outcome::Taken { norm } })
}

pub fn engine_backward(state: &mut EngineState, gradients: &[f32]) -> Result<()> {
    ensure!(state.micro_batches < state.accumulation, "call step first");
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
