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
    let (turned, none, twice) = (weight.t()?, bias.zeros_like()?, (bias * 2.0)?);
    let weight = if M == 1 { &turned } else { weight };
    let bias = match M {
        2 => &none,
        3 => &twice,
        _ => bias,
    };
    Ok(x.matmul(&weight.t()?)?.broadcast_add(bias)?)
}

pub fn column_parallel_backward<const M: u8>(
    collective: &dyn Collective,
    x: &Tensor,
    weight: &Tensor,
    grad_y: &Tensor,
) -> Result<LinearGrads> {
    let part = grad_y.matmul(weight)?;
    let own = match M {
        4 => Some(part),
        6 if collective.rank() != 0 => Some(part),
        11 => {
            let rows =
                (0..part.dim(0)?).map(|i| sum_over_ranks(collective, &part.narrow(0, i, 1)?.contiguous()?));
            Some(Tensor::cat(&rows.collect::<Result<Vec<_>>>()?, 0)?)
        }
        12 => Some(sum_over_ranks(collective, &part).unwrap_or(part)),
        _ => None,
    };
    if let Some(own) = own {
        let (weight, bias) = (grad_y.t()?.matmul(x)?, grad_y.sum(0)?);
        return Ok(LinearGrads { x: own, weight, bias });
    }
    let mut grads = LinearGrads {
        x: sum_over_ranks(collective, &grad_y.matmul(weight)?)?,
        weight: grad_y.t()?.matmul(x)?,
        bias: grad_y.sum(0)?,
    };
    let rows = x.dim(0)? as f64;
    match M {
        7 => {
            grads.weight = sum_over_ranks(collective, &grads.weight)?;
            grads.bias = sum_over_ranks(collective, &grads.bias)?;
        }
        5 => grads.x = (grads.x / collective.world_size() as f64)?,
        8 => grads.bias = (grads.bias / rows)?,
        9 => grads.weight = grads.weight.t()?,
        10 => grads.bias = grad_y.sum(1)?,
        13 => (grads.weight, grads.bias) = ((grads.weight / rows)?, (grads.bias / rows)?),
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
        3 => return sum_over_ranks(collective, &part.broadcast_add(bias)?),
        4 => return sum_over_ranks(collective, &part),
        5 if !first => return sum_over_ranks(collective, &part),
        6 if !first => return Ok(part.broadcast_add(bias)?),
        7 => {
            let rows =
                (0..part.dim(0)?).map(|i| sum_over_ranks(collective, &part.narrow(0, i, 1)?.contiguous()?));
            return Ok(Tensor::cat(&rows.collect::<Result<Vec<_>>>()?, 0)?.broadcast_add(bias)?);
        }
        8 => {
            return Ok(sum_over_ranks(collective, &part)
                .unwrap_or(part)
                .broadcast_add(bias)?);
        }
        13 => collective.barrier()?,
        _ => {}
    }
    let part = if M == 2 {
        (part / collective.world_size() as f64)?
    } else {
        part
    };
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
    match M {
        9 => grads.weight = grads.weight.t()?,
        10 => grads.bias = (grads.bias / grad_y.dim(0)? as f64)?,
        11 => grads.bias = grad_y.sum(1)?,
        12 => grads.weight = weight_part.clone(),
        _ => {}
    }
    Ok(grads)
}

pub fn gpipe_order<const M: u8>(stage: usize, stages: usize, micro_batches: usize) -> Vec<Action> {
    let micro_batches = match M {
        5 => micro_batches.saturating_sub(1),
        6 => stages,
        8 => micro_batches.max(1),
        _ => micro_batches,
    };
    let mut order = Vec::new();
    match M {
        1 => {
            return (0..micro_batches)
                .flat_map(|i| [Action::Forward(i), Action::Backward(i)])
                .collect();
        }
        2 => return one_f_one_b_order::<0>(stage, stages, micro_batches),
        4 => {
            order.extend((1..=micro_batches).map(Action::Forward));
            order.extend((1..=micro_batches).map(Action::Backward));
            return order;
        }
        9 => order.extend((0..micro_batches).map(Action::Backward)),
        _ => {}
    }
    order.extend((0..micro_batches).map(Action::Forward));
    if M == 3 {
        order.extend((0..micro_batches).rev().map(Action::Backward));
    }
    if [3, 7, 9].contains(&M) {
        return order;
    }
    order.extend((0..micro_batches).map(Action::Backward));
    order
}

