//! Ranks on threads, with what each of them sends.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use anyhow::{Result, anyhow};
use canopy::parallel::{Collective, Link, Rank, ring_all_reduce, threads::group};
use grader::{Case, Finding, Verdict};

/// Far longer than any message needs. A rank that waits for one that has ended fails at once.
const DEADLINE: Duration = Duration::from_secs(2);

/// What each rank of a group returned and sent.
pub struct Ran<T> {
    /// The result of each rank, or its error.
    pub results: Vec<Result<T>>,
    /// Of each rank: how many numbers each of its all-reduces had.
    pub all_reduces: Vec<Vec<usize>>,
    /// Of each rank: messages sent.
    pub messages: Vec<u64>,
}

/// Runs `work` on each of `world` ranks at once. A single rank runs on the thread of the caller.
pub fn on_ranks<T: Send>(world: usize, work: impl Fn(&Rank) -> Result<T> + Sync) -> Ran<T> {
    let calls = Arc::new(Mutex::new(vec![Vec::new(); world]));
    let record = calls.clone();
    let all_reduce = move |link: &dyn Link, data: &mut [f32]| {
        record.lock().unwrap_or_else(PoisonError::into_inner)[link.rank()].push(data.len());
        ring_all_reduce(link, data)
    };
    let ranks = group(world, all_reduce, DEADLINE);
    let counted = |rank: Rank| {
        let result = work(&rank);
        (result, rank.traffic().messages)
    };
    let ended: Vec<(Result<T>, u64)> = if world == 1 {
        ranks.into_iter().map(counted).collect()
    } else {
        thread::scope(|scope| {
            let counted = &counted;
            let threads: Vec<_> = ranks
                .into_iter()
                .map(|rank| scope.spawn(move || counted(rank)))
                .collect();
            let end = |t: thread::ScopedJoinHandle<'_, _>| {
                t.join()
                    .unwrap_or_else(|_| (Err(anyhow!("the rank panicked")), 0))
            };
            threads.into_iter().map(end).collect()
        })
    };
    let (results, messages) = ended.into_iter().unzip();
    let all_reduces = calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ran {
        results,
        all_reduces,
        messages,
    }
}

impl<T> Ran<T> {
    /// Tests that no rank returned an error.
    ///
    /// Which rank fails first, and what it says of the others, depends on timing. So the cause of an error is found by the
    /// numbers in each all-reduce of each rank, and by whether a rank failed by itself or only because others did.
    pub fn all_well(&self, case: &Case) -> Verdict {
        let failed = |(rank, result): (usize, &Result<T>)| Some((rank, result.as_ref().err()?.to_string()));
        let errors: Vec<(usize, String)> = self.results.iter().enumerate().filter_map(failed).collect();
        let own = errors.iter().find(|(_, error)| !error.starts_with("rank "));
        let Some((rank, error)) = own.or(errors.first()) else {
            return Ok(());
        };
        let calls = self.all_reduces.iter();
        let mut point: Vec<usize> = calls
            .flat_map(|calls| [&[calls.len()], &calls[..]].concat())
            .collect();
        point.push(usize::from(own.is_some()));
        match case.require(
            "each rank returns a result",
            false,
            format!("rank {rank}: Err: {error}"),
        ) {
            Err(Finding::Wrong(mut wrong)) => {
                wrong.got = Some(point.as_slice().into());
                Err(Finding::Wrong(wrong))
            }
            other => other,
        }
    }

    /// Tests that each rank called one all-reduce of `numbers` numbers, and sent nothing else.
    pub fn sent_once(&self, case: &Case, numbers: usize) -> Verdict {
        let world = self.results.len();
        for (rank, calls) in self.all_reduces.iter().enumerate() {
            case.close(
                &format!("numbers in each all-reduce of rank {rank}"),
                calls,
                &vec![numbers],
            )?;
        }
        // A ring sends 2(p − 1) messages.
        let ring = 2 * (world - 1) as u64;
        let other: Vec<usize> = self
            .messages
            .iter()
            .map(|m| m.saturating_sub(ring) as usize)
            .collect();
        case.close("other messages of each rank", &other, &vec![0usize; world])
    }
}

/// A rank whose neighbour has ended, so that its all-reduce returns an error.
pub fn alone_of_two() -> Rank {
    group(2, ring_all_reduce, DEADLINE).swap_remove(0)
}
