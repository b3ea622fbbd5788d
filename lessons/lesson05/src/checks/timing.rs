use grader::{Verdict, draw, given};

use super::refuse::{refuse, two};
use crate::{Lesson05, simulated_device::Device};

/// Tests the times of a simulated device whose pieces take `costs`, after `warm_up` other pieces.
fn check(answer: &Lesson05, device: &Device, warm_up: usize, runs: usize) -> Verdict {
    let input = device.shown(warm_up, runs);
    let case = given(&input);
    let times = (answer.time_device)(device, warm_up, runs, &mut || device.take())?;
    let calls = warm_up + runs;
    if device.taken() != calls && runs > 0 {
        let all = times.iter().map(|&t| t as f64).chain([device.taken() as f64]);
        return refuse(
            input,
            "calls of `work`",
            two(calls, device.taken()),
            all.collect(),
        );
    }
    if device.readings() == 0 && !times.is_empty() {
        let lines = two("one or two for each run", 0);
        return refuse(input, "readings of `device.now()`", lines, vec![0.0]);
    }
    let expected: Vec<u64> = (warm_up..calls).map(|i| device.whole(i)).collect();
    case.close("times", &times, &expected)
}

/// A device whose pieces all take `cost`.
fn even(runs: usize, cost: usize) -> Device {
    Device::new(vec![cost as u64; runs])
}

pub fn times_until_the_device_is_done(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let (runs, cost) = (3, 1000 * draw.whole(50, 90) + draw.whole(1, 999));
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
    let cost = 1000 * draw.whole(20, 40) as u64;
    for (warm_up, runs) in [(draw.whole(2, 4), draw.whole(2, 4)), (1, 1), (3, 1)] {
        let costs = (0..warm_up + runs).map(|i| if i < warm_up { 30 * cost } else { cost });
        check(answer, &Device::new(costs.collect()), warm_up, runs)?;
    }
    Ok(())
}

pub fn times_each_run_in_order(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let (warm_up, runs) = (draw.whole(1, 2), draw.whole(4, 6));
    let mut costs: Vec<u64> = (0..warm_up + runs)
        .map(|_| 1000 * draw.whole(10, 90) as u64)
        .collect();
    // The first one is the longest and the second one the shortest: sorted in no direction.
    costs[warm_up] += 100_000;
    costs[warm_up + 1] = 5_000;
    check(answer, &Device::new(costs), warm_up, runs)?;
    // Without runs there are no times, and nothing to warm up for.
    check(answer, &even(warm_up, 5000), warm_up, 0)
}

/// A device on which something fails, and how much work may have been launched by then.
struct Failure {
    what: String,
    device: Device,
    warm_up: usize,
    runs: usize,
    error: &'static str,
    launched: usize,
}

impl Failure {
    fn new(warm_up: usize, runs: usize, piece: usize, at_once: bool) -> Self {
        let when = if at_once { "launched" } else { "waited for" };
        Self {
            what: format!("piece {piece} of the work fails when it is {when}"),
            device: even(warm_up + runs, 5000).breaking(piece, at_once),
            warm_up,
            runs,
            error: if at_once {
                Device::AT_ONCE
            } else {
                Device::AT_A_WAIT
            },
            // No wait is needed between two pieces of the warm-up.
            launched: if at_once { piece } else { piece.max(warm_up) },
        }
    }

    fn older(warm_up: usize, runs: usize) -> Self {
        Self {
            what: "older work has failed, and the first wait says so".into(),
            device: even(warm_up + runs, 5000).failed(),
            warm_up,
            runs,
            error: Device::AT_A_WAIT,
            launched: warm_up,
        }
    }

    fn shown(&self) -> String {
        format!("{}; {}", self.device.shown(self.warm_up, self.runs), self.what)
    }
}

fn check_failures(answer: &Lesson05, failures: &[Failure]) -> Verdict {
    let (mut first, mut all) = (None, Vec::new());
    for failure in failures {
        let input = failure.shown();
        given(&input);
        let device = &failure.device;
        let got = (answer.time_device)(device, failure.warm_up, failure.runs, &mut || device.take());
        let said = got
            .as_ref()
            .map_or_else(ToString::to_string, |times| format!("Ok({times:?})"));
        let (its_own, more) = (
            got.is_err() && said.contains(failure.error),
            device.taken() > failure.launched,
        );
        all.extend([f64::from(got.is_err()), f64::from(its_own), device.taken() as f64]);
        let lines = if !its_own {
            Some(("result", two(format!("Err: {}", failure.error), said)))
        } else if more {
            let most = format!("{} at most", failure.launched);
            Some(("calls of `work`", two(most, device.taken())))
        } else {
            None
        };
        first = first.or(lines.map(|(what, lines)| (input, what, lines)));
    }
    match first {
        Some((input, what, lines)) => refuse(input, what, lines, all),
        None => Ok(()),
    }
}

pub fn returns_errors_of_work(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let runs = draw.whole(3, 5);
    let pieces = [(0, draw.whole(1, runs - 1)), (0, runs), (2, 1), (2, runs + 1)];
    check_failures(
        answer,
        &pieces.map(|(warm_up, piece)| Failure::new(warm_up, runs, piece, true)),
    )
}

pub fn returns_errors_of_waits(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let runs = draw.whole(3, 5);
    let pieces = [
        (0, draw.whole(1, runs - 1)),
        (0, runs),
        (2, 1),
        (2, 2),
        (2, runs + 1),
    ];
    let launched = pieces.map(|(warm_up, piece)| Failure::new(warm_up, runs, piece, false));
    let older = [Failure::older(0, runs), Failure::older(2, runs)];
    let failures: Vec<Failure> = launched.into_iter().chain(older).collect();
    check_failures(answer, &failures)
}
