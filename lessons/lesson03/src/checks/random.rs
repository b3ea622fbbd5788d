use canopy_data::sample::Subsample;
use grader::{Draw, Verdict, draw, given};

use super::{chances, each_once, listed, told};
use crate::Lesson03;

/// Points on whole numbers: distances between them are exact in every dtype.
pub fn grid(draw: &mut Draw, n: usize, side: usize) -> Vec<[f32; 3]> {
    let mut one = || draw.whole(0, side) as f32;
    (0..n).map(|_| [one(), one(), one()]).collect()
}

pub fn mixed<T>(draw: &mut Draw, mut items: Vec<T>) -> Vec<T> {
    for i in (1..items.len()).rev() {
        items.swap(i, draw.whole(0, i));
    }
    items
}

/// A call of the answer that is the same again.
pub fn twice(answer: &Lesson03, input: &str, points: &[[f32; 3]], what: Subsample, seed: u64) -> Verdict {
    let case = given(input);
    let of = || (answer.subsample)(points, what, seed);
    case.require(
        "indices of a second call",
        of() == of(),
        "others than the first time",
    )
}

pub fn random_takes_different_points(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    for (len, n) in [(24, 12), (3_000, 1_000)] {
        let points = grid(&mut draw, len, 9);
        let seed = draw.whole(1, 99) as u64;
        let input = format!("Random({n}) of {len} points, seed {seed}");
        given(input.clone());
        let got = (answer.subsample)(&points, Subsample::Random(n), seed);
        let count = |seed: u64| (answer.subsample)(&points, Subsample::Random(n), seed).len();
        if got.len() != n
            && (seed..seed + 60).any(|s| count(s) < n)
            && (seed..seed + 60).any(|s| count(s) > n)
        {
            let lines = vec![
                format!("expected  {n} points for every seed"),
                format!("got       {} points, and more or fewer for others", got.len()),
            ];
            return told(input, "number of points", &[1], lines);
        }
        each_once(&input, "indices", &got, len, n)?;
        twice(answer, &input, &points, Subsample::Random(n), seed)?;
    }
    Ok(())
}

pub fn random_takes_all_of_a_small_cloud(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let points = grid(&mut draw, 24, 9);
    for n in [24, 29, 60] {
        let seed = draw.whole(1, 99) as u64;
        let input = format!("Random({n}) of 24 points, seed {seed}");
        given(input.clone());
        let got = (answer.subsample)(&points, Subsample::Random(n), seed);
        each_once(&input, "indices", &got, 24, 24)?;
    }
    Ok(())
}

/// Whether sorted indices have equal steps; in a circle of `len` if they are in a row.
fn evenly(indices: &[usize]) -> bool {
    indices.windows(3).all(|w| w[1] - w[0] == w[2] - w[1])
}

fn in_a_circle(indices: &[usize], len: usize) -> bool {
    let gaps = indices.windows(2).filter(|w| w[1] - w[0] > 1).count();
    gaps == 0 || (gaps == 1 && indices[0] == 0 && indices[indices.len() - 1] == len - 1)
}

pub fn random_changes_with_the_seed(answer: &Lesson03) -> Verdict {
    const LEN: usize = 40;
    let mut draw = draw();
    let points = grid(&mut draw, LEN, 9);
    let from = draw.whole(1, 99) as u64;
    let input = format!("Random(10) of {LEN} points, seeds {from} to {}", from + 19);
    given(input.clone());
    let all: Vec<Vec<usize>> = (from..from + 20)
        .map(|seed| {
            let mut got = (answer.subsample)(&points, Subsample::Random(10), seed);
            got.sort_unstable();
            got
        })
        .collect();
    let same = all.windows(2).all(|w| w[0] == w[1]);
    let (kind, said) = if all.iter().all(|of| of.iter().all(|&i| i < 10)) {
        (1, "the first 10 points for every seed".into())
    } else if same && evenly(&all[0]) {
        (2, format!("for every seed {}", listed(&all[0])))
    } else if same {
        (3, format!("for every seed {}", listed(&all[0])))
    } else if all.iter().all(|of| in_a_circle(of, LEN)) {
        (4, "10 points in a row for every seed".into())
    } else if all.iter().all(|of| evenly(of)) {
        (5, "points at equal steps for every seed".into())
    } else {
        return Ok(());
    };
    let lines = vec![
        "expected  other points for each seed".into(),
        format!("got       {said}"),
    ];
    told(input, "points", &[kind], lines)
}

pub fn random_draws_every_set_equally_often(answer: &Lesson03) -> Verdict {
    const TIMES: u64 = 12_000;
    let from = draw().whole(1, 1_000_000) as u64;
    let points: Vec<[f32; 3]> = (0..6).map(|i| [i as f32, 1.0, 2.0]).collect();
    let input = format!("Random(3) of 6 points with {TIMES} seeds from {from}");
    given(input.clone());
    let mut sets = vec![0; 64];
    for seed in from..from + TIMES {
        let got = (answer.subsample)(&points, Subsample::Random(3), seed);
        let set = got.iter().filter(|&&i| i < 6).fold(0, |set, &i| set | 1 << i);
        sets[set] += 1usize;
    }
    let points: Vec<usize> = (0..6)
        .map(|i| (0..64).filter(|set| set >> i & 1 == 1).map(|set| sets[set]).sum())
        .collect();
    let expected = TIMES as usize / 2;
    let classes = chances(&points, expected as f64);
    if classes.iter().any(|&c| c != 2) {
        let lines = vec![
            format!("expected  each point about {expected} times"),
            format!("got       {}", listed(&points)),
        ];
        let kind = usize::from(classes.contains(&0));
        return told(input, "how often each point was taken", &[kind], lines);
    }
    let expected = TIMES as usize / 20;
    for (set, &count) in sets.iter().enumerate().filter(|(set, _)| set.count_ones() == 3) {
        if chances(&[count], expected as f64) != [2] {
            let members: Vec<usize> = (0..6).filter(|i| set >> i & 1 == 1).collect();
            let lines = vec![
                format!("expected  each set of 3 points about {expected} times"),
                format!("got       points {} {count} times", listed(&members)),
            ];
            return told(input, "how often a set was taken", &[1], lines);
        }
    }
    Ok(())
}

pub fn accepts_no_points_and_an_n_of_zero(answer: &Lesson03) -> Verdict {
    let points = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]];
    for (what, points) in [
        (Subsample::Random(0), &points[..]),
        (Subsample::Farthest(0), &points),
        (Subsample::Voxel(1.0), &[]),
        (Subsample::Random(2), &[]),
        (Subsample::Farthest(2), &[]),
        (Subsample::Random(0), &[]),
        (Subsample::Farthest(0), &[]),
    ] {
        let input = format!("{what:?} of {} points", points.len());
        given(input.clone());
        let got = (answer.subsample)(points, what, 5);
        each_once(&input, "indices", &got, points.len(), 0)?;
    }
    Ok(())
}
