//! The interleaved schedule of a pipeline, and how long a step takes with a schedule.

use super::Action;

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

/// Start and end of each slot of each rank, in seconds.
pub type Times = Vec<Vec<(f64, f64)>>;

/// Simulates the orders of all ranks: a slot starts when the rank has finished the slot before and its input exists. `seconds`
/// is the time of an action on a stage, numbered over all ranks. Messages take no time. Returns `None` if the ranks wait for
/// each other forever.
pub fn simulate(
    orders: &[Vec<Slot>],
    chunks: usize,
    seconds: impl Fn(usize, Action) -> f64,
) -> Option<Times> {
    let (ranks, stages) = (orders.len(), orders.len() * chunks);
    let mut times: Times = vec![Vec::new(); ranks];
    let mut ends = std::collections::HashMap::new();
    let count: usize = orders.iter().map(Vec::len).sum();
    while times.iter().map(Vec::len).sum::<usize>() < count {
        let mut has_advanced = false;
        for (rank, order) in orders.iter().enumerate() {
            while let Some(slot) = order.get(times[rank].len()) {
                let stage = slot.chunk * ranks + rank;
                let input = match slot.action {
                    Action::Forward(_) if stage == 0 => Some(0.0),
                    Action::Forward(m) => ends.get(&(stage - 1, true, m)).copied(),
                    Action::Backward(m) if stage + 1 == stages => ends.get(&(stage, true, m)).copied(),
                    Action::Backward(m) => ends.get(&(stage + 1, false, m)).copied(),
                };
                let Some(input) = input else { break };
                let before: f64 = times[rank].last().map_or(0.0, |(_, end)| *end);
                let start = before.max(input);
                let end = start + seconds(stage, slot.action);
                times[rank].push((start, end));
                let (is_forward, micro) = match slot.action {
                    Action::Forward(m) => (true, m),
                    Action::Backward(m) => (false, m),
                };
                ends.insert((stage, is_forward, micro), end);
                has_advanced = true;
            }
        }
        if !has_advanced {
            return None;
        }
    }
    Some(times)
}

/// The time in which ranks are idle, as a fraction of the time in which they compute, from 0 until the last one ends.
pub fn measured_bubble(times: &Times) -> f64 {
    let end = times.iter().flatten().map(|t| t.1).fold(0.0, f64::max);
    let busy: f64 = times.iter().flatten().map(|(start, end)| end - start).sum();
    if busy > 0.0 {
        end * times.len() as f64 / busy - 1.0
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::{bubble, gpipe_order, one_f_one_b_order};

    /// The order of each of `ranks` ranks with one stage each.
    fn orders(
        of_stage: fn(usize, usize, usize) -> Vec<Action>,
        ranks: usize,
        micro_batches: usize,
    ) -> Vec<Vec<Slot>> {
        let slot = |action| Slot { chunk: 0, action };
        let order = |rank| {
            of_stage(rank, ranks, micro_batches)
                .into_iter()
                .map(slot)
                .collect()
        };
        (0..ranks).map(order).collect()
    }

    /// Backward passes take twice as long as forward passes.
    fn seconds(_: usize, action: Action) -> f64 {
        match action {
            Action::Forward(_) => 1.0,
            Action::Backward(_) => 2.0,
        }
    }

    #[test]
    fn bubbles_are_those_of_the_paper() {
        for (ranks, micro_batches) in [(1, 3), (2, 2), (3, 6), (4, 8)] {
            for of_stage in [gpipe_order, one_f_one_b_order] {
                let times = simulate(&orders(of_stage, ranks, micro_batches), 1, seconds).unwrap();
                let expected = bubble(ranks, micro_batches);
                assert!((measured_bubble(&times) - expected).abs() < 1e-12, "{times:?}");
            }
            for chunks in [1, 2, 3] {
                let order = |rank| interleaved_order(rank, ranks, chunks, micro_batches);
                let orders: Vec<_> = (0..ranks).map(order).collect();
                let times = simulate(&orders, chunks, seconds).unwrap();
                let expected = bubble(ranks, micro_batches) / chunks as f64;
                let found = measured_bubble(&times);
                assert!(
                    (found - expected).abs() < 1e-12,
                    "{ranks} {micro_batches} {chunks}: {found}"
                );
            }
        }
    }

    #[test]
    fn each_pass_is_in_an_order_once() {
        for rank in 0..3 {
            let order = interleaved_order(rank, 3, 2, 6);
            assert_eq!(order.len(), 2 * 2 * 6);
            for chunk in 0..2 {
                for m in 0..6 {
                    let at = |action| order.iter().position(|s| *s == Slot { chunk, action }).unwrap();
                    assert!(at(Action::Forward(m)) < at(Action::Backward(m)));
                }
            }
        }
    }

    #[test]
    fn ranks_that_wait_for_each_other_are_found() {
        let mut wrong = orders(one_f_one_b_order, 2, 2);
        wrong[1].swap(0, 1);
        assert!(simulate(&wrong, 1, seconds).is_none());
    }
}
