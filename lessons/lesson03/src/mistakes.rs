//! Known wrong answers with the cause a student is told.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
};

use canopy_data::Philox;
use grader::{Mistake, wrong};

use crate::{Lesson03, REFERENCE, parts::*};

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
    "Each place draws from all n again, so an index that came may come again. Begin with 0..n and only swap.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        (0..n).map(|_| random.below(n)).collect()
    }),
    wrong!("3.1", visits_each_record_once, "The last record is never visited: 0..n has n of them already.",
        epoch_order: |n, s, e| order_by(n.saturating_sub(1), Philox::new(s, e))),
    wrong!("3.1", visits_each_record_once, "Records count from 0, so n itself is beyond the last.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s, e)).into_iter().map(|i| i + 1).collect()),
    wrong!("3.1", goes_on_where_it_was_broken_off,
    "The order hangs on how often it was asked for. Begin the random numbers anew in each call, by seed and epoch.",
    epoch_order: |n, s, e| order_by(n, Philox::new(s ^ CALLS.fetch_add(1, SeqCst) << 32, e))),
    wrong!("3.1", gives_every_order_its_chance, "This is 0..n as it is: shuffle it.",
        epoch_order: |n, _, _| (0..n).collect()),
    wrong!("3.1", gives_every_order_its_chance, "This is 0..n turned round or begun elsewhere: neighbours stay neighbours.",
    epoch_order: |n, s, e| {
        let from = Philox::new(s, e).below(n.max(1));
        (0..n).map(|i| (from + i) % n).collect()
    }),
    wrong!("3.1", gives_every_order_its_chance,
    "Each place swaps with any place of all n, which favours some orders. Swap with a place that is not settled yet.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        for i in 0..n {
            let j = random.below(n);
            order.swap(i, j);
        }
        order
    }),
    wrong!("3.1", gives_every_order_its_chance,
        "A place never keeps what it has: it may swap with itself as well, so draw from i + 1 places.",
        epoch_order: |n, s, e| shuffled(n, &mut Philox::new(s, e), |r, i| r.below(i))),
    wrong!("3.1", changes_from_epoch_to_epoch, "The epoch is not used: every epoch has the same order.",
        epoch_order: |n, s, _| order_by(n, Philox::new(s, 0))),
    wrong!("3.1", changes_from_epoch_to_epoch, "The seed is not used: every run has the same orders.",
        epoch_order: |n, _, e| order_by(n, Philox::new(0, e))),
    wrong!("3.1", changes_from_epoch_to_epoch, "Seed times epoch is 0 in epoch 0, whatever the seed.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s * e, 0))),
    wrong!("3.1", keeps_seeds_and_epochs_apart,
        "Seed + epoch: the next seed's run has this one's orders, an epoch earlier. Give both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s + e, 0))),
    wrong!("3.1", keeps_seeds_and_epochs_apart,
        "Seed xor epoch: another seed's run has this one's orders in other epochs. Give both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s ^ e, 0))),
    wrong!("3.1", takes_no_record_and_one, "`n - 1` where n is 0 is below 0.",
    epoch_order: |n, s, e| {
        let last = n.checked_sub(1).expect("attempt to subtract with overflow");
        order_by(last + 1, Philox::new(s, e))
    }),
    wrong!("3.2", random_takes_different_points, "A point may be drawn again: draw from those that are left.",
        subsample: random!(|len, n, mut r| (0..n.min(len)).map(|_| r.below(len)).collect())),
    wrong!("3.2", random_takes_different_points, "Where there are no more than n points all are taken, once each, not n.",
    subsample: random!(|len, n, mut r| {
        let mut all: Vec<usize> = (0..n).map(|i| i % len).collect();
        r.shuffle(&mut all);
        if n <= len { order_by(len, r)[..n].to_vec() } else { all }
    })),
    wrong!("3.2", random_gives_every_point_its_chance, "These are the first n points: a scanner writes them in rows.",
        subsample: random!(|len, n, _| (0..n.min(len)).collect())),
    wrong!("3.2", random_gives_every_point_its_chance, "Every (len/n)th point is no chance: the last ones are never taken.",
        subsample: random!(|len, n, _| (0..n.min(len)).map(|i| i * (len / n.max(1)).max(1)).collect())),
    wrong!("3.2", random_gives_every_point_its_chance,
        "A run of neighbours from a random place on: points taken together are always the same ones.",
        subsample: random!(|len, n, mut r| { let from = r.below(len); (0..n.min(len)).map(|i| (from + i) % len).collect() })),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "Cubes are told apart by x and y alone: this thins columns.",
        subsample: voxel!(|p, e| firsts(p, |c| [0, 1].map(|a| (c[a] / e).floor() as i64)))),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "Divide by the edge; multiplying makes cubes of another size.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x * e).floor() as i64)))),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "The cubes are cut at the wrong places: from k·edge up to (k + 1)·edge is `floor`, not `round` or `ceil`.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x / e).round() as i64)))),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "The indices come as the map has them: sort them.",
        subsample: voxel!(|p, e| { let mut kept = firsts(p, |c| c.map(|x| (x / e).floor() as i64)); kept.reverse(); kept })),
    wrong!("3.2", voxel_cuts_below_zero_as_above,
        "`as i64` cuts towards 0, so that cubes around 0 are twice as wide: use `floor` first.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x / e) as i64)))),
    wrong!("3.2", voxel_cuts_below_zero_as_above, "Everything below 0 is one cube: a number without sign cannot be negative.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x / e).floor() as u64)))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "The distance to the last point alone counts: keep the least to any chosen one.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| apart(p[i], p[c[c.len() - 1]])))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "The distance to the first point alone counts: keep the least to any chosen one.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| apart(p[i], p[c[0]])))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "The greatest distance to any chosen point is kept; keep the least.",
    subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| {
        c.iter().map(|&j| apart(p[i], p[j])).fold(0.0, f32::max)
    }))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "The nearest point is taken each time; the farthest is asked.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| -nearest(p, i, c)))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "The first point is not among the chosen ones, or one is missing.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| nearest(p, i, c)).into_iter().skip(1).collect())),
    wrong!("3.2", farthest_takes_the_first_of_equals, "Of equally far points the last is taken: compare by >, not by >=.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, true, |i, c| nearest(p, i, c)))),
    wrong!("3.2", farthest_takes_copies_once_each, "A chosen point is chosen again where only copies are left: leave chosen ones out.",
    subsample: farthest!(|p, n, f| {
        let mut chosen = vec![f];
        while chosen.len() < n {
            let far = |i: usize| nearest(p, i, &chosen);
            let next = (0..p.len()).fold(0, |b, i| if far(i) > far(b) { i } else { b });
            chosen.push(next);
        }
        chosen
    })),
    wrong!("3.2", farthest_takes_copies_once_each, "It ends where only copies are left: all points are asked for, n of them.",
    subsample: farthest!(|p, n, f| {
        let all = greedy(p, n, f, false, |i, c| nearest(p, i, c));
        let new = (0..all.len()).take_while(|&k| k == 0 || nearest(p, all[k], &all[..k]) > 0.0).count();
        all[..new].to_vec()
    })),
    wrong!("3.3", is_as_wide_as_the_longest, "As wide as the first cloud: the longest one says how wide.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| c[0].len(), ..COLLATE })),
    wrong!("3.3", is_as_wide_as_the_longest, "Cut to the shortest cloud: pad to the longest, and nothing is lost.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| c.iter().map(Vec::len).min().unwrap_or(0), ..COLLATE })),
    wrong!("3.3", is_as_wide_as_the_longest, "As wide as all clouds together: each has a row of its own.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| c.iter().map(Vec::len).sum(), ..COLLATE })),
    wrong!("3.3", puts_points_first_in_their_row, "Clouds follow each other without padding between: cloud i begins at i·longest.",
        collate_ragged: |c, d| collated(c, d, Collate { begins: |c, i, _| c[..i].iter().map(Vec::len).sum(), ..COLLATE })),
    wrong!("3.3", puts_points_first_in_their_row, "The padding is in front of the points; it belongs behind them.",
        collate_ragged: |c, d| collated(c, d, Collate { begins: |c, i, w| (i + 1) * w - c[i].len(), ..COLLATE })),
    wrong!("3.3", puts_points_first_in_their_row, "Padding repeats the last point; it is at the origin.",
        collate_ragged: |c, d| collated(c, d, Collate { repeats: true, ..COLLATE })),
    wrong!("3.3", marks_what_is_real, "The mask is the wrong way round: 1 is a point, 0 is padding.",
        collate_ragged: |c, d| collated(c, d, Collate { marks: (0.0, 1.0), ..COLLATE })),
    wrong!("3.3", marks_what_is_real, "All is marked as real: behind a cloud's own points the mask is 0.",
        collate_ragged: |c, d| collated(c, d, Collate { marks: (1.0, 1.0), ..COLLATE })),
    wrong!("3.3", marks_what_is_real, "The mask's number type is another one: f32 is asked.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points, mask.to_dtype(candle_core::DType::U8)?))
    }),
    wrong!("3.3", refuses_a_cloud_without_points, "A cloud without points passes as a row of padding, whose max is nothing: that is an error.",
    collate_ragged: |c, d| {
        let real: Vec<Vec<[f32; 3]>> = c.iter().map(|c| if c.is_empty() { vec![[0.0; 3]] } else { c.clone() }).collect();
        collated(&real, d, Collate { refuses: false, ..COLLATE })
    }),
    wrong!("3.4", fills_buckets_by_length, "A record longer than all bounds is lost: it has a bucket behind the last.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)).filter(|&k| k < b.len()));
        out.extend(left);
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "The bounds are not used: the order is only cut.",
        length_buckets: |_, o, _, size| o.chunks(size).map(<[usize]>::to_vec).collect()),
    wrong!("3.4", fills_buckets_by_length, "The place in the order is taken for the record: ask for `lengths[record]`.",
    length_buckets: |l, o, b, size| {
        let places: Vec<usize> = (0..o.len()).collect();
        let (mut out, left) = bucketed(&places, b.len() + 1, size, |at| Some(bucket(l, b, at)));
        out.extend(left);
        out.into_iter().map(|batch| batch.into_iter().map(|at| o[at]).collect()).collect()
    }),
    wrong!("3.4", gives_a_bucket_its_bound, "A record as long as the bound belongs into that bucket: `bound < length`, not `<=`.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(b.iter().filter(|&&k| k <= l[r]).count()));
        out.extend(left);
        out
    }),
    wrong!("3.4", gives_out_a_batch_when_it_is_full, "Batches come bucket by bucket, first all short ones: each is due when it is full.",
    length_buckets: |l, o, b, size| {
        let of = |k: usize| o.iter().copied().filter(move |&r| bucket(l, b, r) == k).collect::<Vec<_>>();
        let all: Vec<Vec<usize>> = (0..=b.len()).flat_map(|k| of(k).chunks(size).map(<[usize]>::to_vec).collect::<Vec<_>>()).collect();
        all
    }),
    wrong!("3.4", gives_out_a_batch_when_it_is_full, "A batch has one record too many: it is full at `size`.",
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
    wrong!("3.4", gives_out_what_is_left, "What is left in the buckets at the end is lost.",
        length_buckets: |l, o, b, size| bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r))).0),
    wrong!("3.4", gives_out_what_is_left, "What is left comes from the longest bucket to the shortest; the shortest is first.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend(left.into_iter().rev());
        out
    }),
    wrong!("3.4", gives_out_what_is_left, "What is left of all buckets is one batch: each bucket has its own.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend((!left.is_empty()).then(|| left.concat()));
        out
    }),
    wrong!("3.4", gives_out_what_is_left, "Buckets that are empty at the end give batches without records.",
    length_buckets: |l, o, b, size| {
        let mut all = (REFERENCE.length_buckets)(l, o, b, size);
        all.push(Vec::new());
        all
    }),
    wrong!("3.5", gives_all_in_order, "Results are given as they come. One that is early waits until it is its turn.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { ordered: false, ..POOL })),
    wrong!("3.5", gives_all_in_order, "The last one is never given.",
        prefetched: |n, w, a, m, t| pooled(n.saturating_sub(1), w, a, m, t, POOL)),
    wrong!("3.5", makes_several_at_a_time,
        "One at a time: a worker holds the lock on the queue while it makes its batch. Let go of it as soon as it has a number.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { locks: true, ..POOL })),
    wrong!("3.5", makes_several_at_a_time, "Nothing is made ahead: the caller makes each one when its turn comes. Start threads.",
    prefetched: |n, _, _, m, t| {
        for i in 0..n {
            if !t(m(i)) { break; }
        }
    }),
    wrong!("3.5", makes_several_at_a_time, "More threads than `workers` work at a time.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { threads: |w| w + 2, ..POOL })),
    wrong!("3.5", begins_no_more_than_ahead,
        "All numbers are sent at once, so a slow trainer has the whole epoch in memory. Send number i when i − ahead is given.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { bounded: false, ..POOL })),
    wrong!("3.5", asks_for_each_once, "What failed is made again: an error is a result like any other.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { tries: 2, ..POOL })),
    wrong!("3.5", asks_for_each_once, "make(0) is asked for where the count is 0.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { at_least_one: true, ..POOL })),
    wrong!("3.5", gives_an_error_in_its_place, "An error is passed over: `take` decides what to do about it.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_error: OnError::Skip, ..POOL })),
    wrong!("3.5", gives_an_error_in_its_place, "The first error ends it all: what comes after follows.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_error: OnError::End, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "What panicked is passed over; it is an error in its place.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_panic: OnError::Skip, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "The first panic ends it all: what comes after follows.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_panic: OnError::End, ..POOL })),
    wrong!("3.5", stops_when_told, "What `take` says is not heeded: false is the end.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { stops: false, ..POOL })),
    wrong!("3.6", keeps_scans_of_a_tree_together, "Each record is a group of its own: scans of one tree then train and test.",
        together: |t, _| (0..t.len()).collect()),
    wrong!("3.6", keeps_scans_of_a_tree_together, "Grouped by plot alone: a tree's scans without a plot part.",
        together: |t, p| grouped(t.len(), t.len(), |i, j| !p[i].is_empty() && p[i] == p[j])),
    wrong!("3.6", keeps_trees_of_a_plot_together, "Grouped by tree alone: neighbours of one plot train and test.",
        together: |t, _| numbered(t)),
    wrong!("3.6", keeps_trees_of_a_plot_together, "A group is a tree on a plot: both must be equal, where either is enough.",
        together: |t, p| grouped(t.len(), t.len(), |i, j| t[i] == t[j] && p[i] == p[j])),
    wrong!("3.6", keeps_trees_of_a_plot_together, "All is one group, and nothing is left to test on.",
        together: |t, _| vec![0; t.len()]),
    wrong!("3.6", follows_what_hangs_together,
    "Two groups that meet later stay apart: when a record unites them, all their records must move.",
    together: |t, p| {
        let mut group: Vec<usize> = Vec::new();
        for i in 0..t.len() {
            let like = (0..i).find(|&j| t[i] == t[j] || (!p[i].is_empty() && p[i] == p[j]));
            let new = group.iter().max().map_or(0, |g| g + 1);
            group.push(like.map_or(new, |j| group[j]));
        }
        group
    }),
    wrong!("3.6", follows_what_hangs_together,
    "A record goes into its tree's group, or else into its plot's. Where both are known and differ, unite them.",
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
    wrong!("3.6", knows_plots_from_no_plot, "\"\" is taken for a plot: trees of which nothing is known hang together.",
        together: |t, p| grouped(t.len(), t.len(), |i, j| t[i] == t[j] || p[i] == p[j])),
    wrong!("3.6", numbers_groups_by_their_first_record, "Groups are numbered by a record in them, with gaps; number them 0, 1, 2 …",
    together: |t, p| {
        let groups = (REFERENCE.together)(t, p);
        groups.iter().map(|g| groups.iter().position(|h| h == g).unwrap_or(0)).collect()
    }),
    wrong!("3.6", numbers_groups_by_their_first_record, "Groups are numbered from 1; they count from 0.",
        together: |t, p| (REFERENCE.together)(t, p).into_iter().map(|g| g + 1).collect()),
    wrong!("3.6", keeps_trees_and_plots_apart, "Trees and plots share one table of names: tree \"2\" is not plot \"2\".",
    together: |t, p| grouped(t.len(), t.len(), |i, j| {
        let alike = |a: &str, b: &str| !a.is_empty() && a == b;
        t[i] == t[j] || alike(p[i], p[j]) || alike(t[i], p[j]) || alike(p[i], t[j])
    })),
];
