use candle_core::Result;
use grader::{Verdict, draw, given};

use crate::{Lesson05, simulated_device::Device};

/// Tests the times of a simulated device whose pieces take `costs`, after `warm_up` other pieces.
fn check(answer: &Lesson05, device: &Device, warm_up: usize, runs: usize) -> Verdict {
    let case = given(device.shown(warm_up, runs));
    let times = (answer.time_device)(device, warm_up, runs, &mut || device.take())?;
    case.close("calls of `work`", device.taken(), warm_up + runs)?;
    let expected: Vec<u64> = (warm_up..warm_up + runs).map(|i| device.whole(i)).collect();
    case.close("times", &times, &expected)
}

/// A device whose pieces all take `cost`.
fn even(runs: usize, cost: usize) -> Device {
    Device::new(vec![cost as u64; runs])
}

pub fn times_until_the_device_is_done(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let (runs, cost) = (draw.whole(1, 3), 1000 * draw.whole(50, 90));
    check(answer, &even(runs, cost), 0, runs)
}

pub fn excludes_older_work(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let (runs, cost) = (draw.whole(2, 4), 1000 * draw.whole(20, 40));
    let device = even(runs, cost).busy(1000 * draw.whole(300, 900) as u64);
    check(answer, &device, 0, runs)
}

pub fn excludes_the_warm_up(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let (warm_up, runs) = (draw.whole(2, 4), draw.whole(2, 4));
    let cost = 1000 * draw.whole(20, 40) as u64;
    let costs = (0..warm_up + runs).map(|i| if i < warm_up { 30 * cost } else { cost });
    check(answer, &Device::new(costs.collect()), warm_up, runs)
}

pub fn times_each_run_separately(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let (warm_up, runs) = (draw.whole(1, 2), draw.whole(4, 6));
    let mut costs: Vec<u64> = (0..warm_up + runs)
        .map(|_| 1000 * draw.whole(10, 90) as u64)
        .collect();
    // The first one is the longest, so that the list is not sorted.
    costs[warm_up] += 100_000;
    check(answer, &Device::new(costs), warm_up, runs)?;
    check(answer, &even(warm_up, 5000), warm_up, 0)
}

pub fn returns_errors_of_work_and_waits(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let runs = draw.whole(3, 5);
    for (warm_up, broken) in [(0, draw.whole(1, runs)), (2, 1), (2, runs + 2)] {
        for at_once in [true, false] {
            let device = even(warm_up + runs, 5000).breaking(broken, at_once);
            let case = given(format!(
                "{}; the {broken}. piece of work fails, {}",
                device.shown(warm_up, runs),
                if at_once {
                    "when it is launched"
                } else {
                    "when it is waited for"
                }
            ));
            let got: Result<Vec<u64>> = (answer.time_device)(&device, warm_up, runs, &mut || device.take());
            let said = got
                .as_ref()
                .map_or_else(ToString::to_string, |times| format!("Ok({times:?})"));
            case.require("result: the error", got.is_err(), said)?;
        }
    }
    Ok(())
}
