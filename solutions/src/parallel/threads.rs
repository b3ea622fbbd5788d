//! Ranks as threads of this process: for learning, for tests, and for the cores of one machine.

use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use super::{Algorithm, AllReduce, Board, Missed, Rank, Transport};

/// One thread's channels; the board is one for all.
struct Channels {
    to: Vec<Sender<Vec<f32>>>,
    from: Vec<Receiver<Vec<f32>>>,
    board: Board,
}

impl Transport for Channels {
    fn send(&self, to: usize, data: &[f32]) -> bool {
        self.to[to].send(data.to_vec()).is_ok()
    }

    fn receive(&self, from: usize, limit: Duration) -> Result<Vec<f32>, Missed> {
        self.from[from].recv_timeout(limit).map_err(Missed::from)
    }

    fn board(&self) -> &Board {
        &self.board
    }
}

impl From<RecvTimeoutError> for Missed {
    fn from(error: RecvTimeoutError) -> Self {
        match error {
            RecvTimeoutError::Timeout => Self::Late,
            RecvTimeoutError::Disconnected => Self::Ended,
        }
    }
}

/// The ends of a group of `world_size` ranks, to be moved to a thread each; `deadline` as [`Rank::new`] takes it.
pub fn group(world_size: usize, algorithm: Algorithm, deadline: Duration) -> Vec<Rank> {
    group_with(world_size, &algorithm.function(), deadline)
}

/// As [`group`], with an all-reduce of one's own.
pub fn group_with(world_size: usize, all_reduce: &AllReduce, deadline: Duration) -> Vec<Rank> {
    let board = Board::new(world_size);
    // One channel for each pair, so that messages of different ranks cannot be mistaken for one another.
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
        let channels = Box::new(Channels { to, from, board });
        Rank::new((rank, world_size), channels, all_reduce.clone(), deadline)
    };
    ends.map(rank).collect()
}
