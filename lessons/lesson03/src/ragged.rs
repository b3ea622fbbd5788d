//! 3.3: ragged clouds with a mask.

use candle_core::Device;
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};
use kit::values;

use crate::{Lesson03, REFERENCE, answers};

type Cloud = Vec<[f32; 3]>;

/// Some points are at the origin or in a plane with it, but not the last of a cloud, of which padding may be a copy.
fn clouds(d: &mut Draw, lengths: &[usize]) -> Vec<Cloud> {
    let mut cloud = |&n: &usize| {
        let mut points = d.list(3 * n, -9.0, 9.0).as_chunks().0.to_vec();
        if let [_, origin, axis, plane, .., _] = &mut points[..] {
            *origin = [0.0; 3];
            (axis[0], plane[0]) = (0.0, -plane[1] - plane[2]);
        }
        points
    };
    lengths.iter().map(&mut cloud).collect()
}

fn batch(answer: &Lesson03, clouds: Vec<Cloud>) -> Verdict {
    let lengths: Vec<usize> = clouds.iter().map(Vec::len).collect();
    let first = clouds.first();
    let case = given(format!(
        "clouds of {lengths:?} points, the first of them {first:?}"
    ));
    let facts = |of: &Lesson03| {
        let batch = (of.collate_ragged)(&clouds, &Device::Cpu);
        let seen = batch.and_then(|(points, mask)| Ok((values(&points)?, values(&mask)?)));
        Facts::of(seen, |(points, mask)| {
            Facts::default()
                .values("shape of the points", &points.shape)
                .values("shape of the mask", &mask.shape)
                .values("points", points)
                .cause("Cloud i begins at point i·longest, with its points unchanged and in order; the rest of its row is 0.")
                .asked("A row has")
                .values("mask", mask)
                .cause("The mask is 1 for the first `cloud.len()` points, whatever their coordinates are, and then 0.")
                .asked("A row has")
        })
    };
    case.same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson03>] = rows! { "3.3";
    by batch {
        pads_to_the_longest_cloud: "`[clouds, longest, 3]`",
            "A cloud is one row, as wide as the longest: points `(clouds, longest, 3)`, mask `(clouds, longest)`." =>
            |d| {
            let (long, short) = (d.whole(5, 7), d.whole(2, 4));
            // The longest in the middle, last, first; all equal; or one alone.
            let last = [1, short, long + 4];
            let lengths = [&[short, long, 1, 3][..], &last, &[long, 1, 1, short, 2], &[long; 3], &[3], &[1]];
            lengths.map(|lengths| clouds(d, lengths)).into()
        };
        rejects_a_batch_or_a_cloud_without_points: "is an error",
            "Return an error if there is no cloud, or one without points, for example with `bail!`." => |d| {
            let lengths = [&[3, 0, 2][..], &[0, 3], &[2, 1, 0], &[0], &[0, 0], &[]];
            lengths.map(|lengths| clouds(d, lengths)).into()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson03>] = mistakes! { "3.3" collate_ragged;
    1 "A cloud without points is accepted, or left out: return an error.";
    2 "The mask is 1 everywhere: it must be 0 for padding.";
    3 "The mask follows from the coordinates, so that a point at the origin is padding: use the length of the cloud.";
};
