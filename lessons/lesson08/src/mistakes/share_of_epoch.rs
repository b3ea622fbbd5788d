//! Known wrong answers to exercise 8.1.

use super::*;

pub const MISTAKES: &[Mistake<Lesson08>] = &[
    wrong!("8.1", strides_by_world_size, "Each rank gets one contiguous piece of the order; it should stride by world_size.",
    share_of_epoch: |order, rank, world, drop| {
        let each = if drop { order.len() / world } else { order.len().div_ceil(world) };
        (0..each).filter(|_| !order.is_empty()).map(|i| order[(rank * each + i) % order.len()]).collect()
    }),
    wrong!("8.1", strides_by_world_size, "The result contains positions in `order` instead of its records.",
    share_of_epoch: |order, rank, world, drop| {
        let places: Vec<usize> = (0..order.len()).collect();
        (REFERENCE.share_of_epoch)(&places, rank, world, drop)
    }),
    wrong!("8.1", strides_by_world_size, "Every rank gets the whole order, so that all do the same work.",
        share_of_epoch: |order, _, _, _| order.to_vec()),
    wrong!("8.1", strides_by_world_size, "Ranks are numbered from 0: rank r starts at index r of the order.",
        share_of_epoch: |order, rank, world, drop| (REFERENCE.share_of_epoch)(order, (rank + 1) % world, world, drop)),
    wrong!("8.1", wraps_around_if_uneven,
    "The shares have different lengths: ranks with more records wait for the others in their last step.",
    share_of_epoch: |order, rank, world, drop| match drop {
        false => order.iter().skip(rank).step_by(world).copied().collect(),
        true => (REFERENCE.share_of_epoch)(order, rank, world, true),
    }),
    wrong!("8.1", wraps_around_if_uneven, "The rest is always dropped; drop it only with `drop_tail`.",
        share_of_epoch: |order, rank, world, _| (REFERENCE.share_of_epoch)(order, rank, world, true)),
    wrong!("8.1", wraps_around_if_uneven,
    "The order is extended by its end; extend it by its beginning.",
    share_of_epoch: |order, rank, world, drop| {
        let mut all = order.to_vec();
        while !drop && !order.is_empty() && all.len() % world != 0 {
            all.extend(order.last());
        }
        (REFERENCE.share_of_epoch)(&all, rank, world, drop)
    }),
    wrong!("8.1", drops_the_tail_if_asked, "`drop_tail` is ignored: the order is always extended.",
        share_of_epoch: |order, rank, world, _| (REFERENCE.share_of_epoch)(order, rank, world, false)),
    wrong!("8.1", drops_the_tail_if_asked, "`drop_tail` is inverted.",
        share_of_epoch: |order, rank, world, drop| (REFERENCE.share_of_epoch)(order, rank, world, !drop)),
    wrong!("8.1", repeats_a_short_order,
    "The order is extended by its beginning only once; a short order must be repeated.",
    share_of_epoch: |order, rank, world, drop| {
        let mut all = order.to_vec();
        if !drop && !order.is_empty() {
            let over = (world - order.len() % world) % world;
            all.extend(order.iter().take(over));
        }
        all.into_iter().skip(rank).step_by(world).take(order.len().div_ceil(world)).collect::<Vec<_>>()
            .into_iter().take(if drop { order.len() / world } else { usize::MAX }).collect()
    }),
    wrong!("8.1", repeats_a_short_order,
    "The slice of the order's beginning is longer than the order: a short order must be repeated as often as necessary.",
    share_of_epoch: |order, rank, world, drop| {
        let missing = order.len().div_ceil(world) * world - order.len();
        if drop {
            return (REFERENCE.share_of_epoch)(order, rank, world, true);
        }
        let all = [order, &order[..missing]].concat();
        all.into_iter().skip(rank).step_by(world).collect()
    }),
    wrong!("8.1", is_empty_for_an_empty_order, "The remainder by 0 panics: handle an empty order first.",
    share_of_epoch: |order, rank, world, drop| {
        let each = if drop { order.len() / world } else { order.len().div_ceil(world).max(1) };
        (0..each).map(|i| order[(rank + i * world) % order.len()]).collect()
    }),
    wrong!("8.1", is_empty_for_an_empty_order, "Each rank gets at least one record; with fewer records than ranks and `drop_tail` it gets none.",
    share_of_epoch: |order, rank, world, drop| {
        let mine = (REFERENCE.share_of_epoch)(order, rank, world, drop);
        if mine.is_empty() { (REFERENCE.share_of_epoch)(order, rank, world, false) } else { mine }
    }),
    wrong!("8.1", wraps_around_if_uneven, "The order is extended by its end; extend it by its beginning.",
    share_of_epoch: |order, rank, world, drop| {
        let missing = (world - order.len() % world) % world;
        if drop || missing > order.len() {
            return (REFERENCE.share_of_epoch)(order, rank, world, drop);
        }
        let all = [order, &order[order.len() - missing..]].concat();
        all.into_iter().skip(rank).step_by(world).collect()
    }),
    wrong!("8.1", wraps_around_if_uneven,
    "A short share is filled with its own first record; extend the order before you stride.",
    share_of_epoch: |order, rank, world, drop| {
        let mut mine: Vec<usize> = order.iter().skip(rank).step_by(world).copied().collect();
        if drop {
            mine.truncate(order.len() / world);
        } else if mine.len() < order.len().div_ceil(world) {
            let again = mine.first().or(order.first()).copied();
            mine.extend(again);
        }
        mine
    }),
    wrong!("8.1", wraps_around_if_uneven,
    "Every short share is filled with the first record of the order; the extended order goes on with the second.",
    share_of_epoch: |order, rank, world, drop| {
        let mut mine: Vec<usize> = order.iter().skip(rank).step_by(world).copied().collect();
        if drop {
            mine.truncate(order.len() / world);
        } else if mine.len() < order.len().div_ceil(world) {
            mine.extend(order.first());
        }
        mine
    }),
    wrong!("8.1", wraps_around_if_uneven, "The order is extended by the number 0, which may be no record of it; extend it by its beginning.",
    share_of_epoch: |order, rank, world, drop| {
        let mut all = order.to_vec();
        all.resize(if drop { order.len() / world } else { order.len().div_ceil(world) } * world, 0);
        all.into_iter().skip(rank).step_by(world).collect()
    }),
    wrong!("8.1", drops_the_tail_if_asked,
    "The shares have different lengths: ranks with more records wait for the others in their last step.",
    share_of_epoch: |order, rank, world, _| order.iter().skip(rank).step_by(world).copied().collect()),
    wrong!("8.1", drops_the_tail_if_asked, "The rest is dropped at the beginning of the order; drop it at its end.",
    share_of_epoch: |order, rank, world, drop| {
        let from = if drop { order.len() % world } else { 0 };
        (REFERENCE.share_of_epoch)(&order[from..], rank, world, drop)
    }),
    wrong!("8.1", strides_by_world_size,
    "If world_size divides the length, nothing is missing: take the remainder once more, (p − n % p) % p, or round up.",
    share_of_epoch: |order, rank, world, drop| {
        let each = if drop { order.len() / world } else { order.len() / world + 1 };
        order.iter().cycle().skip(rank).step_by(world).take(each).copied().collect()
    }),
    wrong!("8.1", strides_by_world_size,
    "If world_size divides the length, `drop_tail` has nothing to drop, but the last record of each rank is gone.",
    share_of_epoch: |order, rank, world, drop| {
        let mut mine = (REFERENCE.share_of_epoch)(order, rank, world, drop);
        if drop && order.len() % world == 0 {
            mine.pop();
        }
        mine
    }),
    wrong!("8.1", accepts_any_number_of_ranks,
    "A record that is in the order twice is left out, so that the shares have different lengths.",
    share_of_epoch: |order, rank, world, drop| {
        let mut mine: Vec<usize> = Vec::new();
        for record in (REFERENCE.share_of_epoch)(order, rank, world, drop) {
            if !mine.contains(&record) {
                mine.push(record);
            }
        }
        mine
    }),
    wrong!("8.1", is_empty_for_an_empty_order, "An empty order panics: its length minus 1 underflows. Handle it first.",
    share_of_epoch: |order, rank, world, drop| {
        let rounds = if drop { order.len() / world } else { (order.len() - 1) / world + 1 };
        (0..rounds).map(|i| order[(rank + i * world) % order.len()]).collect()
    }),
    wrong!("8.1", is_empty_for_an_empty_order, "An empty order has no first record, so that an index panics. Handle it first.",
    share_of_epoch: |order, rank, world, drop| {
        let first = order[0];
        let mine = (REFERENCE.share_of_epoch)(order, rank, world, drop);
        if order.len() == 1 { mine.iter().map(|_| first).collect() } else { mine }
    }),
    wrong!("8.1", drops_the_tail_if_asked,
    "The first ranks get the records of the tail, so that the shares have different lengths: drop them, even if canopy hands them out later.",
    share_of_epoch: |order, rank, world, drop| {
        let mut mine = (REFERENCE.share_of_epoch)(order, rank, world, drop);
        if drop {
            mine.extend(order.get(order.len() / world * world + rank));
        }
        mine
    }),
    wrong!("8.1", strides_by_world_size, "The share is sorted; its records stay in the order in which the epoch visits them.",
    share_of_epoch: |order, rank, world, drop| {
        let mut mine = (REFERENCE.share_of_epoch)(order, rank, world, drop);
        mine.sort_unstable();
        mine
    }),
    wrong!("8.1", strides_by_world_size,
    "`step_by` before `skip` leaves out whole rounds, the first ones of rank 0: call `skip(rank)` first.",
    share_of_epoch: |order, rank, world, drop| {
        let each = if drop { order.len() / world } else { order.len().div_ceil(world) };
        order.iter().cycle().take(each * world).step_by(world).skip(rank).copied().collect()
    }),
    wrong!("8.1", repeats_a_short_order,
    "With fewer records than ranks all shares are empty; that is right only with `drop_tail`.",
    share_of_epoch: |order, rank, world, drop| {
        let short = order.len() < world;
        (REFERENCE.share_of_epoch)(order, rank, world, drop || short)
    }),
];
