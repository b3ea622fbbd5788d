//! Lesson 10: splitting the model, as a student completes the third hints of `lesson.toml`.

use anyhow::Result;
use candle_core::Tensor;
use canopy::{
    parallel::Collective,
    shard::{Stage, bytes_per_rank},
    split::{Action, Choice, LinearGrads, Machine, Work, sum_over_ranks},
};

pub fn column_parallel(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    Ok(x.matmul(&weight.t()?)?.broadcast_add(bias)?)
}

pub fn column_parallel_backward(
    collective: &dyn Collective,
    x: &Tensor,
    weight: &Tensor,
    grad_y: &Tensor,
) -> Result<LinearGrads> {
    Ok(LinearGrads {
        x: sum_over_ranks(collective, &grad_y.matmul(weight)?)?,
        weight: grad_y.t()?.matmul(x)?,
        bias: grad_y.sum(0)?,
    })
}

pub fn row_parallel(
    collective: &dyn Collective,
    x_part: &Tensor,
    weight_part: &Tensor,
    bias: &Tensor,
) -> Result<Tensor> {
    let part = x_part.matmul(&weight_part.t()?)?;
    Ok(sum_over_ranks(collective, &part)?.broadcast_add(bias)?)
}

pub fn row_parallel_backward(x_part: &Tensor, weight_part: &Tensor, grad_y: &Tensor) -> Result<LinearGrads> {
    Ok(LinearGrads {
        x: grad_y.matmul(weight_part)?,
        weight: grad_y.t()?.matmul(x_part)?,
        bias: grad_y.sum(0)?,
    })
}

pub fn gpipe_order(stage: usize, stages: usize, micro_batches: usize) -> Vec<Action> {
    let mut order = Vec::new();
    order.extend((0..micro_batches).map(Action::Forward));
    order.extend((0..micro_batches).map(Action::Backward));
    order
}

pub fn one_f_one_b_order(stage: usize, stages: usize, micro_batches: usize) -> Vec<Action> {
    let warm_up = (stages - stage - 1).min(micro_batches);
    let mut order: Vec<Action> =
        (0..warm_up).map(Action::Forward).collect();
    for i in warm_up..micro_batches {
        order.push(Action::Forward(i));
        order.push(Action::Backward(i - warm_up));
    }
    let done = micro_batches - warm_up;
    order.extend((done..micro_batches).map(Action::Backward));
    order
}

pub fn bubble(stages: usize, micro_batches: usize) -> f64 {
    (stages - 1) as f64 / micro_batches as f64
}

pub fn activations_held(order: &[Action]) -> usize {
    let (mut held, mut most) = (0, 0);
    for action in order {
        match action {
            Action::Forward(_) => held += 1,
            Action::Backward(_) => held -= 1,
        }
        most = held.max(most);
    }
    most
}

pub fn choose(work: &Work, machine: &Machine) -> Choice {
    let inside = machine.ranks_per_node;
    let mut all =
        vec![(1, 1, Stage::Zero0), (1, 1, Stage::Zero1), (1, 1, Stage::Zero2)];
    if machine.nodes == 1 || machine.between >= machine.inside {
        all.push((1, 1, Stage::Zero3));
    }
    for t in (2..=inside).filter(|&t| inside.is_multiple_of(t)) {
        all.push((t, 1, Stage::Zero0));
    }
    let most = machine.nodes.min(work.layers);
    for p in (2..=most).filter(|&p| machine.nodes.is_multiple_of(p)) {
        all.push((inside, p, Stage::Zero0));
    }
    let spread: Vec<Choice> = all
        .into_iter()
        .map(|(tensor, pipeline, stage)| {
            let parts = tensor * pipeline;
            let data = machine.nodes * inside / parts;
            let share = work.batch.div_ceil(data);
            let own = work.parameters.div_ceil(parts);
            let model: u64 =
                bytes_per_rank(own, work.each, stage, data).iter().sum();
            let sample = work.activations.div_ceil(parts);
            let free = machine.memory.saturating_sub(model);
            let micro_batch =
                if pipeline > 1 { 1 } else { (free / sample).clamp(1, share) };
            let micro_batches = share.div_ceil(micro_batch);
            let held = pipeline.min(micro_batches) * micro_batch;
            let bytes = model + held * sample;
            let fits = bytes <= machine.memory;
            Choice { tensor, pipeline, data, stage, micro_batch, micro_batches, bytes, fits }
        })
        .collect();
    let first = spread.iter().find(|c| c.fits);
    let least = spread.iter().min_by_key(|c| c.bytes);
    *first.or(least).expect("there is always one candidate")
}
