//! 5.2: the time of what the device does.

use std::cell::Cell;

use candle_core::{Result, bail};
use canopy::profile::Stream;
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson05, REFERENCE, answers};

/// Nanoseconds that the host needs to launch a piece of work.
const LAUNCH: u64 = 700;
/// Nanoseconds that the host needs to notice that the device is done.
const NOTICE: u64 = 300;
/// The clock at the start: more than f64 can count exactly.
const START: u64 = 1_700_000_000_000_000_123;

/// A device that runs each piece of work after its launch. All its times are simulated.
#[derive(Clone, Default)]
struct Device {
    warm_up: usize,
    /// Nanoseconds of each piece of work, of the warm-up and of the runs.
    costs: Vec<u64>,
    /// Which piece fails, from 1 on, or 0 for older work; and whether at its launch, or later.
    failing: Option<(usize, bool)>,
    /// The host's time since the start.
    host: Cell<u64>,
    /// When the device will be done.
    done: Cell<u64>,
    launched: Cell<usize>,
}

impl Device {
    fn new(warm_up: usize, costs: Vec<u64>) -> Self {
        Self {
            warm_up,
            costs,
            ..Self::default()
        }
    }

    /// Each piece of work takes 5,000 ns.
    fn failing(warm_up: usize, runs: usize, piece: usize, at_launch: bool) -> Self {
        Self {
            failing: Some((piece, at_launch)),
            ..Self::new(warm_up, vec![5_000; warm_up + runs])
        }
    }

    fn runs(&self) -> usize {
        self.costs.len() - self.warm_up
    }

    /// The host launches the next piece.
    fn launch(&self) -> Result<()> {
        let piece = self.launched.get() + 1;
        self.launched.set(piece);
        self.host.set(self.host.get() + LAUNCH);
        let cost = self.costs.get(piece - 1).copied().unwrap_or(0);
        self.done.set(self.done.get().max(self.host.get()) + cost);
        if self.failing == Some((piece, true)) {
            bail!("out of memory");
        }
        Ok(())
    }

    fn shown(&self) -> String {
        let failing = self.failing.map_or(String::new(), |(piece, at_launch)| {
            let when = if at_launch {
                "at once"
            } else {
                "and the next wait says so"
            };
            format!("; call {piece} of `work` (0: older work) fails, {when}")
        });
        let (runs, older) = (self.runs(), self.done.get());
        format!(
            "warm_up {}, runs {runs}; the device is busy for {older} ns; the calls of `work` give it {:?} ns; \
             the host needs {LAUNCH} ns to launch, and {NOTICE} ns to notice the end{failing}",
            self.warm_up, self.costs
        )
    }
}

impl Stream for Device {
    fn now(&self) -> u64 {
        START + self.host.get()
    }

    fn wait(&self) -> Result<()> {
        self.host.set(self.host.get().max(self.done.get()) + NOTICE);
        match self.failing {
            Some((piece, false)) if piece <= self.launched.get() => bail!("an illegal memory access"),
            _ => Ok(()),
        }
    }
}

/// What an answer does, and how often it calls `work`. Fewer calls than `at_least` are as right.
fn facts(answer: &Lesson05, device: Device, at_least: usize) -> (Facts, usize) {
    let times = (answer.time_device)(&device, device.warm_up, device.runs(), &mut || device.launch());
    let text = times.map_or_else(|error| format!("Err: {error}"), |times| format!("Ok({times:?})"));
    let calls = device.launched.get().max(at_least);
    // A backtrace may follow the error.
    let facts = Facts::default().text("result", text.lines().next().unwrap_or_default());
    (facts.values("calls of `work`", calls), calls)
}

fn timed(answer: &Lesson05, device: Device) -> Verdict {
    let case = given(device.shown());
    let (expected, calls) = facts(&REFERENCE, device.clone(), 0);
    // After an error, as an answer may wait within the warm-up; and without runs.
    let any = device.failing.is_some() || device.runs() == 0;
    case.same(facts(answer, device, if any { calls } else { 0 }).0, expected)
}

/// Nanoseconds of a piece of work.
fn cost(d: &mut Draw) -> u64 {
    1000 * d.whole(20, 90) as u64 + d.whole(1, 999) as u64
}

pub const CHECKS: &[Check<Lesson05>] = rows! { "5.2";
    by timed {
        times_until_the_device_is_done: "includes exactly one wait",
            "For each of `runs`: read `device.now()`, call `work`, wait once, read it again, and subtract as u64." =>
            |d| vec![Device::new(0, vec![cost(d); 3])];
        excludes_older_work: "an idle device",
            "Wait before the clock is first read, also if there is no warm-up." => |d| {
            let device = Device::new(0, vec![cost(d); d.whole(2, 4)]);
            device.done.set(1000 * d.whole(300, 900) as u64);
            vec![device]
        };
        excludes_the_warm_up: "untimed calls",
            "Call `work` `warm_up` times without taking times, then wait, then take `runs` times." => |d| {
            let sizes = [(d.whole(2, 4), d.whole(2, 4)), (1, 1), (3, 1)];
            sizes.map(|(warm_up, runs)| {
                let cost = cost(d);
                Device::new(warm_up, [vec![30 * cost; warm_up], vec![cost; runs]].concat())
            }).into()
        };
        times_each_run_in_order: "in order",
            "Return the time of each run, in the order of the runs; without runs, the list is empty." => |d| {
            let (warm_up, runs) = (d.whole(1, 2), d.whole(4, 6));
            let mut costs: Vec<u64> = (0..warm_up + runs).map(|_| cost(d)).collect();
            // The first one is the longest and the second one the shortest: sorted in no direction.
            costs[warm_up] += 100_000;
            costs[warm_up + 1] = 5_000;
            vec![Device::new(warm_up, costs), Device::new(warm_up, vec![5_000; warm_up])]
        };
        returns_errors: "The times of `runs` calls of `work`",
            "If `work` or a wait fails, in the warm-up too, return its error as it is, and at once: `?` does." => |d| {
            let runs = d.whole(3, 5);
            let of_work = [(0, d.whole(1, runs - 1)), (0, runs), (2, 1), (2, runs + 1)];
            let of_work = of_work.map(|(warm_up, piece)| Device::failing(warm_up, runs, piece, true));
            let of_waits = [(0, d.whole(1, runs - 1)), (0, runs), (2, 1), (2, 2), (2, runs + 1), (0, 0), (2, 0)];
            let of_waits = of_waits.map(|(warm_up, piece)| Device::failing(warm_up, runs, piece, false));
            of_work.into_iter().chain(of_waits).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson05>] = mistakes! { "5.2" time_device;
    1 "The clock is read when `work` has returned: that is the time of the launch, not of the work. Wait first.";
    2 "A time includes two waits; one is enough, and each takes time.";
    3 "The wait before a run comes after the clock is read, so it is timed.";
    4 "The clock is read after `work` has returned, so the launch is missing: read it before `work`.";
    5 "Nothing is waited for before the clock is first read: the device is busy with older work, or the warm-up.";
    6 "The device is still busy with the warm-up when the clock is first read: wait after the warm-up.";
    7 "An error of `work` is ignored.";
};
