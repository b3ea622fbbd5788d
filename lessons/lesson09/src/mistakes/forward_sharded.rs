//! Known wrong answers to exercise 9.4.

use canopy::{
    parallel::Collective,
    shard::{LayerBackward, Memory, Sharded},
};

use super::*;

/// The backward pass in `order`, with `reduce` in place of exercise 9.3.
fn backward_in(
    c: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerBackward,
    order: impl Iterator<Item = usize>,
    reduce: fn(&dyn Collective, Vec<f32>) -> Result<Vec<f32>>,
) -> Result<Vec<Vec<f32>>> {
    let mut means = vec![Vec::new(); layers.len()];
    for index in order {
        let layer = &layers[index];
        let mut whole = memory.buffer(layer.length);
        c.all_gather(&layer.own, &mut whole)?;
        means[index] = reduce(c, work(index, &whole)?)?;
    }
    Ok(means)
}

fn sum(c: &dyn Collective, gradients: Vec<f32>) -> Result<Vec<f32>> {
    let mut mine = vec![0.0; own(c, gradients.len()).len()];
    c.reduce_scatter(&gradients, &mut mine)?;
    Ok(mine)
}

fn all_reduced(c: &dyn Collective, mut gradients: Vec<f32>) -> Result<Vec<f32>> {
    c.all_reduce(&mut gradients)?;
    divide(c, &mut gradients);
    Ok(gradients)
}

