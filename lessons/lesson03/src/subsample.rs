//! 3.2: fewer points, at random, of each cube, or the farthest.

use std::collections::BTreeSet;

use canopy_data::sample::Subsample::{self, Farthest, Random, Voxel};
use grader::{Case, Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson03, REFERENCE, answers, order::unequal};

type Points = Vec<[f32; 3]>;
/// Points, method, seed.
type Input = (Points, Subsample, u64);

/// The input for `what`, with `n` points on whole numbers.
fn cloud(d: &mut Draw, n: usize, what: Subsample) -> Input {
    let mut one = |_| d.whole(0, 400) as f32;
    let points = (0..n).map(|_| [0; 3].map(&mut one)).collect();
    (points, what, d.whole(1, 99) as u64)
}

pub fn mixed<T>(d: &mut Draw, mut items: Vec<T>) -> Vec<T> {
    items.sort_by_cached_key(|_| d.whole(0, 1 << 32));
    items
}

/// All points whose coordinates are among these, in random order.
fn lattice(d: &mut Draw, axis: &[f32]) -> Points {
    let n = axis.len();
    let at = |i: usize| [i, i / n, i / (n * n)].map(|i| axis[i % n]);
    mixed(d, (0..n.pow(3)).map(at).collect())
}

fn case((points, what, seed): &Input) -> Case {
    let (n, shown) = (points.len(), &points[..points.len().min(15)]);
    given(format!("{what:?} of {n} points, seed {seed}: {shown:?}"))
}

fn distinct(answer: &Lesson03, input: Input) -> Verdict {
    let case = case(&input);
    let facts = |of: &Lesson03| {
        let indices = || (of.subsample)(&input.0, input.1, input.2);
        let (got, again) = (indices(), indices());
        let points = got.iter().filter(|&&i| i < input.0.len());
        Facts::default()
            .values("number of indices", got.len())
            .values("different points", BTreeSet::from_iter(points).len())
            .asked("each once")
            .text("whether a second call is the same", (got == again).to_string())
            .cause("Create the generator in each call, from `seed`; the order of a hash set is another one each time.")
            .asked("determined by `seed`")
    };
    case.same(facts(answer), facts(&REFERENCE))
}

fn equally(answer: &Lesson03, from: u64) -> Verdict {
    let case = given(format!("Random(3) of 6 points, 12000 seeds from {from}"));
    let facts = |of: &Lesson03| {
        let got = |seed| (of.subsample)(&[[1.0, 2.0, 3.0]; 6], Random(3), seed);
        let set = |seed| BTreeSet::from_iter(got(seed));
        let sets = unequal((from..from + 12_000).map(set), 600);
        Facts::default().items("sets of points that come too often or too seldom", sets)
    };
    case.same(facts(answer), facts(&REFERENCE))
}

fn voxels(answer: &Lesson03, (points, edge): (Points, f32)) -> Verdict {
    let input = (points, Voxel(edge), 1);
    let case = case(&input);
    let facts = |of: &Lesson03| {
        let got = (of.subsample)(&input.0, input.1, input.2);
        let kept = got.iter().filter_map(|&i| input.0.get(i));
        let mut cubes = Vec::from_iter(kept.map(|p| p.map(|c| (c / edge).floor() as i64)));
        cubes.sort_unstable();
        let ascend = got.is_sorted_by(|a, b| a < b).to_string();
        Facts::default()
            .items("cubes of the kept points, sorted", cubes)
            .text("whether indices ascend", ascend)
            .cause("Voxel: keep the indices in ascending order.")
    };
    case.same(facts(answer), facts(&REFERENCE))
}

/// The first point determines the others.
fn farthest(answer: &Lesson03, input: Input) -> Verdict {
    let case = case(&input);
    let (points, what, seed) = &input;
    let got = (answer.subsample)(points, *what, *seed);
    let third_hint = |what, seed| answers::subsample::<0>(points, what, seed);
    let begins_alike = |&seed: &u64| third_hint(Farthest(1), seed).first() == got.first();
    let expected = third_hint(*what, (0..10_000).find(begins_alike).unwrap_or(0));
    case.close("indices", &got, &expected)
}

fn begins(answer: &Lesson03, input: Input) -> Verdict {
    let case = case(&input);
    let (points, what, from) = &input;
    let first = |seed| (answer.subsample)(points, *what, seed).first().copied();
    let firsts = BTreeSet::from_iter((*from..from + 300).filter_map(first));
    let (firsts, all) = (Vec::from_iter(firsts), Vec::from_iter(0..points.len()));
    case.close("points that can be first", &firsts, &all)
}

