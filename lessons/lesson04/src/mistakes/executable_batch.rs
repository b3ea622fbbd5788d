//! Known wrong answers to exercise 4.8.

use super::*;

pub const MISTAKES: &[Mistake<Lesson04>] = &[
    wrong!("4.8", stops_at_the_first_success, "The search starts at half of `start`.",
        executable_batch: |start, least, attempt| (REFERENCE.executable_batch)(start / 2, least, attempt)),
    wrong!("4.8", stops_at_the_first_success, "It continues after the first success.", executable_batch: |start, least, attempt| {
        let found = (REFERENCE.executable_batch)(start, least, attempt)?;
        let _ = attempt(found / 2);
        Ok(found)
    }),
    wrong!("4.8", halves_the_batch_after_each_failure, "The batch is reduced by one cloud each time: from 512 down, that takes hours.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| n - 1, starved)),
    wrong!("4.8", halves_the_batch_after_each_failure, "The batch is reduced by a quarter each time; halve it.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| n * 3 / 4, starved)),
    wrong!("4.8", halves_the_batch_after_each_failure, "These are start/2, start/4, start/6, …; halve each time.", executable_batch: |start, least, attempt| {
        for batch in (0..).map(|k| start / (2 * k).max(1)).take_while(|&n| n >= least.max(1)) {
            match attempt(batch) {
                Err(Failure::OutOfMemory) => {}
                other => return other.map(|()| batch),
            }
        }
        Err(Failure::OutOfMemory)
    }),
    wrong!("4.8", stops_at_the_first_success, "Larger batches are tried after the first success, which is the result.", executable_batch: |start, least, attempt| {
        let mut batch = (REFERENCE.executable_batch)(start, least, attempt)?;
        let mut failed = (2 * batch + 1).min(if batch == start { batch } else { start });
        while failed > batch + 1 {
            let middle = batch.midpoint(failed);
            match attempt(middle) {
                Ok(()) => batch = middle,
                Err(_) => failed = middle,
            }
        }
        Ok(batch)
    }),
    wrong!("4.8", stops_at_the_first_success, "Each batch that fails is tried twice; keep the result of the first attempt.",
        executable_batch: |start, least, attempt| (REFERENCE.executable_batch)(start, least, &mut |n| attempt(n).or_else(|_| attempt(n)))),
    wrong!("4.8", stops_at_the_first_success, "Each batch that fails is tried twice; keep the result of the first attempt.",
    executable_batch: |start, least, attempt| (REFERENCE.executable_batch)(start, least, &mut |n| match attempt(n) {
        Err(Failure::OutOfMemory) => attempt(n),
        other => other,
    })),
    wrong!("4.8", returns_other_failures_at_once, "After another failure, the same batch is tried again; return the failure at once.",
    executable_batch: |start, least, attempt| (REFERENCE.executable_batch)(start, least, &mut |n| match attempt(n) {
        Err(Failure::Other(_)) => attempt(n),
        other => other,
    })),
    wrong!("4.8", stops_at_the_first_success, "The smallest batch is tried first; begin with `start`.", executable_batch: |start, least, attempt| {
        let mut sizes: Vec<usize> = std::iter::successors(Some(start), |n| Some(n / 2)).take_while(|&n| n >= least.max(1)).collect();
        sizes.reverse();
        let mut best = None;
        for batch in sizes {
            match attempt(batch) {
                Ok(()) => best = Some(batch),
                Err(Failure::OutOfMemory) => break,
                Err(other) => return Err(other),
            }
        }
        best.ok_or(Failure::OutOfMemory)
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "A start below `least` is raised to it; no batch is left, and the result is `Failure::OutOfMemory`.",
        executable_batch: |start, least, attempt| (REFERENCE.executable_batch)(start.max(least), least, attempt)),
    wrong!("4.8", halves_the_batch_after_each_failure, "Half is rounded up; round it down.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| if n > 1 { n.div_ceil(2) } else { 0 }, starved)),
    wrong!("4.8", halves_the_batch_after_each_failure, "The batch is reduced by a tenth each time; halve it.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| n * 9 / 10, starved)),
    wrong!("4.8", tries_no_batch_below_the_least, "`least` itself is not tried.",
        executable_batch: |start, least, attempt| sought(start, least + 1, attempt, |n| n / 2, starved)),
    wrong!("4.8", tries_no_batch_below_the_least, "Batches below `least` are tried.",
        executable_batch: |start, _, attempt| sought(start, 1, attempt, |n| n / 2, starved)),
    wrong!("4.8", tries_no_batch_below_the_least, "A batch of 0 is tried if `least` is 0: half of 1 is 0, and half of 0 is 0 again. A batch must be above 0 as well.",
    executable_batch: |start, least, attempt| {
        let mut batch = start;
        while batch >= least {
            match attempt(batch) {
                Ok(()) => return Ok(batch),
                Err(Failure::OutOfMemory) => batch /= 2,
                Err(failure) => return Err(failure),
            }
        }
        Err(Failure::OutOfMemory)
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "If the half is too small, `least` is tried instead; try only halves.",
    executable_batch: |start, least, attempt| {
        match (REFERENCE.executable_batch)(start, least, attempt) {
            Err(Failure::OutOfMemory) if least > 0 => attempt(least).map(|()| least),
            other => other,
        }
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "If the half is too small, `least` is tried instead; try only halves.",
    executable_batch: |start, least, attempt| {
        let mut batch = start;
        while batch > 0 && batch >= least {
            match attempt(batch) {
                Ok(()) => return Ok(batch),
                Err(Failure::OutOfMemory) if batch > least && batch / 2 < least => batch = least,
                Err(Failure::OutOfMemory) => batch /= 2,
                Err(failure) => return Err(failure),
            }
        }
        Err(Failure::OutOfMemory)
    }),
    wrong!("4.8", stops_at_the_first_success, "It continues after the first success, down to `least`.", executable_batch: |start, least, attempt| {
        let found = (REFERENCE.executable_batch)(start, least, attempt)?;
        let mut batch = found / 2;
        while batch >= least.max(1) {
            let _ = attempt(batch);
            batch /= 2;
        }
        Ok(found)
    }),
    wrong!("4.8", returns_other_failures_at_once, "Every failure is treated as out of memory: a smaller batch does not help against others.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| n / 2, |_| true)),
    wrong!("4.8", returns_other_failures_at_once, "Another failure is reported as out of memory, which misleads its reader.",
    executable_batch: |start, least, attempt| {
        (REFERENCE.executable_batch)(start, least, attempt).map_err(|_| Failure::OutOfMemory)
    }),
    wrong!("4.8", returns_other_failures_at_once, "The text of a `Failure::Other` is read: only `Failure::OutOfMemory` means out of memory.",
    executable_batch: |start, least, attempt| sought(start, least, attempt, |n| n / 2, |f| match f {
        Failure::OutOfMemory => true,
        Failure::Other(words) => words.contains("memory"),
    })),
    wrong!("4.8", returns_other_failures_at_once, "The failure is returned with another text; return it unchanged.",
    executable_batch: |start, least, attempt| {
        (REFERENCE.executable_batch)(start, least, attempt).map_err(|f| match f {
            Failure::Other(words) => Failure::Other(format!("batch {start}: {words}")),
            other => other,
        })
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "If no batch is left, the failure is `Failure::OutOfMemory`, not another one.",
    executable_batch: |start, least, attempt| {
        (REFERENCE.executable_batch)(start, least, attempt).map_err(|f| match f {
            Failure::OutOfMemory => Failure::Other("no batch fits".into()),
            other => other,
        })
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "If no batch is left, 0 is returned; the result is `Failure::OutOfMemory`.",
    executable_batch: |start, least, attempt| {
        match (REFERENCE.executable_batch)(start, least, attempt) {
            Err(Failure::OutOfMemory) => Ok(0),
            other => other,
        }
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "If no batch is left, `least` is returned, which was not tried; the result is `Failure::OutOfMemory`.",
    executable_batch: |start, least, attempt| {
        match (REFERENCE.executable_batch)(start, least, attempt) {
            Err(Failure::OutOfMemory) => Ok(least),
            other => other,
        }
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "`start` is tried although it is below `least`: compare before the attempt.",
    executable_batch: |start, least, attempt| {
        let mut batch = start;
        loop {
            match attempt(batch) {
                Err(Failure::OutOfMemory) if batch / 2 >= least.max(1) => batch /= 2,
                other => return other.map(|()| batch),
            }
        }
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "A start of 0 is tried as 1; no batch is left, and the result is `Failure::OutOfMemory`.",
        executable_batch: |start, least, attempt| (REFERENCE.executable_batch)(start.max(1), least, attempt)),
    wrong!("4.8", halves_the_batch_after_each_failure, "No batch below 2 is tried; `least` says what the smallest batch is.",
        executable_batch: |start, least, attempt| (REFERENCE.executable_batch)(start, least.max(2), attempt)),
    wrong!("4.8", halves_the_batch_after_each_failure, "It gives up after some attempts; go on down to `least`.", executable_batch: |start, least, attempt| {
        let mut count = 0;
        (REFERENCE.executable_batch)(start, least, &mut |batch| {
            count += 1;
            if count > 10 { Err(Failure::Other("no batch fits".into())) } else { attempt(batch) }
        })
    }),
    wrong!("4.8", stops_at_the_first_success, "The result is not the batch that ran, but half of it.",
        executable_batch: |start, least, attempt| (REFERENCE.executable_batch)(start, least, attempt).map(|n| n / 2)),
    wrong!("4.8", stops_at_the_first_success, "The batch that ran is tried once more.", executable_batch: |start, least, attempt| {
        let found = (REFERENCE.executable_batch)(start, least, attempt)?;
        attempt(found).map(|()| found)
    }),
    wrong!("4.8", stops_at_the_first_success, "`start` is rounded down to a power of two; try `start` itself.",
    executable_batch: |start, least, attempt| {
        (REFERENCE.executable_batch)(if start > 0 { 1 << start.ilog2() } else { 0 }, least, attempt)
    }),
];