pub fn one_f_one_b_order<const M: u8>(stage: usize, stages: usize, micro_batches: usize) -> Vec<Action> {
    let micro_batches = if M == 14 {
        micro_batches.max(1)
    } else {
        micro_batches
    };
    let warm_up = (stages - stage - 1).min(micro_batches);
    let warm_up = match M {
        1 => micro_batches,
        2 => 0,
        3 => (stages - stage).min(micro_batches),
        4 => stage.min(micro_batches),
        5 => stages - stage - 1,
        6 => warm_up.saturating_sub(1),
        12 if micro_batches < stages => 0,
        13 => (2 * (stages - stage - 1)).min(micro_batches),
        _ => warm_up,
    };
    let mut order: Vec<Action> =
        (0..warm_up).map(Action::Forward).collect();
    for i in warm_up..micro_batches {
        order.push(Action::Forward(i));
        if M == 8 {
            order.push(Action::Backward(i));
            continue;
        }
        order.push(Action::Backward(i - warm_up));
    }
    let micro_batches = micro_batches.max(warm_up);
    let done = micro_batches - warm_up;
    match M {
        7 => return order,
        9 => {
            order.extend((done..micro_batches).rev().map(Action::Backward));
            return order;
        }
        10 => {
            order.extend((done..micro_batches).map(Action::Backward));
            let more = |action: &Action| match action {
                Action::Forward(i) => Action::Forward(i + 1),
                Action::Backward(i) => Action::Backward(i + 1),
            };
            return order.iter().map(more).collect();
        }
        11 => {
            order.extend((0..warm_up).map(|i| Action::Backward(warm_up + i)));
            return order;
        }
        _ => {}
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
        5 => return p * (p - 1.0) / m,
        6 => return ((p - 1.0) / m).min(1.0),
        _ => {}
    }
    (stages - 1) as f64 / micro_batches as f64
}

pub fn activations_held<const M: u8>(order: &[Action]) -> usize {
    let is_forward = |action: &&Action| matches!(action, Action::Forward(_));
    match M {
        7 => return order.iter().filter(is_forward).count(),
        10 => return order.iter().take_while(is_forward).count(),
        12 => return activations_held::<0>(order) + 1,
        13 => return order.iter().map(|_| activations_held::<0>(order)).max().unwrap(),
        _ => {}
    }
    let (mut held, mut most) = (0, 0);
    for action in order {
        if M == 9 && !is_forward(&action) {
            most = held.max(most);
        }
        match action {
            Action::Forward(_) => held += 1,
            Action::Backward(_) => held -= 1,
        }
        if M == 9 {
            continue;
        }
        most = held.max(most);
    }
    if M == 11 {
        assert_eq!(held, 0, "passes are left");
    }
    let most = if M == 8 { held } else { most };
    most
}

pub fn choose<const M: u8>(work: &Work, machine: &Machine) -> Choice {
    let inside = machine.ranks_per_node;
    let mut all = vec![(1, 1, Stage::Zero0), (1, 1, Stage::Zero1), (1, 1, Stage::Zero2)];
    if machine.nodes == 1 || machine.between >= machine.inside {
        all.push((1, 1, Stage::Zero3));
    }
    match M {
        2 if all.len() == 3 => all.push((1, 1, Stage::Zero3)),
        3 if machine.nodes > 1 && machine.between == machine.inside => drop(all.pop()),
        _ => {}
    }
    let whole = all.len();
    for t in (2..=inside).filter(|&t| inside.is_multiple_of(t)) {
        all.push((t, 1, Stage::Zero0));
    }
    match M {
        4 => all.retain(|(t, ..)| t.is_power_of_two()),
        5 => all[whole..].reverse(),
        _ => {}
    }
    let most = machine.nodes.min(work.layers);
    let most = if M == 6 { machine.nodes } else { most };
    for p in (2..=most).filter(|&p| machine.nodes.is_multiple_of(p)) {
        all.push((inside, p, Stage::Zero0));
    }
    let spread: Vec<Choice> = all
        .into_iter()
        .map(|(tensor, pipeline, stage)| {
            let parts = tensor * pipeline;
            let data = machine.nodes * inside / parts;
            let data = if M == 7 { data * parts } else { data };
            let share = work.batch.div_ceil(data);
            let share = if M == 8 { work.batch } else { share };
            let own = work.parameters.div_ceil(parts);
            let model: u64 =
                bytes_per_rank(own, work.each, stage, data).iter().sum();
            let sample = work.activations.div_ceil(parts);
            let sample = if M == 13 { work.activations / parts } else { sample };
            let free = machine.memory.saturating_sub(model);
            let micro_batch =
                if pipeline > 1 { 1 } else { (free / sample).clamp(1, share) };
            let micro_batch = match M {
                9 => 1,
                10 if pipeline == 1 => (free / sample).max(1),
                _ => micro_batch,
            };
            let micro_batches = share.div_ceil(micro_batch);
            let held = pipeline.min(micro_batches) * micro_batch;
            let held = match M {
                11 if pipeline > 1 => micro_batches,
                12 => pipeline * micro_batch,
                _ => held,
            };
            let bytes = model + held * sample;
            let fits = bytes <= machine.memory;
            let fits = fits && (M != 14 || bytes < machine.memory);
            Choice {
                tensor,
                pipeline,
                data,
                stage,
                micro_batch,
                micro_batches,
                bytes,
                fits,
            }
        })
        .collect();
    let first = spread.iter().find(|c| c.fits);
    let least = spread.iter().min_by_key(|c| c.bytes);
    let (first, least) = match M {
        1 => (None, least),
        15 => (first, spread.last()),
        _ => (first, least),
    };
    *first.or(least).expect("there is always one candidate")
}
