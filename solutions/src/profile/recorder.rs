//! The program's one recording. Any thread may add to it while it runs.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ThreadId},
};

use anyhow::{Result, ensure};
use candle_core::Device;

use super::{
    Kind, Lane, Span, Stream, Timeline,
    breakdown::Part,
    gpu_clock::{Given, GpuClock, Mark},
    nvtx::Range,
};

/// How a recording is made.
#[derive(Debug)]
pub struct Options {
    /// The device of the work. On a CUDA device its own times are recorded as well.
    pub device: Device,
    /// Opens an NVTX range for each span, for nsys; see [`super::nvtx_available`].
    pub ranges: bool,
    /// Maximum number of spans; later ones are only counted.
    pub limit: usize,
}

impl Options {
    /// Two million spans at most, no ranges.
    pub fn of(device: &Device) -> Self {
        Self {
            device: device.clone(),
            ranges: false,
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
    /// The lane of each thread that had a span.
    threads: HashMap<ThreadId, usize>,
}

static ON: AtomicBool = AtomicBool::new(false);
static STATE: Mutex<Option<State>> = Mutex::new(None);

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

/// A recording. It runs until [`stop`] takes it, or until it is dropped.
#[derive(Debug)]
pub struct Recording(());

impl Drop for Recording {
    fn drop(&mut self) {
        ON.store(false, Ordering::SeqCst);
        *state() = None;
    }
}

/// Starts a recording. The calling thread is its first lane, the main one.
///
/// # Errors
/// Returns an error if another recording runs, and the device's errors.
pub fn start(options: Options) -> Result<Recording> {
    let mut state = state();
    ensure!(
        state.is_none(),
        "a profile is being recorded already: there is one at a time"
    );
    let clock = GpuClock::of(&options.device, &now)?;
    let mut timeline = Timeline::default();
    timeline.lanes.push(Lane::new("main", false));
    if clock.is_some() {
        timeline.lanes.push(Lane::new("device", true));
    }
    *state = Some(State {
        timeline,
        began: now(),
        options,
        clock,
        given: Vec::new(),
        threads: HashMap::from([(thread::current().id(), 0)]),
    });
    ON.store(true, Ordering::SeqCst);
    Ok(Recording(()))
}

/// Stops the recording and returns its timeline. Waits for the device.
///
/// # Errors
/// Returns the device's errors.
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

/// Names the calling thread's lane in the current recording, if there is one; `device` if the thread simulates a device.
pub fn lane(name: &str, device: bool) {
    if let (true, Some(state)) = (started(), &mut *state()) {
        let lane = lane_of(state);
        state.timeline.lanes[lane] = Lane::new(name, device);
    }
}

fn lane_of(state: &mut State) -> usize {
    let (thread, lanes) = (thread::current(), &mut state.timeline.lanes);
    *state.threads.entry(thread.id()).or_insert_with(|| {
        let unnamed = format!("thread {}", lanes.len());
        lanes.push(Lane::new(thread.name().unwrap_or(&unnamed), false));
        lanes.len() - 1
    })
}

/// Ends a span when dropped.
#[must_use = "a span ends when its guard is dropped"]
pub struct Guard {
    open: Option<Open>,
    /// Ends after the span: it waits for the device.
    _part: Option<Part>,
}

struct Open {
    name: &'static str,
    kind: Kind,
    start: u64,
    mark: Option<Mark>,
    _range: Option<Range>,
}

/// Starts a span that ends with the guard. Without a recording it costs one relaxed load.
#[inline]
pub fn span(name: &'static str, kind: Kind) -> Guard {
    Guard {
        open: started().then(|| open(name, kind, false)),
        _part: None,
    }
}

/// Runs `run` in a span and returns its result.
#[inline]
pub fn timed<T>(name: &'static str, kind: Kind, run: impl FnOnce() -> T) -> T {
    let _span = span(name, kind);
    run()
}

/// As [`span`], for work of the device. On the CPU the host computes at once, and the span is a [`Kind::Kernel`]. On a CUDA
/// device it is a [`Kind::Launch`], and the device's own time becomes a span of the device's lane. A
/// [`Breakdown`](super::Breakdown) of the calling thread adds up its time.
#[inline]
pub fn work(name: &'static str) -> Guard {
    Guard {
        open: started().then(|| open(name, Kind::Kernel, true)),
        _part: Part::start(name),
    }
}

fn open(name: &'static str, kind: Kind, work: bool) -> Open {
    let (mut kind, mut mark, mut range) = (kind, None, None);
    if let Some(state) = &*state() {
        if let (true, Some(clock)) = (work, &state.clock) {
            kind = Kind::Launch;
            mark = clock.mark();
        }
        range = state.options.ranges.then(|| Range::open(name)).flatten();
    }
    Open {
        name,
        kind,
        start: now(),
        mark,
        _range: range,
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        let end = now();
        let mut state = state();
        let Some(state) = &mut *state else {
            return;
        };
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

/// Tests of this module that record, or that a recording would contain, run in turn.
#[cfg(test)]
pub(super) static TURN: Mutex<()> = Mutex::new(());

#[cfg(test)]
mod tests {
    use super::*;

    /// There is one recording at a time, so one test covers all of it.
    #[test]
    fn a_recording_contains_the_spans_of_all_threads_until_it_stops() {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
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
        drop(span("over the limit", Kind::Other));
        let timeline = stop(recording).unwrap();
        drop(cut_off);
        assert!(!started());
        let row = |s: &Span| (s.name.to_string(), s.kind, s.lane);
        let rows: Vec<_> = timeline.spans.iter().map(row).collect();
        let expected = [
            ("forward", Kind::Kernel, 0),
            ("step", Kind::Other, 0),
            ("load", Kind::Load, 1),
            ("fits", Kind::Other, 0),
        ];
        assert_eq!(
            rows,
            expected.map(|(name, kind, lane)| (name.to_owned(), kind, lane))
        );
        assert_eq!(timeline.dropped, 1);
        assert_eq!(timeline.lanes[1].name, "loader-0");
        assert!(timeline.spans.iter().all(|s| s.end <= timeline.wall));
        let (forward, step) = (&timeline.spans[0], &timeline.spans[1]);
        assert!(step.start <= forward.start && forward.end <= step.end);
        // The next recording starts empty, also after one that was dropped.
        drop(start(Options::of(&Device::Cpu)).unwrap());
        let again = start(Options::of(&Device::Cpu)).unwrap();
        assert!(stop(again).unwrap().spans.is_empty());
    }
}
