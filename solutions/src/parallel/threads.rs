//! Ranks as threads of this process, connected by channels: for the cores of one machine, for tests and for lessons.

use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::{Algorithm, AllReduce, Rank, board::Board, rank::Channels};

/// Creates the `world_size` ranks of a group. The caller moves each to a thread of its own. Waiting for a rank that gave
/// no sign of life for `deadline` fails with [`super::Lost`].
pub fn group(world_size: usize, algorithm: Algorithm, deadline: Duration) -> Vec<Rank> {
    group_with(world_size, &algorithm.function(), deadline)
}

/// Creates a group as [`group`] does, with an all-reduce of the caller's.
pub fn group_with(world_size: usize, all_reduce: &AllReduce, deadline: Duration) -> Vec<Rank> {
    let board = Board::new(world_size);
    // One channel for each pair of ranks, so that a receiver knows the sender.
    let mut senders: Vec<Vec<Sender<Vec<f32>>>> = (0..world_size).map(|_| Vec::new()).collect();
    let mut receivers: Vec<Vec<Receiver<Vec<f32>>>> = (0..world_size).map(|_| Vec::new()).collect();
    for sends in &mut senders {
        for receives in &mut receivers {
            let (send, receive) = unbounded();
            sends.push(send);
            receives.push(receive);
        }
    }
    let ends = senders.into_iter().zip(receivers).enumerate();
    let rank = |(rank, (to, from))| {
        let board = board.clone();
        let channels = Channels { to, from, board };
        Rank::new((rank, world_size), channels, all_reduce.clone(), deadline)
    };
    ends.map(rank).collect()
}
