use candle_core::Result;
use canopy::profile::Stream;
use grader::{Mistake, wrong};

use crate::{Lesson05, REFERENCE, Work};

pub const MISTAKES: &[Mistake<Lesson05>] = &[
    wrong!("5.2", times_until_the_device_is_done,
        "The clock is read when `work` has returned: that is the time of the launch, not of the work. Wait first.",
        time_device: |d, w, n, f| timed(d, w, n, f, true, |d, f| { let start = d.now(); f()?; Ok(d.now() - start) })),
    wrong!("5.2", times_until_the_device_is_done,
        "A time includes two waits; one is enough, and each takes time.",
        time_device: |d, w, n, f| timed(d, w, n, f, true, |d, f| { let start = d.now(); f()?; d.wait()?; d.wait()?; Ok(d.now() - start) })),
    wrong!("5.2", times_until_the_device_is_done,
        "The wait before a run comes after the clock is read, so it is timed.",
        time_device: |d, w, n, f| timed(d, w, n, f, false, |d, f| { let start = d.now(); d.wait()?; f()?; d.wait()?; Ok(d.now() - start) })),
    wrong!("5.2", times_until_the_device_is_done,
    "The clock of the first run is read before the wait that makes the device idle, so that wait is timed: read it after the wait.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        let mut start = d.now();
        d.wait()?;
        let mut once = || { f()?; d.wait()?; let before = std::mem::replace(&mut start, d.now()); Ok(start - before) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", times_until_the_device_is_done,
        "The clock is read after `work` has returned, so the launch is missing: read it before `work`.",
        time_device: |d, w, n, f| timed(d, w, n, f, true, |d, f| { f()?; let start = d.now(); d.wait()?; Ok(d.now() - start) })),
    wrong!("5.2", times_until_the_device_is_done,
        "The times are taken by another clock: read `device.now()`.",
        time_device: |d, w, n, f| timed(d, w, n, f, true, |d, f| { let start = std::time::Instant::now(); f()?; d.wait()?; Ok(start.elapsed().as_nanos() as u64) })),
    wrong!("5.2", times_until_the_device_is_done,
        "The readings of the clock are rounded before they are subtracted: subtract them as u64.",
        time_device: |d, w, n, f| timed(d, w, n, f, true, |d, f| { let start = d.now() as f64; f()?; d.wait()?; Ok((d.now() as f64 - start) as u64) })),
    wrong!("5.2", times_until_the_device_is_done,
        "The readings of the clock are rounded before they are subtracted: subtract them as u64.",
        time_device: |d, w, n, f| timed(d, w, n, f, true, |d, f| { let start = d.now() as f32; f()?; d.wait()?; Ok((d.now() as f32 - start) as u64) })),
    wrong!("5.2", times_until_the_device_is_done,
        "The times are divided: they are asked for in nanoseconds of the device's clock.",
        time_device: |d, w, n, f| Ok((REFERENCE.time_device)(d, w, n, f)?.into_iter().map(|t| t / 1000).collect())),
    wrong!("5.2", times_until_the_device_is_done,
    "The time of a wait is subtracted; a time includes one wait.",
    time_device: |d, w, n, f| {
        let times = (REFERENCE.time_device)(d, w, n, f)?;
        let start = d.now();
        d.wait()?;
        let wait = d.now() - start;
        Ok(times.into_iter().map(|t| t.saturating_sub(wait)).collect())
    }),
    wrong!("5.2", times_until_the_device_is_done,
    "All runs are launched before the device is waited for: wait after each, or its time includes the others.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        d.wait()?;
        let start = d.now();
        for _ in 0..n { f()?; }
        d.wait()?;
        Ok(vec![(d.now() - start) / n.max(1) as u64; n])
    }),
    wrong!("5.2", times_until_the_device_is_done,
        "`work` is called although `warm_up` is 0: call it as often as asked.",
        time_device: |d, w, n, f| (REFERENCE.time_device)(d, w.max(1), n, f)),
    wrong!("5.2", times_until_the_device_is_done,
        "The first time is dropped; return `runs` times.",
        time_device: |d, w, n, f| Ok((REFERENCE.time_device)(d, w, n, f)?.into_iter().skip(1).collect())),
    wrong!("5.2", times_until_the_device_is_done,
        "The first run is not timed; only the `warm_up` calls are left out.",
        time_device: |d, w, n, f| (REFERENCE.time_device)(d, w + 1, n.saturating_sub(1), f)),
    wrong!("5.2", times_until_the_device_is_done,
        "One time is returned for all runs; return one for each.",
        time_device: |d, w, n, f| Ok(vec![(REFERENCE.time_device)(d, w, n, f)?.iter().sum::<u64>() / n.max(1) as u64])),
    wrong!("5.2", times_until_the_device_is_done,
    "The times are measured from the start of the first run; measure each from its own start.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        d.wait()?;
        let start = d.now();
        let mut once = || { f()?; d.wait()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", excludes_older_work,
    "The first time includes older work of the device: wait before the clock is first read, also if there is no warm-up.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        if w > 0 { d.wait()?; }
        let mut once = || { let start = d.now(); f()?; d.wait()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", excludes_older_work,
        "Nothing is waited for before the clock is first read: the first time includes older work of the device, and the warm-up.",
        time_device: |d, w, n, f| timed(d, w, n, f, false, |d, f| { let start = d.now(); f()?; d.wait()?; Ok(d.now() - start) })),
    wrong!("5.2", excludes_the_warm_up,
    "The device is still busy with the warm-up when the clock is first read: wait after the warm-up.",
    time_device: |d, w, n, f| {
        d.wait()?;
        for _ in 0..w { f()?; }
        let mut once = || { let start = d.now(); f()?; d.wait()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", excludes_the_warm_up,
        "There is no warm-up: `work` is called `runs` times only.",
        time_device: |d, _, n, f| (REFERENCE.time_device)(d, 0, n, f)),
    wrong!("5.2", excludes_the_warm_up,
        "There is one warm-up call only, whatever `warm_up` says.",
        time_device: |d, w, n, f| (REFERENCE.time_device)(d, w.min(1), n, f)),
    wrong!("5.2", excludes_the_warm_up,
        "The warm-up calls are subtracted from the runs; they come before them.",
        time_device: |d, w, n, f| (REFERENCE.time_device)(d, w, n.saturating_sub(w), f)),
    wrong!("5.2", excludes_the_warm_up,
        "The warm-up is timed with the runs.",
        time_device: |d, w, n, f| (REFERENCE.time_device)(d, 0, w + n, f)),
    wrong!("5.2", times_each_run_in_order,
    "All runs have the same time, their mean: return the time of each run.",
    time_device: |d, w, n, f| {
        let times = (REFERENCE.time_device)(d, w, n, f)?;
        Ok(vec![times.iter().sum::<u64>() / n.max(1) as u64; n])
    }),
    wrong!("5.2", times_each_run_in_order,
    "All runs have the same time, their median: return the time of each run.",
    time_device: |d, w, n, f| {
        let mut times = (REFERENCE.time_device)(d, w, n, f)?;
        times.sort_unstable();
        Ok(times.get(n / 2).map_or(vec![], |&t| vec![t; n]))
    }),
    wrong!("5.2", times_each_run_in_order,
        "All runs have the same time, the shortest: return the time of each run.",
        time_device: |d, w, n, f| Ok((REFERENCE.time_device)(d, w, n, f)?.into_iter().min().map_or(vec![], |t| vec![t; n]))),
    wrong!("5.2", times_each_run_in_order,
    "The times are sorted; return them in the order of the runs.",
    time_device: |d, w, n, f| {
        let mut times = (REFERENCE.time_device)(d, w, n, f)?;
        times.sort_unstable();
        Ok(times)
    }),
    wrong!("5.2", times_each_run_in_order,
        "The last run comes first; return the times in the order of the runs.",
        time_device: |d, w, n, f| Ok((REFERENCE.time_device)(d, w, n, f)?.into_iter().rev().collect())),
    wrong!("5.2", times_each_run_in_order,
    "Without runs it divides by 0 or reads a time that does not exist; the list is then empty.",
    time_device: |d, w, n, f| {
        assert!(n > 0, "no runs");
        (REFERENCE.time_device)(d, w, n, f)
    }),
    wrong!("5.2", returns_errors_of_work,
        "An error of `work` is ignored.",
        time_device: |d, w, n, f| (REFERENCE.time_device)(d, w, n, &mut || { let _ = f(); Ok(()) })),
    wrong!("5.2", returns_errors_of_work,
    "An error of the warm-up is ignored; return it as well.",
    time_device: |d, w, n, f| {
        for _ in 0..w { let _ = f(); }
        (REFERENCE.time_device)(d, 0, n, f)
    }),
    wrong!("5.2", returns_errors_of_work,
    "A run that fails is left out, and its error is lost; return the error.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        d.wait()?;
        let mut times = Vec::new();
        for _ in 0..n {
            let start = d.now();
            if f().is_err() { continue; }
            d.wait()?;
            times.push(d.now() - start);
        }
        Ok(times)
    }),
    wrong!("5.2", returns_errors_of_work,
    "After an error, the times so far are returned as if nothing had happened; return the error.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        d.wait()?;
        let mut times = Vec::new();
        for _ in 0..n {
            let start = d.now();
            if f().is_err() || d.wait().is_err() { break; }
            times.push(d.now() - start);
        }
        Ok(times)
    }),
    wrong!("5.2", returns_errors_of_work,
    "Further work is launched after an error: return at once.",
    time_device: |d, w, n, f| {
        let mut failed = None;
        let mut keep = |result: candle_core::Result<()>| if let (Err(e), None) = (result, &failed) { failed = Some(e); };
        for _ in 0..w { keep(f()); }
        keep(d.wait());
        let mut times = Vec::new();
        for _ in 0..n {
            let start = d.now();
            keep(f());
            keep(d.wait());
            times.push(d.now() - start);
        }
        failed.map_or(Ok(times), Err)
    }),
    wrong!("5.2", returns_errors_of_work,
    "Further work is launched after an error: return at once.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        d.wait()?;
        let mut once = || { let start = d.now(); f()?; d.wait()?; Ok(d.now() - start) };
        let all: Vec<candle_core::Result<u64>> = (0..n).map(|_| once()).collect();
        all.into_iter().collect()
    }),
    wrong!("5.2", returns_errors_of_work,
    "Another error is returned than that of `work` or of the wait: return that one, as `?` does.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        d.wait()?;
        let mut once = || { let start = d.now(); f()?; d.wait()?; Ok(d.now() - start) };
        (0..n).map(|_| once().map_err(|_: candle_core::Error| candle_core::Error::Msg("a run failed".into()))).collect()
    }),
    wrong!("5.2", returns_errors_of_work,
        "Another error is returned than that of `work` or of the wait: return that one, as `?` does.",
        time_device: |d, w, n, f| (REFERENCE.time_device)(d, w, n, f).map_err(|_| candle_core::Error::Msg("a run failed".into()))),
    wrong!("5.2", returns_errors_of_work,
    "An error makes it panic; return it, as `?` does.",
    time_device: |d, w, n, f| match (REFERENCE.time_device)(d, w, n, f) {
        Err(e) => panic!("called `Result::unwrap()` on an `Err` value: {e:?}"),
        times => times,
    }),
    wrong!("5.2", returns_errors_of_waits,
    "An error of a wait is ignored: a wait reports the errors of the device.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        let _ = d.wait();
        let mut once = || { let start = d.now(); f()?; let _ = d.wait(); Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", returns_errors_of_waits,
        "The error of the wait within a run is ignored: it is that of the run's own work.",
        time_device: |d, w, n, f| timed(d, w, n, f, true, |d, f| { let start = d.now(); f()?; let _ = d.wait(); Ok(d.now() - start) })),
    wrong!("5.2", returns_errors_of_waits,
    "The error of the wait before the first run is ignored: older work or the warm-up may have failed.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        let _ = d.wait();
        let mut once = || { let start = d.now(); f()?; d.wait()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
];

/// Calls `work` `warm_up` times, waits if `waits`, then takes a time for each run by `once`.
fn timed(
    device: &dyn Stream,
    warm_up: usize,
    runs: usize,
    work: Work,
    waits: bool,
    once: fn(&dyn Stream, Work) -> Result<u64>,
) -> Result<Vec<u64>> {
    for _ in 0..warm_up {
        work()?;
    }
    if waits {
        device.wait()?;
    }
    (0..runs).map(|_| once(device, work)).collect()
}
