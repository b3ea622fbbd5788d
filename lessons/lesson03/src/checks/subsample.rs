use std::collections::BTreeMap;

use canopy_data::sample::Subsample;
use grader::{Draw, Verdict, draw, given};

use super::{chances, each_once, listed, told};
use crate::Lesson03;

/// Points on whole numbers: distances between them are exact in every number type.
fn grid(draw: &mut Draw, n: usize, side: usize) -> Vec<[f32; 3]> {
    let mut one = || draw.whole(0, side) as f32;
    (0..n).map(|_| [one(), one(), one()]).collect()
}

fn shown(points: &[[f32; 3]]) -> String {
    let first: Vec<String> = points.iter().take(4).map(|p| format!("{p:?}")).collect();
    format!("{} points, {}, …", points.len(), first.join(" "))
}

pub fn random_takes_different_points(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let points = grid(&mut draw, draw_len(), 9);
    for n in [points.len() / 2, points.len(), points.len() + 5, 0] {
        let seed = draw.whole(1, 99) as u64;
        let input = format!("Random({n}) of {} points, seed {seed}", points.len());
        let case = given(input.clone());
        let got = (answer.subsample)(&points, Subsample::Random(n), seed);
        each_once(&input, "indices", &got, points.len(), n.min(points.len()))?;
        let again = (answer.subsample)(&points, Subsample::Random(n), seed);
        case.require(
            "indices of a second call",
            got == again,
            "others than the first time",
        )?;
    }
    Ok(())
}

fn draw_len() -> usize {
    24
}

pub fn random_draws_every_point_equally_often(answer: &Lesson03) -> Verdict {
    const TIMES: u64 = 4_000;
    let from = draw().whole(1, 1_000_000) as u64;
    let points: Vec<[f32; 3]> = (0..10).map(|i| [i as f32, 1.0, 2.0]).collect();
    let input = format!("Random(4) of 10 points with {TIMES} seeds from {from}");
    given(input.clone());
    let (mut counts, mut pairs) = (vec![0; 10], vec![0; 45]);
    for seed in from..from + TIMES {
        let got = (answer.subsample)(&points, Subsample::Random(4), seed);
        got.iter().filter(|&&i| i < 10).for_each(|&i| counts[i] += 1);
        for (a, &i) in got.iter().enumerate() {
            for &j in &got[..a] {
                let (i, j) = (i.min(j), i.max(j));
                if i < j && j < 10 {
                    pairs[j * (j - 1) / 2 + i] += 1;
                }
            }
        }
    }
    let expected = TIMES as usize * 4 / 10;
    let classes = chances(&counts, expected as f64);
    if classes.iter().any(|&c| c != 2) {
        let lines = vec![
            format!("expected  each point about {expected} times"),
            format!("got       {}", listed(&counts)),
        ];
        return told(input, "how often each point was taken", &classes, lines);
    }
    // 4·3 / (10·9) of the times.
    let expected = TIMES as f64 * 12.0 / 90.0;
    let classes = chances(&pairs, expected);
    if classes.iter().all(|&c| c == 2) {
        return Ok(());
    }
    let lines = vec![
        format!("expected  each pair of points about {expected:.0} times"),
        format!(
            "got       {} times 0 and 1, {} times 0 and 5",
            pairs[0], pairs[10]
        ),
    ];
    told(input, "how often two points were taken together", &[1], lines)
}

pub fn voxel_keeps_one_point_of_each_cube(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let points = grid(&mut draw, 60, 12);
    for edge in [2.0, 4.0] {
        voxels(answer, &points, edge, draw.whole(1, 99) as u64)?;
    }
    voxels(answer, &[], 1.0, 1)
}

pub fn voxel_has_equal_cubes_below_zero(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let mut points = grid(&mut draw, 60, 24);
    // From −1.5 to 1.5 in steps of an eighth.
    points.iter_mut().flatten().for_each(|c| *c = (*c - 12.0) / 8.0);
    voxels(answer, &points, 0.5, 2)
}

fn voxels(answer: &Lesson03, points: &[[f32; 3]], edge: f32, seed: u64) -> Verdict {
    let input = format!("Voxel({edge}) of {}", shown(points));
    let case = given(input.clone());
    let got = (answer.subsample)(points, Subsample::Voxel(edge), seed);
    // Edges are powers of two, so the quotient is exact.
    let cube = |p: &[f32; 3]| p.map(|c| f64::from(c / edge).floor() as i64);
    let mut cubes: BTreeMap<[i64; 3], usize> = points.iter().map(|p| (cube(p), 0)).collect();
    if let Some(&beyond) = got.iter().find(|&&i| i >= points.len()) {
        return case.require("indices", false, format!("{beyond}, of {} points", points.len()));
    }
    for &i in &got {
        *cubes.entry(cube(&points[i])).or_default() += 1;
    }
    let of = |count: fn(usize) -> bool| cubes.iter().filter(move |c| count(*c.1)).map(|c| c.0);
    let (none, many) = (of(|c| c == 0).count(), of(|c| c > 1).count());
    if none + many > 0 {
        let mut lines = vec![format!("expected  {} points, one of each cube", cubes.len())];
        lines.push(format!("got       {} points", got.len()));
        for (word, cube) in [
            ("none of ", of(|c| c == 0).next()),
            ("many of ", of(|c| c > 1).next()),
        ] {
            if let Some(cube) = cube {
                lines.push(format!("{word}  cube {cube:?}"));
            }
        }
        return told(input, "points of each cube", &[none, many], lines);
    }
    let ascend = got.windows(2).all(|w| w[0] < w[1]);
    case.require("indices", ascend, "indices that do not ascend")
}

