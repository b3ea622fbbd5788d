//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use candle_core::{DType, Tensor};
use canopy::parallel::{BucketSizes, Cost, chunk, naive_all_reduce};
use grader::{Mistake, wrong};

use crate::{Lesson08, REFERENCE, answer_helpers::*};

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
    wrong!("8.2", reduces_each_chunk_at_its_owner, "Every rank waits for a message before it sends one: a deadlock. Send first.",
        ring_reduce_scatter: |l, d| hearing_first(l, d, SCATTER), ring_all_gather: |l, d| hearing_first(l, d, GATHER)),
    wrong!("8.2", reduces_each_chunk_at_its_owner, "The chunk that arrives replaces the rank's own; add it.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { take: |own, v| *own = v, ..SCATTER })),
    wrong!("8.2", reduces_each_chunk_at_its_owner,
    "The complete chunk ends at the rank before its owner: in the first step rank r sends chunk r − 1, not chunk r.",
    ring_reduce_scatter: |l, d| around(l, d, Ring {
        out: |r, s, p| (r + p - s) % p,
        into: |r, s, p| (r + 2 * p - 1 - s) % p,
        ..SCATTER
    })),
    wrong!("8.2", reduces_each_chunk_at_its_owner, "There is one step too few: p ranks need p − 1 steps.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { steps: |p| p.saturating_sub(2), ..SCATTER })),
    wrong!("8.2", reduces_each_chunk_at_its_owner,
        "The index of a chunk underflows: add p often enough before you subtract.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { out: |r, s, p| (r - 1 - s) % p, ..SCATTER })),
    wrong!("8.2", sends_the_least_data, "There is one step too many: after p − 1 steps each chunk is complete.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { steps: |p| if p > 1 { p } else { 0 }, ..SCATTER })),
    wrong!("8.2", reduces_each_chunk_at_its_owner,
        "The same chunk is sent in every step; send the chunk that arrived in the step before.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { out: |r, _, p| (r + p - 1) % p, ..SCATTER })),
    wrong!("8.2", gathers_all_chunks, "The chunks of the second half are added; they are complete, so copy them.",
        ring_all_gather: |l, d| around(l, d, Ring { take: |own, v| *own += v, ..GATHER })),
    wrong!("8.2", gathers_all_chunks,
        "The second half starts with another chunk than the rank's own; start with its own, which is complete.",
        ring_all_gather: |l, d| around(l, d, Ring { take: |own, v| *own = v, ..SCATTER })),
    wrong!("8.2", gathers_all_chunks,
        "The index of a chunk underflows: add p before you subtract.",
        ring_all_gather: |l, d| around(l, d, Ring { into: |r, s, p| (r - 1 - s) % p, ..GATHER })),
    wrong!("8.2", gathers_all_chunks,
        "The chunk that arrives is stored in place of the one that was sent; it is the chunk before that one.",
        ring_all_gather: |l, d| around(l, d, Ring { into: GATHER.out, ..GATHER })),
    wrong!("8.2", gathers_all_chunks, "A rank sends its own chunk in every step; it must pass on the others' chunks too.",
        ring_all_gather: |l, d| around(l, d, Ring { out: |r, _, _| r, ..GATHER })),
    wrong!("8.2", composes_to_an_all_reduce, "The second half does nothing.",
        ring_all_gather: |_, _| Ok(())),
    wrong!("8.2", accepts_uneven_and_empty_chunks,
        "Chunks have the length length/p, which loses the rest; use `chunk`.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { cut: even, ..SCATTER }),
        ring_all_gather: |l, d| around(l, d, Ring { cut: even, ..GATHER })),
    wrong!("8.2", accepts_uneven_and_empty_chunks,
        "The buffer is not as long as the chunk that arrives; its length may be another one in each step.",
        ring_reduce_scatter: |l, d| with_room(l, d, |out, _| out, |_| true)),
    wrong!("8.2", accepts_uneven_and_empty_chunks,
        "An empty chunk is not sent, but its receiver waits for it: send it, or the next rank receives another message instead.",
        ring_reduce_scatter: |l, d| with_room(l, d, |_, into| into, |out| out > 0)),
    wrong!("8.2", sends_only_to_its_neighbour, "Every rank sends to every other; in a ring it sends only to the next one.",
        ring_reduce_scatter: |l, d| all_to_all(l, d, |own, v| *own += v, false),
        ring_all_gather: |l, d| all_to_all(l, d, |own, v| *own = v, true)),
    wrong!("8.2", sends_only_to_its_neighbour, "All ranks send to rank 0, which adds: it receives p times as much as in a ring.",
        ring_reduce_scatter: |l, d| naive_all_reduce(l, d)),
    wrong!("8.2", sends_only_to_its_neighbour, "The ring runs backwards: rank r sends to rank r + 1.",
    ring_reduce_scatter: |l, d| around(l, d, Ring {
        to: SCATTER.from,
        from: SCATTER.to,
        out: |r, s, p| (r + 1 + s) % p,
        into: |r, s, p| (r + 2 + s) % p,
        ..SCATTER
    }),
    ring_all_gather: |l, d| around(l, d, Ring {
        to: GATHER.from,
        from: GATHER.to,
        out: |r, s, p| (r + s) % p,
        into: |r, s, p| (r + 1 + s) % p,
        ..GATHER
    })),
    wrong!("8.2", sends_the_least_data, "All of the data is sent in every step; one chunk is enough.",
    ring_reduce_scatter: |l, d| {
        let (r, p) = (l.rank(), l.world_size());
        let mut passing = d.to_vec();
        for _ in 0..p - 1 {
            l.send((r + 1) % p, &passing)?;
            l.receive((r + p - 1) % p, &mut passing)?;
            d.iter_mut().zip(&passing).for_each(|(own, v)| *own += v);
        }
        Ok(())
    }),
    wrong!("8.2", sends_the_least_data, "The second half has too many steps: after p − 1 steps all chunks have arrived.",
        ring_all_gather: |l, d| around(l, d, Ring { steps: |p| if p > 1 { p } else { 0 }, ..GATHER })),
    wrong!("8.2", reduces_each_chunk_at_its_owner, "A single rank gets an error; it has nothing to do, and that is right.",
    ring_reduce_scatter: |l, d| {
        anyhow::ensure!(l.world_size() > 1, "too few ranks");
        around(l, d, SCATTER)
    }),
    wrong!("8.2", reduces_each_chunk_at_its_owner, "The sum is divided by the number of ranks; only the sum is asked for here.",
    ring_reduce_scatter: |l, d| {
        around(l, d, SCATTER)?;
        let own = chunk(d.len(), l.rank(), l.world_size());
        d[own].iter_mut().for_each(|v| *v /= l.world_size() as f32);
        Ok(())
    }),
    wrong!("8.2", reduces_each_chunk_at_its_owner,
        "The chunk that arrives is added to the one that was sent; it is the chunk before that one.",
        ring_reduce_scatter: |l, d| added_to_the_sent(l, d)),
    wrong!("8.2", reduces_each_chunk_at_its_owner, "There is one step too many: p ranks need p − 1 steps, and one rank none.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { steps: |p| p, ..SCATTER })),
    wrong!("8.2", gathers_all_chunks, "There is one step too many: p ranks need p − 1 steps, and one rank none.",
        ring_all_gather: |l, d| around(l, d, Ring { steps: |p| p, ..GATHER })),
    wrong!("8.2", reduces_each_chunk_at_its_owner,
        "The ring runs backwards, so that other chunks arrive than expected: rank r sends to rank r + 1.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { to: SCATTER.from, from: SCATTER.to, ..SCATTER })),
    wrong!("8.2", reduces_each_chunk_at_its_owner, "The ring is open: the last rank sends to rank 0, too.",
        ring_reduce_scatter: |l, d| chain(l, d)),
    wrong!("8.2", gathers_all_chunks, "There is one step too few in the second half: p ranks need p − 1 steps.",
        ring_all_gather: |l, d| around(l, d, Ring { steps: |p| p.saturating_sub(2), ..GATHER })),
    wrong!("8.2", gathers_all_chunks, "Every rank waits for a message before it sends one: a deadlock. Send first.",
        ring_all_gather: |l, d| hearing_first(l, d, GATHER)),
    wrong!("8.2", accepts_uneven_and_empty_chunks, "The chunks are not those of `chunk`, so that other numbers are complete: use it.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { cut: rest_last, ..SCATTER }),
        ring_all_gather: |l, d| around(l, d, Ring { cut: rest_last, ..GATHER })),
    wrong!("8.2", accepts_uneven_and_empty_chunks, "The chunks are not those of `chunk`, so that other numbers are complete: use it.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { cut: rest_first, ..SCATTER }),
        ring_all_gather: |l, d| around(l, d, Ring { cut: rest_first, ..GATHER })),
    wrong!("8.2", sends_only_to_its_neighbour, "Every rank sends to every other; in a ring it sends only to the next one.",
        ring_all_gather: |l, d| all_to_all(l, d, |own, v| *own = v, true)),
    wrong!("8.2", sends_the_least_data, "Empty chunks are not sent: the number of messages then depends on the length. Send them, too.",
        ring_reduce_scatter: |l, d| if d.len() < l.world_size() { full_only(l, d, SCATTER) } else { around(l, d, SCATTER) },
        ring_all_gather: |l, d| if d.len() < l.world_size() { full_only(l, d, GATHER) } else { around(l, d, GATHER) }),
    wrong!("8.2", sends_the_least_data, "Empty chunks are not sent: the number of messages then depends on the length. Send them, too.",
        ring_reduce_scatter: |l, d| if d.is_empty() { Ok(()) } else { around(l, d, SCATTER) },
        ring_all_gather: |l, d| if d.is_empty() { Ok(()) } else { around(l, d, GATHER) }),
    wrong!("8.2", passes_on_errors, "An error of the link is ignored: pass it on with `?`.",
        ring_reduce_scatter: |l, d| deaf(l, d, SCATTER, true)),
    wrong!("8.2", passes_on_errors, "An error of the link is ignored: pass it on with `?`.",
        ring_reduce_scatter: |l, d| deaf(l, d, SCATTER, false)),
    wrong!("8.2", passes_on_errors, "An error of the link is ignored: pass it on with `?`.",
        ring_all_gather: |l, d| deaf(l, d, GATHER, true)),
    wrong!("8.2", passes_on_errors, "An error of the link is ignored: pass it on with `?`.",
        ring_all_gather: |l, d| deaf(l, d, GATHER, false)),
    wrong!("8.2", passes_on_errors, "An error of the link panics: pass it on with `?` instead of `unwrap`.",
    ring_reduce_scatter: |l, d| {
        around(l, d, SCATTER).unwrap_or_else(|e| panic!("called `Result::unwrap()` on an `Err` value: {e}"));
        Ok(())
    }),
    wrong!("8.2", passes_on_errors, "An error of the link panics: pass it on with `?` instead of `unwrap`.",
    ring_all_gather: |l, d| {
        around(l, d, GATHER).unwrap_or_else(|e| panic!("called `Result::unwrap()` on an `Err` value: {e}"));
        Ok(())
    }),
    wrong!("8.3", fills_from_the_last_parameter, "The buckets start with the first parameter; gradients arrive from the last layer first.",
        buckets: |p, s| filled(p, s, Fill { order: |n| (0..n).collect(), ..FILL })),
    wrong!("8.3", fills_from_the_last_parameter, "The parameters within a bucket are in the order of the model; they should be in the order of their gradients.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.iter_mut().for_each(|b| b.params.sort_unstable());
        made
    }),
    wrong!("8.3", closes_at_the_byte_limit, "A bucket that is exactly full stays open: close it when its bytes reach the limit.",
        buckets: |p, s| filled(p, s, Fill { full: |bytes, limit| bytes > limit, ..FILL })),
    wrong!("8.3", closes_at_the_byte_limit,
        "A bucket is closed before the parameter that would fill it; it should contain that one, too.",
        buckets: |p, s| filled(p, s, Fill { full: |bytes, limit| bytes == limit, too_full: |bytes, limit| bytes > limit, ..FILL })),
    wrong!("8.3", keeps_the_first_bucket_small, "All buckets have the limit of the first one.",
        buckets: |p, s| filled(p, s, Fill { limit: |sizes, _, _| sizes.first, ..FILL })),
    wrong!("8.3", keeps_the_first_bucket_small, "The first bucket has the limit of the others, so that sending starts late.",
        buckets: |p, s| filled(p, s, Fill { limit: |sizes, _, _| sizes.others, ..FILL })),
    wrong!("8.3", keeps_the_first_bucket_small, "The limits are swapped.",
        buckets: |p, s| filled(p, BucketSizes { first: s.others, others: s.first }, FILL)),
    wrong!("8.3", separates_dtypes, "Dtypes share a bucket: a message has a single dtype.",
        buckets: |p, s| filled(p, s, Fill { kind: |_| "f32", ..FILL })),
    wrong!("8.3", separates_dtypes, "Only the very first bucket is small; each kind has a first one.",
        buckets: |p, s| filled(p, s, Fill { limit: |sizes, _, all| if all == 0 { sizes.first } else { sizes.others }, ..FILL })),
    wrong!("8.3", separates_dtypes, "Every bucket has the kind f32, whatever it contains.",
        buckets: |p, s| (REFERENCE.buckets)(p, s).into_iter().map(|mut b| { b.kind = "f32"; b }).collect()),
    wrong!("8.3", counts_the_bytes, "The bytes of a bucket are only those of its last parameter.",
        buckets: |p, s| (REFERENCE.buckets)(p, s).into_iter().map(|mut b| {
            b.bytes = b.params.last().map_or(0, |&i| p[i].0);
            b
        }).collect()),
    wrong!("8.3", counts_the_bytes, "The bytes of a bucket are always 0.",
        buckets: |p, s| (REFERENCE.buckets)(p, s).into_iter().map(|mut b| { b.bytes = 0; b }).collect()),
    wrong!("8.3", counts_the_bytes, "The bytes of a bucket are its limit; it may contain more or fewer.",
        buckets: |p, s| (REFERENCE.buckets)(p, s).into_iter().enumerate().map(|(i, mut b)| {
            b.bytes = if i == 0 { s.first } else { s.others };
            b
        }).collect()),
    wrong!("8.3", orders_the_remaining_buckets, "Buckets that are open at the end are lost: the first parameters of the model are never sent.",
        buckets: |p, s| filled(p, s, Fill { rest: |open| open.clear(), ..FILL })),
    wrong!("8.3", orders_the_remaining_buckets,
        "The open buckets are in the order in which they were opened; the one whose last gradient is ready first comes first.",
        buckets: |p, s| filled(p, s, Fill { rest: |_| (), ..FILL })),
    wrong!("8.3", orders_the_remaining_buckets, "The open buckets are in reverse order: gradients of smaller indices are ready later.",
        buckets: |p, s| filled(p, s, Fill { rest: |open| open.sort_by_key(|b| b.params.last().copied()), ..FILL })),
    wrong!("8.3", orders_the_remaining_buckets, "There is an empty bucket at the end.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.push(canopy::parallel::Bucket { params: Vec::new(), bytes: 0, kind: "f32" });
        made
    }),
    wrong!("8.3", fills_from_the_last_parameter, "The buckets are in reverse order: the one that is closed first is sent first.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.reverse();
        made
    }),
    wrong!("8.3", closes_at_the_byte_limit, "The limits are bytes, but they are treated as MiB.",
        buckets: |p, s| filled(p, s, Fill { full: |bytes, limit| bytes >= limit << 20, ..FILL })),
    wrong!("8.3", closes_at_the_byte_limit, "What is left at the end joins a bucket that is closed; it is a bucket of its own.",
        buckets: merged),
    wrong!("8.3", keeps_the_first_bucket_small, "The first bucket has a single parameter; it is closed at `sizes.first` bytes.",
        buckets: |p, s| filled(p, s, Fill { limit: |sizes, of_kind, _| if of_kind == 0 { 0 } else { sizes.others }, ..FILL })),
    wrong!("8.3", separates_dtypes, "A parameter of another kind closes the open bucket; each kind has an open bucket of its own.",
        buckets: one_open),
    wrong!("8.3", separates_dtypes, "The bytes of all kinds are counted together; each bucket counts its own.",
        buckets: counted_together),
    wrong!("8.3", keeps_the_order_of_closing, "The buckets are grouped by kind; they should be in the order in which they are closed.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.sort_by_key(|b| std::cmp::Reverse(b.kind));
        made
    }),
    wrong!("8.3", keeps_the_order_of_closing, "The buckets are grouped by kind; they should be in the order in which they are closed.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.sort_by_key(|b| b.kind);
        made
    }),
    wrong!("8.3", keeps_the_order_of_closing,
    "All buckets are sorted by their last parameter; those that are still open at the end come after the closed ones.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.sort_by_key(|b| std::cmp::Reverse(b.params.last().copied()));
        made
    }),
    wrong!("8.3", keeps_the_order_of_closing,
    "The buckets are in the order in which they were opened; they should be in that in which they were closed.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.sort_by_key(|b| std::cmp::Reverse(b.params.first().copied()));
        made
    }),
    wrong!("8.3", orders_the_remaining_buckets, "The open buckets are sorted by the names of their kinds; sort them by their last parameter.",
        buckets: |p, s| filled(p, s, Fill { rest: |open| open.sort_by_key(|b| b.kind), ..FILL })),
    wrong!("8.3", orders_the_remaining_buckets, "The open buckets are sorted by their bytes; sort them by their last parameter.",
        buckets: |p, s| filled(p, s, Fill { rest: |open| open.sort_by_key(|b| std::cmp::Reverse(b.bytes)), ..FILL })),
    wrong!("8.3", orders_the_remaining_buckets,
        "The open buckets are in the reverse order of their opening; sort them by their last parameter.",
        buckets: |p, s| filled(p, s, Fill { rest: |open| open.reverse(), ..FILL })),
    wrong!("8.3", puts_each_parameter_into_one_bucket, "Parameters of 0 bytes are in no bucket; each parameter must be in one.",
        buckets: without_the_empty),
    wrong!("8.4", averages_over_ranks, "The gradients are summed, but not divided: each step is p times as long.",
        average_gradients: |c, g| averaged(c, g, |v, _| v, shaped)),
    wrong!("8.4", averages_over_ranks, "The sum is always halved; divide it by the number of ranks.",
        average_gradients: |c, g| averaged(c, g, |v, p| if p > 1 { v / 2.0 } else { v }, shaped)),
    wrong!("8.4", averages_over_ranks, "The gradients are divided, but never summed over the ranks.",
    average_gradients: |c, grads| {
        for g in grads.iter_mut() {
            *g = (&*g / c.world_size() as f64)?;
        }
        Ok(())
    }),
    wrong!("8.4", averages_over_ranks, "Only rank 0 calls all_reduce: all ranks must make the same calls, or it waits forever.",
        average_gradients: |c, g| if c.rank() == 0 { (REFERENCE.average_gradients)(c, g) } else { Ok(()) }),
    wrong!("8.4", averages_over_ranks, "Each tensor is filled from the beginning of the list; start where the last one ended.",
        average_gradients: from_the_beginning),
    wrong!("8.4", keeps_ranks_identical_after_a_step,
    "Every rank adds a share of its own gradient to the mean, so that the ranks diverge.",
    average_gradients: |c, grads| {
        let own = grads.to_vec();
        (REFERENCE.average_gradients)(c, grads)?;
        for (g, own) in grads.iter_mut().zip(own) {
            *g = ((&*g * 0.5)? + (own * 0.5)?)?;
        }
        Ok(())
    }),
    wrong!("8.4", calls_all_reduce_once, "There is one call for each gradient: each message has a latency.",
        average_gradients: |c, g| g.iter_mut().try_for_each(|g| (REFERENCE.average_gradients)(c, std::slice::from_mut(g)))),
    wrong!("8.4", calls_all_reduce_once, "There is one call for each single number.",
        average_gradients: one_by_one),
    wrong!("8.4", averages_over_ranks, "The gradients are returned as lists: their shapes are lost.",
        average_gradients: |c, g| averaged(c, g, |v, p| v / p as f32, |flat, like| flat.to_dtype(like.dtype()))),
    wrong!("8.4", preserves_shapes_and_dtypes, "The gradients are always returned as f32; keep their dtype.",
        average_gradients: |c, g| averaged(c, g, |v, p| v / p as f32, |flat, like| flat.reshape(like.shape()))),
    wrong!("8.4", preserves_shapes_and_dtypes, "`to_vec1::<f32>` requires f32: convert other dtypes first.",
    average_gradients: |c, grads| {
        for g in grads.iter() {
            g.flatten_all()?.to_vec1::<f32>()?;
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", accepts_non_contiguous_gradients, "A gradient that is not contiguous is rejected; `flatten_all` makes it contiguous.",
    average_gradients: |c, grads| {
        for g in grads.iter() {
            anyhow::ensure!(g.is_contiguous(), "a gradient is not contiguous");
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", accepts_non_contiguous_gradients, "The numbers are read in the order of memory, not in that of the shape.",
    average_gradients: |c, grads| {
        for g in grads.iter_mut() {
            if !g.is_contiguous() {
                *g = g.t()?.contiguous()?.reshape(g.shape())?;
            }
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", averages_over_ranks, "The gradients are divided twice.",
        average_gradients: |c, g| averaged(c, g, |v, p| v / p as f32 / p as f32, shaped)),
    wrong!("8.4", averages_over_ranks, "The gradients become 0: 1 / p is a division of whole numbers.",
        average_gradients: |c, g| averaged(c, g, |v, p| v * (1 / p) as f32, shaped)),
    wrong!("8.4", averages_over_ranks, "The gradients are as before: the means must replace them in the slice, `*g = …`.",
    average_gradients: |c, grads| {
        let mut copies = grads.to_vec();
        (REFERENCE.average_gradients)(c, &mut copies)
    }),
    wrong!("8.4", averages_over_ranks, "The sums are divided by the number of gradients; divide them by that of the ranks.",
    average_gradients: |c, grads| {
        (REFERENCE.average_gradients)(c, grads)?;
        if c.world_size() > 1 {
            let factor = c.world_size() as f64 / grads.len() as f64;
            for g in grads.iter_mut() {
                *g = (&*g * factor)?;
            }
        }
        Ok(())
    }),
    wrong!("8.4", averages_over_ranks, "The gradients are written to the list in another order than they are read from it.",
        average_gradients: last_first),
    wrong!("8.4", averages_over_ranks, "Numbers that are not finite become 0, so that a rank that diverges goes unnoticed.",
        average_gradients: |c, grads| {
        for g in grads.iter_mut() {
            let own: Vec<f32> = g.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
            let finite = own.into_iter().map(|v| if v.is_finite() { v } else { 0.0 });
            *g = shaped(Tensor::from_vec(finite.collect::<Vec<f32>>(), g.elem_count(), g.device())?, g)?;
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", averages_over_ranks, "The gradients are divided by their numbers of elements, too; the mean is only over the ranks.",
    average_gradients: |c, grads| {
        (REFERENCE.average_gradients)(c, grads)?;
        for g in grads.iter_mut() {
            *g = (&*g / g.elem_count() as f64)?;
        }
        Ok(())
    }),
    wrong!("8.4", calls_all_reduce_once, "There is one call for each dtype; f32 is the dtype of the message, so that one is enough.",
        average_gradients: one_for_each_dtype),
    wrong!("8.4", accepts_any_number_of_axes, "A gradient without axes, a single number, is an error: `flatten_all` accepts any number of axes.",
    average_gradients: |c, grads| {
        anyhow::ensure!(grads.iter().all(|g| g.rank() > 0), "no axes");
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", accepts_any_number_of_axes, "Only gradients of up to two axes are accepted: `flatten_all` accepts any number.",
    average_gradients: |c, grads| {
        anyhow::ensure!(grads.iter().all(|g| g.rank() < 3), "too many axes");
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", averages_over_ranks, "`to_vec1` accepts only one axis: call `flatten_all` before it.",
    average_gradients: |c, grads| {
        for g in grads.iter() {
            g.to_dtype(DType::F32)?.to_vec1::<f32>()?;
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", calls_all_reduce_once, "Gradients of different dtypes cannot be concatenated: convert each to f32 first.",
    average_gradients: |c, grads| {
        anyhow::ensure!(grads.iter().all(|g| g.dtype() == grads[0].dtype()), "dtype mismatch");
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", preserves_shapes_and_dtypes, "All gradients get the dtype of the first one; each keeps its own.",
    average_gradients: |c, grads| {
        let first = grads[0].dtype();
        (REFERENCE.average_gradients)(c, grads)?;
        for g in grads.iter_mut() {
            *g = g.to_dtype(first)?;
        }
        Ok(())
    }),
    wrong!("8.4", does_not_overflow_f16, "The sum is converted to f16, where it is infinite, before it is divided: divide in f32.",
    average_gradients: |c, grads| {
        averaged(c, grads, |v, _| v, shaped)?;
        for g in grads.iter_mut() {
            *g = (&*g / c.world_size() as f64)?;
        }
        Ok(())
    }),
    wrong!("8.4", passes_on_the_error, "The error of all_reduce is ignored, and the gradients are those of one rank: pass it on with `?`.",
    average_gradients: |c, grads| {
        let _ = (REFERENCE.average_gradients)(c, grads);
        Ok(())
    }),
    wrong!("8.5", reads_each_launcher, "Only Slurm's variables are read.",
        place_from: |v| found(&LAUNCHERS[2..], v, number, beyond)),
    wrong!("8.5", reads_each_launcher, "Rank and local rank are swapped.",
    place_from: |v| (REFERENCE.place_from)(v).map(|mut p| {
        (p.rank, p.local_rank) = (p.local_rank, p.rank);
        p
    })),
    wrong!("8.5", reads_each_launcher, "The local rank is the rank: that is right only on the first node.",
        place_from: |v| (REFERENCE.place_from)(v).map(|mut p| { p.local_rank = p.rank; p })),
    wrong!("8.5", ignores_white_space, "White space around a number is rejected: trim it.",
        place_from: |v| found(&LAUNCHERS, v, |name, text| match text {
            Some(text) => text.parse().map_err(|_| anyhow::anyhow!("{name} is no number")),
            None => anyhow::bail!("{name} is missing"),
        }, beyond)),
    wrong!("8.5", prefers_the_inner_launcher, "Slurm is read first; under mpirun or torchrun in a Slurm job, its numbers are those of the batch script.",
        place_from: |v| found(&[LAUNCHERS[2], LAUNCHERS[0], LAUNCHERS[1]], v, number, beyond)),
    wrong!("8.5", prefers_the_inner_launcher, "Open MPI is read before torchrun; torchrun comes first in the table.",
        place_from: |v| found(&[LAUNCHERS[1], LAUNCHERS[0], LAUNCHERS[2]], v, number, beyond)),
    wrong!("8.5", is_a_single_rank_without_launcher, "Without a launcher an error is returned; it should be a single rank.",
    place_from: |v| {
        let place = (REFERENCE.place_from)(v)?;
        anyhow::ensure!(place.launcher != "alone", "no launcher");
        Ok(place)
    }),
    wrong!("8.5", is_a_single_rank_without_launcher, "The world has no ranks: a single process is rank 0 of 1.",
    place_from: |v| (REFERENCE.place_from)(v).map(|mut p| {
        if p.launcher == "alone" {
            p.world_size = 0;
        }
        p
    })),
    wrong!("8.5", reports_the_missing_variable, "A missing number counts as 0; return an error, because something is wrong with the launch.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| number(n, Some(t.unwrap_or("0".into()))), |r, w| w > 0 && r >= w)),
    wrong!("8.5", reports_the_missing_variable, "The error does not name the missing variable.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            Some(text) => number(n, Some(text)),
            None => anyhow::bail!("a variable is missing"),
        }, beyond)),
    wrong!("8.5", reports_the_missing_variable, "A launcher with a missing number is skipped, and the process runs as a single rank.",
    place_from: |v| {
        let whole: Vec<Launcher> = LAUNCHERS.into_iter().filter(|(_, names)| names.iter().all(|n| v(n).is_some())).collect();
        found(&whole, v, number, beyond)
    }),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A value that is not a number counts as 0, so that two ranks become rank 0.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            Some(text) => Ok(text.trim().parse().unwrap_or(0)),
            None => number(n, None),
        }, |r, w| w > 0 && r >= w)),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "The error does not name the variable with the wrong value.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            Some(text) => Ok(text.trim().parse()?),
            None => number(n, None),
        }, beyond)),
    wrong!("8.5", rejects_a_rank_beyond_world_size, "A rank that is not below the world size is accepted.",
        place_from: |v| found(&LAUNCHERS, v, number, |_, _| false)),
    wrong!("8.5", rejects_a_rank_beyond_world_size, "Rank p of p is accepted: ranks go from 0 to p − 1.",
        place_from: |v| found(&LAUNCHERS, v, number, |r, w| r > w)),
    wrong!("8.5", chooses_the_gpu_by_local_rank, "The GPU is chosen by the rank; each node numbers its GPUs from 0, so use the local rank.",
        device_for: |p, gpus| Ok(match gpus { 0 => "cpu".into(), 1 => "cuda:0".into(), _ => format!("cuda:{}", p.rank) })),
    wrong!("8.5", chooses_the_gpu_by_local_rank, "All ranks of a node use GPU 0.",
        device_for: |p, gpus| (REFERENCE.device_for)(p, gpus.min(1))),
    wrong!("8.5", uses_the_only_gpu_or_the_cpu, "A rank that sees no GPU still requires one; it should use the CPU.",
        device_for: |p, gpus| if gpus == 0 { Ok("cuda:0".into()) } else { (REFERENCE.device_for)(p, gpus) }),
    wrong!("8.5", uses_the_only_gpu_or_the_cpu,
    "A rank that sees one GPU chooses it by its local rank; the scheduler gave it that one, and its number is 0.",
    device_for: |p, gpus| Ok(match gpus {
        0 => "cpu".into(),
        _ if gpus > 1 && p.local_rank >= gpus => anyhow::bail!("too few"),
        _ => format!("cuda:{}", p.local_rank),
    })),
    wrong!("8.5", rejects_more_ranks_than_gpus, "Ranks share GPUs by the remainder; return an error, because each rank requires its own.",
        device_for: |p, gpus| Ok(match gpus { 0 => "cpu".into(), n => format!("cuda:{}", p.local_rank % n) })),
    wrong!("8.5", rejects_more_ranks_than_gpus, "A rank beyond the number of GPUs falls back to the CPU, and all others wait for it.",
        device_for: |p, gpus| Ok((REFERENCE.device_for)(p, gpus).unwrap_or("cpu".into()))),
    wrong!("8.5", reads_each_launcher, "No variable is found: ask `variable`, not the environment of this process.",
        place_from: |_| (REFERENCE.place_from)(&|_| None)),
    wrong!("8.5", reads_each_launcher, "SLURM_STEP_ID is required; the three variables of the table are enough.",
    place_from: |v| match v("SLURM_STEP_ID") {
        None => found(&LAUNCHERS[..2], v, number, beyond),
        Some(_) => found(&LAUNCHERS, v, number, beyond),
    }),
    wrong!("8.5", reads_each_launcher, "The local rank is computed from the rank; read it from its variable.",
    place_from: |v| (REFERENCE.place_from)(v).map(|mut p| { p.local_rank = p.rank % 4; p })),
    wrong!("8.5", reads_each_launcher, "The launcher's name is not as it is in the table.",
    place_from: |v| (REFERENCE.place_from)(v).map(|mut p| {
        if p.launcher != "alone" {
            p.launcher = "";
        }
        p
    })),
    wrong!("8.5", is_a_single_rank_without_launcher, "The launcher of a single rank is `alone`.",
    place_from: |v| (REFERENCE.place_from)(v).map(|mut p| {
        if p.launcher == "alone" {
            p.launcher = "";
        }
        p
    })),
    wrong!("8.5", prefers_the_inner_launcher, "A launcher counts if its world size is set; its rank decides.",
    place_from: |v| {
        let set: Vec<Launcher> = LAUNCHERS.into_iter().filter(|(_, names)| v(names[1]).is_some()).collect();
        let Some(&(_, names)) = set.first() else { return (REFERENCE.place_from)(v) };
        found(&set[..1], &|n| if n == names[0] { v(n).or(Some(String::new())) } else { v(n) }, number, beyond)
    }),
    wrong!("8.5", reports_the_missing_variable, "A missing local rank counts as 0; return an error, because something is wrong with the launch.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            None if n.contains("LOCAL") => Ok(0),
            text => number(n, text),
        }, beyond)),
    wrong!("8.5", reports_the_missing_variable, "A missing world size counts as 1; return an error, because something is wrong with the launch.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            None if n.contains("SIZE") || n.contains("NTASKS") => Ok(1),
            text => number(n, text),
        }, beyond)),
    wrong!("8.5", reports_the_missing_variable, "A missing variable panics: return an error that names it.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            None => panic!("called `Option::unwrap()` on a `None` value"),
            text => number(n, text),
        }, beyond)),
    wrong!("8.5", reports_the_missing_variable, "A missing variable panics: return an error that names it.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            None => panic!("{n}"),
            text => number(n, text),
        }, beyond)),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A rank that is not a number counts as not set, and the process runs as a single rank.",
    place_from: |v| {
        let read: Vec<Launcher> = LAUNCHERS.into_iter().filter(|(_, n)| number(n[0], v(n[0])).is_ok()).collect();
        found(&read, v, number, beyond)
    }),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A rank that is set to an empty text counts as not set; it is not a number, so return an error.",
    place_from: |v| {
        let read: Vec<Launcher> = LAUNCHERS.into_iter().filter(|(_, n)| v(n[0]).is_some_and(|t| !t.is_empty())).collect();
        found(&read, v, number, beyond)
    }),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A rank that is set to an empty text counts as not set; it is not a number, so return an error.",
    place_from: |v| {
        let read: Vec<Launcher> = LAUNCHERS.into_iter().filter(|(_, n)| v(n[0]).is_some_and(|t| !t.trim().is_empty())).collect();
        found(&read, v, number, beyond)
    }),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A negative number or one with a fraction is accepted: read whole numbers, `parse::<usize>()`.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            Some(text) => Ok(text.trim().parse::<f64>().map_err(|_| anyhow::anyhow!("{n} is no number"))? as usize),
            None => number(n, None),
        }, beyond)),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A value that is not a number panics: return an error that names the variable.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            Some(text) => Ok(text.trim().parse().unwrap()),
            None => number(n, None),
        }, beyond)),
    wrong!("8.5", rejects_a_rank_beyond_world_size, "A rank that is too great becomes the last one; return an error.",
    place_from: |v| found(&LAUNCHERS, v, number, |_, _| false).map(|mut p| {
        p.rank = p.rank.min(p.world_size.saturating_sub(1));
        p
    })),
    wrong!("8.5", chooses_the_gpu_by_local_rank, "The rank is used where the local rank is asked for: each node numbers its own GPUs from 0.",
    device_for: |p, gpus| {
        anyhow::ensure!(gpus < 2 || p.rank < gpus, "too few GPUs");
        (REFERENCE.device_for)(p, gpus)
    }),
    wrong!("8.5", uses_the_only_gpu_or_the_cpu, "A rank that sees no GPU gets an error; it uses the CPU.",
    device_for: |p, gpus| {
        anyhow::ensure!(gpus > 0, "no GPU");
        (REFERENCE.device_for)(p, gpus)
    }),
    wrong!("8.5", uses_the_only_gpu_or_the_cpu, "A rank that sees one GPU gets an error; the scheduler gave it that one, whatever its local rank is.",
    device_for: |p, gpus| {
        anyhow::ensure!(gpus != 1 || p.local_rank == 0, "too few GPUs");
        (REFERENCE.device_for)(p, gpus)
    }),
    wrong!("8.6", weak_scaling_compares_the_times, "The efficiency is inverted: a longer step has a lower efficiency.",
        weak_efficiency: |one, all| all / one),
    wrong!("8.6", weak_scaling_compares_the_times, "This is the loss, 1 minus the efficiency.",
        weak_efficiency: |one, all| 1.0 - one / all),
    wrong!("8.6", weak_scaling_compares_the_times, "The lost time is divided by the step of one rank; the efficiency is the step of one rank divided by that of all.",
        weak_efficiency: |one, all| 1.0 - (all - one) / one),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "This is the speed-up; the efficiency is the speed-up divided by the number of ranks.",
        strong_efficiency: |one, all, _| one / all),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "The number of ranks is on the wrong side: the work is shared, so that the ideal step is the p-th part.",
        strong_efficiency: |one, all, p| one * p as f64 / all),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "The efficiency is inverted: divide the time of one rank by ranks·seconds.",
        strong_efficiency: |one, all, p| all * p as f64 / one),
    wrong!("8.6", is_one_without_loss, "There is one rank too many: `ranks` already includes rank 0.",
        strong_efficiency: |one, all, p| one / (all * (p as f64 + 1.0))),
    wrong!("8.6", may_exceed_one, "The efficiency is limited to 1: a share that fits into a faster cache may exceed it.",
        weak_efficiency: |one, all| (one / all).min(1.0), strong_efficiency: |one, all, p| (one / all / p as f64).min(1.0)),
    wrong!("8.6", weak_scaling_compares_the_times, "This is a percentage; the efficiency is a fraction, 1 at best.",
        weak_efficiency: |one, all| 100.0 * one / all),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "This is a percentage; the efficiency is a fraction, 1 at best.",
        strong_efficiency: |one, all, p| 100.0 * one / all / p as f64),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "The speed-up is divided by the ranks that were added, p − 1; divide it by all p.",
        strong_efficiency: |one, all, p| one / all / (p as f64 - 1.0)),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "Only the gain is compared, (speed-up − 1)/(p − 1); the efficiency is the speed-up divided by p.",
        strong_efficiency: |one, all, p| if p < 2 { one / all } else { (one / all - 1.0) / (p as f64 - 1.0) }),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "The additional time is compared with the ideal time; divide the ideal time by the measured one.",
        strong_efficiency: |one, all, p| 2.0 - all * p as f64 / one),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "The speed-up is divided by log₂ p; divide it by p.",
        strong_efficiency: |one, all, p| one / all / (p as f64).log2().max(1.0)),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "The speed-up is rounded to a whole number.",
        strong_efficiency: |one, all, p| (one / all).floor() / p as f64),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "A single rank always has the efficiency 1; compare its times, too.",
        strong_efficiency: |one, all, p| if p < 2 { 1.0 } else { one / all / p as f64 }),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "The result is 0: this is a division of whole numbers.",
        strong_efficiency: |one, all, p| ((one / all) as usize / p) as f64),
    wrong!("8.6", may_exceed_one, "The efficiency is limited to 1: a share that fits into a faster cache may exceed it.",
        strong_efficiency: |one, all, p| (one / all / p as f64).min(1.0)),
    wrong!("8.6", weak_scaling_compares_the_times, "The result has only the digits of an f32: compute in f64.",
        weak_efficiency: |one, all| f64::from(one as f32 / all as f32)),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "The result has only the digits of an f32: compute in f64.",
        strong_efficiency: |one, all, p| f64::from(one as f32 / (all as f32 * p as f32))),
    wrong!("8.7", counts_ring_messages, "These are half of the messages: the ring has two halves, one to add and one to pass on.",
        ring_seconds: |p, b, c| (p as f64 - 1.0) * (c.alpha + b / p as f64 * c.beta)),
    wrong!("8.7", counts_ring_messages, "These are 2p messages: each half has only p − 1.",
        ring_seconds: |p, b, c| if p < 2 { 0.0 } else { 2.0 * p as f64 * (c.alpha + b / p as f64 * c.beta) }),
    wrong!("8.7", counts_ring_messages, "The latency is counted only once; each message has its own.",
        ring_seconds: |p, b, c| if p < 2 { 0.0 } else { c.alpha + 2.0 * (p as f64 - 1.0) / p as f64 * b * c.beta }),
    wrong!("8.7", sends_one_chunk_per_message, "Every message has all of the bytes; in a ring it has the p-th part.",
        ring_seconds: |p, b, c| 2.0 * (p as f64 - 1.0) * (c.alpha + b * c.beta)),
    wrong!("8.7", sends_one_chunk_per_message, "The messages of all ranks are summed; they are sent at the same time.",
        ring_seconds: |p, b, c| p as f64 * (REFERENCE.ring_seconds)(p, b, c)),
    wrong!("8.7", sends_one_chunk_per_message, "beta is treated as bytes per second; it is seconds per byte.",
        ring_seconds: |p, b, c| if p < 2 { 0.0 } else { 2.0 * (p as f64 - 1.0) * (c.alpha + if c.beta > 0.0 { b / p as f64 / c.beta } else { 0.0 }) }),
    wrong!("8.7", counts_tree_steps, "Only the steps up are counted: the sum must come down again.",
        tree_seconds: |p, b, c| (REFERENCE.tree_seconds)(p, b, c) / 2.0),
    wrong!("8.7", counts_tree_steps, "The ranks send one after the other; in a tree half of them send at the same time.",
        tree_seconds: |p, b, c| 2.0 * (p as f64 - 1.0) * (c.alpha + b * c.beta)),
    wrong!("8.7", counts_tree_steps, "Each message has the p-th part of the bytes; in a tree it has all of them.",
        tree_seconds: |p, b, c| (REFERENCE.tree_seconds)(p, b / p as f64, c)),
    wrong!("8.7", counts_tree_steps, "This is the natural logarithm: the ranks are halved, so use base 2.",
        tree_seconds: |p, b, c| 2.0 * (p as f64).ln().ceil() * (c.alpha + b * c.beta)),
    wrong!("8.7", rounds_up_to_a_power_of_two, "The steps are rounded down: 5 ranks need as many as 8.",
        tree_seconds: |p, b, c| 2.0 * f64::from(p.max(1).ilog2()) * (c.alpha + b * c.beta)),
    wrong!("8.7", rounds_up_to_a_power_of_two, "log₂ p is not rounded up: there are only whole steps.",
        tree_seconds: |p, b, c| 2.0 * (p as f64).log2() * (c.alpha + b * c.beta)),
    wrong!("8.7", is_free_for_one_rank, "A single rank has the cost of a message; it sends none.",
        ring_seconds: |p, b, c| 2.0 * (p.max(2) as f64 - 1.0) * (c.alpha + b / p as f64 * c.beta)),
    wrong!("8.7", is_free_for_one_rank, "A single rank has the cost of a step of the tree.",
        tree_seconds: |p, b, c| (REFERENCE.tree_seconds)(p.max(2), b, c)),
    wrong!("8.7", counts_ring_messages, "The chunks are bytes/(p − 1); the list is divided into p chunks.",
        ring_seconds: |p, b, c| if p < 2 { 0.0 } else { let hops = p as f64 - 1.0; 2.0 * hops * (c.alpha + b / hops * c.beta) }),
    wrong!("8.7", counts_ring_messages, "`bytes` is multiplied by 4; it is already in bytes.",
        ring_seconds: |p, b, c| (REFERENCE.ring_seconds)(p, 4.0 * b, c)),
    wrong!("8.7", counts_ring_messages, "These are microseconds; the result is in seconds.",
        ring_seconds: |p, b, c| 1e6 * (REFERENCE.ring_seconds)(p, b, c)),
    wrong!("8.7", sends_one_chunk_per_message, "The chunks are rounded up to whole bytes; use bytes/p.",
        ring_seconds: |p, b, c| (REFERENCE.ring_seconds)(p, (b / p as f64).ceil() * p as f64, c)),
    wrong!("8.7", sends_one_chunk_per_message, "The chunks are rounded down to whole bytes; use bytes/p.",
        ring_seconds: |p, b, c| (REFERENCE.ring_seconds)(p, (b / p as f64).floor() * p as f64, c)),
    wrong!("8.7", sends_one_chunk_per_message, "This is the faster one of ring and tree; only the ring is asked for.",
        ring_seconds: |p, b, c| (REFERENCE.ring_seconds)(p, b, c).min((REFERENCE.tree_seconds)(p, b, c))),
    wrong!("8.7", counts_tree_steps, "These are microseconds; the result is in seconds.",
        tree_seconds: |p, b, c| 1e6 * (REFERENCE.tree_seconds)(p, b, c)),
    wrong!("8.7", counts_tree_steps, "The bytes are counted only once; each step sends all of them.",
        tree_seconds: |p, b, c| if p < 2 { 0.0 } else { (REFERENCE.tree_seconds)(p, 0.0, c) + b * c.beta }),
    wrong!("8.7", counts_tree_steps, "The latency is counted only once; each step has its own.",
        tree_seconds: |p, b, c| if p < 2 { 0.0 } else { c.alpha + (REFERENCE.tree_seconds)(p, b, Cost { alpha: 0.0, ..c }) }),
    wrong!("8.7", counts_tree_steps, "The messages get shorter with each step; in this tree each has all of the bytes.",
    tree_seconds: |p, b, c| {
        let levels = p.next_power_of_two().ilog2() as i32;
        (1..=levels).map(|step| 2.0 * (c.alpha + b / 2f64.powi(step) * c.beta)).sum()
    }),
    wrong!("8.7", counts_tree_steps, "The messages get shorter with each step; in this tree each has all of the bytes.",
    tree_seconds: |p, b, c| {
        let levels = p.next_power_of_two().ilog2() as i32;
        (0..levels).map(|step| 2.0 * (c.alpha + b / 2f64.powi(step) * c.beta)).sum()
    }),
    wrong!("8.7", counts_tree_steps, "There is one step too many: ilog2 + 1 is the number of bits of p, and 8 ranks need 3 steps.",
        tree_seconds: |p, b, c| if p < 2 { 0.0 } else { 2.0 * f64::from(p.ilog2() + 1) * (c.alpha + b * c.beta) }),
    wrong!("8.7", rounds_up_to_a_power_of_two, "log₂ p is rounded to the nearest whole number; round it up.",
        tree_seconds: |p, b, c| 2.0 * (p as f64).log2().round() * (c.alpha + b * c.beta)),
    wrong!("8.7", rounds_up_to_a_power_of_two, "2·log₂ p is rounded up; round log₂ p up, and double it then.",
        tree_seconds: |p, b, c| (2.0 * (p as f64).log2()).ceil() * (c.alpha + b * c.beta)),
    wrong!("8.7", rounds_up_to_a_power_of_two, "A logarithm in floating point is just above or below the whole number: count with whole numbers.",
        tree_seconds: |p, b, c| 2.0 * ((p as f64).ln() / 2f64.ln()).ceil() * (c.alpha + b * c.beta)),
    wrong!("8.7", rounds_up_to_a_power_of_two, "A logarithm in floating point is just above or below the whole number: count with whole numbers.",
        tree_seconds: |p, b, c| 2.0 * f64::from((p as f32).log2().ceil()) * (c.alpha + b * c.beta)),
    wrong!("8.7", is_free_for_one_rank, "`ilog2` of 0 panics: handle one rank first.",
        tree_seconds: |p, b, c| 2.0 * f64::from((p - 1).ilog2() + 1) * (c.alpha + b * c.beta)),
];

/// Chunks of one length: what does not divide is nobody's.
fn even(length: usize, rank: usize, p: usize) -> std::ops::Range<usize> {
    let each = length / p;
    rank * each..(rank + 1) * each
}

/// Chunks of one length, the last one with the rest.
fn rest_last(length: usize, rank: usize, p: usize) -> std::ops::Range<usize> {
    let own = even(length, rank, p);
    own.start..if rank + 1 == p { length } else { own.end }
}

/// The first chunks are the longer ones.
fn rest_first(length: usize, rank: usize, p: usize) -> std::ops::Range<usize> {
    let start = |rank: usize| rank * (length / p) + rank.min(length % p);
    start(rank)..start(rank + 1)
}