pub const MISTAKES: &[Mistake<Lesson09>] = &[
    wrong!("9.4", forward_uses_each_layer_in_order, "`work` gets this rank's chunk only: gather the layer first.",
        forward_sharded: |_, layers, _, work| layers.iter().enumerate().try_for_each(|(i, layer)| work(i, &layer.own))),
    wrong!("9.4", forward_uses_each_layer_in_order, "The forward pass goes from the last layer to the first.",
    forward_sharded: |c, layers, memory, work| {
        for (index, layer) in layers.iter().enumerate().rev() {
            let mut whole = memory.buffer(layer.length);
            c.all_gather(&layer.own, &mut whole)?;
            work(index, &whole)?;
        }
        Ok(())
    }),
    wrong!("9.4", forward_uses_each_layer_in_order, "The buffer is used as it is given, all 0: nothing is gathered into it.",
    forward_sharded: |_, layers, memory, work| {
        layers.iter().enumerate().try_for_each(|(i, layer)| work(i, &memory.buffer(layer.length)))
    }),
    wrong!("9.4", holds_one_layer_at_a_time, "All layers are gathered before the first is used: for a moment the rank has the whole model.",
    forward_sharded: |c, layers, memory, work| {
        let mut all = Vec::new();
        for layer in layers {
            let mut whole = memory.buffer(layer.length);
            c.all_gather(&layer.own, &mut whole)?;
            all.push(whole);
        }
        all.iter().enumerate().try_for_each(|(i, whole)| work(i, whole))
    }),
    wrong!("9.4", holds_one_layer_at_a_time, "The buffers are kept until the end of the pass: drop each before the next layer is gathered.",
    forward_sharded: |c, layers, memory, work| {
        let mut kept = Vec::new();
        for (index, layer) in layers.iter().enumerate() {
            let mut whole = memory.buffer(layer.length);
            c.all_gather(&layer.own, &mut whole)?;
            work(index, &whole)?;
            kept.push(whole);
        }
        Ok(())
    }),
    wrong!("9.4", holds_one_layer_at_a_time, "The layer is gathered into a list of its own; `memory.buffer` gives the buffer, and counts it.",
    forward_sharded: |c, layers, _, work| {
        for (index, layer) in layers.iter().enumerate() {
            let mut whole = vec![0.0; layer.length];
            c.all_gather(&layer.own, &mut whole)?;
            work(index, &whole)?;
        }
        Ok(())
    }),
    wrong!("9.4", holds_one_layer_at_a_time, "The next layer is gathered while the one before is still there: release it first.",
    forward_sharded: |c, layers, memory, work| {
        let mut current = None;
        for (index, layer) in layers.iter().enumerate() {
            let mut whole = memory.buffer(layer.length);
            c.all_gather(&layer.own, &mut whole)?;
            work(index, &current.insert(whole)[..])?;
        }
        Ok(())
    }),
    wrong!("9.4", holds_one_layer_at_a_time, "The buffer of a layer is kept until the next one is used: two layers at a time. Release it first.",
    forward_sharded: |c, layers, memory, work| {
        let mut before = None;
        for (index, layer) in layers.iter().enumerate() {
            let mut whole = memory.buffer(layer.length);
            c.all_gather(&layer.own, &mut whole)?;
            work(index, &whole)?;
            drop(before.replace(whole));
        }
        Ok(())
    }),
    wrong!("9.4", backward_runs_from_the_last_layer, "The backward pass goes from the first layer to the last; gradients are computed from the last to the first.",
        backward_sharded: |c, l, m, w| backward_in(c, l, m, w, 0..l.len(), REFERENCE.reduce_gradients)),
    wrong!("9.4", backward_runs_from_the_last_layer, "The layers are counted from the end: the last one has index 0. Reverse after `enumerate`.",
    backward_sharded: |c, l, m, w| {
        let mut means = Vec::new();
        for (index, layer) in l.iter().rev().enumerate() {
            let mut whole = m.buffer(layer.length);
            c.all_gather(&layer.own, &mut whole)?;
            means.push((REFERENCE.reduce_gradients)(c, w(index, &whole)?)?);
        }
        means.reverse();
        Ok(means)
    }),
    wrong!("9.4", returns_mean_gradients_in_the_order_of_the_layers, "The results are in the order of the backward pass, last layer first.",
    backward_sharded: |c, l, m, w| {
        let mut means = (REFERENCE.backward_sharded)(c, l, m, w)?;
        means.reverse();
        Ok(means)
    }),
    wrong!("9.4", returns_mean_gradients_in_the_order_of_the_layers, "These are sums over the ranks: divide them by the number of ranks.",
        backward_sharded: |c, l, m, w| backward_in(c, l, m, w, (0..l.len()).rev(), sum)),
    wrong!("9.4", returns_mean_gradients_in_the_order_of_the_layers, "Each rank keeps the gradients of all parameters of a layer; it needs its own chunk.",
        backward_sharded: |c, l, m, w| backward_in(c, l, m, w, (0..l.len()).rev(), all_reduced)),
    wrong!("9.4", returns_mean_gradients_in_the_order_of_the_layers, "These are this rank's own gradients: they are not reduced over the ranks.",
        backward_sharded: |c, l, m, w| backward_in(c, l, m, w, (0..l.len()).rev(), |c, g| Ok(g[own(c, g.len())].to_vec()))),
    wrong!("9.4", sends_three_times_a_part, "The gradients are reduced by an all-reduce, which sends twice as much as a reduce-scatter.",
    backward_sharded: |c, l, m, w| backward_in(c, l, m, w, (0..l.len()).rev(), |c, g| {
        let own = own(c, g.len());
        Ok(all_reduced(c, g)?[own].to_vec())
    })),
    wrong!("9.4", sends_three_times_a_part, "The gradients of all layers are kept until the end and reduced then; reduce each at once.",
    backward_sharded: |c, l, m, w| {
        let all = backward_in(c, l, m, w, (0..l.len()).rev(), |_, g| Ok(g))?;
        all.into_iter().map(|g| (REFERENCE.reduce_gradients)(c, g)).collect()
    }),
    wrong!("9.4", accepts_short_and_empty_layers, "Layers with fewer parameters than ranks are skipped.",
    forward_sharded: |c, layers, memory, work| {
        for (index, layer) in layers.iter().enumerate().filter(|(_, l)| l.length >= c.world_size()) {
            let mut whole = memory.buffer(layer.length);
            c.all_gather(&layer.own, &mut whole)?;
            work(index, &whole)?;
        }
        Ok(())
    }),
    wrong!("9.4", accepts_short_and_empty_layers, "A rank that has no parameters of a layer skips it, and the others wait: every rank makes the same calls.",
    forward_sharded: |c, layers, memory, work| {
        for (index, layer) in layers.iter().enumerate().filter(|(_, l)| !l.own.is_empty()) {
            let mut whole = memory.buffer(layer.length);
            c.all_gather(&layer.own, &mut whole)?;
            work(index, &whole)?;
        }
        Ok(())
    }),
    wrong!("9.4", returns_errors, "An error of `work` or of the all-gather is ignored: pass it on with `?`.",
    forward_sharded: |c, layers, memory, work| {
        let _ = (REFERENCE.forward_sharded)(c, layers, memory, work);
        Ok(())
    }),
    wrong!("9.4", accepts_short_and_empty_layers, "Layers without parameters are left out; each layer computes, also an empty one.",
    forward_sharded: |c, layers, memory, work| {
        for (index, layer) in layers.iter().enumerate().filter(|(_, l)| l.length > 0) {
            let mut whole = memory.buffer(layer.length);
            c.all_gather(&layer.own, &mut whole)?;
            work(index, &whole)?;
        }
        Ok(())
    }),
    wrong!("9.4", backward_runs_from_the_last_layer, "The backward pass computes with this rank's part only; the layer was released, so gather it again.",
    backward_sharded: |c, layers, memory, work| {
        let mut means = vec![Vec::new(); layers.len()];
        for (index, layer) in layers.iter().enumerate().rev() {
            let mut whole = memory.buffer(layer.length);
            whole[own(c, layer.length)].copy_from_slice(&layer.own);
            means[index] = (REFERENCE.reduce_gradients)(c, work(index, &whole)?)?;
        }
        Ok(means)
    }),
    wrong!("9.4", accepts_short_and_empty_layers, "In the backward pass, layers without parameters are left out; each layer computes, also an empty one.",
    backward_sharded: |c, layers, memory, work| {
        let full: Vec<usize> = (0..layers.len()).rev().filter(|&i| layers[i].length > 0).collect();
        backward_in(c, layers, memory, work, full.into_iter(), REFERENCE.reduce_gradients)
    }),
];
