//! Lesson 10: the third hint of each exercise, completed as a student does who has no other idea. `M` is 0 here; each other
//! number is one known mistake, whose cause is in the exercise's file.

use anyhow::Result;
use candle_core::Tensor;
use canopy::{
    parallel::Collective,
    shard::{Stage, bytes_per_rank},
    split::{Action, Choice, LinearGrads, Machine, Work, sum_over_ranks},
};

pub fn column_parallel<const M: u8>(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    let (turned, none) = (weight.t()?, bias.zeros_like()?);
    let weight = if M == 1 { &turned } else { weight };
    let bias = if M == 2 { &none } else { bias };
    Ok(x.matmul(&weight.t()?)?.broadcast_add(bias)?)
}

pub fn column_parallel_backward<const M: u8>(
    collective: &dyn Collective,
    x: &Tensor,
    weight: &Tensor,
    grad_y: &Tensor,
) -> Result<LinearGrads> {
    if M == 3 || (M == 5 && collective.rank() != 0) {
        return row_parallel_backward::<0>(x, weight, grad_y);
    }
    let mut grads = LinearGrads {
        x: sum_over_ranks(collective, &grad_y.matmul(weight)?)?,
        weight: grad_y.t()?.matmul(x)?,
        bias: grad_y.sum(0)?,
    };
    match M {
        4 => grads.x = (grads.x / collective.world_size() as f64)?,
        6 => {
            grads.weight = sum_over_ranks(collective, &grads.weight)?;
            grads.bias = sum_over_ranks(collective, &grads.bias)?;
        }
        7 => grads.bias = grad_y.mean(0)?,
        _ => {}
    }
    Ok(grads)
}

pub fn row_parallel<const M: u8>(
    collective: &dyn Collective,
    x_part: &Tensor,
    weight_part: &Tensor,
    bias: &Tensor,
) -> Result<Tensor> {
    let part = x_part.matmul(&weight_part.t()?)?;
    let first = collective.rank() == 0;
    match M {
        1 => return Ok(part.broadcast_add(bias)?),
        2 => return Ok((sum_over_ranks(collective, &part)? / collective.world_size() as f64)?.broadcast_add(bias)?),
        3 => return sum_over_ranks(collective, &part.broadcast_add(bias)?),
        4 => return sum_over_ranks(collective, &part),
        5 if !first => return sum_over_ranks(collective, &part),
        6 if !first => return Ok(part.broadcast_add(bias)?),
        _ => {}
    }
    Ok(sum_over_ranks(collective, &part)?.broadcast_add(bias)?)
}

pub fn row_parallel_backward<const M: u8>(
    x_part: &Tensor,
    weight_part: &Tensor,
    grad_y: &Tensor,
) -> Result<LinearGrads> {
    let mut grads = LinearGrads {
        x: grad_y.matmul(weight_part)?,
        weight: grad_y.t()?.matmul(x_part)?,
        bias: grad_y.sum(0)?,
    };
    if M == 7 {
        grads.bias = grad_y.mean(0)?;
    }
    Ok(grads)
}

pub fn gpipe_order<const M: u8>(stage: usize, stages: usize, micro_batches: usize) -> Vec<Action> {
    let micro_batches = if M == 5 { micro_batches.saturating_sub(1) } else { micro_batches };
    let all = 0..micro_batches;
    match M {
        1 => return all.flat_map(|i| [Action::Forward(i), Action::Backward(i)]).collect(),
        2 => return one_f_one_b_order::<0>(stage, stages, micro_batches),
        3 => return all.clone().map(Action::Forward).chain(all.rev().map(Action::Backward)).collect(),
        4 => return (1..=micro_batches).map(Action::Forward).chain((1..=micro_batches).map(Action::Backward)).collect(),
        6 => return all.map(Action::Forward).collect(),
        _ => {}
    }
    let mut order = Vec::new();
    order.extend((0..micro_batches).map(Action::Forward));
    order.extend((0..micro_batches).map(Action::Backward));
    order
}

