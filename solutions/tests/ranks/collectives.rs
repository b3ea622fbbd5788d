//! The collectives of ranks that are processes.

use anyhow::Result;
use canopy::parallel::{Collective, chunk};

/// Rank `rank`'s numbers. Their sums are exact in f32, in any order.
pub fn whole(rank: usize, length: usize) -> Vec<f32> {
    (0..length).map(|i| ((i * 7 + rank * 13) % 1001) as f32).collect()
}

/// The sums of the ranks' numbers.
pub fn sum(world: usize, length: usize) -> Vec<f32> {
    let add = |mut sum: Vec<f32>, rank| {
        let pairs = sum.iter_mut().zip(whole(rank, length));
        pairs.for_each(|(sum, value)| *sum += value);
        sum
    };
    (0..world).fold(vec![0.0; length], add)
}

/// Checks each collective of `links` against what its ranks' numbers are.
pub fn collectives(links: &dyn Collective) -> Result<()> {
    let (rank, world) = (links.rank(), links.world_size());
    for length in [0, 1, 3, 1000, 300_007] {
        let (mine, expected) = (whole(rank, length), sum(world, length));
        let mut data = mine.clone();
        links.all_reduce(&mut data)?;
        assert!(data == expected, "all-reduce of {length}");

        let own = chunk(length, rank, world);
        let mut part = vec![0.0; own.len()];
        links.reduce_scatter(&mine, &mut part)?;
        assert!(part == expected[own.clone()], "reduce-scatter of {length}");

        let mut gathered = vec![0.0; length];
        links.all_gather(&part, &mut gathered)?;
        assert!(gathered == expected, "all-gather of {length}");

        for root in 0..world {
            let mut data = mine.clone();
            links.broadcast(root, &mut data)?;
            assert!(data == whole(root, length), "broadcast of {length} from {root}");
        }
    }
    // Sums that are rounded are bit-identical on all ranks.
    let mut rounded: Vec<f32> = whole(rank, 10_007).iter().map(|v| 1.0 / (v + 0.3)).collect();
    links.all_reduce(&mut rounded)?;
    let mut of_rank_0 = rounded.clone();
    links.broadcast(0, &mut of_rank_0)?;
    assert!(rounded == of_rank_0, "the sums differ on rank {rank}");

    let before = links.traffic();
    links.all_reduce(&mut [0.0; 5])?;
    let after = links.traffic();
    assert_eq!(
        (after.messages - before.messages, after.bytes - before.bytes),
        (1, 20)
    );
    assert!(links.send(rank, &[]).is_err() && links.receive(world, &mut []).is_err());
    assert!(links.reduce_scatter(&[0.0; 8], &mut [0.0; 8]).is_err());
    links.barrier()
}
