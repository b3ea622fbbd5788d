//! A pipeline in simulated time: when each stage computes what.

use canopy::split::Action;

/// A pass, and when a stage computed it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// The stage.
    pub stage: usize,
    /// Which pass.
    pub action: Action,
    /// When it began.
    pub start: f64,
    /// When it ended.
    pub end: f64,
}

/// Simulates stages that compute their passes in the order of `orders`, one list for each stage. A forward pass takes
/// `forward` and a backward pass `backward`; messages take no time. A stage waits for the forward pass of the stage before,
/// and for the backward pass of the stage after.
///
/// # Errors
/// Returns what a stage waits for in vain.
pub fn simulate(orders: &[Vec<Action>], forward: f64, backward: f64) -> Result<Vec<Pass>, String> {
    simulate_chunks(&in_one_chunk(orders), 1, forward, backward)
}

/// The orders of ranks with one stage each.
pub fn in_one_chunk(orders: &[Vec<Action>]) -> Vec<Vec<Slot>> {
    let slot = |&action: &Action| Slot { chunk: 0, action };
    orders
        .iter()
        .map(|order| order.iter().map(slot).collect())
        .collect()
}

/// As [`simulate`], of ranks with `chunks` stages each.
///
/// # Errors
/// Returns what a stage waits for in vain.
pub fn simulate_chunks(
    orders: &[Vec<Slot>],
    chunks: usize,
    forward: f64,
    backward: f64,
) -> Result<Vec<Pass>, String> {
    let ranks = orders.len();
    let mut done: Vec<Pass> = Vec::new();
    let mut next = vec![0; ranks];
    let total: usize = orders.iter().map(Vec::len).sum();
    while done.len() < total {
        let before = done.len();
        for (rank, order) in orders.iter().enumerate() {
            while let Some(&Slot { chunk, action }) = order.get(next[rank]) {
                let stage = chunk * ranks + rank;
                let Some(ready) = ready(&done, stage, ranks * chunks, action) else {
                    break;
                };
                let own = done.iter().filter(|pass| pass.stage % ranks == rank);
                let start = own.map(|pass| pass.end).fold(ready, f64::max);
                let takes = match action {
                    Action::Forward(_) => forward,
                    Action::Backward(_) => backward,
                };
                let end = start + takes;
                done.push(Pass {
                    stage,
                    action,
                    start,
                    end,
                });
                next[rank] += 1;
            }
        }
        if done.len() == before {
            return Err(standstill(orders, &next));
        }
    }
    Ok(done)
}

/// When what `action` of `stage` needs is there; `None` if it is not computed yet.
fn ready(done: &[Pass], stage: usize, stages: usize, action: Action) -> Option<f64> {
    let end = |stage: usize, action: Action| {
        let mut of = done
            .iter()
            .filter(|pass| pass.stage == stage && pass.action == action);
        of.next().map(|pass| pass.end)
    };
    match action {
        Action::Forward(_) if stage == 0 => Some(0.0),
        Action::Forward(_) => end(stage - 1, action),
        Action::Backward(i) => {
            let own = end(stage, Action::Forward(i))?;
            if stage + 1 == stages {
                return Some(own);
            }
            Some(own.max(end(stage + 1, action)?))
        }
    }
}

/// The first stage that waits.
fn standstill(orders: &[Vec<Slot>], next: &[usize]) -> String {
    let waits = orders.iter().zip(next).enumerate();
    let mut waits = waits.filter_map(|(rank, (order, &at))| Some((rank, order.get(at)?)));
    waits.next().map_or_else(String::new, |(rank, slot)| {
        let stage = slot.chunk * orders.len() + rank;
        format!("stage {stage} waits for ever before {}", name(slot.action))
    })
}

/// `F3` or `B3`.
pub fn name(action: Action) -> String {
    match action {
        Action::Forward(i) => format!("F{i}"),
        Action::Backward(i) => format!("B{i}"),
    }
}

/// The end of the last pass.
pub fn finish(passes: &[Pass]) -> f64 {
    passes.iter().map(|pass| pass.end).fold(0.0, f64::max)
}

/// What a rank computes next, for one of its stages. Rank r of p has the stages r, r + p, r + 2p, ….
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Which of the rank's stages, from 0.
    pub chunk: usize,
    /// What it computes.
    pub action: Action,
}

/// The interleaved 1F1B order of rank `rank` of `ranks` with `chunks` stages each (Narayanan et al. 2021, section 2.2). A rank
/// computes `ranks` micro-batches with its first stage, then the same ones with its second, and so on. Its bubble is
/// (ranks − 1)/(chunks · `micro_batches`), if `micro_batches` is a multiple of `ranks`, as it must be.
pub fn interleaved_order(rank: usize, ranks: usize, chunks: usize, micro_batches: usize) -> Vec<Slot> {
    let all = chunks * micro_batches;
    // The k-th forward pass of a rank; backward passes go through its stages in the reverse order.
    let of = |k: usize| {
        let (group, within) = (k / (ranks * chunks), k % (ranks * chunks));
        (within / ranks, group * ranks + within % ranks)
    };
    let forward = |k| {
        let (chunk, micro) = of(k);
        Slot {
            chunk,
            action: Action::Forward(micro),
        }
    };
    let backward = |k| {
        let (chunk, micro) = of(k);
        Slot {
            chunk: chunks - 1 - chunk,
            action: Action::Backward(micro),
        }
    };
    let warm_up = (2 * (ranks - rank - 1) + (chunks - 1) * ranks).min(all);
    let mut order: Vec<Slot> = (0..warm_up).map(forward).collect();
    for i in 0..all - warm_up {
        order.extend([forward(warm_up + i), backward(i)]);
    }
    order.extend((all - warm_up..all).map(backward));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bubble is that of the paper, and each pass is computed once, in an order that no rank waits for.
    #[test]
    fn interleaved_stages_divide_the_bubble() {
        for (ranks, micro_batches) in [(1, 3), (2, 2), (3, 6), (4, 8)] {
            for chunks in [1, 2, 3] {
                let order = |rank| interleaved_order(rank, ranks, chunks, micro_batches);
                let orders: Vec<_> = (0..ranks).map(order).collect();
                let passes = simulate_chunks(&orders, chunks, 1.0, 2.0).unwrap();
                assert_eq!(passes.len(), 2 * ranks * chunks * micro_batches);
                let bubble = finish(&passes) / (3 * chunks * micro_batches) as f64 - 1.0;
                let expected = (ranks - 1) as f64 / (chunks * micro_batches) as f64;
                assert!(
                    (bubble - expected).abs() < 1e-12,
                    "{ranks} {micro_batches} {chunks}: {bubble}"
                );
            }
        }
    }
}
