//! 3.3: ragged clouds with a mask.

use candle_core::Device;
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};
use kit::values;

use crate::{Lesson03, REFERENCE, answers};

/// Clouds, and what is compared: shapes, points or mask.
type Input = (Vec<Vec<[f32; 3]>>, &'static str);

/// Some points are at the origin or in a plane with it, but not the last of a cloud, of which padding may be a copy.
fn clouds(d: &mut Draw, lengths: &[usize], what: &'static str) -> Input {
    let mut clouds = Vec::new();
    for &n in lengths {
        let mut points = d.list(3 * n, -9.0, 9.0).as_chunks().0.to_vec();
        if let [_, origin, axis, plane, .., _] = &mut points[..] {
            *origin = [0.0; 3];
            (axis[0], plane[0]) = (0.0, -plane[1] - plane[2]);
        }
        clouds.push(points);
    }
    (clouds, what)
}

/// The longest in the middle, last, first; or all equal.
fn different(d: &mut Draw, what: &'static str) -> Vec<Input> {
    let (long, short) = (d.whole(5, 7), d.whole(2, 4));
    let last = [1, short, long + 4];
    let lengths = [
        &[short, long, 1, 3][..],
        &last,
        &[long, 1, 1, short, 2],
        &[long; 3],
    ];
    lengths.map(|lengths| clouds(d, lengths, what)).into()
}

fn batch(answer: &Lesson03, (clouds, what): Input) -> Verdict {
    let lengths: Vec<usize> = clouds.iter().map(Vec::len).collect();
    let first = clouds.first();
    let case = given(format!(
        "clouds of {lengths:?} points, the first of them {first:?}"
    ));
    let facts = |of: &Lesson03| {
        let batch = (of.collate_ragged)(&clouds, &Device::Cpu);
        let seen = batch.and_then(|(points, mask)| Ok((values(&points)?, values(&mask)?)));
        Facts::of(seen, |(points, mask)| match what {
            "points" => Facts::default().values("points", points),
            "mask" => Facts::default().values("mask", mask),
            _ => Facts::default()
                .values("shape of the points", &points.shape)
                .values("shape of the mask", &mask.shape),
        })
    };
    case.same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson03>] = rows! { "3.3";
    by batch {
        pads_to_the_longest_cloud: "`[clouds, longest, 3]`",
            "A cloud is one row, as wide as the longest: points `(clouds, longest, 3)`, mask `(clouds, longest)`." =>
            |d| [different(d, "shapes"), vec![clouds(d, &[3], "shapes"), clouds(d, &[1], "shapes")]].concat();
        puts_points_first_in_their_row: "followed by padding at the origin",
            "Cloud i begins at point i·longest, with its points unchanged and in order; the rest of its row is 0." =>
            |d| different(d, "points");
        masks_the_padding: "mask is 1 for a point",
            "The mask of a cloud is 1 in its first `cloud.len()` places, whatever their coordinates are, and then 0." =>
            |d| different(d, "mask");
        rejects_a_cloud_without_points: "Returns an error for a cloud",
            "Return an error if any cloud has no points, for example with `bail!`: a panic ends the training." => |d| {
            let lengths = [&[3, 0, 2][..], &[0, 3], &[2, 1, 0], &[0], &[0, 0]];
            lengths.map(|lengths| clouds(d, lengths, "shapes")).into()
        };
        rejects_a_batch_without_clouds: "a batch without clouds",
            "Return an error if there is no cloud, for example with `bail!`: a panic ends the training." =>
            |d| vec![clouds(d, &[], "shapes")];
    }
};

pub const MISTAKES: &[Mistake<Lesson03>] = mistakes! { "3.3" collate_ragged;
    1 "The clouds are sorted by length: keep their order, because the labels do.";
    2 "A cloud without points is accepted, or left out: return an error.";
    3 "Rows are as wide as the first cloud: take the longest of all.";
    4 "The padding is before the points; it belongs after them.";
    5 "The mask is 1 everywhere: it must be 0 for padding.";
    6 "The mask follows from the coordinates, so that a point at the origin is padding: use the length of the cloud.";
    7 "The mask has a third axis: its shape is `[clouds, longest]`.";
    8 "A batch of one cloud loses its first axis: its shape is `[1, longest, 3]`.";
    9 "A row has all x of a cloud first, then all y, then all z: keep the coordinates of a point together.";
};
