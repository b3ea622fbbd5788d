//! Lesson 09: the third hint of each exercise, completed as a student does who has no other idea. `M` is 0 here; each
//! other number is one known mistake, whose cause is in the exercise's file.

use anyhow::{Result, bail, ensure};
use canopy::{
    parallel::{Collective, chunk},
    precision::BytesPerParameter,
    shard::*,
};

fn multiply(numbers: &mut [f32], factor: f32) {
    numbers.iter_mut().for_each(|g| *g *= factor);
}

pub fn slices_of_rank<const M: u8>(sizes: &[usize], rank: usize, world_size: usize) -> Vec<Slice> {
    let own = chunk(sizes.iter().sum(), rank, world_size);
    let mut slices = Vec::new();
    let mut start = 0;
    for (param, &size) in sizes.iter().enumerate() {
        let from = own.start.max(start);
        let to = own.end.min(start + size);
        let whole = if own.contains(&start) { size } else { 0 };
        let (from, to) = if M == 1 {
            (start, start + whole)
        } else {
            (from, to)
        };
        if from < to {
            let range = from - start..to - start;
            let range = match M {
                2 => from..to,
                3 => from - start..to - from,
                _ => range,
            };
            slices.push(Slice { param, range });
        } else if M == 5 {
            continue;
        }
        start += size;
    }
    slices.truncate(if M == 4 { 1 } else { sizes.len() });
    slices
}

pub fn stage1_step<const M: u8>(
    collective: &dyn Collective,
    params: &mut [f32],
    gradients: &mut [f32],
    update: &mut Update,
) -> Result<()> {
    if M != 2 {
        collective.all_reduce(gradients)?;
    }
    let p = collective.world_size();
    for g in gradients.iter_mut() {
        *g /= p as f32;
    }
    if matches!(M, 1 | 2) {
        multiply(gradients, p as f32);
    }
    let own = chunk(params.len(), collective.rank(), p);
    match M {
        3 => return update(&mut params[own.clone()], &gradients[own]),
        4 => {
            update(params, gradients)?;
            let mine = params[own].to_vec();
            return collective.all_gather(&mine, params);
        }
        5 if own.is_empty() => return Ok(()),
        _ => {}
    }
    let mut mine = params[own.clone()].to_vec();
    update(&mut mine, &gradients[own])?;
    collective.all_gather(&mine, params)
}

pub fn reduce_gradients<const M: u8>(
    collective: &dyn Collective,
    mut gradients: Vec<f32>,
) -> Result<Vec<f32>> {
    let (rank, p) = (collective.rank(), collective.world_size());
    let own = chunk(gradients.len(), rank, p);
    let mut mine = vec![0.0; own.len()];
    match M {
        2 => return Ok(gradients[own].to_vec()),
        3 => {
            collective.all_reduce(&mut gradients)?;
            multiply(&mut gradients, 1.0 / p as f32);
            return Ok(gradients[own].to_vec());
        }
        4 if own.is_empty() => return Ok(mine),
        _ => {}
    }
    collective.reduce_scatter(&gradients, &mut mine)?;
    let p = if M == 1 { 1 } else { p };
    for g in &mut mine {
        *g /= p as f32;
    }
    Ok(mine)
}

pub fn forward_sharded<const M: u8>(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerForward,
) -> Result<()> {
    for (index, layer) in layers.iter().enumerate() {
        match M {
            1 => work(index, &layer.own)?,
            5 if layer.own.is_empty() => {}
            _ => {
                let mut buffer = memory.buffer(layer.length);
                collective.all_gather(&layer.own, &mut buffer)?;
                work(index, &buffer)?;
            }
        }
    }
    Ok(())
}

pub fn backward_sharded<const M: u8>(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerBackward,
) -> Result<Vec<Vec<f32>>> {
    let sum = reduce_gradients::<1>;
    let reduce_gradients = if M == 4 { sum } else { reduce_gradients::<0> };
    let mut means = vec![Vec::new(); layers.len()];
    for (index, layer) in layers.iter().enumerate().rev() {
        let mirrored = layers.len() - 1 - index;
        let (index, layer) = if M == 2 {
            (mirrored, &layers[mirrored])
        } else {
            (index, layer)
        };
        let mut buffer = memory.buffer(layer.length);
        collective.all_gather(&layer.own, &mut buffer)?;
        let gradients = work(index, &buffer)?;
        drop(buffer);
        let index = if M == 3 { mirrored } else { index };
        means[index] = reduce_gradients(collective, gradients)?;
    }
    Ok(means)
}

