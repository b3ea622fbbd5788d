//! Ring all-reduce with other parts.

use super::*;

/// One half of a ring: whom to send to and hear of, how many steps, which chunk goes out and which comes in at each, and
/// what is done with it.
pub struct Ring {
    pub to: fn(usize, usize) -> usize,
    pub from: fn(usize, usize) -> usize,
    pub steps: fn(usize) -> usize,
    pub out: fn(usize, usize, usize) -> usize,
    pub into: fn(usize, usize, usize) -> usize,
    pub take: fn(&mut f32, f32),
    pub cut: fn(usize, usize, usize) -> Range<usize>,
}

fn next(rank: usize, p: usize) -> usize {
    (rank + 1) % p
}

fn before(rank: usize, p: usize) -> usize {
    (rank + p - 1) % p
}

/// The first half as it should be.
pub const SCATTER: Ring = Ring {
    to: next,
    from: before,
    steps: |p| p - 1,
    out: |rank, step, p| (rank + 2 * p - 1 - step) % p,
    into: |rank, step, p| (rank + 2 * p - 2 - step) % p,
    take: |sum, v| *sum += v,
    cut: chunk,
};

/// The second.
pub const GATHER: Ring = Ring {
    out: |rank, step, p| (rank + p - step) % p,
    into: |rank, step, p| (rank + 2 * p - 1 - step) % p,
    take: |own, v| *own = v,
    ..SCATTER
};

pub fn around(link: &dyn Link, data: &mut [f32], ring: Ring) -> Result<()> {
    let (rank, p, n) = (link.rank(), link.world_size(), data.len());
    for step in 0..(ring.steps)(p) {
        let out = (ring.cut)(n, (ring.out)(rank, step, p), p);
        let into = (ring.cut)(n, (ring.into)(rank, step, p), p);
        link.send((ring.to)(rank, p), &data[out])?;
        let mut came = vec![0.0; into.len()];
        link.receive((ring.from)(rank, p), &mut came)?;
        for (own, v) in data[into].iter_mut().zip(came) {
            (ring.take)(own, v);
        }
    }
    Ok(())
}

/// As [`around`], but each rank receives before it sends.
pub fn hearing_first(link: &dyn Link, data: &mut [f32], ring: Ring) -> Result<()> {
    let (rank, p, n) = (link.rank(), link.world_size(), data.len());
    for step in 0..(ring.steps)(p) {
        let into = chunk(n, (ring.into)(rank, step, p), p);
        let mut came = vec![0.0; into.len()];
        link.receive((ring.from)(rank, p), &mut came)?;
        link.send((ring.to)(rank, p), &data[chunk(n, (ring.out)(rank, step, p), p)])?;
        for (own, v) in data[into].iter_mut().zip(came) {
            (ring.take)(own, v);
        }
    }
    Ok(())
}

/// As [`around`], but an error of `receive`, and of `send` if `both`, is ignored.
pub fn deaf(link: &dyn Link, data: &mut [f32], ring: Ring, both: bool) -> Result<()> {
    let (rank, p, n) = (link.rank(), link.world_size(), data.len());
    for step in 0..(ring.steps)(p) {
        let sent = link.send((ring.to)(rank, p), &data[chunk(n, (ring.out)(rank, step, p), p)]);
        if !both {
            sent?;
        }
        let into = chunk(n, (ring.into)(rank, step, p), p);
        let mut came = vec![0.0; into.len()];
        let _ = link.receive((ring.from)(rank, p), &mut came);
        for (own, v) in data[into].iter_mut().zip(came) {
            (ring.take)(own, v);
        }
    }
    Ok(())
}

/// As [`around`], but empty chunks are neither sent nor received.
pub fn full_only(link: &dyn Link, data: &mut [f32], ring: Ring) -> Result<()> {
    let (rank, p, n) = (link.rank(), link.world_size(), data.len());
    for step in 0..(ring.steps)(p) {
        let out = chunk(n, (ring.out)(rank, step, p), p);
        let into = chunk(n, (ring.into)(rank, step, p), p);
        if !out.is_empty() {
            link.send((ring.to)(rank, p), &data[out])?;
        }
        let mut came = vec![0.0; into.len()];
        if !into.is_empty() {
            link.receive((ring.from)(rank, p), &mut came)?;
        }
        for (own, v) in data[into].iter_mut().zip(came) {
            (ring.take)(own, v);
        }
    }
    Ok(())
}

