//! Collectives over threads: their results, their traffic, and their errors.

use std::{thread, time::Duration};

use anyhow::Result;
use canopy::parallel::{Algorithm, Collective, Link, Rank, chunk, threads::group};
use proptest::prelude::*;

const ALL: [Algorithm; 3] = [Algorithm::Ring, Algorithm::Tree, Algorithm::Naive];
const SHORT: Duration = Duration::from_secs(20);

/// Runs `work` on a thread for each rank, and returns the results.
fn on_each<T: Send>(ranks: Vec<Rank>, work: impl Fn(Rank) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = ranks.into_iter().map(|r| scope.spawn(move || work(r))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

/// Numbers that differ between ranks, with exact sums.
fn numbers(rank: usize, n: usize) -> Vec<f32> {
    (0..n).map(|i| (i * 3 + rank * 17 + 1) as f32).collect()
}

fn sum(p: usize, n: usize) -> Vec<f32> {
    (0..n).map(|i| (0..p).map(|r| numbers(r, n)[i]).sum()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_algorithm_sums_for_any_world_size_and_length(p in 1usize..8, n in 0usize..40) {
        for algorithm in ALL {
            let got = on_each(group(p, algorithm, SHORT), |rank| {
                let mut data = numbers(rank.rank(), n);
                rank.all_reduce(&mut data).unwrap();
                data
            });
            for data in got {
                prop_assert_eq!(&data, &sum(p, n), "{:?}", algorithm);
            }
        }
    }

    #[test]
    fn reduce_scatter_then_all_gather_is_an_all_reduce(p in 1usize..8, n in 0usize..40) {
        let got = on_each(group(p, Algorithm::Ring, SHORT), |rank| {
            let me = rank.rank();
            let mut mine = vec![0.0; chunk(n, me, p).len()];
            rank.reduce_scatter(&numbers(me, n), &mut mine).unwrap();
            let mut whole = vec![f32::NAN; n];
            rank.all_gather(&mine, &mut whole).unwrap();
            whole
        });
        for whole in got {
            prop_assert_eq!(&whole, &sum(p, n));
        }
    }

    #[test]
    fn broadcast_works_from_any_root(p in 1usize..8, root in 0usize..8, n in 0usize..10) {
        let root = root % p;
        let got = on_each(group(p, Algorithm::Ring, SHORT), |rank| {
            let mut data = numbers(rank.rank(), n);
            rank.broadcast(root, &mut data).unwrap();
            rank.barrier().unwrap();
            data
        });
        for data in got {
            prop_assert_eq!(&data, &numbers(root, n));
        }
    }
}

#[test]
fn rounded_sums_are_bit_identical_on_every_rank() {
    for algorithm in ALL {
        let got = on_each(group(5, algorithm, SHORT), |rank| {
            let me = rank.rank() as f32;
            let mut data: Vec<f32> = (0..101)
                .map(|i| ((i as f32 + me) * 0.37).sin() * 10f32.powf(me))
                .collect();
            rank.all_reduce(&mut data).unwrap();
            data.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        });
        assert!(got.windows(2).all(|w| w[0] == w[1]), "{algorithm:?}");
    }
}

#[test]
fn each_algorithm_has_its_known_traffic() {
    let (p, n) = (4u64, 1000u64);
    let bytes = |algorithm| {
        on_each(group(p as usize, algorithm, SHORT), |rank| {
            rank.all_reduce(&mut vec![1.0; n as usize]).unwrap();
            rank.traffic()
        })
    };
    for traffic in bytes(Algorithm::Ring) {
        assert_eq!(
            traffic.bytes,
            2 * (p - 1) * n / p * 4,
            "2(p−1)/p of the data from every rank"
        );
        assert_eq!(traffic.messages, 2 * (p - 1));
    }
    let total = |algorithm| bytes(algorithm).iter().map(|t| t.bytes).sum::<u64>();
    for algorithm in [Algorithm::Tree, Algorithm::Naive] {
        assert_eq!(total(algorithm), 2 * (p - 1) * n * 4, "{algorithm:?}");
    }
    assert_eq!(
        bytes(Algorithm::Naive)[0].bytes,
        (p - 1) * n * 4,
        "rank 0 sends the sum to every other rank"
    );
    assert_eq!(
        bytes(Algorithm::Tree)[0].bytes,
        2 * n * 4,
        "rank 0 has two children"
    );
}

fn errors(results: Vec<Result<()>>) -> Vec<String> {
    results
        .into_iter()
        .filter_map(|r| r.err())
        .map(|e| e.to_string())
        .collect()
}

#[test]
fn the_exit_of_a_rank_is_an_error_with_its_last_activity() {
    let results = on_each(group(3, Algorithm::Ring, SHORT), |rank| {
        rank.doing(&format!("step {}", rank.rank() + 7));
        if rank.rank() == 1 {
            return Ok(());
        }
        rank.all_reduce(&mut [1.0; 8])
    });
    let errors = errors(results);
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(
        errors
            .iter()
            .any(|e| e.contains("rank 1") && e.contains("ended, after: step 8")),
        "{errors:?}"
    );
}

#[test]
fn a_stalled_rank_is_an_error_at_the_deadline() {
    let results = on_each(group(2, Algorithm::Tree, Duration::from_millis(100)), |rank| {
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
    assert!(
        errors[0].contains("for rank 1") && errors[0].contains("loading batch 3"),
        "{}",
        errors[0]
    );
}

/// With four ranks and a tree, rank 3 waits for rank 2, which waits for rank 0.
#[test]
fn a_rank_that_waits_lives_as_long_as_the_one_it_waits_for() {
    let results = on_each(group(4, Algorithm::Tree, Duration::from_millis(300)), |rank| {
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
    let results = on_each(group(2, Algorithm::Naive, SHORT), |rank| {
        let mut data = vec![1.0; 4 + rank.rank()];
        rank.all_reduce(&mut data)
    });
    assert!(errors(results).iter().any(|e| e.contains("different calls")));
    let one = group(1, Algorithm::Ring, SHORT).remove(0);
    assert!(one.send(0, &[1.0]).is_err() && one.broadcast(3, &mut [1.0]).is_err());
}
