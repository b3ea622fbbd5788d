//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
};

use canopy_data::Philox;
use grader::{Mistake, wrong};

use crate::{Lesson03, REFERENCE, answer_helpers::*};

/// How often an order was asked for that remembers it.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// A wrong sampling, one of the three.
macro_rules! random {
    ($f:expr) => {
        |p, w, s| only(p, w, s, Some($f), None, None)
    };
}
macro_rules! voxel {
    ($f:expr) => {
        |p, w, s| only(p, w, s, None, Some($f), None)
    };
}
macro_rules! farthest {
    ($f:expr) => {
        |p, w, s| only(p, w, s, None, None, Some($f))
    };
}

pub const MISTAKES: &[Mistake<Lesson03>] = &[
    wrong!("3.1", visits_each_record_once,
    "Each position draws from all n again, so that an index can occur twice. Start with 0..n and only swap.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        (0..n).map(|_| random.below(n)).collect()
    }),
    wrong!("3.1", visits_each_record_once, "The last record is never visited: 0..n already has n records.",
        epoch_order: |n, s, e| order_by(n.saturating_sub(1), Philox::new(s, e))),
    wrong!("3.1", visits_each_record_once, "Records are numbered from 0, so n itself is out of range.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s, e)).into_iter().map(|i| i + 1).collect()),
    wrong!("3.1", depends_only_on_seed_and_epoch,
    "The order depends on the number of calls. Create the generator in each call, from seed and epoch.",
    epoch_order: |n, s, e| order_by(n, Philox::new(s ^ CALLS.fetch_add(1, SeqCst) << 32, e))),
    wrong!("3.1", draws_every_order_equally_often, "This is 0..n as it is: shuffle it.",
        epoch_order: |n, _, _| (0..n).collect()),
    wrong!("3.1", draws_every_order_equally_often, "This is 0..n reversed or rotated: neighbours stay neighbours.",
    epoch_order: |n, s, e| {
        let from = Philox::new(s, e).below(n.max(1));
        (0..n).map(|i| (from + i) % n).collect()
    }),
    wrong!("3.1", draws_every_order_equally_often,
    "Each position is swapped with any of the n positions, which favours some orders. Swap only with positions that are not final yet.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        for i in 0..n {
            let j = random.below(n);
            order.swap(i, j);
        }
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "A position never keeps its record: it may also be swapped with itself, so draw from i + 1 positions.",
        epoch_order: |n, s, e| shuffled(n, &mut Philox::new(s, e), |r, i| r.below(i))),
    wrong!("3.1", changes_from_epoch_to_epoch, "The epoch is not used: every epoch has the same order.",
        epoch_order: |n, s, _| order_by(n, Philox::new(s, 0))),
    wrong!("3.1", changes_from_epoch_to_epoch, "The seed is not used: every run has the same orders.",
        epoch_order: |n, _, e| order_by(n, Philox::new(0, e))),
    wrong!("3.1", changes_from_epoch_to_epoch, "Seed times epoch is 0 in epoch 0, whatever the seed.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s * e, 0))),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed + epoch: a run with the next seed has the same orders, one epoch earlier. Pass both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s + e, 0))),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed xor epoch: a run with another seed has the same orders in other epochs. Pass both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s ^ e, 0))),
    wrong!("3.1", accepts_zero_and_one_record, "`n - 1` underflows if n is 0.",
    epoch_order: |n, s, e| {
        let last = n.checked_sub(1).expect("attempt to subtract with overflow");
        order_by(last + 1, Philox::new(s, e))
    }),
    wrong!("3.2", random_takes_different_points, "A point can be drawn twice: draw from the remaining points.",
        subsample: random!(|len, n, mut r| (0..n.min(len)).map(|_| r.below(len)).collect())),
    wrong!("3.2", random_takes_different_points, "If there are no more than n points, take all of them once.",
    subsample: random!(|len, n, mut r| {
        let mut all: Vec<usize> = (0..n).map(|i| i % len).collect();
        r.shuffle(&mut all);
        if n <= len { order_by(len, r)[..n].to_vec() } else { all }
    })),
    wrong!("3.2", random_draws_every_point_equally_often, "These are the first n points, which a scanner writes in rows; draw at random.",
        subsample: random!(|len, n, _| (0..n.min(len)).collect())),
    wrong!("3.2", random_draws_every_point_equally_often, "Every (len/n)th point is not random: the last ones are never taken.",
        subsample: random!(|len, n, _| (0..n.min(len)).map(|i| i * (len / n.max(1)).max(1)).collect())),
    wrong!("3.2", random_draws_every_point_equally_often,
        "These are consecutive points from a random position on: neighbours are always drawn together.",
        subsample: random!(|len, n, mut r| { let from = r.below(len); (0..n.min(len)).map(|i| (from + i) % len).collect() })),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "Cubes are distinguished by x and y only, so that these are columns.",
        subsample: voxel!(|p, e| firsts(p, |c| [0, 1].map(|a| (c[a] / e).floor() as i64)))),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "The coordinates are multiplied by the edge; divide by it.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x * e).floor() as i64)))),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "The cubes are shifted: from k·edge to (k + 1)·edge is `floor`, not `round` or `ceil`.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x / e).round() as i64)))),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "The indices are in the order of the map: sort them.",
        subsample: voxel!(|p, e| { let mut kept = firsts(p, |c| c.map(|x| (x / e).floor() as i64)); kept.reverse(); kept })),
    wrong!("3.2", voxel_has_equal_cubes_below_zero,
        "`as i64` rounds towards 0, so that cubes around 0 are twice as wide: use `floor` first.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x / e) as i64)))),
    wrong!("3.2", voxel_has_equal_cubes_below_zero, "Everything below 0 is one cube: an unsigned number cannot be negative.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x / e).floor() as u64)))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "Only the distance to the last chosen point is used: keep the least distance to any chosen point.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| apart(p[i], p[c[c.len() - 1]])))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "Only the distance to the first chosen point is used: keep the least distance to any chosen point.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| apart(p[i], p[c[0]])))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "The greatest distance to any chosen point is kept; keep the least.",
    subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| {
        c.iter().map(|&j| apart(p[i], p[j])).fold(0.0, f32::max)
    }))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "The nearest point is taken each time; take the farthest.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| -nearest(p, i, c)))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "The first point is not among the chosen ones, or one is missing.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| nearest(p, i, c)).into_iter().skip(1).collect())),
    wrong!("3.2", farthest_takes_the_first_of_equals, "The last of equally far points is taken: compare with >, not with >=.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, true, |i, c| nearest(p, i, c)))),
    wrong!("3.2", farthest_takes_duplicates_once_each, "A chosen point is chosen again if only duplicates are left: exclude chosen points.",
    subsample: farthest!(|p, n, f| {
        let mut chosen = vec![f];
        while chosen.len() < n {
            let far = |i: usize| nearest(p, i, &chosen);
            let next = (0..p.len()).fold(0, |b, i| if far(i) > far(b) { i } else { b });
            chosen.push(next);
        }
        chosen
    })),
    wrong!("3.2", farthest_takes_duplicates_once_each, "It stops if only duplicates are left: n points are required.",
    subsample: farthest!(|p, n, f| {
        let all = greedy(p, n, f, false, |i, c| nearest(p, i, c));
        let new = (0..all.len()).take_while(|&k| k == 0 || nearest(p, all[k], &all[..k]) > 0.0).count();
        all[..new].to_vec()
    })),
    wrong!("3.3", pads_to_the_longest_cloud, "The batch is as wide as the first cloud: it must be as wide as the longest.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| c[0].len(), ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "Clouds are cut to the shortest: pad to the longest, so that no point is lost.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| c.iter().map(Vec::len).min().unwrap_or(0), ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "The batch is as wide as all clouds together: each cloud has a row of its own.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| c.iter().map(Vec::len).sum(), ..COLLATE })),
    wrong!("3.3", puts_points_first_in_their_row, "Clouds follow each other without padding: cloud i starts at i·longest.",
        collate_ragged: |c, d| collated(c, d, Collate { begins: |c, i, _| c[..i].iter().map(Vec::len).sum(), ..COLLATE })),
    wrong!("3.3", puts_points_first_in_their_row, "The padding is before the points; it belongs after them.",
        collate_ragged: |c, d| collated(c, d, Collate { begins: |c, i, w| (i + 1) * w - c[i].len(), ..COLLATE })),
    wrong!("3.3", puts_points_first_in_their_row, "The padding repeats the last point; it should be at the origin.",
        collate_ragged: |c, d| collated(c, d, Collate { repeats: true, ..COLLATE })),
    wrong!("3.3", masks_the_padding, "The mask is inverted: 1 is a point, 0 is padding.",
        collate_ragged: |c, d| collated(c, d, Collate { marks: (0.0, 1.0), ..COLLATE })),
    wrong!("3.3", masks_the_padding, "The mask is 1 everywhere: it must be 0 for padding.",
        collate_ragged: |c, d| collated(c, d, Collate { marks: (1.0, 1.0), ..COLLATE })),
    wrong!("3.3", masks_the_padding, "The mask has another dtype; it should be f32.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points, mask.to_dtype(candle_core::DType::U8)?))
    }),
    wrong!("3.3", rejects_a_cloud_without_points, "A cloud without points is accepted as a row of padding: return an error.",
    collate_ragged: |c, d| {
        let real: Vec<Vec<[f32; 3]>> = c.iter().map(|c| if c.is_empty() { vec![[0.0; 3]] } else { c.clone() }).collect();
        collated(&real, d, Collate { refuses: false, ..COLLATE })
    }),
    wrong!("3.4", fills_buckets_by_length, "A record longer than all bounds is lost: it goes into an additional last bucket.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)).filter(|&k| k < b.len()));
        out.extend(left);
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "The bounds are not used: the order is only divided.",
        length_buckets: |_, o, _, size| o.chunks(size).map(<[usize]>::to_vec).collect()),
    wrong!("3.4", fills_buckets_by_length, "The position in the order is used as the record: use `lengths[record]`.",
    length_buckets: |l, o, b, size| {
        let places: Vec<usize> = (0..o.len()).collect();
        let (mut out, left) = bucketed(&places, b.len() + 1, size, |at| Some(bucket(l, b, at)));
        out.extend(left);
        out.into_iter().map(|batch| batch.into_iter().map(|at| o[at]).collect()).collect()
    }),
    wrong!("3.4", includes_the_bound_in_its_bucket, "A record as long as the bound belongs in that bucket: `bound < length`, not `<=`.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(b.iter().filter(|&&k| k <= l[r]).count()));
        out.extend(left);
        out
    }),
    wrong!("3.4", emits_a_batch_when_its_bucket_is_full, "Batches are emitted bucket by bucket, short ones first: emit each as soon as it is full.",
    length_buckets: |l, o, b, size| {
        let of = |k: usize| o.iter().copied().filter(move |&r| bucket(l, b, r) == k).collect::<Vec<_>>();
        let all: Vec<Vec<usize>> = (0..=b.len()).flat_map(|k| of(k).chunks(size).map(<[usize]>::to_vec).collect::<Vec<_>>()).collect();
        all
    }),
    wrong!("3.4", emits_a_batch_when_its_bucket_is_full, "A batch has one record too many: it is full with `size` records.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size + 1, |r| Some(bucket(l, b, r)));
        out.extend(left);
        out
    }),
    wrong!("3.4", keeps_the_order_within_a_batch, "A batch is sorted by length: keep the order in which its records came.",
    length_buckets: |l, o, b, size| {
        let mut all = (REFERENCE.length_buckets)(l, o, b, size);
        all.iter_mut().for_each(|batch| batch.sort_by_key(|&r| l[r]));
        all
    }),
    wrong!("3.4", keeps_the_order_within_a_batch, "A batch is sorted by record: keep the order in which they came.",
    length_buckets: |l, o, b, size| {
        let mut all = (REFERENCE.length_buckets)(l, o, b, size);
        all.iter_mut().for_each(|batch| batch.sort_unstable());
        all
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "The rest of the buckets at the end is lost.",
        length_buckets: |l, o, b, size| bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r))).0),
    wrong!("3.4", emits_the_rest_at_the_end, "The rest is emitted from the longest bucket to the shortest; the shortest comes first.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend(left.into_iter().rev());
        out
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "The rest of all buckets is one batch: each bucket has its own.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend((!left.is_empty()).then(|| left.concat()));
        out
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "Buckets that are empty at the end become batches without records.",
    length_buckets: |l, o, b, size| {
        let mut all = (REFERENCE.length_buckets)(l, o, b, size);
        all.push(Vec::new());
        all
    }),
    wrong!("3.5", delivers_results_in_order, "Results are passed on as they arrive. An early result must wait for its turn.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { ordered: false, ..POOL })),
    wrong!("3.5", delivers_results_in_order, "The last result is never passed to `take`.",
        prefetched: |n, w, a, m, t| pooled(n.saturating_sub(1), w, a, m, t, POOL)),
    wrong!("3.5", runs_workers_in_parallel,
        "Only one worker runs at a time: it holds the lock on the queue while it calls `make`. Release the lock as soon as it has a number.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { locks: true, ..POOL })),
    wrong!("3.5", runs_workers_in_parallel, "Nothing is prefetched: the calling thread makes each result when it is needed. Start threads.",
    prefetched: |n, _, _, m, t| {
        for i in 0..n {
            if !t(m(i)) { break; }
        }
    }),
    wrong!("3.5", runs_workers_in_parallel, "More than `workers` threads run at a time.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { threads: |w| w + 2, ..POOL })),
    wrong!("3.5", starts_at_most_ahead_jobs,
        "All numbers are sent at once, so that a slow trainer has the whole epoch in memory. Send number i when `take` was called for i − ahead.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { bounded: false, ..POOL })),
    wrong!("3.5", calls_make_once_for_each, "A failed call is repeated: an error is a result like any other.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { tries: 2, ..POOL })),
    wrong!("3.5", calls_make_once_for_each, "make(0) is called although the count is 0.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { at_least_one: true, ..POOL })),
    wrong!("3.5", delivers_an_error_in_its_place, "An error is skipped: pass it to `take`, which decides what to do.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_error: OnError::Skip, ..POOL })),
    wrong!("3.5", delivers_an_error_in_its_place, "The first error stops the loop: the later results must follow.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_error: OnError::End, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "A panic is skipped; it should become an error in its place.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_panic: OnError::Skip, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "The first panic stops the loop: the later results must follow.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_panic: OnError::End, ..POOL })),
    wrong!("3.5", stops_when_take_returns_false, "The result of `take` is ignored: false means stop.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { stops: false, ..POOL })),
    wrong!("3.6", keeps_scans_of_a_tree_together, "Each record is a group of its own, so that scans of one tree are in both training and test set.",
        together: |t, _| (0..t.len()).collect()),
    wrong!("3.6", keeps_scans_of_a_tree_together, "Records are grouped by plot only: scans of a tree without a plot are separated.",
        together: |t, p| grouped(t.len(), t.len(), |i, j| !p[i].is_empty() && p[i] == p[j])),
    wrong!("3.6", keeps_trees_of_a_plot_together, "Records are grouped by tree only: trees of one plot are in both training and test set.",
        together: |t, _| numbered(t)),
    wrong!("3.6", keeps_trees_of_a_plot_together, "Tree and plot must both be equal here; one of them is enough.",
        together: |t, p| grouped(t.len(), t.len(), |i, j| t[i] == t[j] && p[i] == p[j])),
    wrong!("3.6", keeps_trees_of_a_plot_together, "All records are one group, and nothing is left for the test set.",
        together: |t, _| vec![0; t.len()]),
    wrong!("3.6", joins_connected_components,
    "Two groups that are connected later stay separate: when a record unites them, all their records must move.",
    together: |t, p| {
        let mut group: Vec<usize> = Vec::new();
        for i in 0..t.len() {
            let like = (0..i).find(|&j| t[i] == t[j] || (!p[i].is_empty() && p[i] == p[j]));
            let new = group.iter().max().map_or(0, |g| g + 1);
            group.push(like.map_or(new, |j| group[j]));
        }
        group
    }),
    wrong!("3.6", joins_connected_components,
    "A record joins the group of its tree, or else that of its plot. If both exist and differ, unite them.",
    together: |t, p| {
        let (mut of_tree, mut of_plot) = (HashMap::new(), HashMap::new());
        let mut groups = 0usize;
        let mut enter = |i: usize| {
            let known = of_tree.get(t[i]).or_else(|| of_plot.get(p[i])).copied();
            let group = known.unwrap_or(groups);
            groups += usize::from(known.is_none());
            of_tree.insert(t[i], group);
            if !p[i].is_empty() {
                of_plot.insert(p[i], group);
            }
            group
        };
        (0..t.len()).map(&mut enter).collect()
    }),
    wrong!("3.6", ignores_unknown_plots, "\"\" is treated as a plot: trees with unknown plots are connected.",
        together: |t, p| grouped(t.len(), t.len(), |i, j| t[i] == t[j] || p[i] == p[j])),
    wrong!("3.6", numbers_groups_by_their_first_record, "Groups are numbered by one of their records, with gaps; number them 0, 1, 2 …",
    together: |t, p| {
        let groups = (REFERENCE.together)(t, p);
        groups.iter().map(|g| groups.iter().position(|h| h == g).unwrap_or(0)).collect()
    }),
    wrong!("3.6", numbers_groups_by_their_first_record, "Groups are numbered from 1; number them from 0.",
        together: |t, p| (REFERENCE.together)(t, p).into_iter().map(|g| g + 1).collect()),
    wrong!("3.6", separates_tree_and_plot_names, "Trees and plots share one map of names: tree \"2\" is not plot \"2\".",
    together: |t, p| grouped(t.len(), t.len(), |i, j| {
        let alike = |a: &str, b: &str| !a.is_empty() && a == b;
        t[i] == t[j] || alike(p[i], p[j]) || alike(t[i], p[j]) || alike(p[i], t[j])
    })),
];
