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

use super::{Kind, Lane, Span, Stream, Timeline};

/// Maximum number of spans; later ones are only counted.
const LIMIT: usize = 2_000_000;

/// If the device ends its work within this many nanoseconds of the launch, its queue was empty: the time is that of the
/// launching.
const PACE: u64 = 20_000;

struct State {
    timeline: Timeline,
    began: u64,
    device: Device,
    limit: usize,
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

/// Starts a recording of work on `device`. The calling thread is its first lane, the main one.
///
/// # Errors
/// Returns an error if another recording runs.
pub fn start(device: &Device) -> Result<Recording> {
    let mut state = state();
    ensure!(
        state.is_none(),
        "a profile is being recorded already: there is one at a time"
    );
    let mut timeline = Timeline::default();
    timeline.lanes.push(Lane::new("main", false));
    *state = Some(State {
        timeline,
        began: now(),
        device: device.clone(),
        limit: LIMIT,
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
    taken.device.wait()?;
    taken.timeline.wall = now() - taken.began;
    Ok(taken.timeline)
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
pub struct Guard(Option<Open>);

struct Open {
    name: &'static str,
    kind: Kind,
    start: u64,
    /// The device, if the span is work of a device.
    device: Option<Device>,
}

/// Starts a span that ends with the guard. Without a recording it costs one relaxed load.
#[inline]
pub fn span(name: &'static str, kind: Kind) -> Guard {
    Guard(started().then(|| open(name, kind, None)))
}

/// Runs `run` in a span and returns its result.
#[inline]
pub fn timed<T>(name: &'static str, kind: Kind, run: impl FnOnce() -> T) -> T {
    let _span = span(name, kind);
    run()
}

/// As [`span`], for work of the device: a [`Kind::Kernel`]. A span of a CUDA device waits for the end of the work; it is a
/// [`Kind::Launch`] if the device kept pace with the host.
#[inline]
pub fn work(name: &'static str) -> Guard {
    let device = || state().as_ref().map(|state| state.device.clone());
    Guard(started().then(|| open(name, Kind::Kernel, device())))
}

fn open(name: &'static str, kind: Kind, device: Option<Device>) -> Open {
    Open {
        name,
        kind,
        start: now(),
        device,
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(mut open) = self.0.take() else { return };
        let mut end = now();
        if let Some(device) = &open.device {
            let launched = end;
            // A device that fails reports its error at the next operator.
            let _ = device.synchronize();
            end = now();
            if !device.is_cpu() && end <= launched + PACE {
                open.kind = Kind::Launch;
            }
        }
        let mut state = state();
        let Some(state) = &mut *state else { return };
        if open.start < state.began {
            return;
        }
        if state.timeline.spans.len() >= state.limit {
            state.timeline.dropped += 1;
            return;
        }
        let lane = lane_of(state);
        let (start, until) = (open.start - state.began, end - state.began);
        let span = Span::new(open.name, open.kind, lane, start, until);
        state.timeline.spans.push(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There is one recording at a time, so one test covers all of it.
    #[test]
    fn a_recording_contains_the_spans_of_all_threads_until_it_stops() {
        drop(span("before", Kind::Other));
        let recording = start(&Device::Cpu).unwrap();
        state().as_mut().unwrap().limit = 4;
        assert!(start(&Device::Cpu).is_err(), "one at a time");
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
        let rows = timeline.spans.iter().map(|s| (&*s.name, s.kind, s.lane));
        assert!(rows.eq([
            ("forward", Kind::Kernel, 0),
            ("step", Kind::Other, 0),
            ("load", Kind::Load, 1),
            ("fits", Kind::Other, 0),
        ]));
        assert_eq!(timeline.dropped, 1);
        assert_eq!(timeline.lanes[1].name, "loader-0");
        assert!(timeline.spans.iter().all(|s| s.end <= timeline.wall));
        let (forward, step) = (&timeline.spans[0], &timeline.spans[1]);
        assert!(step.start <= forward.start && forward.end <= step.end);
        // The next recording starts empty, also after one that was dropped.
        drop(start(&Device::Cpu).unwrap());
        let again = start(&Device::Cpu).unwrap();
        assert!(stop(again).unwrap().spans.is_empty());
    }
}
