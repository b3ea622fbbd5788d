use std::collections::{BTreeMap, HashSet};

use canopy_data::sample::Subsample;
use grader::{Draw, Verdict, draw, given};

use super::{
    random::{mixed, twice},
    told,
};
use crate::Lesson03;

type Cube = [i64; 3];

fn shown(points: &[[f32; 3]]) -> String {
    let first: Vec<String> = points.iter().take(3).map(|p| format!("{p:?}")).collect();
    format!("{} points, {}, …", points.len(), first.join(" "))
}

/// All points whose coordinates are among these, in random order.
fn lattice(draw: &mut Draw, axis: &[f32]) -> Vec<[f32; 3]> {
    let of = |i: usize| axis[i % axis.len()];
    let count = axis.len().pow(3);
    let at = |i: usize| [of(i), of(i / axis.len()), of(i / axis.len().pow(2))];
    mixed(draw, (0..count).map(at).collect())
}

pub fn voxel_keeps_one_point_of_each_cube(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    // The lowest corner of this cloud is in the middle of a cube.
    let points = lattice(&mut draw, &[1.0, 2.0, 3.0, 4.0, 5.0]);
    voxels(answer, &points, 2.0, draw.whole(1, 99) as u64)?;
    let points = lattice(&mut draw, &[0.25, 0.75, 1.0, 1.5, 2.75]);
    voxels(answer, &points, 0.5, draw.whole(1, 99) as u64)
}

pub fn voxel_has_equal_cubes_below_zero(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let points = lattice(&mut draw, &[-1.25, -0.5, -0.25, -0.0, 0.0, 0.25]);
    voxels(answer, &points, 0.5, 2)?;
    // A cloud of which no coordinate is above zero.
    let points = lattice(&mut draw, &[-5.0, -4.0, -3.0, -2.0, -1.0]);
    voxels(answer, &points, 2.0, 3)
}

pub fn voxel_separates_distant_cubes(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    // A step along one axis is as far as many along the next, whatever the radix.
    let mut points = lattice(&mut draw, &[-0.75, 0.25, 0.75]);
    for far in [
        10, 31, 100, 128, 255, 256, 1_000, 1_024, 4_096, 10_000, 32_768, 40_000, 65_536, 100_000, 1_000_000,
    ] {
        let far = far as f32 * 0.5 + 0.25;
        points.extend([[far, 0.25, 0.25], [0.25, far, 0.25], [0.25, 0.25, far]]);
        points.extend([[-far, 0.25, 0.25], [0.25, -far, 0.25], [0.25, 0.25, -far]]);
    }
    let points = mixed(&mut draw, points);
    voxels(answer, &points, 0.5, 4)?;
    // The number of a cube needs more than 32 bits. The edge is a power of two, so that nothing is rounded.
    let points = lattice(&mut draw, &[-9_437_185.0, -9_437_184.0, 9_437_184.0, 9_437_185.0]);
    voxels(answer, &points, 1.0 / 512.0, 5)
}

pub fn voxel_takes_any_edge(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    for edge in [0.3f32, 0.011, 7.3, 900.0] {
        // Far from the borders of cubes: rounding moves no point into another.
        let mut one = || ((draw.whole(0, 6) as f64 - 3.0 + draw.number(0.1, 0.9)) * f64::from(edge)) as f32;
        let points: Vec<[f32; 3]> = (0..200).map(|_| [one(), one(), one()]).collect();
        voxels(answer, &points, edge, 6)?;
    }
    Ok(())
}

/// The cube of a point, by the point, the edge and the least coordinates.
type Rule = fn([f64; 3], f64, [f64; 3]) -> Cube;

/// Wrong ways to number cubes, in the order in which they are looked for.
const RULES: [Rule; 10] = [
    |p, e, _| [(p[0] / e).floor() as i64, (p[1] / e).floor() as i64, 0],
    |p, e, _| p.map(|x| (x * e).floor() as i64),
    |p, e, _| p.map(|x| (x / e).round() as i64),
    |p, e, _| p.map(|x| (x / e).ceil() as i64),
    |p, e, low| [0, 1, 2].map(|a| ((p[a] - low[a]) / e).floor() as i64),
    |p, e, _| p.map(|x| (x / e) as i64),
    |p, e, _| p.map(|x| (x / e).floor().max(0.0) as i64),
    |p, e, _| p.map(|x| (x.abs() / e).floor() as i64),
    |p, _, _| p.map(|x| x.floor() as i64),
    |p, e, _| p.map(|x| (x / e).floor().to_bits() as i64),
];

/// The wrong rule by which `got` has one point of each cube, counted from 1; 12 for the first point of each run, 0 for
/// none.
fn rule(points: &[[f32; 3]], edge: f32, got: &[usize]) -> usize {
    let wide = |i: usize| points[i].map(f64::from);
    let low = [0, 1, 2].map(|a| {
        points
            .iter()
            .map(|p| f64::from(p[a]))
            .fold(f64::INFINITY, f64::min)
    });
    let fits = |of: &dyn Fn(usize) -> Cube| {
        let all: HashSet<Cube> = (0..points.len()).map(of).collect();
        let taken: HashSet<Cube> = got.iter().map(|&i| of(i)).collect();
        taken.len() == got.len() && taken.len() == all.len()
    };
    let found = RULES
        .iter()
        .position(|rule| fits(&|i| rule(wide(i), edge.into(), low)));
    let right = |i: usize| wide(i).map(|x| (x / f64::from(edge)).floor() as i64);
    let runs = (0..points.len()).filter(|&i| i == 0 || right(i) != right(i - 1));
    let mut sorted = got.to_vec();
    sorted.sort_unstable();
    let of_runs = runs.collect::<Vec<_>>() == sorted;
    found.map_or(if of_runs { 12 } else { 0 }, |at| at + 1)
}

fn voxels(answer: &Lesson03, points: &[[f32; 3]], edge: f32, seed: u64) -> Verdict {
    let input = format!("Voxel({edge}) of {}", shown(points));
    let case = given(input.clone());
    let got = (answer.subsample)(points, Subsample::Voxel(edge), seed);
    let cube = |p: &[f32; 3]| p.map(|c| (f64::from(c) / f64::from(edge)).floor() as i64);
    let mut cubes: BTreeMap<Cube, Vec<usize>> = points.iter().map(|p| (cube(p), Vec::new())).collect();
    if let Some(&beyond) = got.iter().find(|&&i| i >= points.len()) {
        return case.require("indices", false, format!("{beyond}, of {} points", points.len()));
    }
    for &i in &got {
        cubes.entry(cube(&points[i])).or_default().push(i);
    }
    let with = |test: fn(usize) -> bool| cubes.iter().find(move |c| test(c.1.len()));
    let (none, many) = (with(|n| n == 0), with(|n| n > 1));
    if none.is_some() || many.is_some() {
        let mut lines = vec![
            format!("expected  {} points, one of each cube", cubes.len()),
            format!("got       {} points", got.len()),
        ];
        if let Some((cube, _)) = none {
            lines.push(format!("none of   cube {cube:?}"));
        }
        if let Some((cube, of)) = many {
            lines.push(format!("many of   cube {cube:?}"));
            lines.extend(of.iter().take(2).map(|&i| format!("          {:?}", points[i])));
        }
        let kind = [rule(points, edge, &got), usize::from(none.is_some())];
        return told(input, "points of each cube", &kind, lines);
    }
    let ascend = got.windows(2).all(|w| w[0] < w[1]);
    case.require("indices", ascend, "indices that do not ascend")?;
    twice(answer, &input, points, Subsample::Voxel(edge), seed)
}
