//! Some ranks of a group as a group of their own: the rows and columns of a mesh of ranks.

use std::{
    cell::Cell,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::{Result, ensure};

use super::{
    Collective, Link, Traffic, arguments::check_root, own_chunk, ring_all_reduce, tree_all_reduce,
    tree_broadcast,
};

/// A group that several [`SubGroup`]s of one rank share.
pub type Shared = Arc<Mutex<Box<dyn Collective>>>;

/// Some ranks of a group, numbered from 0 in the order of `members`. Its collectives are our ring and tree over the
/// messages of the whole group, so only the members call them. It counts its own traffic.
///
/// All sub-groups of a rank belong to one thread: a receive keeps the whole group locked until the message has arrived.
pub struct SubGroup {
    whole: Shared,
    members: Vec<usize>,
    rank: usize,
    traffic: Cell<Traffic>,
}

impl SubGroup {
    /// Creates the group of the ranks `members` of `whole`. Every member calls it with the same list.
    ///
    /// # Errors
    /// Returns an error if a member is not in the whole group or is listed twice, or if this rank is not a member.
    pub fn new(whole: &Shared, members: Vec<usize>) -> Result<Self> {
        let (me, world) = {
            let whole = lock(whole);
            (whole.rank(), whole.world_size())
        };
        for (i, member) in members.iter().enumerate() {
            ensure!(
                *member < world,
                "sub-group {members:?}: there is no rank {member}, only {world} ranks"
            );
            ensure!(
                !members[..i].contains(member),
                "sub-group {members:?}: rank {member} is listed twice"
            );
        }
        let Some(rank) = members.iter().position(|&m| m == me) else {
            anyhow::bail!("sub-group {members:?}: rank {me} is not one of its members");
        };
        Ok(Self {
            whole: whole.clone(),
            members,
            rank,
            traffic: Cell::default(),
        })
    }

    /// Returns the rank in the whole group of rank `rank` of this group.
    fn in_whole(&self, rank: usize) -> Result<usize> {
        let members = &self.members;
        match members.get(rank) {
            Some(&member) => Ok(member),
            None => anyhow::bail!("sub-group {members:?} has no rank {rank}"),
        }
    }
}

/// A thread that panicked with the lock ends its rank, and the others learn it from the whole group.
fn lock(whole: &Shared) -> MutexGuard<'_, Box<dyn Collective>> {
    whole.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link for SubGroup {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world_size(&self) -> usize {
        self.members.len()
    }

    fn send(&self, to: usize, data: &[f32]) -> Result<()> {
        lock(&self.whole).send(self.in_whole(to)?, data)?;
        self.traffic.update(|sent| sent.and_message(data.len()));
        Ok(())
    }

    fn receive(&self, from: usize, into: &mut [f32]) -> Result<()> {
        lock(&self.whole).receive(self.in_whole(from)?, into)
    }
}

impl Collective for SubGroup {
    fn all_reduce(&self, data: &mut [f32]) -> Result<()> {
        ring_all_reduce(self, data)
    }

    fn reduce_scatter(&self, data: &[f32], mine: &mut [f32]) -> Result<()> {
        own_chunk::reduce_scatter(self, data, mine)
    }

    fn all_gather(&self, mine: &[f32], whole: &mut [f32]) -> Result<()> {
        own_chunk::all_gather(self, mine, whole)
    }

    fn broadcast(&self, root: usize, data: &mut [f32]) -> Result<()> {
        check_root(self, root)?;
        tree_broadcast(self, root, data)
    }

    fn barrier(&self) -> Result<()> {
        tree_all_reduce(self, &mut [])
    }

    fn traffic(&self) -> Traffic {
        self.traffic.get()
    }

    fn doing(&self, what: &str) {
        lock(&self.whole).doing(what);
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;
    use crate::parallel::{Algorithm, threads::group};

    /// Runs `work` on each rank of a mesh of 2 × 3 ranks, with its row and its column.
    fn on_mesh(work: impl Fn(usize, SubGroup, SubGroup) + Sync) {
        thread::scope(|scope| {
            for rank in group(6, Algorithm::Ring, Duration::from_secs(10)) {
                let work = &work;
                scope.spawn(move || {
                    let me = rank.rank();
                    let whole: Shared = Arc::new(Mutex::new(Box::new(rank)));
                    let row = (0..3).map(|column| me / 3 * 3 + column).collect();
                    let column = (0..2).map(|row| row * 3 + me % 3).collect();
                    work(
                        me,
                        SubGroup::new(&whole, row).unwrap(),
                        SubGroup::new(&whole, column).unwrap(),
                    );
                });
            }
        });
    }

    #[test]
    fn rows_and_columns_sum_by_themselves() {
        on_mesh(|me, row, column| {
            let mut sums = [me as f32; 5];
            row.all_reduce(&mut sums).unwrap();
            assert_eq!(sums, [[3.0; 5], [12.0; 5]][me / 3]);
            column.all_reduce(&mut sums).unwrap();
            assert_eq!(sums, [15.0; 5]);
            assert_eq!((row.traffic().messages, column.traffic().messages), (4, 2));
            let mut all = [0.0; 3];
            row.all_gather(&[me as f32], &mut all).unwrap();
            assert_eq!(all[2] - all[0], 2.0);
            let mut from_second = [me as f32];
            column.broadcast(1, &mut from_second).unwrap();
            assert_eq!(from_second, [(3 + me % 3) as f32]);
            let mut mine = [0.0];
            row.reduce_scatter(&[1.0, 2.0, 3.0], &mut mine).unwrap();
            assert_eq!(mine, [3.0 * (1 + me % 3) as f32]);
            row.barrier().unwrap();
        });
    }

    #[test]
    fn a_wrong_list_of_members_is_refused() {
        let rank = group(2, Algorithm::Ring, Duration::from_secs(1)).remove(0);
        let whole: Shared = Arc::new(Mutex::new(Box::new(rank)));
        for (members, why) in [
            (vec![0, 2], "no rank 2"),
            (vec![0, 0], "twice"),
            (vec![1], "not one of"),
        ] {
            let error = SubGroup::new(&whole, members).err().unwrap().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
