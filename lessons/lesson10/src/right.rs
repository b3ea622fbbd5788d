//! Right answers that are not written as canopy's.

use candle_core::Tensor;
use canopy::{
    shard::{Stage, bytes_per_rank},
    split::{
        Action::{self, Backward, Forward},
        Choice, LinearGrads, Machine, Work, sum_over_ranks,
    },
};
use grader::{Right, known};

use crate::{Lesson10, REFERENCE};

pub const RIGHT: &[Right<Lesson10>] = &[
    known!("10.1", "W·xᵀ, transposed", column_parallel: |x, w, b| {
        Ok(w.matmul(&x.t()?)?.t()?.broadcast_add(b)?)
    }, column_parallel_backward: |c, x, w, g| {
        let weight = x.t()?.matmul(g)?.t()?;
        let bias = g.t()?.sum(1)?;
        let mut numbers = g.matmul(w)?.flatten_all()?.to_vec1::<f32>()?;
        c.all_reduce(&mut numbers)?;
        Ok(LinearGrads { x: Tensor::from_vec(numbers, x.shape(), x.device())?, weight, bias })
    }),
    known!("10.2", "the bias on rank 0 alone, before the sum", row_parallel: |c, x, w, b| {
        let mut part = x.matmul(&w.t()?)?;
        if c.rank() == 0 {
            part = part.broadcast_add(b)?;
        }
        sum_over_ranks(c, &part)
    }),
    known!("10.2", "a p-th of the bias on each rank", row_parallel: |c, x, w, b| {
        let own = (b / c.world_size() as f64)?;
        sum_over_ranks(c, &x.matmul(&w.t()?)?.broadcast_add(&own)?)
    }, row_parallel_backward: |x, w, g| {
        Ok(LinearGrads { x: w.t()?.matmul(&g.t()?)?.t()?, weight: x.t()?.matmul(g)?.t()?, bias: g.t()?.sum(1)? })
    }),
    known!("10.3", "by loops", gpipe_order: |_, _, m| {
        let mut order: Vec<Action> = Vec::new();
        for i in 0..m {
            order.insert(i, Forward(i));
            order.push(Backward(i));
        }
        order
    }),
    known!("10.4", "by counters", one_f_one_b_order: |stage, stages, m| {
        let (mut forward, mut backward, mut order) = (0, 0, Vec::new());
        while backward < m {
            if forward < m && forward - backward < stages - stage {
                order.push(Forward(forward));
                forward += 1;
            } else {
                order.push(Backward(backward));
                backward += 1;
            }
        }
        order
    }),
    known!("10.5", "by times of passes", bubble: |p, m| {
        let (f, b) = (1.0, 2.0);
        let all = (m + p - 1) as f64 * (f + b);
        let computes = m as f64 * (f + b);
        (all - computes) / computes
    }, activations_held: |order| {
        let kept = |n: usize| order[..n].iter().map(|a| if matches!(a, Forward(_)) { 1_i64 } else { -1 }).sum::<i64>();
        (0..=order.len()).map(kept).max().unwrap_or(0) as usize
    }),
    known!("10.6", "a smaller micro-batch until it fits", candidate: shrunk),
    known!("10.7", "with the divisor 1, sorted", choose: |w, m| {
        let stages = if m.nodes > 1 && m.between < m.inside { 3 } else { 4 };
        let whole = Stage::ALL[..stages].iter().map(|&s| (1, 1, s));
        let layers = (1..=m.ranks_per_node).map(|t| (t, 1, Stage::Zero0));
        let nodes = (1..=m.nodes.min(w.layers)).map(|p| (m.ranks_per_node, p, Stage::Zero0));
        let mut all = Vec::new();
        for (tensor, pipeline, stage) in whole.chain(layers).chain(nodes) {
            if m.ranks_per_node % tensor + m.nodes % pipeline > 0 {
                continue;
            }
            all.push(shrunk(w, m, tensor, pipeline, stage));
        }
        all.sort_by_key(|c| if c.fits { 0 } else { c.bytes });
        all[0]
    }),
];

/// Makes the micro-batch smaller until it fits.
fn shrunk(w: &Work, m: &Machine, tensor: u64, pipeline: u64, stage: Stage) -> Choice {
    let parts = tensor * pipeline;
    let data = m.nodes * m.ranks_per_node / parts;
    let share = w.batch.div_ceil(data);
    let sample = w.activations.div_ceil(parts);
    let model = bytes_per_rank(w.parameters.div_ceil(parts), w.each, stage, data)
        .into_iter()
        .sum::<u64>();
    let mut micro_batch = if pipeline == 1 { share } else { 1 };
    while micro_batch > 1 && model + micro_batch * sample > m.memory {
        micro_batch -= 1;
    }
    let micro_batches = share.div_ceil(micro_batch);
    let bytes = model + micro_batches.min(pipeline) * micro_batch * sample;
    let fits = bytes <= m.memory;
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
}
