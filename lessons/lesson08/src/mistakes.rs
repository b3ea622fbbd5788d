//! Known wrong answers with the cause a student is told.

use canopy::parallel::{BucketSizes, naive_all_reduce};
use grader::{Mistake, wrong};

use crate::{Lesson08, REFERENCE, parts::*};

pub const MISTAKES: &[Mistake<Lesson08>] = &[
    wrong!("8.1", takes_every_so_many_th, "Each rank got one piece of the order; it takes every world_size-th record.",
    share_of_epoch: |order, rank, world, drop| {
        let each = if drop { order.len() / world } else { order.len().div_ceil(world) };
        (0..each).filter(|_| !order.is_empty()).map(|i| order[(rank * each + i) % order.len()]).collect()
    }),
    wrong!("8.1", takes_every_so_many_th, "The record numbers are not taken from `order`: its places were given.",
    share_of_epoch: |order, rank, world, drop| {
        let places: Vec<usize> = (0..order.len()).collect();
        (REFERENCE.share_of_epoch)(&places, rank, world, drop)
    }),
    wrong!("8.1", takes_every_so_many_th, "Every rank got the whole order: then all do the same work.",
        share_of_epoch: |order, _, _, _| order.to_vec()),
    wrong!("8.1", takes_every_so_many_th, "Ranks count from 0: rank r begins at number r of the order.",
        share_of_epoch: |order, rank, world, drop| (REFERENCE.share_of_epoch)(order, (rank + 1) % world, world, drop)),
    wrong!("8.1", begins_again_where_it_does_not_divide,
    "The shares are not of one length: the ranks with fewer records leave the others waiting in their last step.",
    share_of_epoch: |order, rank, world, drop| match drop {
        false => order.iter().skip(rank).step_by(world).copied().collect(),
        true => (REFERENCE.share_of_epoch)(order, rank, world, true),
    }),
    wrong!("8.1", begins_again_where_it_does_not_divide, "What is over is always dropped; only `drop_tail` asks for that.",
        share_of_epoch: |order, rank, world, _| (REFERENCE.share_of_epoch)(order, rank, world, true)),
    wrong!("8.1", begins_again_where_it_does_not_divide,
    "The order is filled up with its last record; it begins again with its first.",
    share_of_epoch: |order, rank, world, drop| {
        let mut all = order.to_vec();
        while !drop && !order.is_empty() && all.len() % world != 0 {
            all.extend(order.last());
        }
        (REFERENCE.share_of_epoch)(&all, rank, world, drop)
    }),
    wrong!("8.1", drops_the_tail_where_asked, "`drop_tail` is not looked at: the order is always made longer.",
        share_of_epoch: |order, rank, world, _| (REFERENCE.share_of_epoch)(order, rank, world, false)),
    wrong!("8.1", drops_the_tail_where_asked, "`drop_tail` is taken the wrong way round.",
        share_of_epoch: |order, rank, world, drop| (REFERENCE.share_of_epoch)(order, rank, world, !drop)),
    wrong!("8.1", repeats_an_order_that_is_too_short,
    "The order was made longer by its beginning only once; a short one has to be repeated.",
    share_of_epoch: |order, rank, world, drop| {
        let mut all = order.to_vec();
        if !drop && !order.is_empty() {
            let over = (world - order.len() % world) % world;
            all.extend(order.iter().take(over));
        }
        all.into_iter().skip(rank).step_by(world).take(order.len().div_ceil(world)).collect::<Vec<_>>()
            .into_iter().take(if drop { order.len() / world } else { usize::MAX }).collect()
    }),
    wrong!("8.1", repeats_an_order_that_is_too_short,
    "More of the order's beginning was asked for than the order has: a short one has to be repeated, as often as it takes.",
    share_of_epoch: |order, rank, world, drop| {
        let missing = order.len().div_ceil(world) * world - order.len();
        if drop {
            return (REFERENCE.share_of_epoch)(order, rank, world, true);
        }
        let all = [order, &order[..missing]].concat();
        all.into_iter().skip(rank).step_by(world).collect()
    }),
    wrong!("8.1", has_no_share_of_nothing, "A remainder by 0: an empty order has nothing to begin again with.",
    share_of_epoch: |order, rank, world, drop| {
        let each = if drop { order.len() / world } else { order.len().div_ceil(world).max(1) };
        (0..each).map(|i| order[(rank + i * world) % order.len()]).collect()
    }),
    wrong!("8.1", has_no_share_of_nothing, "Each rank gets at least one record; with fewer than ranks and `drop_tail` there is none.",
    share_of_epoch: |order, rank, world, drop| {
        let mine = (REFERENCE.share_of_epoch)(order, rank, world, drop);
        if mine.is_empty() { (REFERENCE.share_of_epoch)(order, rank, world, false) } else { mine }
    }),
    wrong!("8.2", sums_each_chunk_where_it_belongs, "Every rank waits for a message before it sends one: nobody begins.",
        ring_reduce_scatter: |l, d| hearing_first(l, d, SCATTER), ring_all_gather: |l, d| hearing_first(l, d, GATHER)),
    wrong!("8.2", sums_each_chunk_where_it_belongs, "The chunk that comes takes the place of the rank's own; it is added.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { take: |own, v| *own = v, ..SCATTER })),
    wrong!("8.2", sums_each_chunk_where_it_belongs,
    "The complete chunk ends at the rank before its owner: in the first step rank r sends chunk r − 1, not chunk r.",
    ring_reduce_scatter: |l, d| around(l, d, Ring {
        out: |r, s, p| (r + p - s) % p,
        into: |r, s, p| (r + 2 * p - 1 - s) % p,
        ..SCATTER
    })),
    wrong!("8.2", sums_each_chunk_where_it_belongs, "A step too few: p ranks need p − 1 steps.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { steps: |p| p.saturating_sub(2), ..SCATTER })),
    wrong!("8.2", sums_each_chunk_where_it_belongs,
        "A number of a chunk went below 0, which usize has not: add p, often enough, before you take anything off.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { out: |r, s, p| (r - 1 - s) % p, ..SCATTER })),
    wrong!("8.2", sends_no_more_than_it_must, "A step too many: after p − 1 steps each chunk is complete.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { steps: |p| if p > 1 { p } else { 0 }, ..SCATTER })),
    wrong!("8.2", sums_each_chunk_where_it_belongs,
        "The same chunk is sent in every step; what came in the last step is what goes on in the next.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { out: |r, _, p| (r + p - 1) % p, ..SCATTER })),
    wrong!("8.2", passes_chunks_on_to_all, "The chunks of the second half are added; they are complete, and are copied.",
        ring_all_gather: |l, d| around(l, d, Ring { take: |own, v| *own += v, ..GATHER })),
    wrong!("8.2", passes_chunks_on_to_all,
        "The second half begins with the chunk before the rank's own, as the first did; its own is the one that is complete.",
        ring_all_gather: |l, d| around(l, d, Ring { take: |own, v| *own = v, ..SCATTER })),
    wrong!("8.2", passes_chunks_on_to_all,
        "A number of a chunk went below 0, which usize has not: add p before you take anything off.",
        ring_all_gather: |l, d| around(l, d, Ring { into: |r, s, p| (r - 1 - s) % p, ..GATHER })),
    wrong!("8.2", passes_chunks_on_to_all,
        "What comes is put where what was sent stood; it is the chunk before that one.",
        ring_all_gather: |l, d| around(l, d, Ring { into: GATHER.out, ..GATHER })),
    wrong!("8.2", passes_chunks_on_to_all, "A rank passes on its own chunk again and again; the others' must go on, too.",
        ring_all_gather: |l, d| around(l, d, Ring { out: |r, _, _| r, ..GATHER })),
    wrong!("8.2", adds_up_to_an_all_reduce, "Nothing is sent: the second half gives back what came.",
        ring_all_gather: |_, _| Ok(())),
    wrong!("8.2", takes_chunks_that_are_uneven_or_empty,
        "Chunks were cut as length/p, which leaves out what does not divide; take `chunk`.",
        ring_reduce_scatter: |l, d| around(l, d, Ring { cut: even, ..SCATTER }),
        ring_all_gather: |l, d| around(l, d, Ring { cut: even, ..GATHER })),
    wrong!("8.2", takes_chunks_that_are_uneven_or_empty,
        "Room for the message was made by the chunk that goes out; the one that comes in may be longer or shorter.",
        ring_reduce_scatter: |l, d| with_room(l, d, |out, _| out, |_| true)),
    wrong!("8.2", takes_chunks_that_are_uneven_or_empty,
        "An empty chunk is not sent, but waited for: send it, or the next rank takes another message for it.",
        ring_reduce_scatter: |l, d| with_room(l, d, |_, into| into, |out| out > 0)),
    wrong!("8.2", speaks_to_its_neighbours_alone, "Every rank sends to every other; in a ring it speaks to the next one alone.",
        ring_reduce_scatter: |l, d| all_to_all(l, d, |own, v| *own += v, false),
        ring_all_gather: |l, d| all_to_all(l, d, |own, v| *own = v, true)),
    wrong!("8.2", speaks_to_its_neighbours_alone, "All send to rank 0, which adds: it carries p times as much as in a ring.",
        ring_reduce_scatter: |l, d| naive_all_reduce(l, d)),
    wrong!("8.2", speaks_to_its_neighbours_alone, "The ring runs backwards: rank r sends to rank r + 1.",
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
    wrong!("8.2", sends_no_more_than_it_must, "All of the data goes around in every step; one chunk of it is enough.",
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
    wrong!("8.2", sends_no_more_than_it_must, "The second half goes around once too often: after p − 1 steps all is there.",
        ring_all_gather: |l, d| around(l, d, Ring { steps: |p| if p > 1 { p } else { 0 }, ..GATHER })),
    wrong!("8.3", fills_from_the_end, "The walk begins at the first parameter; gradients come last layer first.",
        buckets: |p, s| filled(p, s, Fill { order: |n| (0..n).collect(), ..FILL })),
    wrong!("8.3", fills_from_the_end, "The parameters within a bucket are in the model's order; they are in the order of their gradients.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.iter_mut().for_each(|b| b.params.sort_unstable());
        made
    }),
    wrong!("8.3", closes_at_the_parameter_that_fills_it, "A bucket that is exactly full stays open: full is where its bytes have reached the limit.",
        buckets: |p, s| filled(p, s, Fill { full: |bytes, limit| bytes > limit, ..FILL })),
    wrong!("8.3", closes_at_the_parameter_that_fills_it,
        "A bucket is closed before the parameter that would fill it; it takes that one, too.",
        buckets: |p, s| filled(p, s, Fill { full: |bytes, limit| bytes == limit, too_full: |bytes, limit| bytes > limit, ..FILL })),
    wrong!("8.3", keeps_the_first_bucket_small, "All buckets have the first one's limit.",
        buckets: |p, s| filled(p, s, Fill { limit: |sizes, _, _| sizes.first, ..FILL })),
    wrong!("8.3", keeps_the_first_bucket_small, "The first bucket has the others' limit: sending begins late.",
        buckets: |p, s| filled(p, s, Fill { limit: |sizes, _, _| sizes.others, ..FILL })),
    wrong!("8.3", keeps_the_first_bucket_small, "The limits are exchanged.",
        buckets: |p, s| filled(p, BucketSizes { first: s.others, others: s.first }, FILL)),
    wrong!("8.3", keeps_kinds_apart, "Number types share a bucket: one message has numbers of one type.",
        buckets: |p, s| filled(p, s, Fill { kind: |_| "f32", ..FILL })),
    wrong!("8.3", keeps_kinds_apart, "Only the very first bucket is small; each kind has a first one.",
        buckets: |p, s| filled(p, s, Fill { limit: |sizes, _, all| if all == 0 { sizes.first } else { sizes.others }, ..FILL })),
    wrong!("8.3", keeps_kinds_apart, "Every bucket says f32, whatever is in it.",
        buckets: |p, s| (REFERENCE.buckets)(p, s).into_iter().map(|mut b| { b.kind = "f32"; b }).collect()),
    wrong!("8.3", counts_the_bytes, "The bytes of a bucket are those of its last parameter alone.",
        buckets: |p, s| (REFERENCE.buckets)(p, s).into_iter().map(|mut b| {
            b.bytes = b.params.last().map_or(0, |&i| p[i].0);
            b
        }).collect()),
    wrong!("8.3", counts_the_bytes, "The bytes of a bucket were left at 0.",
        buckets: |p, s| (REFERENCE.buckets)(p, s).into_iter().map(|mut b| { b.bytes = 0; b }).collect()),
    wrong!("8.3", counts_the_bytes, "The bytes of a bucket are its limit; it may hold more, or fewer.",
        buckets: |p, s| (REFERENCE.buckets)(p, s).into_iter().enumerate().map(|(i, mut b)| {
            b.bytes = if i == 0 { s.first } else { s.others };
            b
        }).collect()),
    wrong!("8.3", sends_the_rest_in_order, "What is open at the end is lost: the model's first parameters are never sent.",
        buckets: |p, s| filled(p, s, Fill { rest: |open| open.clear(), ..FILL })),
    wrong!("8.3", sends_the_rest_in_order,
        "The open buckets come as they were opened; the one whose latest gradient is there earliest comes first.",
        buckets: |p, s| filled(p, s, Fill { rest: |_| (), ..FILL })),
    wrong!("8.3", sends_the_rest_in_order, "The open buckets come the wrong way round: a smaller index is made later.",
        buckets: |p, s| filled(p, s, Fill { rest: |open| open.sort_by_key(|b| b.params.last().copied()), ..FILL })),
    wrong!("8.3", sends_the_rest_in_order, "There is an empty bucket at the end.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.push(canopy::parallel::Bucket { params: Vec::new(), bytes: 0, kind: "f32" });
        made
    }),
    wrong!("8.4", gives_every_rank_the_mean, "The gradients are summed and not divided: each step is p times as long.",
        average_gradients: |c, g| averaged(c, g, |v, _| v, shaped)),
    wrong!("8.4", gives_every_rank_the_mean, "The sum is always halved; it is divided by the number of ranks.",
        average_gradients: |c, g| averaged(c, g, |v, p| if p > 1 { v / 2.0 } else { v }, shaped)),
    wrong!("8.4", gives_every_rank_the_mean, "The gradients are divided, and never summed over the ranks.",
    average_gradients: |c, grads| {
        for g in grads.iter_mut() {
            *g = (&*g / c.world_size() as f64)?;
        }
        Ok(())
    }),
    wrong!("8.4", gives_every_rank_the_mean, "Only rank 0 takes part: all ranks make the same calls, or the others wait for ever.",
        average_gradients: |c, g| if c.rank() == 0 { (REFERENCE.average_gradients)(c, g) } else { Ok(()) }),
    wrong!("8.4", gives_every_rank_the_mean, "Each tensor is filled from the beginning of the list; the next one begins where the last ended.",
        average_gradients: from_the_beginning),
    wrong!("8.4", lets_ranks_agree_after_a_step,
    "Every rank keeps a share of its own gradient beside the mean, and so the ranks drift apart.",
    average_gradients: |c, grads| {
        let own = grads.to_vec();
        (REFERENCE.average_gradients)(c, grads)?;
        for (g, own) in grads.iter_mut().zip(own) {
            *g = ((&*g * 0.5)? + (own * 0.5)?)?;
        }
        Ok(())
    }),
    wrong!("8.4", sends_all_in_one_sum, "One call for each gradient: each message costs its beginning.",
        average_gradients: |c, g| g.iter_mut().try_for_each(|g| (REFERENCE.average_gradients)(c, std::slice::from_mut(g)))),
    wrong!("8.4", sends_all_in_one_sum, "One sum for each single number.",
        average_gradients: one_by_one),
    wrong!("8.4", keeps_shapes_and_number_types, "The gradients come back as lists: their shapes are lost.",
        average_gradients: |c, g| averaged(c, g, |v, p| v / p as f32, |flat, like| flat.to_dtype(like.dtype()))),
    wrong!("8.4", keeps_shapes_and_number_types, "The gradients come back as f32, whatever they were.",
        average_gradients: |c, g| averaged(c, g, |v, p| v / p as f32, |flat, like| flat.reshape(like.shape()))),
    wrong!("8.4", keeps_shapes_and_number_types, "`to_vec1::<f32>` takes f32 alone: turn other number types into it first.",
    average_gradients: |c, grads| {
        for g in grads.iter() {
            g.flatten_all()?.to_vec1::<f32>()?;
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", takes_gradients_that_are_not_contiguous, "A gradient that is not contiguous is refused; `flatten_all` puts it in order.",
    average_gradients: |c, grads| {
        for g in grads.iter() {
            anyhow::ensure!(g.is_contiguous(), "a gradient is not contiguous");
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", takes_gradients_that_are_not_contiguous, "The numbers were read as they lie in memory, not as the shape says.",
    average_gradients: |c, grads| {
        for g in grads.iter_mut() {
            if !g.is_contiguous() {
                *g = g.t()?.contiguous()?.reshape(g.shape())?;
            }
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.5", reads_each_launcher, "Only Slurm's variables are looked at.",
        place_from: |v| found(&LAUNCHERS[2..], v, number, beyond)),
    wrong!("8.5", reads_each_launcher, "Rank and local rank are taken one for the other.",
    place_from: |v| (REFERENCE.place_from)(v).map(|mut p| {
        (p.rank, p.local_rank) = (p.local_rank, p.rank);
        p
    })),
    wrong!("8.5", reads_each_launcher, "The local rank is the rank: right on the first node alone.",
        place_from: |v| (REFERENCE.place_from)(v).map(|mut p| { p.local_rank = p.rank; p })),
    wrong!("8.5", reads_past_white_space, "White space around a number is refused: trim it.",
        place_from: |v| found(&LAUNCHERS, v, |name, text| match text {
            Some(text) => text.parse().map_err(|_| anyhow::anyhow!("{name} is no number")),
            None => anyhow::bail!("{name} is missing"),
        }, beyond)),
    wrong!("8.5", takes_the_inner_launcher, "Slurm is asked first; under mpirun or torchrun in a Slurm job its numbers are the batch script's.",
        place_from: |v| found(&[LAUNCHERS[2], LAUNCHERS[0], LAUNCHERS[1]], v, number, beyond)),
    wrong!("8.5", takes_the_inner_launcher, "Open MPI is asked before torchrun; the table has torchrun first.",
        place_from: |v| found(&[LAUNCHERS[1], LAUNCHERS[0], LAUNCHERS[2]], v, number, beyond)),
    wrong!("8.5", is_alone_without_one, "Without a launcher there is an error; then this process is alone.",
    place_from: |v| {
        let place = (REFERENCE.place_from)(v)?;
        anyhow::ensure!(place.launcher != "alone", "no launcher");
        Ok(place)
    }),
    wrong!("8.5", is_alone_without_one, "A world without ranks: alone is rank 0 of 1.",
    place_from: |v| (REFERENCE.place_from)(v).map(|mut p| {
        if p.launcher == "alone" {
            p.world_size = 0;
        }
        p
    })),
    wrong!("8.5", names_what_is_missing, "A missing number counts as 0; it is an error, for something is wrong with the launch.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| number(n, Some(t.unwrap_or("0".into()))), |r, w| w > 0 && r >= w)),
    wrong!("8.5", names_what_is_missing, "The error does not say which variable is missing.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            Some(text) => number(n, Some(text)),
            None => anyhow::bail!("a variable is missing"),
        }, beyond)),
    wrong!("8.5", names_what_is_missing, "A launcher with a number missing is passed over, and the process thinks it is alone.",
    place_from: |v| {
        let whole: Vec<Launcher> = LAUNCHERS.into_iter().filter(|(_, names)| names.iter().all(|n| v(n).is_some())).collect();
        found(&whole, v, number, beyond)
    }),
    wrong!("8.5", refuses_what_is_no_number, "What is no number counts as 0; then two ranks believe that they are rank 0.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            Some(text) => Ok(text.trim().parse().unwrap_or(0)),
            None => number(n, None),
        }, |r, w| w > 0 && r >= w)),
    wrong!("8.5", refuses_what_is_no_number, "The error does not say which variable is no number.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            Some(text) => Ok(text.trim().parse()?),
            None => number(n, None),
        }, beyond)),
    wrong!("8.5", refuses_a_rank_beyond_the_world, "A rank that is not below the world size is believed.",
        place_from: |v| found(&LAUNCHERS, v, number, |_, _| false)),
    wrong!("8.5", refuses_a_rank_beyond_the_world, "Rank p of p is believed: ranks go from 0 to p − 1.",
        place_from: |v| found(&LAUNCHERS, v, number, |r, w| r > w)),
    wrong!("8.5", takes_the_gpu_of_its_local_rank, "The GPU is numbered by the rank; each node counts its GPUs from 0.",
        device_for: |p, gpus| Ok(match gpus { 0 => "cpu".into(), 1 => "cuda:0".into(), _ => format!("cuda:{}", p.rank) })),
    wrong!("8.5", takes_the_gpu_of_its_local_rank, "All ranks of a node take GPU 0.",
        device_for: |p, gpus| (REFERENCE.device_for)(p, gpus.min(1))),
    wrong!("8.5", takes_the_gpu_of_its_local_rank, "Where it sees no GPU a rank still asks for one; it takes the CPU.",
        device_for: |p, gpus| if gpus == 0 { Ok("cuda:0".into()) } else { (REFERENCE.device_for)(p, gpus) }),
    wrong!("8.5", takes_the_gpu_of_its_local_rank,
    "A rank that sees one GPU takes it by its local rank; the scheduler gave it that one, and it is number 0 there.",
    device_for: |p, gpus| Ok(match gpus {
        0 => "cpu".into(),
        _ if gpus > 1 && p.local_rank >= gpus => anyhow::bail!("too few"),
        _ => format!("cuda:{}", p.local_rank),
    })),
    wrong!("8.5", needs_a_gpu_for_each_rank_of_a_node, "Ranks share GPUs by the remainder; it is an error, for each wants a whole one.",
        device_for: |p, gpus| Ok(match gpus { 0 => "cpu".into(), n => format!("cuda:{}", p.local_rank % n) })),
    wrong!("8.5", needs_a_gpu_for_each_rank_of_a_node, "A rank beyond the GPUs falls back to the CPU, and all others wait for it.",
        device_for: |p, gpus| Ok((REFERENCE.device_for)(p, gpus).unwrap_or("cpu".into()))),
    wrong!("8.6", weak_scaling_compares_the_times, "The efficiency is turned round: a step that takes longer is worth less.",
        weak_efficiency: |one, all| all / one),
    wrong!("8.6", weak_scaling_compares_the_times, "What is lost was given: 1 less the efficiency.",
        weak_efficiency: |one, all| 1.0 - one / all),
    wrong!("8.6", weak_scaling_compares_the_times, "The time lost is set against one rank's step; the efficiency is one rank's step over the step of all.",
        weak_efficiency: |one, all| 1.0 - (all - one) / one),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "That is the speed-up; the efficiency is the speed-up of each rank.",
        strong_efficiency: |one, all, _| one / all),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "That is weak scaling's, with the ranks on the wrong side: the work is shared, so the step should be the p-th part.",
        strong_efficiency: |one, all, p| one * p as f64 / all),
    wrong!("8.6", strong_scaling_divides_by_the_ranks, "The efficiency is turned round: ranks·seconds is what is spent, one rank's time what is gained.",
        strong_efficiency: |one, all, p| all * p as f64 / one),
    wrong!("8.6", is_one_where_nothing_is_lost, "One rank too many is counted: rank 0 works, too, and is one of the ranks.",
        strong_efficiency: |one, all, p| one / (all * (p as f64 + 1.0))),
    wrong!("8.6", is_not_cut_off_above_one, "Cut off at 1: a share that fits a faster cache may do better, and one should see it.",
        weak_efficiency: |one, all| (one / all).min(1.0), strong_efficiency: |one, all, p| (one / all / p as f64).min(1.0)),
    wrong!("8.7", counts_the_rings_messages, "Half the messages: the ring goes around twice, once to add and once to pass on.",
        ring_seconds: |p, b, c| (p as f64 - 1.0) * (c.alpha + b / p as f64 * c.beta)),
    wrong!("8.7", counts_the_rings_messages, "2p messages: the last step of each half is not needed.",
        ring_seconds: |p, b, c| if p < 2 { 0.0 } else { 2.0 * p as f64 * (c.alpha + b / p as f64 * c.beta) }),
    wrong!("8.7", counts_the_rings_messages, "The beginning is paid only once; each message has its own.",
        ring_seconds: |p, b, c| if p < 2 { 0.0 } else { c.alpha + 2.0 * (p as f64 - 1.0) / p as f64 * b * c.beta }),
    wrong!("8.7", sends_a_part_in_each, "Every message carries all of the bytes; in a ring it is the p-th part.",
        ring_seconds: |p, b, c| 2.0 * (p as f64 - 1.0) * (c.alpha + b * c.beta)),
    wrong!("8.7", sends_a_part_in_each, "The messages of all ranks are added up; they go at the same time.",
        ring_seconds: |p, b, c| p as f64 * (REFERENCE.ring_seconds)(p, b, c)),
    wrong!("8.7", sends_a_part_in_each, "beta is taken as bytes a second; it is seconds a byte.",
        ring_seconds: |p, b, c| if p < 2 { 0.0 } else { 2.0 * (p as f64 - 1.0) * (c.alpha + if c.beta > 0.0 { b / p as f64 / c.beta } else { 0.0 }) }),
    wrong!("8.7", counts_the_trees_steps, "Only the way up: the sum must come down again.",
        tree_seconds: |p, b, c| (REFERENCE.tree_seconds)(p, b, c) / 2.0),
    wrong!("8.7", counts_the_trees_steps, "Each rank sends in turn; in a tree half of them send at once.",
        tree_seconds: |p, b, c| 2.0 * (p as f64 - 1.0) * (c.alpha + b * c.beta)),
    wrong!("8.7", counts_the_trees_steps, "Each message carries the p-th part of the bytes; in a tree it carries all.",
        tree_seconds: |p, b, c| (REFERENCE.tree_seconds)(p, b / p as f64, c)),
    wrong!("8.7", counts_the_trees_steps, "The natural logarithm: ranks are halved, so it is the one to base 2.",
        tree_seconds: |p, b, c| 2.0 * (p as f64).ln().ceil() * (c.alpha + b * c.beta)),
    wrong!("8.7", climbs_for_ranks_that_are_no_power_of_two, "The steps were rounded down: 5 ranks need as many as 8.",
        tree_seconds: |p, b, c| 2.0 * f64::from(p.max(1).ilog2()) * (c.alpha + b * c.beta)),
    wrong!("8.7", climbs_for_ranks_that_are_no_power_of_two, "log₂ p was not rounded: there is no part of a step.",
        tree_seconds: |p, b, c| 2.0 * (p as f64).log2() * (c.alpha + b * c.beta)),
    wrong!("8.7", costs_nothing_alone, "One rank alone pays for a message; it sends none.",
        ring_seconds: |p, b, c| 2.0 * (p.max(2) as f64 - 1.0) * (c.alpha + b / p as f64 * c.beta)),
    wrong!("8.7", costs_nothing_alone, "One rank alone pays for a step of the tree.",
        tree_seconds: |p, b, c| (REFERENCE.tree_seconds)(p.max(2), b, c)),
];

/// Chunks of one length: what does not divide is nobody's.
fn even(length: usize, rank: usize, p: usize) -> std::ops::Range<usize> {
    let each = length / p;
    rank * each..(rank + 1) * each
}
