//! Known wrong answers to exercise 8.2.

use super::*;

pub const MISTAKES: &[Mistake<Lesson08>] = &[
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
        ring_reduce_scatter: |l, d| over_rank_0(l, d)),
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
    wrong!("8.2", reduces_each_chunk_at_its_owner,
        "A rank passes on its own numbers; it must send the chunk that arrived last, with its own numbers added.",
        ring_reduce_scatter: |l, d| own_only(l, d)),
    wrong!("8.2", reduces_each_chunk_at_its_owner,
        "The numbers that arrive are passed on as they came: add the rank's own to them before you send them on.",
        ring_reduce_scatter: |l, d| passed_on(l, d)),
    wrong!("8.2", reduces_each_chunk_at_its_owner,
    "Below 0, `wrapping_sub` goes on at 2^64, and its remainder is right only if p is a power of two: add p before you subtract.",
    ring_reduce_scatter: |l, d| around(l, d, Ring {
        out: |r, s, p| r.wrapping_sub(s + 1) % p,
        into: |r, s, p| r.wrapping_sub(s + 2) % p,
        ..SCATTER
    })),
    wrong!("8.2", gathers_all_chunks,
    "Below 0, `wrapping_sub` goes on at 2^64, and its remainder is right only if p is a power of two: add p before you subtract.",
    ring_all_gather: |l, d| around(l, d, Ring {
        out: |r, s, p| r.wrapping_sub(s) % p,
        into: |r, s, p| r.wrapping_sub(s + 1) % p,
        ..GATHER
    })),
    wrong!("8.2", accepts_uneven_and_empty_chunks,
        "Nothing is summed if there are fewer numbers than ranks; then only some of the chunks are empty.",
        ring_reduce_scatter: |l, d| if d.len() < l.world_size() { Ok(()) } else { around(l, d, SCATTER) },
        ring_all_gather: |l, d| if d.len() < l.world_size() { Ok(()) } else { around(l, d, GATHER) }),
];
