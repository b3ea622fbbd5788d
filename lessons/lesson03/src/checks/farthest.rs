use canopy_data::sample::Subsample;
use grader::{Verdict, draw, given};

use super::{
    each_once, listed,
    random::{grid, mixed, twice},
    told,
};
use crate::Lesson03;

pub fn farthest_takes_the_farthest_each_time(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    // A large grid: few distances are equal, and where they are either may be taken.
    let points = grid(&mut draw, 40, 400);
    for n in [12, 39, 1] {
        farthest(answer, &points, n, draw.whole(1, 99) as u64, false)?;
    }
    Ok(())
}

pub fn farthest_begins_with_any_point(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let points = grid(&mut draw, 8, 400);
    let from = draw.whole(1, 1_000) as u64;
    let input = format!("Farthest(2) of 8 points with 300 seeds from {from}");
    given(input.clone());
    let mut firsts = vec![0; 8];
    for seed in from..from + 300 {
        let got = (answer.subsample)(&points, Subsample::Farthest(2), seed);
        got.first()
            .into_iter()
            .filter(|&&i| i < 8)
            .for_each(|&i| firsts[i] += 1);
    }
    if firsts.iter().all(|&times| times > 0) {
        return Ok(());
    }
    let kind = match firsts.iter().filter(|&&times| times > 0).count() {
        1 if firsts[0] > 0 => 1,
        1 => 2,
        _ => 3,
    };
    let lines = vec![
        "expected  each point first for some seed".into(),
        format!("got       points 0 to 7 first {} times", listed(&firsts)),
    ];
    told(input, "the first point", &[kind], lines)
}

pub fn farthest_takes_the_first_of_equals(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    // Equal steps along one axis, each twice: nearly every choice is among equals, and all distances are exact.
    let points = (0..24)
        .map(|i| [(i / 2) as f32 - 5.0, 1.0, 2.0])
        .collect::<Vec<_>>();
    let points = mixed(&mut draw, points);
    farthest(answer, &points, 20, draw.whole(1, 99) as u64, true)
}

pub fn farthest_takes_duplicates_once_each(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let three = [[0.0; 3], [5.0, 0.0, 0.0], [0.0, 0.0, 9.0]];
    let points: Vec<[f32; 3]> = (0..15)
        .map(|i| three[if i < 3 { i } else { draw.whole(0, 2) }])
        .collect();
    farthest(answer, &points, 9, draw.whole(1, 99) as u64, true)
}

pub fn farthest_measures_any_distance(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    // In kilometres, in parts of a millimetre, and far from the origin; powers of two, so that nothing is rounded.
    for (scale, origin) in [
        (1_024.0, [0.0; 3]),
        (1.0 / 8_192.0, [0.0; 3]),
        (1.0, [-524_288.0, 5_242_880.0, 0.0]),
    ] {
        let mut points = grid(&mut draw, 30, 400);
        points
            .iter_mut()
            .for_each(|p| (0..3).for_each(|a| p[a] = p[a] * scale + origin[a]));
        farthest(answer, &points, 20, draw.whole(1, 99) as u64, false)?;
    }
    Ok(())
}

pub fn farthest_takes_all_of_a_small_cloud(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let points = grid(&mut draw, 15, 400);
    for n in [15, 20, 60] {
        let input = format!("Farthest({n}) of 15 points");
        given(input.clone());
        let got = (answer.subsample)(&points, Subsample::Farthest(n), draw.whole(1, 99) as u64);
        each_once(&input, "indices", &got, 15, 15)?;
    }
    Ok(())
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f64 {
    (0..3).map(|k| (f64::from(a[k]) - f64::from(b[k])).powi(2)).sum()
}

/// Which wrong rule gives all of these choices; 0: none that is known.
fn rule(points: &[[f32; 3]], got: &[usize]) -> usize {
    let to = |i: usize, j: usize| distance(points[i], points[j]);
    let apart = |i: usize, j: usize, k: usize| (f64::from(points[i][k]) - f64::from(points[j][k])).abs();
    type Score<'a> = &'a dyn Fn(usize, &[usize]) -> f64;
    let rules: [Score; 9] = [
        &|i, before| to(i, before[before.len() - 1]),
        &|i, before| to(i, before[0]),
        &|i, before| before.iter().map(|&j| to(i, j)).fold(0.0, f64::max),
        &|i, before| -least(before.iter().map(|&j| to(i, j))),
        &|i, before| before.iter().map(|&j| to(i, j)).sum(),
        &|i, before| before.iter().map(|&j| to(i, j).sqrt()).sum(),
        &|i, before| least(before.iter().map(|&j| (0..3).map(|k| apart(i, j, k)).sum())),
        &|i, before| {
            least(
                before
                    .iter()
                    .map(|&j| (0..3).map(|k| apart(i, j, k)).fold(0.0, f64::max)),
            )
        },
        &|i, before| {
            least(
                before
                    .iter()
                    .map(|&j| (0..2).map(|k| apart(i, j, k).powi(2)).sum()),
            )
        },
    ];
    let follows = |score: &Score| {
        (1..got.len()).all(|step| {
            let before = &got[..step];
            let free = (0..points.len()).filter(|i| !before.contains(i));
            let top = free.map(|i| score(i, before)).fold(f64::NEG_INFINITY, f64::max);
            score(got[step], before) >= top * (1.0 - 1e-6 * top.signum())
        })
    };
    if got.len() > 3 && got.is_sorted() {
        return 20;
    }
    rules.iter().position(follows).map_or(0, |at| at + 2)
}

fn least(distances: impl Iterator<Item = f64>) -> f64 {
    distances.fold(f64::INFINITY, f64::min)
}

/// Each index of the answer must be the one that the indices before it determine.
fn farthest(answer: &Lesson03, points: &[[f32; 3]], n: usize, seed: u64, ties: bool) -> Verdict {
    let shown: Vec<String> = points.iter().take(3).map(|p| format!("{p:?}")).collect();
    let input = format!("Farthest({n}) of {} points, {}, …", points.len(), shown.join(" "));
    given(input.clone());
    let got = (answer.subsample)(points, Subsample::Farthest(n), seed);
    each_once(&input, "indices", &got, points.len(), n)?;
    for step in 1..got.len() {
        let (before, pick) = (&got[..step], got[step]);
        let free = |i: &usize| !before.contains(i);
        let nearest = |i: usize| least(before.iter().map(|&j| distance(points[i], points[j])));
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
                "expected  {first}, {} from the nearest chosen",
                greatest.sqrt() as f32
            ),
            format!("got       {pick}, {} from it", nearest(pick).sqrt() as f32),
        ];
        lines.push(format!("first at  place {step}"));
        let kind = if nearest(pick) == greatest {
            1
        } else {
            rule(points, &got)
        };
        return told(input, "the next farthest point", &[kind], lines);
    }
    twice(answer, &input, points, Subsample::Farthest(n), seed)
}
