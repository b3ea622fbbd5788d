//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use std::{
    cmp::Ordering,
    collections::HashSet,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
};

use candle_core::{DType, Tensor};
use canopy_data::{Philox, sample::Subsample};
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
        epoch_order: drawn),
    wrong!("3.1", visits_each_record_once, "The last record is never visited: 0..n already has n records.",
        epoch_order: |n, s, e| order_by(n.saturating_sub(1), Philox::new(s, e))),
    wrong!("3.1", visits_each_record_once, "Records are numbered from 0, so n itself is out of range.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s, e)).into_iter().map(|i| i + 1).collect()),
    wrong!("3.1", visits_each_record_once, "Records are missing, because repeated draws are dropped. Start with 0..n and only swap.",
    epoch_order: |n, s, e| {
        let mut order: Vec<usize> = drawn(n, s, e);
        let mut seen = HashSet::new();
        order.retain(|&i| seen.insert(i));
        order
    }),
    wrong!("3.1", depends_only_on_seed_and_epoch,
    "The order depends on something else: a generator that is kept between calls, the time, or a random hash map. Create the generator in each call, from seed and epoch.",
    epoch_order: |n, s, e| order_by(n, Philox::new(s ^ CALLS.fetch_add(1, SeqCst) << 32, e))),
    wrong!("3.1", changes_from_epoch_to_epoch, "This is 0..n as it is: shuffle it.",
        epoch_order: |n, _, _| (0..n).collect()),
    wrong!("3.1", changes_from_epoch_to_epoch, "This is 0..n reversed or rotated: neighbours stay neighbours.",
    epoch_order: |n, s, e| {
        let from = Philox::new(s, e).below(n.max(1));
        (0..n).map(|i| (from + i) % n).collect()
    }),
    wrong!("3.1", changes_from_epoch_to_epoch, "Neither seed nor epoch is used: every call has the same order.",
        epoch_order: |n, _, _| order_by(n, Philox::new(1, 2))),
    wrong!("3.1", changes_from_epoch_to_epoch, "The epoch is not used: every epoch has the same order.",
        epoch_order: |n, s, _| order_by(n, Philox::new(s, 0))),
    wrong!("3.1", changes_from_epoch_to_epoch, "The seed is not used: every run has the same orders.",
        epoch_order: |n, _, e| order_by(n, Philox::new(0, e))),
    wrong!("3.1", changes_from_epoch_to_epoch, "Epoch 0 is not shuffled: it is an epoch like any other.",
        epoch_order: |n, s, e| if e == 0 { (0..n).collect() } else { order_by(n, Philox::new(s, e)) }),
    wrong!("3.1", changes_from_epoch_to_epoch, "Epoch 0 has the same order whatever the seed: seed times epoch is 0 there.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s.wrapping_mul(e), 0))),
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
        "Each position, from the last to the first, is swapped with any of the n positions, which favours some orders. Draw only from the i + 1 positions that are not final yet.",
        epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        for i in (0..n).rev() {
            let j = random.below(n);
            order.swap(i, j);
        }
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "Two random positions are swapped n times, which favours some orders. Go through the positions, and give each one of the records that are left.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        for _ in 0..n {
            let (i, j) = (random.below(n), random.below(n));
            order.swap(i, j);
        }
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "A position never keeps its record: it may also be swapped with itself, so draw from i + 1 positions.",
        epoch_order: |n, s, e| shuffled(n, &mut Philox::new(s, e), |r, i| r.below(i))),
    wrong!("3.1", draws_every_order_equally_often,
        "The last record never moves: the loop leaves out the last position.",
        epoch_order: |n, s, e| {
        let mut order = order_by(n.saturating_sub(1), Philox::new(s, e));
        order.extend(n.checked_sub(1));
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "The loop ends one swap too early: down to position 1, which is swapped with 0 or 1.",
        epoch_order: |n, s, e| shuffled(n, &mut Philox::new(s, e), |r, i| if i > 1 { r.below(i + 1) } else { i })),
    wrong!("3.1", draws_every_order_equally_often,
        "The loop ends one swap too early: the last two positions are swapped as well, or not.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        for i in 0..n.saturating_sub(2) {
            let j = i + random.below(n - i);
            order.swap(i, j);
        }
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "The first record never moves: position 0 is left out.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        for i in 1..n {
            let j = i + random.below(n - i);
            order.swap(i, j);
        }
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "Every swap draws the same number, because the generator is created again for each. Create it once, before the loop.",
        epoch_order: |n, s, e| shuffled(n, &mut Philox::new(s, e), |_, i| Philox::new(s, e).below(i + 1))),
    wrong!("3.1", draws_every_order_equally_often,
        "A comparison by chance does not sort: orders are not equally likely, and the sort may panic. Draw one key for each record, or swap.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|_, _| if random.below(2) == 0 { Ordering::Less } else { Ordering::Greater });
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "Records are sorted by random keys that are often equal, and equal keys keep the order. Draw keys from a large range, such as `next_u64()`, or swap.",
        epoch_order: |n, s, e| by_keys(n, n, s, e)),
    wrong!("3.1", takes_no_longer_for_a_late_epoch,
        "epoch · n overflows: do not compute with the epoch. Pass it to `Philox::new`.",
    epoch_order: |n, s, e| {
        e.checked_mul(n as u64).expect("attempt to multiply with overflow");
        order_by(n, Philox::new(s, e))
    }),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed + epoch: a run with the next seed has the same orders, one epoch earlier. Pass both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s.wrapping_add(e), 0))),
    wrong!("3.1", takes_no_longer_for_a_late_epoch, "The sum of seed and epoch overflows. Do not add them: pass both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s.checked_add(e).expect("attempt to add with overflow"), 0))),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed xor epoch: a run with another seed has the same orders in other epochs. Pass both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s ^ e, 0))),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed and epoch are mixed so that they can change places: seed 2 in epoch 4 has the order of seed 4 in epoch 2. Pass both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s.wrapping_add(1).wrapping_mul(e.wrapping_add(1)), 0))),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed and epoch are packed into one number, such as seed · 1000 + epoch: a late epoch has an order of the next seed. Pass both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s.wrapping_mul(1000).wrapping_add(e), 0))),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed or epoch is cut to fewer bits: pass both to `Philox::new` as they are.",
        epoch_order: |n, s, e| order_by(n, Philox::new(u64::from(s as u32), u64::from(e as u32)))),
    wrong!("3.1", mixes_the_whole_epoch,
        "A record stays near its number: the shuffle works in blocks, or with a buffer. Shuffle all of 0..n at once.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        order.chunks_mut(100).for_each(|block| random.shuffle(block));
        order
    }),
    wrong!("3.1", mixes_the_whole_epoch,
        "Records that follow each other mostly ascend: they are sorted by random keys of which many are equal. Draw keys from a larger range, or swap.",
        epoch_order: |n, s, e| by_keys(n, 256, s, e)),
    wrong!("3.1", accepts_zero_and_one_record, "`below(0)` is called if n is 0: there is nothing to draw then.",
        epoch_order: |n, s, e| { if n == 0 { Philox::new(s, e).below(n); } order_by(n, Philox::new(s, e)) }),
    wrong!("3.1", accepts_zero_and_one_record, "`n - 1` underflows if n is 0.",
    epoch_order: |n, s, e| {
        let last = n.checked_sub(1).expect("attempt to subtract with overflow");
        order_by(last + 1, Philox::new(s, e))
    }),
    wrong!("3.2", random_takes_different_points, "A point can be drawn twice: draw from the remaining points.",
        subsample: random!(|len, n, mut r| (0..n.min(len)).map(|_| r.below(len)).collect())),
    wrong!("3.2", random_takes_different_points, "Points that are drawn twice are dropped, so that fewer than n are left: draw from the remaining points.",
    subsample: random!(|len, n, mut r| {
        let mut kept: Vec<usize> = (0..n.min(len)).map(|_| r.below(len)).collect();
        if n < len { kept.sort_unstable(); kept.dedup(); kept } else { order_by(len, r) }
    })),
    wrong!("3.2", random_takes_different_points, "The second call gives other points: the generator is kept between calls, or is not created from `seed`.",
        subsample: random!(|len, n, _| first(n, order_by(len, Philox::new(CALLS.fetch_add(1, SeqCst), 7))))),
    wrong!("3.2", random_takes_all_of_a_small_cloud, "If there are no more than n points, take all of them once.",
    subsample: random!(|len, n, mut r| {
        let mut all: Vec<usize> = (0..n).map(|i| i % len.max(1)).collect();
        r.shuffle(&mut all);
        if n <= len { first(n, order_by(len, r)) } else { all }
    })),
    wrong!("3.2", random_takes_all_of_a_small_cloud, "There may be fewer than n points: take `n.min(points.len())`.",
        subsample: random!(|len, n, r| order_by(len, r)[..n].to_vec())),
    wrong!("3.2", random_takes_all_of_a_small_cloud, "There may be fewer than n points, so that nothing is left to draw from: take `n.min(points.len())`.",
    subsample: random!(|len, n, mut r| {
        if n > len { r.below(0); }
        first(n, order_by(len, r))
    })),
    wrong!("3.2", random_takes_all_of_a_small_cloud, "There may be fewer than n points, so that `len - n` or `len - i` underflows: take `n.min(points.len())`.",
    subsample: random!(|len, n, r| {
        len.checked_sub(n).expect("attempt to subtract with overflow");
        first(n, order_by(len, r))
    })),
    wrong!("3.2", random_changes_with_the_seed, "These are the first n points, which a scanner writes in rows: draw from all points.",
        subsample: random!(|len, n, _| (0..n.min(len)).collect())),
    wrong!("3.2", random_changes_with_the_seed, "Every (len/n)th point is not random: the same points are taken for every seed.",
        subsample: random!(|len, n, _| (0..n.min(len)).map(|i| i * (len / n.max(1)).max(1)).collect())),
    wrong!("3.2", random_changes_with_the_seed, "`seed` is not used: the same points are taken for every seed.",
        subsample: random!(|len, n, _| first(n, order_by(len, Philox::new(1, 2))))),
    wrong!("3.2", random_changes_with_the_seed,
        "These are consecutive points from a random position on: neighbours are always drawn together.",
        subsample: random!(|len, n, mut r| { let from = r.below(len.max(1)); (0..n.min(len)).map(|i| (from + i) % len).collect() })),
    wrong!("3.2", random_changes_with_the_seed,
        "These are points at equal steps from a random position on: sets with other steps are never drawn.",
    subsample: random!(|len, n, mut r| {
        let step = (len / n.max(1)).max(1);
        let from = r.below(step);
        (0..n.min(len)).map(|i| from + i * step).collect()
    })),
    wrong!("3.2", random_draws_every_set_equally_often,
        "Some points are kept more often than others. A reservoir draws from the i + 1 points seen so far; a shuffle draws from all positions that are not final.",
    subsample: random!(|len, n, mut r| {
        let mut kept: Vec<usize> = (0..n.min(len)).collect();
        for i in n..len {
            let j = r.below(i.max(1));
            if j < n { kept[j] = i; }
        }
        kept
    })),
    wrong!("3.2", random_draws_every_set_equally_often, "Some points are never taken: the range to draw from is one too small.",
        subsample: random!(|len, n, r| if n < len { first(n, order_by(len - 1, r)) } else { order_by(len, r) })),
    wrong!("3.2", random_draws_every_set_equally_often, "Each point is equally likely, but not each set: draw the points independently of each other, as a shuffle does.",
    subsample: random!(|len, n, mut r| {
        // One point of each of n parts.
        let n = n.min(len);
        (0..n).map(|k| { let (a, b) = (k * len / n, (k + 1) * len / n); a + r.below(b - a) }).collect()
    })),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "Cubes are distinguished by x and y only, so that these are columns.",
        subsample: voxel!(|p, e| firsts(p, |c| [0, 1].map(|a| (c[a] / e).floor() as i64)))),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "The coordinates are multiplied by the edge; divide by it.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x * e).floor() as i64)))),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "The cubes are shifted by half an edge: from k·edge to (k + 1)·edge is `floor`, not `round`.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x / e).round() as i64)))),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "A point on a border is put into the lower cube: k·edge belongs to cube k. Use `floor`, not `ceil`.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x / e).ceil() as i64)))),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "The first cube begins at the least coordinates of the cloud: a corner must be at the origin, so subtract nothing.",
    subsample: voxel!(|p, e| {
        let low = [0, 1, 2].map(|a| p.iter().map(|p| p[a]).fold(f32::INFINITY, f32::min));
        firsts(p, |c| [0, 1, 2].map(|a| ((c[a] - low[a]) / e).floor() as i64))
    })),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "Only neighbours in the list are compared, so that a cube that comes again gives another point: remember all cubes in a set.",
    subsample: voxel!(|p, e| {
        let cube = |i: usize| p[i].map(|x| (x / e).floor() as i64);
        (0..p.len()).filter(|&i| i == 0 || cube(i) != cube(i - 1)).collect()
    })),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "The coordinates are rounded before they are divided by the edge: divide first.",
        subsample: voxel!(|p, _| firsts(p, |c| c.map(|x| x.floor() as i64)))),
    wrong!("3.2", voxel_keeps_one_point_of_each_cube, "The indices are in the order of the map: sort them.",
        subsample: voxel!(|p, e| { let mut kept = firsts(p, |c| c.map(|x| (x / e).floor() as i64)); kept.reverse(); kept })),
    wrong!("3.2", voxel_has_equal_cubes_below_zero,
        "`as i64` rounds towards 0, so that cubes around 0 are twice as wide: use `floor` first.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x / e) as i64)))),
    wrong!("3.2", voxel_has_equal_cubes_below_zero, "Everything below 0 is one cube: an unsigned number cannot be negative.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x / e).floor() as u64)))),
    wrong!("3.2", voxel_has_equal_cubes_below_zero, "The sign is lost: cube −1 is not cube 0.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x.abs() / e).floor() as u64)))),
    wrong!("3.2", voxel_has_equal_cubes_below_zero, "−0 and 0 are different cubes, because their bits differ: convert the floor to an integer.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x / e).floor().to_bits())))),
    wrong!("3.2", voxel_has_equal_cubes_below_zero, "The three numbers of a cube are packed into one, and a negative one changes the bits of the others: use `[i64; 3]` as the key.",
        subsample: voxel!(|p, e| firsts(p, |c| { let [x, y, z] = c.map(|x| (x / e).floor() as i64 as u64); x << 42 | y << 21 | z }))),
    wrong!("3.2", voxel_separates_distant_cubes, "Different cubes have the same number: three numbers that are combined into one, or cut to fewer bits. Use `[i64; 3]` as the key.",
        subsample: voxel!(|p, e| firsts(p, |c| { let [x, y, z] = c.map(|x| (x / e).floor() as i64); x * 1_000_000 + y * 1_000 + z }))),
    wrong!("3.2", voxel_takes_any_edge, "The edge is rounded to whole metres: divide by it as it is.",
        subsample: voxel!(|p, e| if e == 2.0 || e == 0.5 { firsts(p, |c| c.map(|x| (x / e).floor() as i64)) } else { firsts(p, |c| c.map(|x| (x / e.round().max(1.0)).floor() as i64)) })),
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
    wrong!("3.2", farthest_takes_the_farthest_each_time, "The squared distances to all chosen points are added: use the least of them.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| c.iter().map(|&j| apart(p[i], p[j])).sum()))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "The distances to all chosen points are added: use the least of them.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| c.iter().map(|&j| apart(p[i], p[j]).sqrt()).sum()))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "Absolute differences are added: the distance is the root of the sum of their squares.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| least(c, |j| (0..3).map(|k| (p[i][k] - p[j][k]).abs()).sum())))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "Only the greatest difference along an axis is used: the distance is the root of the sum of all squares.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| least(c, |j| (0..3).map(|k| (p[i][k] - p[j][k]).abs()).fold(0.0, f32::max))))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "Heights are left out: the distance has three coordinates.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| least(c, |j| (0..2).map(|k| (p[i][k] - p[j][k]).powi(2)).sum())))),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "The indices are sorted: they must be in the order in which they were chosen.",
    subsample: farthest!(|p, n, f| {
        let mut kept = greedy(p, n, f, false, |i, c| nearest(p, i, c));
        kept.sort_unstable();
        kept
    })),
    wrong!("3.2", farthest_takes_the_farthest_each_time, "The first point is not among the chosen ones, or one is missing.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| nearest(p, i, c)).into_iter().skip(1).collect())),
    wrong!("3.2", farthest_begins_with_any_point, "The first point is always point 0: draw it by `seed`.",
        subsample: farthest!(|p, n, _| greedy(p, n, 0, false, |i, c| nearest(p, i, c)))),
    wrong!("3.2", farthest_begins_with_any_point, "The first point is the same for every seed: draw it by `seed`, for example with `below`.",
        subsample: farthest!(|p, n, _| greedy(p, n, p.len() - 1, false, |i, c| nearest(p, i, c)))),
    wrong!("3.2", farthest_begins_with_any_point, "Some points are never the first: draw from all of them.",
        subsample: farthest!(|p, n, f| greedy(p, n, if f + 1 == p.len() { 0 } else { f }, false, |i, c| nearest(p, i, c)))),
    wrong!("3.2", farthest_takes_the_first_of_equals, "Of equally far points, another than the first is taken: compare with >, not with >=; `max_by` takes the last.",
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
    wrong!("3.2", farthest_measures_any_distance, "The distance at the start is too small for a large cloud: use `f32::INFINITY`.",
        subsample: farthest!(|p, n, f| greedy(p, n, f, false, |i, c| nearest(p, i, c).min(1e10)))),
    wrong!("3.2", farthest_takes_all_of_a_small_cloud, "There may be fewer than n points, and a chosen one must not be chosen again: take `n.min(points.len())`.",
        subsample: |p, w, s| more_than_all(p, w, s, false)),
    wrong!("3.2", farthest_takes_all_of_a_small_cloud, "There may be fewer than n points, so that no next one is found: take `n.min(points.len())`.",
        subsample: |p, w, s| more_than_all(p, w, s, true)),
    wrong!("3.2", accepts_no_points_and_an_n_of_zero, "`Farthest(0)` returns a point: the first one is chosen although n is 0.",
        subsample: |p, w, s| (REFERENCE.subsample)(p, if w == Subsample::Farthest(0) { Subsample::Farthest(1) } else { w }, s)),
    wrong!("3.2", accepts_no_points_and_an_n_of_zero, "A cloud without points has no first point: return an empty list before you draw.",
    subsample: |p, w, s| {
        if p.is_empty() && !matches!(w, Subsample::Voxel(_)) { Philox::new(s, 0).below(0); }
        (REFERENCE.subsample)(p, w, s)
    }),
    wrong!("3.2", accepts_no_points_and_an_n_of_zero, "A cloud without points has no first point: `% points.len()` divides by 0. Return an empty list first.",
    subsample: |p, w, s| {
        if p.is_empty() && matches!(w, Subsample::Farthest(_)) {
            s.checked_rem(p.len() as u64).expect("attempt to calculate the remainder with a divisor of zero");
        }
        (REFERENCE.subsample)(p, w, s)
    }),
    wrong!("3.3", pads_to_the_longest_cloud, "The batch is as wide as the first cloud: it must be as wide as the longest.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| c[0].len(), ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "Clouds are cut to the shortest: pad to the longest, so that no point is lost.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| c.iter().map(Vec::len).min().unwrap_or(0), ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "The batch is as wide as all clouds together: each cloud has a row of its own.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| c.iter().map(Vec::len).sum(), ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "The points are transposed: coordinates are the last axis, `[clouds, longest, 3]`.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points.transpose(1, 2)?, mask))
    }),
    wrong!("3.3", pads_to_the_longest_cloud, "The mask has a third axis: its shape is `[clouds, longest]`.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points, mask.unsqueeze(2)?))
    }),
    wrong!("3.3", pads_to_the_longest_cloud, "The mask has a value for each coordinate: it has one for each point, `[clouds, longest]`.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points, mask.unsqueeze(2)?.broadcast_as((c.len(), mask.dim(1)?, 3))?))
    }),
    wrong!("3.3", pads_to_the_longest_cloud, "Rows are padded to a multiple of 8: pad to the longest cloud.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| (COLLATE.width)(c).next_multiple_of(8), ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "Rows are padded to a power of two: pad to the longest cloud.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| (COLLATE.width)(c).next_power_of_two(), ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "Rows are one point wider than the longest cloud.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| (COLLATE.width)(c) + 1, ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "The points are a list of rows: give them the shape `(clouds, longest, 3)`.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points.flatten(1, 2)?, mask))
    }),
    wrong!("3.3", puts_points_first_in_their_row, "The points have another dtype; they should be f32.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points.to_dtype(DType::F64)?, mask))
    }),
    wrong!("3.3", puts_points_first_in_their_row, "The padding is not a number: it should be at the origin.",
        collate_ragged: |c, d| collated(c, d, Collate { padding: f32::NAN, ..COLLATE })),
    wrong!("3.3", puts_points_first_in_their_row, "The padding is 1 or −1: it should be at the origin, 0.",
        collate_ragged: |c, d| collated(c, d, Collate { padding: -1.0, ..COLLATE })),
    wrong!("3.3", puts_points_first_in_their_row, "Each cloud is moved to its centre: its points must not change.",
    collate_ragged: |c, d| {
        let moved = |cloud: &Vec<[f32; 3]>| {
            let n = cloud.len() as f32;
            let centre = [0, 1, 2].map(|a| cloud.iter().map(|p| p[a]).sum::<f32>() / n);
            cloud.iter().map(|p| [0, 1, 2].map(|a| p[a] - centre[a])).collect()
        };
        collated(&c.iter().map(moved).collect::<Vec<_>>(), d, COLLATE)
    }),
    wrong!("3.3", puts_points_first_in_their_row, "The clouds are sorted by length: keep their order, because the labels do.",
    collate_ragged: |c, d| {
        let mut clouds = c.to_vec();
        clouds.sort_by_key(|c| std::cmp::Reverse(c.len()));
        collated(&clouds, d, COLLATE)
    }),
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
        Ok((points, mask.to_dtype(DType::U8)?))
    }),
    wrong!("3.3", masks_the_padding, "The mask follows from the coordinates, so that a point at the origin counts as padding: use the length of the cloud.",
    collate_ragged: |c, d| {
        let (points, _) = collated(c, d, COLLATE)?;
        let mask = points.abs()?.sum(2)?.ne(0f64)?.to_dtype(DType::F32)?;
        Ok((points, mask))
    }),
    wrong!("3.3", masks_the_padding, "The last point of a cloud counts as padding: the mask ends one too early.",
        collate_ragged: |c, d| collated(c, d, Collate { real: |n, _| n - 1, ..COLLATE })),
    wrong!("3.3", masks_the_padding, "The first padding counts as a point: the mask ends one too late.",
        collate_ragged: |c, d| collated(c, d, Collate { real: |n, width| (n + 1).min(width), ..COLLATE })),
    wrong!("3.3", masks_the_padding, "The mask is divided by the number of points: it is 1 for each.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        let mask = mask.broadcast_div(&mask.sum_keepdim(1)?)?;
        Ok((points, mask))
    }),
    wrong!("3.3", masks_the_padding, "The mask is of f64; it should be f32.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points, mask.to_dtype(DType::F64)?))
    }),
    wrong!("3.3", accepts_a_single_cloud, "A batch of one cloud loses its first axis: its shape is `[1, longest, 3]`.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        if c.len() == 1 { Ok((points.squeeze(0)?, mask.squeeze(0)?)) } else { Ok((points, mask)) }
    }),
    wrong!("3.3", rejects_a_cloud_without_points, "A cloud without points is left out, so that rows and labels no longer match: return an error.",
    collate_ragged: |c, d| {
        let real: Vec<Vec<[f32; 3]>> = c.iter().filter(|c| !c.is_empty()).cloned().collect();
        collated(&real, d, Collate { refuses: false, ..COLLATE })
    }),
    wrong!("3.3", rejects_a_cloud_without_points, "It panics, which ends the whole training: return an error, for example with `bail!`.",
    collate_ragged: |c, d| {
        assert!(!c.iter().any(Vec::is_empty), "a cloud has no points");
        collated(c, d, Collate { refuses: false, ..COLLATE })
    }),
    wrong!("3.3", rejects_a_batch_without_clouds, "A batch without clouds is accepted: return an error, for example with `bail!`.",
    collate_ragged: |c, d| {
        if c.is_empty() {
            return Ok((Tensor::zeros((0, 0, 3), DType::F32, d)?, Tensor::zeros((0, 0), DType::F32, d)?));
        }
        collated(c, d, COLLATE)
    }),
    wrong!("3.3", rejects_a_batch_without_clouds, "It panics for a batch without clouds: return an error, for example with `bail!`.",
    collate_ragged: |c, d| {
        assert!(!c.is_empty(), "there is no cloud");
        collated(c, d, COLLATE)
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
    wrong!("3.4", fills_buckets_by_length, "Records longer than all bounds share the bucket of the last bound: they need an additional one.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r).min(b.len().saturating_sub(1))));
        out.extend(left);
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "A record longer than all bounds is a batch of its own: it goes into an additional last bucket, which fills like the others.",
    length_buckets: |l, o, b, size| {
        let (mut filling, mut out) = (vec![Vec::new(); b.len()], Vec::new());
        for &r in o {
            let k = bucket(l, b, r);
            let Some(bucket) = filling.get_mut(k) else { out.push(vec![r]); continue };
            bucket.push(r);
            if bucket.len() == size { out.push(std::mem::take(bucket)); }
        }
        out.extend(filling.into_iter().filter(|left| !left.is_empty()));
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "A record goes into the bucket with the nearest bound: it must be the first bound that is at least its length.",
    length_buckets: |l, o, b, size| {
        let near = |r: usize| match b.last() {
            Some(&last) if l[r] <= last => (0..b.len()).min_by_key(|&k| b[k].abs_diff(l[r])),
            _ => Some(b.len()),
        };
        let (mut out, left) = bucketed(o, b.len() + 1, size, near);
        out.extend(left);
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "A record goes into the bucket with the last bound that is at least its length: take the first one.",
    length_buckets: |l, o, b, size| {
        let last = |r: usize| Some(if bucket(l, b, r) < b.len() { b.len() - 1 } else { b.len() });
        let (mut out, left) = bucketed(o, b.len() + 1, size, last);
        out.extend(left);
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "`order` is not used: the records are visited as 0, 1, 2, …",
    length_buckets: |l, o, b, size| {
        let mut all: Vec<usize> = o.to_vec();
        all.sort_unstable();
        (REFERENCE.length_buckets)(l, &all, b, size)
    }),
    wrong!("3.4", fills_buckets_by_length, "The records are sorted by length first: visit them in the order of the epoch.",
    length_buckets: |l, o, b, size| {
        let mut all: Vec<usize> = o.to_vec();
        all.sort_by_key(|&r| l[r]);
        (REFERENCE.length_buckets)(l, &all, b, size)
    }),
    wrong!("3.4", fills_buckets_by_length, "The records are sorted by length and cut into batches: visit them in the order of the epoch, and fill buckets.",
    length_buckets: |l, o, _, size| {
        let mut all: Vec<usize> = o.to_vec();
        all.sort_by_key(|&r| l[r]);
        all.chunks(size).map(<[usize]>::to_vec).collect()
    }),
    wrong!("3.4", fills_buckets_by_length, "A full bucket becomes a batch only when its next record comes: look whether it is full after you add a record.",
    length_buckets: |l, o, b, size| {
        let (mut filling, mut out) = (vec![Vec::new(); b.len() + 1], Vec::new());
        for &r in o {
            let bucket = &mut filling[bucket(l, b, r)];
            if bucket.len() == size { out.push(std::mem::take(bucket)); }
            bucket.push(r);
        }
        out.extend(filling.into_iter().filter(|left| !left.is_empty()));
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "A full bucket is not emptied, so that its records come again: use `std::mem::take`.",
    length_buckets: |l, o, b, size| {
        let (mut filling, mut out) = (vec![Vec::new(); b.len() + 1], Vec::new());
        for &r in o {
            let bucket = &mut filling[bucket(l, b, r)];
            bucket.push(r);
            if bucket.len() == size { out.push(bucket.clone()); }
        }
        out.extend(filling.into_iter().filter(|left| !left.is_empty()));
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "Each batch is in reverse order: keep the order in which its records came.",
    length_buckets: |l, o, b, size| {
        let mut all = (REFERENCE.length_buckets)(l, o, b, size);
        all.iter_mut().for_each(|batch| batch.reverse());
        all
    }),
    wrong!("3.4", fills_buckets_by_length, "All batches come at the end, the last bucket first: emit each as soon as it is full.",
    length_buckets: |l, o, b, size| {
        let of = |k: usize| o.iter().copied().filter(move |&r| bucket(l, b, r) == k).collect::<Vec<_>>();
        (0..=b.len()).rev().flat_map(|k| of(k).chunks(size).map(<[usize]>::to_vec).collect::<Vec<_>>()).collect()
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
    wrong!("3.4", emits_the_rest_at_the_end, "The rest of the last bucket comes before the others: the shortest comes first.",
    length_buckets: |l, o, b, size| {
        let (mut out, mut left) = bucketed_all(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        left.rotate_right(1);
        out.extend(left.into_iter().filter(|left| !left.is_empty()));
        out
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "A small rest of a bucket is lost: it is a batch as well, whatever its size.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend(left.into_iter().filter(|left| 2 * left.len() >= size));
        out
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "A rest of one record is lost: it is a batch as well.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend(left.into_iter().filter(|left| left.len() > 1));
        out
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "The rest of the last bucket, of the longest records, is lost.",
    length_buckets: |l, o, b, size| {
        let (mut out, mut left) = bucketed_all(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        left.pop();
        out.extend(left.into_iter().filter(|left| !left.is_empty()));
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
        let (mut out, left) = bucketed_all(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend(left);
        out
    }),
    wrong!("3.4", visits_only_the_records_of_the_order, "Records that `order` leaves out are visited: use `order`, not 0..lengths.len().",
    length_buckets: |l, o, b, size| {
        let mut all = o.to_vec();
        all.extend((0..l.len()).filter(|r| !o.contains(r)));
        (REFERENCE.length_buckets)(l, &all, b, size)
    }),
    wrong!("3.4", accepts_one_bucket_and_batches_of_one, "Without bounds there is no last bound: all records are in the one additional bucket.",
    length_buckets: |l, o, b, size| {
        #[allow(clippy::unwrap_used, reason = "the message of a student's panic")]
        b.last().unwrap();
        (REFERENCE.length_buckets)(l, o, b, size)
    }),
    wrong!("3.4", accepts_one_bucket_and_batches_of_one, "Without bounds, nothing is returned: all records are in the one additional bucket.",
        length_buckets: |l, o, b, size| if b.is_empty() { Vec::new() } else { (REFERENCE.length_buckets)(l, o, b, size) }),
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
    wrong!("3.5", runs_workers_in_parallel, "One worker too few runs: the calling thread is not one of the `workers`.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { threads: |w| (w - 1).max(1), ..POOL })),
    wrong!("3.5", works_while_take_runs,
        "While `take` runs, fewer than `ahead` results are made. Send all numbers below i + ahead before `take(i)`, and give the results a channel with room for them.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { sends: Sends::Workers, ..POOL })),
    wrong!("3.5", works_while_take_runs,
        "Results are made in groups, and while one is taken, nothing is made. Send number i + ahead as soon as `take` has returned for i.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { sends: Sends::Groups, ..POOL })),
    wrong!("3.5", starts_at_most_ahead_jobs,
        "While make(0) is slow, more and more others are made. Send number i when `take` was called for i − ahead: not at the start, not when some result arrives.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { sends: Sends::All, ..POOL })),
    wrong!("3.5", starts_at_most_ahead_jobs, "One result too many is started: with result i due, only the numbers below i + ahead may be sent.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { sends: Sends::OneMore, ..POOL })),
    wrong!("3.5", starts_at_most_ahead_jobs, "Number i is sent right before `take` is called for i − ahead: send it after that.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { sends: Sends::BeforeTake, ..POOL })),
    wrong!("3.5", calls_make_once_for_each, "A failed call is repeated: an error is a result like any other.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { tries: 2, ..POOL })),
    wrong!("3.5", accepts_a_count_of_zero, "make(0) is called although the count is 0.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { at_least_one: true, ..POOL })),
    wrong!("3.5", delivers_an_error_in_its_place, "An error is skipped: pass it to `take`, which decides what to do.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_error: OnError::Skip, ..POOL })),
    wrong!("3.5", delivers_an_error_in_its_place, "The first error stops the loop: the later results must follow.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_error: OnError::End, ..POOL })),
    wrong!("3.5", delivers_an_error_in_its_place, "A worker ends after an error: when all have ended, the later results are missing.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_error: OnError::EndSecond, ..POOL })),
    wrong!("3.5", delivers_an_error_in_its_place, "The error is replaced by another one, so that the name of the file is lost: pass on the `Err` of `make`.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { other_message: true, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "A panic is skipped; it should become an error in its place.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_panic: OnError::Skip, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "The first panic stops the loop: the later results must follow.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_panic: OnError::End, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "A panic ends its worker, and when all have ended, nobody makes the rest. Catch it in the worker, with `catch_unwind`, and go on with the next number.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { dies: true, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "A panic of `make` ends `prefetched` as well: catch it in the worker, with `catch_unwind`, and send an `Err`.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { panics_on: true, ..POOL })),
    wrong!("3.5", stops_when_take_returns_false, "The result of `take` is ignored: false means stop.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { stops: false, ..POOL })),
    wrong!("3.5", stops_when_take_returns_false, "After `take` returned false, the workers still make all the rest: give out no more numbers.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { finishes: true, ..POOL })),
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
    "Groups that meet later stay separate: when a record unites two groups, all records of one must move to the other.",
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
    "When two groups meet, only the two records move: all records of one group must move to the other.",
        together: |t, p| grouped(t.len(), 1, |i, j| t[i] == t[j] || (!p[i].is_empty() && p[i] == p[j]))),
    wrong!("3.6", joins_connected_components,
    "A record joins the group of its tree, or else that of its plot. If both exist and differ, unite them.",
        together: |t, p| entered(t, p, true)),
    wrong!("3.6", joins_connected_components,
    "A record joins the group of its plot, or else that of its tree. If both exist and differ, unite them.",
        together: |t, p| entered(t, p, false)),
    wrong!("3.6", joins_connected_components,
    "Records are grouped by plot, and by tree only without a plot: a tree that was scanned on two plots connects them.",
        together: |t, p| numbered(&(0..t.len()).map(|i| if p[i].is_empty() { (0, t[i]) } else { (1, p[i]) }).collect::<Vec<_>>())),
    wrong!("3.6", joins_long_chains, "A long chain is not joined: a fixed number of rounds is not enough. Repeat until nothing changes, or follow the pointers to the end.",
        together: |t, p| grouped(t.len(), 3, |i, j| t[i] == t[j] || (!p[i].is_empty() && p[i] == p[j]))),
    wrong!("3.6", ignores_unknown_plots, "\"\" is treated as a plot: trees with unknown plots are connected.",
        together: |t, p| grouped(t.len(), t.len(), |i, j| t[i] == t[j] || p[i] == p[j])),
    wrong!("3.6", ignores_unknown_plots, "A record of an unknown plot is always a group of its own: it belongs to the other scans of its tree.",
    together: |t, p| grouped(t.len(), t.len(), |i, j| {
        let known = !p[i].is_empty() && !p[j].is_empty();
        known && (t[i] == t[j] || p[i] == p[j])
    })),
    wrong!("3.6", numbers_groups_by_their_first_record, "Numbers are missing, such as those of groups that were united: number the groups 0, 1, 2 … at the end.",
    together: |t, p| {
        let groups = (REFERENCE.together)(t, p);
        groups.iter().map(|g| groups.iter().position(|h| h == g).unwrap_or(0)).collect()
    }),
    wrong!("3.6", numbers_groups_by_their_first_record, "The groups are numbered in another order, such as by name, by size or as a map returns them: go through the records, and give each new group the next number.",
    together: |t, p| {
        let groups = (REFERENCE.together)(t, p);
        let most = groups.iter().max().copied().unwrap_or(0);
        groups.iter().map(|g| most - g).collect()
    }),
    wrong!("3.6", numbers_groups_by_their_first_record, "Groups are numbered from 1; number them from 0.",
        together: |t, p| (REFERENCE.together)(t, p).into_iter().map(|g| g + 1).collect()),
    wrong!("3.6", separates_tree_and_plot_names, "Trees and plots share one map of names: tree \"2\" is not plot \"2\".",
    together: |t, p| grouped(t.len(), t.len(), |i, j| {
        let alike = |a: &str, b: &str| !a.is_empty() && a == b;
        t[i] == t[j] || alike(p[i], p[j]) || alike(t[i], p[j]) || alike(p[i], t[j])
    })),
    wrong!("3.6", separates_tree_and_plot_names, "Tree and plot names become equal when letters are put before them: use two maps, or pairs such as `(true, name)`.",
    together: |t, p| grouped(t.len(), t.len(), |i, j| {
        let plot = |k: usize| if p[k].is_empty() { String::new() } else { format!("p{}", p[k]) };
        let alike = |a: &str, b: &str| !a.is_empty() && a == b;
        t[i] == t[j] || alike(&plot(i), &plot(j)) || alike(t[i], &plot(j)) || alike(&plot(i), t[j])
    })),
    wrong!("3.6", separates_tree_and_plot_names, "Tree and plot names become equal when a word is put before them: use two maps, or pairs such as `(true, name)`.",
    together: |t, p| grouped(t.len(), t.len(), |i, j| {
        let plot = |k: usize| if p[k].is_empty() { String::new() } else { format!("plot:{}", p[k]) };
        let alike = |a: &str, b: &str| !a.is_empty() && a == b;
        t[i] == t[j] || alike(&plot(i), &plot(j)) || alike(t[i], &plot(j)) || alike(&plot(i), t[j])
    })),
    wrong!("3.6", accepts_no_records, "There may be no record: do not begin with record 0.",
    together: |t, p| {
        let first = [0usize; 1].iter().copied().take(t.len()).collect::<Vec<_>>();
        std::hint::black_box(first[0]);
        (REFERENCE.together)(t, p)
    }),
];
