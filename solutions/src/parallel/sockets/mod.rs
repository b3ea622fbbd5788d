//! Ranks as processes, which speak over TCP: of one machine, or of several.
//!
//! Each rank has a connection to each other one, for each of the job's groups ([`host`] and [`join`] make them). A connection
//! has a thread that writes and one that reads, so sending waits for nobody, and what comes is taken from the network at
//! once. Signs of life go along with the messages. Nothing is encrypted: this is for a network that one trusts; the
//! token keeps jobs apart that share it.

mod frame;
mod greeting;
mod mesh;
mod peer;

use std::{net::TcpStream, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use crossbeam_channel::{Receiver, Sender, bounded};

use super::{AllReduce, Board, Missed, Rank, Transport};
pub use mesh::{Watch, host, join};
use peer::Out;

/// What a rank brings to the meeting of a job's ranks.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Its number.
    pub rank: usize,
    /// How many there are.
    pub world_size: usize,
    /// The same for all ranks of a job, and another for any other job.
    pub token: String,
    /// Groups of links that are made, as many as are asked for by [`Mesh::rank`].
    pub groups: usize,
    /// Names and values of what must be the same on all ranks.
    pub agreed: Vec<(String, String)>,
    /// How long ranks may be apart in coming.
    pub patience: Duration,
}

/// A rank's connections to all others.
#[derive(Debug)]
pub struct Mesh {
    rank: usize,
    /// Of each group: a connection to each rank, none to this one.
    groups: Vec<Vec<Option<TcpStream>>>,
}

/// Who is told what the other ranks of a group say, besides those who wait for them.
pub trait Witness: Send + Sync {
    /// Rank `rank` says what it does.
    fn says(&self, rank: usize, what: &str);

    /// Rank `rank`'s connection has ended, with the words of its [`Farewell`], or without.
    fn ended(&self, rank: usize, words: Option<&str>);
}

/// A rank's last words to all others, said before its process ends: without them, it has died.
#[derive(Debug)]
pub struct Farewell {
    to: Vec<Sender<Out>>,
    written: Receiver<()>,
}

impl Farewell {
    /// Says `words`, and waits until they are on their way, for `limit` at most.
    pub fn say(self, words: &str, limit: Duration) {
        for to in &self.to {
            // One that has ended needs no farewell.
            let _ = to.send(Out::Farewell(words.to_owned()));
        }
        drop(self.to);
        // Nothing is ever sent here: the channel closes with the last writer.
        let _ = self.written.recv_timeout(limit);
    }
}

/// One process's ends of the connections of a group.
struct Sockets {
    to: Vec<Option<Sender<Out>>>,
    from: Vec<Option<Receiver<Vec<f32>>>>,
    board: Board,
}

impl Transport for Sockets {
    fn send(&self, to: usize, data: &[f32]) -> bool {
        let to = self.to[to].as_ref();
        to.is_some_and(|to| to.send(Out::Data(data.to_vec())).is_ok())
    }

    fn receive(&self, from: usize, limit: Duration) -> Result<Vec<f32>, Missed> {
        let from = self.from[from].as_ref().ok_or(Missed::Ended)?;
        from.recv_timeout(limit).map_err(Missed::from)
    }

    fn board(&self) -> &Board {
        &self.board
    }

    fn tell(&self) {
        for to in self.to.iter().flatten() {
            let _ = to.send(Out::Sign);
        }
    }
}

impl Mesh {
    /// This rank's end of group `group`, counted from 0, and its farewell; each group may be taken once. `all_reduce` and
    /// `deadline` as [`Rank::new`] takes them.
    ///
    /// # Errors
    /// A group that there is not, or that was taken; the system's, where it grants no threads.
    pub fn rank(
        &mut self,
        group: usize,
        all_reduce: &AllReduce,
        deadline: Duration,
        witness: Option<Arc<dyn Witness>>,
    ) -> Result<(Rank, Farewell)> {
        let streams = self.groups.get_mut(group).map(std::mem::take).unwrap_or_default();
        ensure!(
            !streams.is_empty(),
            "there is no group {group} of links, or it was taken"
        );
        let world_size = streams.len();
        let board = Board::new(world_size);
        let (writing, written) = bounded(0);
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for (other, stream) in streams.into_iter().enumerate() {
            let ends = stream.map(|stream| {
                let pair = peer::Pair {
                    own: self.rank,
                    other,
                    board: board.clone(),
                };
                peer::start(pair, stream, deadline, (writing.clone(), witness.clone()))
            });
            let (sends, receives) = ends.transpose()?.unzip();
            to.push(sends);
            from.push(receives);
        }
        let farewell = Farewell {
            to: to.iter().flatten().cloned().collect(),
            written,
        };
        let sockets = Box::new(Sockets { to, from, board });
        let rank = Rank::new((self.rank, world_size), sockets, all_reduce.clone(), deadline);
        Ok((rank, farewell))
    }
}
