//! 11.4: the maximum over the points of a cloud, with its first arg-max.

use grader::{Check, Draw, Finding, Mistake, Verdict, mistakes, rows};
use grid::{Access, Place};

use crate::{Lesson11, REFERENCE, answers, launch::Launch, verdict::Checked};

/// Points of each cloud, values of all points, channels.
type Input = (Vec<usize>, Vec<f32>, usize);

fn drawn(d: &mut Draw, clouds: &[usize], n: usize, [low, high]: [f64; 2]) -> Input {
    let values = clouds.iter().sum::<usize>() * n;
    (clouds.to_vec(), d.list(values, low, high), n)
}

fn run(answer: &Lesson11, (clouds, x, n): Input) -> Result<Checked, Finding> {
    let mut starts = vec![0];
    for (cloud, count) in clouds.iter().enumerate() {
        starts.push(starts[cloud] + *count as i32);
    }
    let (mut tops, mut rows) = (Vec::new(), Vec::new());
    for of in starts.windows(2) {
        for channel in 0..n as i32 {
            let value = |row: i32| x[(row * n as i32 + channel) as usize];
            let exceeds = |v: f32, top: f32| v > top || v.is_nan() && !top.is_nan();
            let later = |best: i32, row| {
                if exceeds(value(row), value(best)) {
                    row
                } else {
                    best
                }
            };
            let row = (of[0] + 1..of[1]).fold(of[0], later);
            tops.push(f64::from(value(row)));
            rows.push(f64::from(row));
        }
    }
    let launch = Launch::max_points(("max_points", (answer.max_points)()), &x, &starts, n);
    let ran = launch.check(&format!("clouds of {clouds:?} points, n = {n}"), 0.0)?;
    let shape = [clouds.len(), n];
    ran.close("y", "f32", &shape, tops)?;
    ran.close("at", "integer", &shape, rows)?;
    Ok(ran)
}

fn reads(answer: &Lesson11, input: Input) -> Verdict {
    let most = input.0[0] as u64 / 4;
    let of_x = |access: &Access| access.memory == Place::Buffer(0);
    run(answer, input)?.by_thread("reads of `x`", most, of_x)
}

pub const CHECKS: &[Check<Lesson11>] = rows! { "11.4";
    by run {
        finds_the_maximum_and_its_row: "the maximum of each channel",
            "Each of the 8 threads goes through every eighth row of its cloud; then one of them combines the 8 results." => |d| {
            let count = d.whole(20, 40);
            vec![drawn(d, &[8, 16], 32, [0.1, 9.0]), drawn(d, &[count, 11, 24], 64, [0.1, 9.0])]
        };
        accepts_negative_values: "the maximum of each channel",
            "The search begins below all values: with −INFINITY, or with the first point." =>
            |d| {
            let mut infinite = drawn(d, &[12, 9], 32, [-9.0, -1.0]);
            // All values of a channel.
            infinite.1.iter_mut().step_by(32).for_each(|x| *x = f32::NEG_INFINITY);
            vec![drawn(d, &[9, 20], 32, [-9.0, -1.0]), drawn(d, &[17, 8], 32, [-5.0, 5.0]), infinite]
        };
        accepts_small_clouds: "at least one",
            "A cloud may have fewer points than there are threads: those without a point must not win." =>
            |d| vec![drawn(d, &[1, 3, 7, 2], 32, [-9.0, -1.0])];
        guards_the_channels: "⌈n/32⌉",
            "The last block along x has more threads than there are channels: they take part in the barrier, and do nothing else." =>
            |d| [d.whole(33, 60), 5, d.whole(65, 90)].map(|n| drawn(d, &[10, 13], n, [-2.0, 5.0])).into();
        takes_the_first_of_equal_values: "the first of several",
            "Of equal values, the one with the lowest row counts, within a thread and between the 8 threads." => |d| {
            // Few different values.
            let levels = |d: &mut Draw, points: usize| {
                let x = d.below(points * 32, 4).into_iter().map(|v| v as f32 - 2.0).collect();
                (vec![points], x, 32)
            };
            [16, 37, 24].map(|points| levels(d, points)).into()
        };
        counts_nan_as_the_greatest: "NaN counts as the greatest value",
            "A comparison with NaN is false: test v != v, and keep the first NaN." => |d| {
            let mut some = |clouds: &[usize], share: usize| {
                let (clouds, mut x, n) = drawn(d, clouds, 32, [-5.0, 5.0]);
                let draws = d.below(x.len(), share);
                x.iter_mut().zip(draws).filter(|(_, draw)| *draw == 0).for_each(|(x, _)| *x = f32::NAN);
                (clouds, x, n)
            };
            vec![some(&[20, 30], 30), some(&[24, 9], 4)]
        };
    }
    by reads {
        threads_share_the_points: "8 threads that share the points",
            "Each thread begins at its own row, first + threadIdx.y, and goes on by 8." => |d| vec![drawn(d, &[64], 32, [0.1, 9.0])];
    }
};

pub const MISTAKES: &[Mistake<Lesson11>] = mistakes! { "11.4" max_points;
    1 "NaN is never found: every comparison with it is false. Test v != v, too.";
    2 "A later value that is equal replaces the first: > and not >=.";
    3 "A later NaN replaces the first one: replace only while the maximum is a number.";
    4 "Threads beyond the last channel return before the barrier that the others wait at: guard the accesses instead.";
    5 "The search begins at 0, which is above all negative values: begin with -INFINITY.";
    6 "The step is blockDim.x, 32: the 8 threads of a channel go on by blockDim.y rows.";
    7 "The loop reads the first row of the next cloud: r < end and not <=.";
    8 "Only the first 8 points are read: each thread goes on by 8 rows up to `end`.";
    9 "Threads beyond the last channel read x: guard them with channel < n.";
    10 "All clouds read the rows of the first one: begin at starts[cloud].";
    11 "Each thread reads all points: begin at first + threadIdx.y and go on by 8.";
    12 "The index is that of a matrix with one row for each channel: a row of x has n values, r · n + channel.";
    13 "`at` counts from the first row of the cloud: it is the row in x.";
    14 "__syncwarp() orders one warp; the 8 threads of a channel are in different warps: __syncthreads().";
    15 "There is no barrier between the stores and the reads of the other threads' results.";
    16 "All 8 threads of a channel write the result: only one does.";
    17 "Threads beyond the last channel write: guard the result with channel < n.";
    18 "Of equal values in different threads, the first thread's counts, but another thread may have an earlier row.";
    19 "Of several NaNs in different threads, the first thread's counts: NaN == NaN is false.";
    20 "Of equal values in different threads, the last thread's counts: compare the rows.";
    21 "The result is stored with one row for each channel: y is [clouds, n].";
    22 "If all values are −∞, none is above the first maximum: begin with a row of the cloud, not with −1.";
};