pub fn one_f_one_b_order<const M: u8>(stage: usize, stages: usize, micro_batches: usize) -> Vec<Action> {
    let warm_up = (stages - stage - 1).min(micro_batches);
    let warm_up = match M {
        1 => micro_batches,
        2 => 0,
        3 => (stages - stage).min(micro_batches),
        4 => stage.min(micro_batches),
        5 => stages - stage - 1,
        _ => warm_up,
    };
    let mut order: Vec<Action> =
        (0..warm_up).map(Action::Forward).collect();
    for i in warm_up..micro_batches {
        order.push(Action::Forward(i));
        let warm_up = if M == 7 { 0 } else { warm_up };
        order.push(Action::Backward(i - warm_up));
    }
    let micro_batches = micro_batches.max(warm_up);
    let done = micro_batches - warm_up;
    if M == 8 {
        order.extend((done..micro_batches).rev().map(Action::Backward));
    }
    if M == 6 || M == 8 {
        return order;
    }
    order.extend((done..micro_batches).map(Action::Backward));
    order
}

pub fn bubble<const M: u8>(stages: usize, micro_batches: usize) -> f64 {
    let (p, m) = (stages as f64, micro_batches as f64);
    match M {
        1 => return (p - 1.0) / (m + p - 1.0),
        2 => return p / m,
        3 => return m / (p - 1.0),
        4 => return ((stages - 1) / micro_batches) as f64,
        5 => return ((p - 1.0) / m).min(1.0),
        _ => {}
    }
    (stages - 1) as f64 / micro_batches as f64
}

pub fn activations_held<const M: u8>(order: &[Action]) -> usize {
    let is_forward = |action: &&Action| matches!(action, Action::Forward(_));
    match M {
        6 => return order.iter().filter(is_forward).count(),
        8 => return order.iter().take_while(is_forward).count(),
        _ => {}
    }
    let (mut held, mut most) = (0, 0);
    for action in order {
        match action {
            Action::Forward(_) => held += 1,
            Action::Backward(_) => held -= 1,
        }
        most = held.max(most);
    }
    let most = if M == 7 { held } else { most };
    most
}

pub fn candidate<const M: u8>(work: &Work, machine: &Machine, tensor: u64, pipeline: u64, stage: Stage) -> Choice {
    let parts = tensor * pipeline;
    let data = machine.nodes * machine.ranks_per_node / parts;
    let share = work.batch.div_ceil(data);
    let own = work.parameters.div_ceil(parts);
    let model: u64 =
        bytes_per_rank(own, work.each, stage, data).iter().sum();
    let sample = work.activations.div_ceil(parts);
    let free = machine.memory.saturating_sub(model);
    let micro_batch =
        if pipeline > 1 { 1 } else { (free / sample).clamp(1, share) };
    let micro_batch = if M == 1 { 1 } else { micro_batch };
    let micro_batches = share.div_ceil(micro_batch);
    let held = pipeline.min(micro_batches) * micro_batch;
    let held = if M == 2 && pipeline > 1 { micro_batches } else { held };
    let held = if M == 3 { pipeline * micro_batch } else { held };
    let bytes = model + held * sample;
    let fits = bytes <= machine.memory;
    let fits = if M == 4 { bytes < machine.memory } else { fits };
    let fits = M == 5 || fits;
    Choice { tensor, pipeline, data, stage, micro_batch, micro_batches, bytes, fits }
}

pub fn choose<const M: u8>(work: &Work, machine: &Machine) -> Choice {
    let inside = machine.ranks_per_node;
    let mut all = vec![(1, 1, Stage::Zero0), (1, 1, Stage::Zero1), (1, 1, Stage::Zero2)];
    if machine.nodes == 1 || machine.between >= machine.inside {
        all.push((1, 1, Stage::Zero3));
    }
    if M == 2 && all.len() == 3 {
        all.push((1, 1, Stage::Zero3));
    }
    for t in (2..=inside).filter(|&t| inside.is_multiple_of(t)) {
        all.push((t, 1, Stage::Zero0));
    }
    if M == 3 {
        all.retain(|(t, ..)| t.is_power_of_two());
    }
    let most = machine.nodes.min(work.layers);
    let most = if M == 4 { machine.nodes } else { most };
    for p in (2..=most).filter(|&p| machine.nodes.is_multiple_of(p)) {
        all.push((inside, p, Stage::Zero0));
    }
    let all = all.into_iter();
    let kept: Vec<Choice> = all.map(|(t, p, s)| candidate::<0>(work, machine, t, p, s)).collect();
    let first = kept.iter().find(|c| c.fits);
    let least = kept.iter().min_by_key(|c| c.bytes);
    let first = if M == 1 { None } else { first };
    let least = if M == 5 { kept.last() } else { least };
    *first.or(least).expect("there is always one candidate")
}