pub const CHECKS: &[Check<Lesson03>] = rows! { "3.2";
    by equally {
        random_draws_every_set_equally_often: "every set of n points",
            "Random: draw each point from all that are left, independently, with `Philox::new(seed, 0)`, wherever it is in the list." =>
            |d| vec![d.whole(1, 1_000_000) as u64];
    }
    by voxels {
        voxel_keeps_one_point_of_each_cube: "one point of each cube",
            "Voxel: cube k is `(c / edge).floor()` along each axis, above and below 0." => |d| {
            let mut all = vec![
                // The lowest corner of this cloud is in the middle of a cube.
                (lattice(d, &[1.0, 2.0, 3.0, 4.0, 5.0]), 2.0),
                (lattice(d, &[-1.25, -0.5, -0.25, -0.0, 0.0, 0.25, 2.75]), 0.5),
                // A cloud of which no coordinate is above zero.
                (lattice(d, &[-5.0, -4.0, -3.0, -2.0, -1.0]), 2.0),
            ];
            for edge in [0.3, 0.011, 7.3, 900.0] {
                // Far from the borders of cubes: rounding moves no point into another.
                let mut one = |_| ((d.whole(0, 6) as f64 - 3.0 + d.number(0.1, 0.9)) * f64::from(edge)) as f32;
                all.push(((0..200).map(|_| [0; 3].map(&mut one)).collect(), edge));
            }
            all
        };
        voxel_separates_distant_cubes: "one point of each cube",
            "Voxel: numbers combined into one, or cut to fewer bits, are those of other cubes: use `[i64; 3]`." => |d| {
            // A step along one axis is as far as so many along the next.
            let mut points = lattice(d, &[-0.75, 0.25, 0.75]);
            for far in [10, 31, 100, 128, 255, 256, 1_000, 1_024, 4_096, 10_000, 32_768, 40_000, 65_536, 100_000] {
                for far in [far as f32 * 0.5 + 0.25, far as f32 * -0.5 - 0.25] {
                    points.extend([[far, 0.25, 0.25], [0.25, far, 0.25], [0.25, 0.25, far]]);
                }
            }
            // The number of a cube needs more than 32 bits. The edge is a power of two, so that nothing is rounded.
            let large = lattice(d, &[-9_437_185.0, -9_437_184.0, 9_437_184.0, 9_437_185.0]);
            vec![(mixed(d, points), 0.5), (large, 1.0 / 512.0)]
        };
    }
    by farthest {
        farthest_takes_the_farthest_each_time: "the one farthest from its nearest chosen point",
            "Farthest: next is the point whose least distance, of x, y and z, to any chosen one is greatest, unrounded." => |d| {
            let mut all: Vec<Input> = [(9, 5), (40, 39), (40, 1)].map(|(len, n)| cloud(d, len, Farthest(n))).into();
            for (unit, x) in [(1_024.0, 0.0), (1.0 / 8_192.0, 0.0), (1.0, 5_242_880.0)] {
                // Distances between whole numbers are exact in every dtype, in any unit and from any origin.
                let of = |p: [f32; 3]| [p[0] * unit + x, p[1] * unit - x / 10.0, p[2] * unit];
                all.push((cloud(d, 30, Random(0)).0.into_iter().map(of).collect(), Farthest(20), 7));
            }
            all
        };
    }
    by begins {
        farthest_begins_with_any_point: "a random first point",
            "Farthest: draw the first point from all points, by `seed`." => |d| vec![cloud(d, 8, Farthest(2))];
    }
    by farthest {
        farthest_takes_the_first_of_equals: "of equals, the first",
            "Farthest: of equally far points take the first (`>`), also of duplicates, but no index twice." => |d| {
            // Equal steps along one axis, each twice: nearly every choice is among equals, none among duplicates only.
            let steps = (0..24).map(|i| [(i / 2) as f32 - 5.0, 1.0, 2.0]).collect();
            let three = [[0.0; 3], [5.0, 0.0, 0.0], [0.0, 0.0, 9.0]];
            let duplicates = (0..15).map(|i| three[if i < 3 { i } else { d.whole(0, 2) }]).collect();
            let seed = d.whole(1, 99) as u64;
            vec![(mixed(d, steps), Farthest(12), seed), (duplicates, Farthest(9), seed)]
        };
    }
    by distinct {
        takes_all_of_a_small_cloud: "all are kept",
            "Take `n.min(points.len())` points." => |d| {
            let mut all = vec![cloud(d, 24, Random(12)), cloud(d, 3_000, Random(1_000))];
            all.extend([15, 20, 60].map(|n| [Random(n), Farthest(n)].map(|what| cloud(d, 15, what))).concat());
            all
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson03>] = mistakes! { "3.2" subsample;
    1 "Random: a point can be drawn twice: draw from those that are left.";
    2 "Voxel: `as i64` rounds towards 0, so that cubes around 0 are twice as wide: use `floor` first.";
    3 "Farthest: only the distance to the last chosen point is used: keep the least to any chosen point.";
};
