//! The program's one recording: on or off, any thread may add to it.

use std::{
    cell::Cell,
    sync::{
        LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use anyhow::{Result, ensure};
use candle_core::Device;

use super::{
    Kind, Lane, Ranges, Span, Stream, Timeline,
    gpu_clock::{Given, GpuClock, Mark},
};

/// How a recording is made.
#[derive(Debug)]
pub struct Options {
    /// Where the work runs; on a CUDA device its own times are kept as well.
    pub device: Device,
    /// Pushes each span as an NVTX range, for nsys.
    pub ranges: Option<Ranges>,
    /// Spans that find room; later ones are only counted.
    pub limit: usize,
}

impl Options {
    /// Room for two million spans, no ranges.
    pub fn of(device: &Device) -> Self {
        Self {
            device: device.clone(),
            ranges: None,
            limit: 2_000_000,
        }
    }
}

struct State {
    timeline: Timeline,
    began: u64,
    options: Options,
    clock: Option<GpuClock>,
    given: Vec<Given>,
}

static ON: AtomicBool = AtomicBool::new(false);
/// Counts recordings, so that a thread knows whether its lane is of this one.
static NUMBER: AtomicU64 = AtomicU64::new(0);
static STATE: LazyLock<Mutex<Option<State>>> = LazyLock::new(Mutex::default);

thread_local! {
    static LANE: Cell<(u64, usize)> = const { Cell::new((0, 0)) };
}

fn state() -> MutexGuard<'static, Option<State>> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now() -> u64 {
    Device::Cpu.now()
}

/// Whether a recording runs.
pub fn started() -> bool {
    ON.load(Ordering::Relaxed)
}

/// A recording that runs until it is given to [`stop`], or dropped.
#[derive(Debug)]
pub struct Recording(());

impl Drop for Recording {
    fn drop(&mut self) {
        ON.store(false, Ordering::SeqCst);
        *state() = None;
    }
}

/// Begins to record. The thread that calls is the first lane, the one that the recording is about.
///
/// # Errors
/// Another recording runs; the device's.
pub fn start(options: Options) -> Result<Recording> {
    let mut state = state();
    ensure!(
        state.is_none(),
        "a profile is being recorded already: there is one at a time"
    );
    let clock = GpuClock::of(&options.device, &now)?;
    let mut timeline = Timeline::default();
    timeline.lanes.push(Lane {
        name: "main".into(),
        device: false,
    });
    if clock.is_some() {
        timeline.lanes.push(Lane {
            name: "device".into(),
            device: true,
        });
    }
    let number = NUMBER.fetch_add(1, Ordering::SeqCst) + 1;
    LANE.set((number, 0));
    *state = Some(State {
        timeline,
        began: now(),
        options,
        clock,
        given: Vec::new(),
    });
    ON.store(true, Ordering::SeqCst);
    Ok(Recording(()))
}

/// Ends the recording and gives what it holds. Waits for the device.
///
/// # Errors
/// The device's.
pub fn stop(recording: Recording) -> Result<Timeline> {
    ON.store(false, Ordering::SeqCst);
    let taken = state().take();
    drop(recording);
    let Some(mut taken) = taken else {
        return Ok(Timeline::default());
    };
    taken.options.device.wait()?;
    let mut timeline = taken.timeline;
    timeline.wall = now() - taken.began;
    if let Some(clock) = &taken.clock {
        let spans = clock.spans(&taken.given, 1)?;
        timeline.spans.extend(spans.into_iter().map(|s| Span {
            start: s.start.saturating_sub(taken.began),
            end: s.end.saturating_sub(taken.began),
            ..s
        }));
    }
    taken.given.clear();
    Ok(timeline)
}

/// Names the calling thread's lane in the recording that runs, if one does; `device` where the thread plays the device.
pub fn lane(name: &str, device: bool) {
    if let (true, Some(state)) = (started(), &mut *state()) {
        let lane = lane_of(state);
        state.timeline.lanes[lane] = Lane {
            name: name.to_owned(),
            device,
        };
    }
}

fn lane_of(state: &mut State) -> usize {
    let number = NUMBER.load(Ordering::Relaxed);
    let (of, lane) = LANE.get();
    if of == number {
        return lane;
    }
    let lanes = &mut state.timeline.lanes;
    let name = thread::current()
        .name()
        .map_or_else(|| format!("thread {}", lanes.len()), str::to_owned);
    lanes.push(Lane { name, device: false });
    let lane = lanes.len() - 1;
    LANE.set((number, lane));
    lane
}

/// Ends a span when dropped.
#[must_use = "a span ends when its guard is dropped"]
pub struct Guard(Option<Open>);

struct Open {
    name: &'static str,
    kind: Kind,
    start: u64,
    mark: Option<Mark>,
}

/// Begins a span that ends with the guard. Off, it costs one relaxed load.
#[inline]
pub fn span(name: &'static str, kind: Kind) -> Guard {
    Guard(started().then(|| open(name, kind, false)))
}

/// What `run` gives, in a span.
#[inline]
pub fn timed<T>(name: &'static str, kind: Kind, run: impl FnOnce() -> T) -> T {
    let _span = span(name, kind);
    run()
}

/// As [`span`], of work for the device: without a device of its own the host computes there and then, and it is a
/// [`Kind::Kernel`]; on a CUDA device it is a [`Kind::Launch`], and the device's own time becomes a span of its lane.
#[inline]
pub fn work(name: &'static str) -> Guard {
    Guard(started().then(|| open(name, Kind::Kernel, true)))
}

fn open(name: &'static str, kind: Kind, work: bool) -> Open {
    let (mut kind, mut mark) = (kind, None);
    if let Some(state) = &*state() {
        if let (true, Some(clock)) = (work, &state.clock) {
            kind = Kind::Launch;
            mark = clock.mark();
        }
        if let Some(ranges) = &state.options.ranges {
            ranges.push(name);
        }
    }
    Open {
        name,
        kind,
        start: now(),
        mark,
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(open) = self.0.take() else {
            return;
        };
        let end = now();
        let mut state = state();
        let Some(state) = &mut *state else {
            return;
        };
        if let Some(ranges) = &state.options.ranges {
            ranges.pop();
        }
        if open.start < state.began {
            return;
        }
        if state.timeline.spans.len() + state.given.len() >= state.options.limit {
            state.timeline.dropped += 1;
            return;
        }
        let lane = lane_of(state);
        let (start, until) = (open.start - state.began, end - state.began);
        let span = Span::new(open.name, open.kind, lane, start, until);
        state.timeline.spans.push(span);
        if let (Some(first), Some(last)) = (open.mark, state.clock.as_ref().and_then(GpuClock::mark)) {
            state.given.push(Given {
                name: open.name,
                end,
                marks: (first, last),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One recording at a time: what is held of it stands in one test.
    #[test]
    fn a_recording_holds_the_spans_of_all_threads_until_it_stops() {
        drop(span("before", Kind::Other));
        let recording = start(Options {
            limit: 4,
            ..Options::of(&Device::Cpu)
        })
        .unwrap();
        assert!(start(Options::of(&Device::Cpu)).is_err(), "one at a time");
        {
            let _step = span("step", Kind::Other);
            let _forward = work("forward");
        }
        let other = thread::Builder::new().name("loader-0".into());
        let other = other.spawn(|| drop(span("load", Kind::Load))).unwrap();
        other.join().unwrap();
        let cut_off = span("cut off", Kind::Other);
        drop(span("fits", Kind::Other));
        drop(span("finds no room", Kind::Other));
        let timeline = stop(recording).unwrap();
        drop(cut_off);
        assert!(!started());
        let names: Vec<(&str, Kind, usize)> = timeline
            .spans
            .iter()
            .map(|s| (&*s.name, s.kind, s.lane))
            .collect();
        assert_eq!(
            names,
            [
                ("forward", Kind::Kernel, 0),
                ("step", Kind::Other, 0),
                ("load", Kind::Load, 1),
                ("fits", Kind::Other, 0)
            ]
        );
        assert_eq!(timeline.dropped, 1);
        assert_eq!(timeline.lanes[1].name, "loader-0");
        assert!(timeline.spans.iter().all(|s| s.end <= timeline.wall));
        let (forward, step) = (&timeline.spans[0], &timeline.spans[1]);
        assert!(step.start <= forward.start && forward.end <= step.end);
        // The next one begins empty, and one that is dropped leaves nothing behind.
        drop(start(Options::of(&Device::Cpu)).unwrap());
        let again = start(Options::of(&Device::Cpu)).unwrap();
        assert!(stop(again).unwrap().spans.is_empty());
    }
}
