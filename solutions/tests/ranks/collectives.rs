//! The collectives of ranks that are threads, and of ranks that are processes: results, traffic and errors.

use std::{sync::Arc, thread, time::Duration};

use anyhow::Result;
use canopy::parallel::{
    AllReduce, Collective, Link, chunk, gather, gather_json, ring_all_reduce,
    threads::{group, on_each},
    tree_all_reduce,
};

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

    // The bits of some are those of a NaN in f32.
    let numbers = gather(links, &[u64::MAX - rank as u64, (rank as u64) << 40])?;
    let expected = (0..world as u64).flat_map(|rank| [u64::MAX - rank, rank << 40]);
    assert!(numbers.into_iter().eq(expected));
    let texts = gather_json(links, &"Bäume".repeat(rank))?;
    assert!(texts.into_iter().eq((0..world).map(|rank| "Bäume".repeat(rank))));

    assert!(links.send(rank, &[]).is_err() && links.receive(world, &mut []).is_err());
    assert!(links.reduce_scatter(&[0.0; 8], &mut [0.0; 9]).is_err());
    links.barrier()
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn every_algorithm_sums_for_any_world_size_and_length() {
    for world in 1..8 {
        for all_reduce in [ring_all_reduce, tree_all_reduce] {
            on_each(group(world, all_reduce, LONG), |rank| collectives(&rank).unwrap());
        }
    }
}

/// Of four ranks, for 1,000 numbers: 2(p − 1)/p of the data from every rank of a ring; in a tree, ranks 0 and 2 have two messages to
/// send.
#[test]
fn each_algorithm_has_its_known_traffic() {
    let algorithms: [(AllReduce, _, _); 2] = [
        (Arc::new(ring_all_reduce), [1500; 4], [6; 4]),
        (Arc::new(tree_all_reduce), [2000, 1000, 2000, 1000], [2, 1, 2, 1]),
    ];
    for (all_reduce, numbers, messages) in algorithms {
        let group = group(4, move |link, data| all_reduce(link, data), LONG);
        let sent = on_each(group, |rank| {
            rank.all_reduce(&mut [1.0; 1000]).unwrap();
            rank.traffic()
        });
        for (sent, (numbers, messages)) in sent.iter().zip(numbers.into_iter().zip(messages)) {
            assert_eq!((sent.bytes, sent.messages), (4 * numbers, messages));
        }
    }
}

fn errors(results: Vec<Result<()>>) -> Vec<String> {
    let errors = results.into_iter().filter_map(Result::err);
    errors.map(|error| error.to_string()).collect()
}

#[test]
fn the_exit_of_a_rank_is_an_error_with_its_last_activity() {
    let results = on_each(group(3, ring_all_reduce, LONG), |rank| {
        rank.doing(&format!("step {}", rank.rank() + 7));
        if rank.rank() == 1 {
            return Ok(());
        }
        rank.all_reduce(&mut [1.0; 8])
    });
    let errors = errors(results);
    assert_eq!(errors.len(), 2, "{errors:?}");
    let named = |e: &String| e.contains("rank 1") && e.contains("ended, after: step 8");
    assert!(errors.iter().any(named), "{errors:?}");
}

#[test]
fn a_stalled_rank_is_an_error_at_the_deadline() {
    let results = on_each(group(2, tree_all_reduce, Duration::from_millis(100)), |rank| {
        rank.doing("loading batch 3");
        if rank.rank() == 1 {
            // Longer than the deadline, without exiting.
            thread::sleep(Duration::from_millis(600));
            return Ok(());
        }
        rank.barrier()
    });
    let errors = errors(results);
    assert_eq!(errors.len(), 1);
    let parts = ["for rank 1", "loading batch 3"];
    assert!(parts.iter().all(|part| errors[0].contains(part)), "{}", errors[0]);
}

/// With four ranks and a tree, rank 3 waits for rank 2, which waits for rank 0.
#[test]
fn a_rank_that_waits_lives_as_long_as_the_one_it_waits_for() {
    let results = on_each(group(4, tree_all_reduce, Duration::from_millis(300)), |rank| {
        if rank.rank() == 0 {
            for _ in 0..12 {
                rank.doing("evaluating");
                thread::sleep(Duration::from_millis(100));
            }
        }
        rank.barrier()
    });
    assert_eq!(errors(results), [""; 0]);
}

#[test]
fn ranks_that_make_different_calls_get_an_error() {
    let results = on_each(group(2, tree_all_reduce, LONG), |rank| {
        let mut data = vec![1.0; 4 + rank.rank()];
        rank.all_reduce(&mut data)
    });
    assert!(errors(results).iter().any(|e| e.contains("different calls")));
    let one = group(1, ring_all_reduce, LONG).remove(0);
    assert!(one.send(0, &[1.0]).is_err() && one.broadcast(3, &mut [1.0]).is_err());
}