pub fn farthest_takes_the_farthest_each_time(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    // A large grid: few distances are equal, and where they are either may be taken.
    let points = grid(&mut draw, 40, 400);
    for n in [1, 12, 40, 50] {
        farthest(answer, &points, n, draw.whole(1, 99) as u64, false)?;
    }
    farthest(answer, &[], 5, 1, false)
}

pub fn farthest_takes_the_first_of_equals(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    // The corners and middles of a cube, each once, in any order: nearly every choice is among equals.
    let mut points: Vec<[f32; 3]> = (0..27)
        .map(|i| [i % 3, i / 3 % 3, i / 9].map(|c| c as f32))
        .collect();
    for i in (1..27).rev() {
        points.swap(i, draw.whole(0, i));
    }
    farthest(answer, &points, 20, draw.whole(1, 99) as u64, true)
}

pub fn farthest_takes_duplicates_once_each(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let three = [[0.0; 3], [5.0, 1.0, 0.0], [0.0, 3.0, 9.0]];
    let points: Vec<[f32; 3]> = (0..15)
        .map(|i| three[if i < 3 { i } else { draw.whole(0, 2) }])
        .collect();
    farthest(answer, &points, 9, draw.whole(1, 99) as u64, true)
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f64 {
    (0..3).map(|k| (f64::from(a[k]) - f64::from(b[k])).powi(2)).sum()
}

/// Which wrong rule gives all of these choices; 0: none that is known.
fn rule(points: &[[f32; 3]], got: &[usize]) -> usize {
    let to = |i: usize, j: usize| distance(points[i], points[j]);
    type Score<'a> = &'a dyn Fn(usize, &[usize]) -> f64;
    let rules: [Score; 4] = [
        &|i, before| to(i, before[before.len() - 1]),
        &|i, before| to(i, before[0]),
        &|i, before| before.iter().map(|&j| to(i, j)).fold(0.0, f64::max),
        &|i, before| -before.iter().map(|&j| to(i, j)).fold(f64::INFINITY, f64::min),
    ];
    let follows = |score: &Score| {
        (1..got.len()).all(|step| {
            let before = &got[..step];
            let free = (0..points.len()).filter(|i| !before.contains(i));
            let top = free.map(|i| score(i, before)).fold(f64::NEG_INFINITY, f64::max);
            score(got[step], before) == top
        })
    };
    rules.iter().position(follows).map_or(0, |at| at + 2)
}

/// Walks along the answer: at each step it must take what the points before it ask for.
fn farthest(answer: &Lesson03, points: &[[f32; 3]], n: usize, seed: u64, ties: bool) -> Verdict {
    let input = format!("Farthest({n}) of {}", shown(points));
    given(input.clone());
    let got = (answer.subsample)(points, Subsample::Farthest(n), seed);
    each_once(&input, "indices", &got, points.len(), n.min(points.len()))?;
    for step in 1..got.len() {
        let (before, pick) = (&got[..step], got[step]);
        let free = |i: &usize| !before.contains(i);
        let nearest = |i: usize| {
            before
                .iter()
                .map(|&j| distance(points[i], points[j]))
                .fold(f64::INFINITY, f64::min)
        };
        let greatest = (0..points.len()).filter(free).map(nearest).fold(0.0, f64::max);
        let first = (0..points.len())
            .filter(free)
            .find(|&i| nearest(i) == greatest)
            .unwrap_or(0);
        if nearest(pick) == greatest && (pick == first || !ties) {
            continue;
        }
        let mut lines = vec![
            format!("chosen    {}", listed(before)),
            format!(
                "expected  {first}, at {:?}: {:.3} from the nearest chosen",
                points[first],
                greatest.sqrt()
            ),
            format!(
                "got       {pick}, at {:?}: {:.3}",
                points[pick],
                nearest(pick).sqrt()
            ),
        ];
        lines.push(format!("first at  place {step}"));
        let kind = if nearest(pick) == greatest {
            1
        } else {
            rule(points, &got)
        };
        return told(input, "the next farthest point", &[kind], lines);
    }
    Ok(())
}
