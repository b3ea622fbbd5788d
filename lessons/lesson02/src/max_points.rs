//! 2.3: the maximum over points.

use grader::{Check, Draw, Mistake, Verdict, mistakes, rows};

use crate::{Lesson02, REFERENCE, answers, tensors::Input};

fn maxima(answer: &Lesson02, x: Input) -> Verdict {
    x.compare(answer, |lesson, of| (lesson.max_points)(&of[0]))
}

fn x(numbers: Vec<f32>, sizes: [usize; 3]) -> Input {
    Input::default().with("x", numbers, &sizes)
}

/// Numbers that all differ, those of channel 1 below 0. The sizes are clouds, points, channels.
fn distinct(d: &mut Draw, sizes: [usize; 3]) -> Vec<f32> {
    let low = |i: usize| if i % sizes[2] == 1 { 1.0 } else { 0.0 };
    let numbers = d.list(sizes.iter().product(), -0.4, 0.4);
    let one = |(i, x): (usize, f32)| x + (i % 7) as f32 * 0.0001 - low(i);
    numbers.into_iter().enumerate().map(one).collect()
}

/// In each cloud a point that has the maximum of all channels, a second and a third time; then clouds of equal points.
fn with_equal_points(d: &mut Draw) -> Vec<Input> {
    let sizes = [2, 5, 3];
    let mut numbers = distinct(d, sizes);
    for cloud in numbers.chunks_mut(15) {
        let (top, first) = (d.list(3, 0.6, 0.9), d.whole(0, 2));
        for p in [first, first + 1, 4] {
            cloud[p * 3..][..3].copy_from_slice(&top);
        }
    }
    let all = [numbers, vec![0.0; 30], vec![-0.25; 30]];
    all.map(|numbers| x(numbers, sizes).gradients()).to_vec()
}

/// The maximum of each channel at another point, and at two others, earlier and later, the next smaller number.
fn with_nearly_equal_points(d: &mut Draw) -> Vec<Input> {
    let mut numbers = distinct(d, [1, 4, 3]);
    for (channel, order) in [[0, 1, 2], [1, 0, 3], [3, 0, 1]].into_iter().enumerate() {
        let top = d.list(1, 0.6, 0.9)[0];
        for (p, value) in order.into_iter().zip([top, top.next_down(), top.next_down()]) {
            numbers[p * 3 + channel] = value;
        }
    }
    vec![x(numbers, [1, 4, 3]).gradients()]
}

pub const CHECKS: &[Check<Lesson02>] = rows! { "2.3";
    by maxima {
        takes_the_maximum_of_each_channel: "the maximum of each channel",
            "Take the greatest value over all points, axis 1, of each cloud and each channel on its own; it may be below 0." => |d| {
            let sizes = [2, d.whole(4, 5), 3];
            let numbers = distinct(d, sizes);
            // Values from −14 to 4; all of all channels below −1,000,000; and all tiny.
            let scaled = |(factor, shift)| x(numbers.iter().map(|v| v * factor + shift).collect(), sizes);
            let scaled = [(10.0, 0.0), (1e6, -3e6), (1e-6, 0.0)].map(scaled);
            // The maximum is at each of the points once.
            let one = distinct(d, [1, 4, 3]);
            let rotated = (0..4).map(|p| x([&one[3 * p..], &one[..3 * p]].concat(), [1, 4, 3]));
            rotated.chain(scaled).collect()
        };
        accepts_one_cloud_of_one_point: "`[clouds, points, channels]` → `[clouds, channels]`",
            "Remove the axis of the points alone: clouds and channels stay, also if their length is 1." => |d| {
            let sizes = [[1, 1, 3], [3, 1, 2], [1, 3, 1], [2, 3, 1], [1, 1, 1]];
            sizes.map(|sizes| x(distinct(d, sizes), sizes)).to_vec()
        };
        sends_the_gradient_to_the_maximum: "Its whole gradient flows to the point with the maximum",
            "Find the point by `argmax_keepdim`, and take its value by `gather`: it alone gets the gradient." => |d| {
            let sizes = [2, d.whole(4, 5), 3];
            vec![x(distinct(d, sizes), sizes).gradients()]
        };
        sends_the_gradient_to_the_first_of_equal_points: "or to the first of several",
            "If several points have the maximum, the first of them gets the whole gradient." => with_equal_points;
        compares_values_exactly: "to the point with the maximum",
            "Compare the values as they are: the next smaller number is not the maximum." => with_nearly_equal_points;
    }
};

pub const MISTAKES: &[Mistake<Lesson02>] = mistakes! { "2.3" max_points;
    1 "This is the mean over the points, not the maximum.";
    2 "The maximum is over the channels; it should be over the points, axis 1.";
    3 "The maximum is over the clouds; it should be over the points, axis 1.";
    4 "All points with the maximum get the whole gradient, as with candle's `max`; take the first by `gather`.";
    5 "`argmax` removes its axis, but `gather` requires it: `argmax_keepdim` keeps it.";
    6 "The axis of the points remains with length 1; remove it.";
    7 "The values were detached, or converted to numbers: no gradient reaches the points.";
    8 "The last of equal points gets the gradient; the first should.";
};