pub fn bytes_per_rank<const M: u8>(
    parameters: u64,
    mut each: BytesPerParameter,
    stage: Stage,
    ranks: u64,
) -> [u64; 3] {
    match M {
        1 => (each.weight, each.master) = (each.weight + each.master, 0),
        4 => (each.optimizer, each.master) = (each.optimizer + each.master, 0),
        _ => {}
    }
    let share = parameters.div_ceil(ranks);
    let of = |from: u8, bytes: u32| {
        let from = if M == 2 && from == 2 { 1 } else { from };
        let shared = stage as u8 >= from;
        let shared = if M == 3 { stage as u8 == from } else { shared };
        let n = if shared { share } else { parameters };
        n * u64::from(bytes)
    };
    [
        of(3, each.weight) + of(1, each.master),
        of(2, each.gradient),
        of(1, each.optimizer),
    ]
}

pub fn numbers_sent<const M: u8>(parameters: u64, stage: Stage, ranks: u64) -> u64 {
    let passes = if stage == Stage::Zero3 { 3 } else { 2 };
    let passes = match (M, stage) {
        (5, Stage::Zero2) => 1,
        (6, Stage::Zero1) => 3,
        (7, _) => 2,
        _ => passes,
    };
    passes * (ranks - 1) * parameters.div_ceil(ranks)
}

pub fn settle_batch<const M: u8>(mut wanted: BatchWanted, world_size: usize) -> Result<BatchSizes> {
    let p = world_size;
    let given = [wanted.train, wanted.micro, wanted.accumulation];
    let count = given.iter().flatten().count();
    ensure!(!given.contains(&Some(0)) && p > 0, "a size is 0");
    match M {
        1 if wanted.train.is_some() => wanted.accumulation = wanted.accumulation.or(Some(1)),
        2 if count == 1 && wanted.train.is_some() => wanted.micro = Some(1),
        3 if wanted.micro.is_some() && wanted.accumulation.is_some() => wanted.train = None,
        _ => {}
    }
    #[rustfmt::skip]
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
    let product = micro * accumulation * p;
    let train = if M == 4 && count < 3 { product } else { train };
    ensure!(
        train == micro * accumulation * p,
        "{wanted:?} do not agree on {p} ranks"
    );
    Ok(BatchSizes {
        train,
        micro,
        accumulation,
    })
}

pub fn engine_step<const M: u8>(
    state: &mut EngineState,
    collective: &dyn Collective,
    params: &mut [f32],
    update: &mut Update,
) -> Result<Outcome> {
    if state.micro_batches < state.accumulation && M != 4 {
        return Ok(Outcome::Accumulating);
    }
    state.micro_batches = 0;
    let mut mine = reduce_gradients::<0>(collective, std::mem::take(&mut state.gradients))?;
    if M == 5 {
        multiply(&mut mine, state.scaler.scale() as f32);
    }
    if M == 6 {
        multiply(&mut mine, collective.world_size() as f32);
    }
    let mut squares = 0.0;
    for g in &mut mine {
        *g /= state.scaler.scale() as f32;
        squares += f64::from(*g).powi(2);
    }
    let mut sum = [squares as f32];
    collective.all_reduce(&mut sum)?;
    let norm = f64::from(sum[0]).sqrt();
    let found_inf = !norm.is_finite();
    let norm = if M == 7 { squares.sqrt() } else { norm };
    let found_inf = if M == 8 { !squares.is_finite() } else { found_inf };
    if !found_inf {
        if state.clip > 0.0 && norm > state.clip {
            multiply(&mut mine, (state.clip / norm) as f32);
        }
        let own = chunk(params.len(), collective.rank(), collective.world_size());
        let mut own = params[own].to_vec();
        update(&mut own, &mine)?;
        collective.all_gather(&own, params)?;
    }
    if M != 9 || found_inf {
        state.scaler.update(found_inf)?;
    }
    let taken = Outcome::Taken { norm };
    Ok(if found_inf { Outcome::Skipped } else { taken })
}

pub fn engine_backward<const M: u8>(state: &mut EngineState, gradients: &[f32]) -> Result<()> {
    ensure!(state.micro_batches < state.accumulation, "call step first");
    if state.micro_batches == 0 && M != 2 {
        state.gradients = vec![0.0; gradients.len()];
    }
    let fits = M == 2 || state.gradients.len() == gradients.len();
    ensure!(fits, "another length");
    let times = if M == 1 { state.accumulation as f32 } else { 1.0 };
    multiply(&mut state.gradients, if M == 3 { 0.0 } else { 1.0 / times });
    for (sum, g) in state.gradients.iter_mut().zip(gradients) {
        *sum += g / state.accumulation as f32;
    }
    multiply(&mut state.gradients, times);
    state.micro_batches += 1;
    Ok(())
}
