//! 2.8: critical points.

use candle_core::{Device, Tensor};
use grader::{Check, Draw, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson02, REFERENCE, answers};

/// `[points, channels]`, point after point, and the number of channels.
type Values = (Vec<f32>, usize);

fn compare(answer: &Lesson02, (x, channels): Values, order: fn(&mut [usize])) -> Verdict {
    let points = x.len() / channels;
    let case = given(format!("values [{points}, {channels}] {x:?}"));
    let values = Tensor::from_vec(x, (points, channels), &Device::Cpu)?;
    let mut got = (answer.survivors)(&values)?;
    order(&mut got);
    case.close("indices", &got, &(REFERENCE.survivors)(&values)?)
}

fn found(answer: &Lesson02, values: Values) -> Verdict {
    compare(answer, values, <[usize]>::sort_unstable)
}

fn listed(answer: &Lesson02, values: Values) -> Verdict {
    compare(answer, values, |_| ())
}

/// Values that all differ within a channel; `tops[c]` is the point with the maximum of channel c.
fn with_tops(d: &mut Draw, points: usize, tops: &[usize]) -> Values {
    let channels = tops.len();
    let mut x = d.list(points * channels, 0.1, 0.6);
    for (c, &p) in tops.iter().enumerate() {
        x[p * channels + c] = d.list(1, 0.9, 1.2)[0];
    }
    (x, channels)
}

/// Four points; the values at `zeros` are 0.
fn with_zeros(d: &mut Draw, tops: [usize; 3], zeros: &[usize]) -> Values {
    let mut values = with_tops(d, 4, &tops);
    zeros.iter().for_each(|&at| values.0[at] = 0.0);
    values
}

pub const CHECKS: &[Check<Lesson02>] = rows! { "2.8";
    by found {
        finds_the_maximum_of_every_channel: "for each channel",
            "List, for each channel, the index of the point with the greatest value, and no other point. The index may be 0." => |d| {
            // Point 0 is the least of one channel and close to the greatest of another, and survives neither.
            let mut values = with_tops(d, 5, &[1, 2, 4]);
            (values.0[0], values.0[1]) = (0.05, 0.85);
            vec![values, with_tops(d, 3, &[0, 2]), with_tops(d, 1, &[0])]
        };
    }
    by listed {
        lists_each_point_once_in_order: "each once, in ascending order",
            "Sort the indices as numbers, then remove duplicates by `dedup`. A `HashSet` has no order." => |d| vec![
                with_tops(d, 5, &[3, 1, 1, 3, 4, 0]),
                with_tops(d, 4, &[2, 2, 2]),
                // Indices of one, two and three digits.
                with_tops(d, 12, &[10, 2, 11]),
                with_tops(d, 120, &[70, 14, 119, 14, 9, 100, 55]),
            ];
        counts_the_first_of_equal_points: "the first point with the maximum",
            "If several points have the maximum of a channel, the first of them counts, and it alone." => |d| {
            let first = d.whole(0, 2);
            let mut values = with_tops(d, 6, &[first, first]);
            let row = first * 2..first * 2 + 2;
            [first + 1, 5].iter().for_each(|again| values.0.copy_within(row.clone(), again * 2));
            // All points equal: the first has every maximum.
            vec![values, (d.list(3, 0.1, 0.9).repeat(4), 3)]
        };
        ignores_channels_that_are_zero: "if that is above 0",
            "Leave out the channels whose maximum is exactly 0, and only those. An index counts all points." => |d| {
            let mut tiny = with_tops(d, 4, &[2, 1, 3]);
            tiny.0.iter_mut().step_by(3).for_each(|v| *v *= 1e-30);
            tiny.0.iter_mut().skip(1).step_by(3).for_each(|v| *v *= 1e-5);
            vec![
                with_zeros(d, [2, 1, 3], &[1, 4, 7, 10]),
                // Point 0 has the maximum of another channel; and channels are 0 for some points only.
                with_zeros(d, [0, 1, 3], &[1, 4, 7, 10, 3, 6, 2, 8]),
                // Every value of points 0 and 2 is 0.
                with_zeros(d, [1, 3, 3], &[0, 1, 2, 6, 7, 8]),
                tiny,
            ]
        };
        accepts_channels_without_a_winner: "if that is above 0",
            "If every channel is 0, return an empty list, and no error." => |_| vec![(vec![0.0; 6], 2), (vec![0.0], 1)];
    }
};

pub const MISTAKES: &[Mistake<Lesson02>] = mistakes! { "2.8" survivors;
    1 "This is the greatest channel of each point; take the greatest point of each channel.";
    2 "These are the points with the least values.";
    3 "These are the channels, not the points that have their maximum.";
    4 "A channel that is 0 for every point is counted for the first point.";
    5 "`dedup` removes equal neighbours only; sort first.";
    6 "Indices begin at 0, not at 1.";
    7 "The points are in the order of the channels, and listed several times; sort them, then `dedup`.";
    8 "A point with the maximum of several channels is listed several times.";
};