/// The first half without the messages from the last rank to rank 0.
pub fn chain(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    let (rank, p, n) = (link.rank(), link.world_size(), data.len());
    for step in 0..p - 1 {
        if rank + 1 < p {
            link.send(rank + 1, &data[chunk(n, (SCATTER.out)(rank, step, p), p)])?;
        }
        let into = chunk(n, (SCATTER.into)(rank, step, p), p);
        let mut came = vec![0.0; into.len()];
        if rank > 0 {
            link.receive(rank - 1, &mut came)?;
        }
        data[into].iter_mut().zip(came).for_each(|(own, v)| *own += v);
    }
    Ok(())
}

/// The first half, but what arrives is added to the chunk that was sent.
pub fn added_to_the_sent(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    let (rank, p, n) = (link.rank(), link.world_size(), data.len());
    for step in 0..p - 1 {
        let out = chunk(n, (SCATTER.out)(rank, step, p), p);
        let mut came = vec![0.0; chunk(n, (SCATTER.into)(rank, step, p), p).len()];
        link.send(next(rank, p), &data[out.clone()])?;
        link.receive(before(rank, p), &mut came)?;
        data[out].iter_mut().zip(came).for_each(|(own, v)| *own += v);
    }
    Ok(())
}

/// The first half: how much room for what comes, of the numbers that go out and that come in, and which chunks are sent.
pub fn with_room(
    link: &dyn Link,
    data: &mut [f32],
    room: fn(usize, usize) -> usize,
    sent: fn(usize) -> bool,
) -> Result<()> {
    let (rank, p, n) = (link.rank(), link.world_size(), data.len());
    for step in 0..p - 1 {
        let out = chunk(n, (SCATTER.out)(rank, step, p), p);
        let into = chunk(n, (SCATTER.into)(rank, step, p), p);
        let mut came = vec![0.0; room(out.len(), into.len())];
        if sent(out.len()) {
            link.send(next(rank, p), &data[out])?;
        }
        link.receive(before(rank, p), &mut came)?;
        data[into].iter_mut().zip(came).for_each(|(own, v)| *own += v);
    }
    Ok(())
}

/// The first half, but every message has only the sender's own numbers.
pub fn own_only(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    let (rank, p, n) = (link.rank(), link.world_size(), data.len());
    let own = data.to_vec();
    for step in 0..p - 1 {
        link.send(next(rank, p), &own[chunk(n, (SCATTER.out)(rank, step, p), p)])?;
        let into = chunk(n, (SCATTER.into)(rank, step, p), p);
        let mut came = vec![0.0; into.len()];
        link.receive(before(rank, p), &mut came)?;
        data[into].iter_mut().zip(came).for_each(|(own, v)| *own += v);
    }
    Ok(())
}

/// The first half, but what arrives is passed on without the rank's own numbers.
pub fn passed_on(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    let (rank, p, n) = (link.rank(), link.world_size(), data.len());
    let mut passing = data[chunk(n, before(rank, p), p)].to_vec();
    for step in 0..p - 1 {
        let into = chunk(n, (SCATTER.into)(rank, step, p), p);
        link.send(next(rank, p), &passing)?;
        passing = vec![0.0; into.len()];
        link.receive(before(rank, p), &mut passing)?;
        data[into].iter_mut().zip(&passing).for_each(|(own, v)| *own += v);
    }
    Ok(())
}

/// Every rank sends all it has to every other.
pub fn all_to_all(link: &dyn Link, data: &mut [f32], take: fn(&mut f32, f32), own: bool) -> Result<()> {
    let (rank, p) = (link.rank(), link.world_size());
    let mine = data.to_vec();
    let cut = |rank: usize| {
        if own {
            chunk(mine.len(), rank, p)
        } else {
            0..mine.len()
        }
    };
    for to in (0..p).filter(|&to| to != rank) {
        link.send(to, &mine[cut(rank)])?;
    }
    for from in (0..p).filter(|&from| from != rank) {
        let into = cut(from);
        let mut came = vec![0.0; into.len()];
        link.receive(from, &mut came)?;
        data[into].iter_mut().zip(came).for_each(|(own, v)| take(own, v));
    }
    Ok(())
}
