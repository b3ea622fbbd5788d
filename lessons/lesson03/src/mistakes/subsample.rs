//! Known wrong answers to exercise 3.2.

use super::*;

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
    wrong!("3.2", random_takes_different_points, "A point can be drawn twice: draw from the remaining points.",
        subsample: random!(|len, n, mut r| (0..n.min(len)).map(|_| r.below(len)).collect())),
    wrong!("3.2", random_takes_different_points, "Points that are drawn twice are dropped, so that fewer than n are left: draw from the remaining points.",
    subsample: random!(|len, n, mut r| {
        let mut kept: Vec<usize> = (0..n.min(len)).map(|_| r.below(len)).collect();
        if n < len { kept.sort_unstable(); kept.dedup(); kept } else { order_by(len, r) }
    })),
    wrong!("3.2", random_takes_different_points, "Each point is kept with probability n / count, so that the number of points is only about n: draw exactly n.",
        subsample: random!(|len, n, mut r| (0..len).filter(|_| n >= len || r.below(len) < n).collect())),
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
    wrong!("3.2", voxel_separates_distant_cubes, "Different cubes have the same number: three numbers that are combined into one, or cut to fewer bits. Use `[i64; 3]` as the key.",
        subsample: voxel!(|p, e| firsts(p, |c| c.map(|x| (x / e).floor() as i32)))),
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
        subsample: |p, w, s| more_than_all(p, w, s, NoneLeft::Again)),
    wrong!("3.2", farthest_takes_all_of_a_small_cloud, "There may be fewer than n points, so that no next one is found: take `n.min(points.len())`.",
        subsample: |p, w, s| more_than_all(p, w, s, NoneLeft::Unwrapped)),
    wrong!("3.2", farthest_takes_all_of_a_small_cloud, "There may be fewer than n points, so that no next one is found: take `n.min(points.len())`.",
        subsample: |p, w, s| more_than_all(p, w, s, NoneLeft::NoIndex)),
    wrong!("3.2", accepts_no_points_and_an_n_of_zero, "`Farthest(0)` returns a point: the first one is chosen although n is 0.",
        subsample: |p, w, s| (REFERENCE.subsample)(p, if w == Subsample::Farthest(0) { Subsample::Farthest(1) } else { w }, s)),
    wrong!("3.2", accepts_no_points_and_an_n_of_zero, "A cloud without points has no first point: return an empty list before you draw.",
    subsample: |p, w, s| {
        if p.is_empty() && !matches!(w, Subsample::Voxel(_)) { Philox::new(s, 0).below(0); }
        (REFERENCE.subsample)(p, w, s)
    }),
    wrong!("3.2", accepts_no_points_and_an_n_of_zero, "A cloud without points has no first point: return an empty list before you draw.",
    subsample: |p, w, s| {
        if p.is_empty() && matches!(w, Subsample::Farthest(_)) { Philox::new(s, 0).below(0); }
        (REFERENCE.subsample)(p, w, s)
    }),
    wrong!("3.2", accepts_no_points_and_an_n_of_zero, "A cloud without points has no first point: `% points.len()` divides by 0. Return an empty list first.",
    subsample: |p, w, s| {
        if p.is_empty() && matches!(w, Subsample::Farthest(_)) {
            s.checked_rem(p.len() as u64).expect("attempt to calculate the remainder with a divisor of zero");
        }
        (REFERENCE.subsample)(p, w, s)
    }),
];
