//! Ranks over TCP: the same sums as over threads, to the bit, and the same ends; and who is let in.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use canopy::parallel::{
    Algorithm, Collective, Lost, Rank,
    sockets::{Farewell, Mesh, Pass, Watch, Witness, host, join},
    threads,
};

const LONG: Duration = Duration::from_secs(20);

fn pass(rank: usize, world_size: usize) -> Pass {
    Pass {
        rank,
        world_size,
        token: "this job".into(),
        groups: 2,
        agreed: vec![("batch".into(), "8".into())],
        patience: LONG,
    }
}

/// All ranks of a job come together, as `change` makes their passes; what becomes of each, and who was turned away.
fn meet(world: usize, change: impl Fn(&mut Pass) + Sync) -> (Vec<Result<Mesh>>, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let changed = |rank| {
        let mut pass = pass(rank, world);
        change(&mut pass);
        pass
    };
    let mut away = Vec::new();
    let all = thread::scope(|scope| {
        let others: Vec<_> = (1..world)
            .map(|rank| {
                let (pass, address) = (changed(rank), &address);
                scope.spawn(move || join(address, &pass))
            })
            .collect();
        let mut watch = Watch {
            going: &mut || Ok(()),
            turned_away: &mut |who| away.push(who.to_owned()),
        };
        let first = host(&listener, &changed(0), &mut watch);
        let others = others.into_iter().map(|t| t.join().unwrap());
        [first].into_iter().chain(others).collect()
    });
    (all, away)
}

fn group(world: usize, algorithm: Algorithm, deadline: Duration) -> Vec<(Rank, Farewell)> {
    let (all, away) = meet(world, |_| {});
    assert!(away.is_empty(), "{away:?}");
    let end = |mesh: Result<Mesh>| {
        mesh.unwrap()
            .rank(1, &algorithm.function(), deadline, None)
            .unwrap()
    };
    all.into_iter().map(end).collect()
}

/// What `work` gives on each rank.
fn on_each<T: Send, R: Send>(ranks: Vec<R>, work: impl Fn(R) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = ranks.into_iter().map(|r| scope.spawn(move || work(r))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

/// One of each collective, of numbers that round.
fn all_collectives(rank: &Rank) -> Vec<u32> {
    let (me, world) = (Collective::rank(rank), Collective::world_size(rank));
    let mut sums: Vec<f32> = (0..1001)
        .map(|i| ((i as f32 + me as f32) * 0.37).sin() * 10f32.powi(me as i32))
        .collect();
    rank.all_reduce(&mut sums).unwrap();
    rank.barrier().unwrap();
    let mut roots = vec![me as f32; 3];
    rank.broadcast(world - 1, &mut roots).unwrap();
    let mut whole = vec![0.0; 2 * world];
    rank.all_gather(&[me as f32, 0.1], &mut whole).unwrap();
    let mut mine = vec![0.0];
    rank.reduce_scatter(&vec![0.3 + me as f32; world], &mut mine)
        .unwrap();
    [sums, roots, whole, mine]
        .concat()
        .iter()
        .map(|v| v.to_bits())
        .collect()
}

#[test]
fn sums_over_sockets_are_those_over_threads_to_the_bit() {
    for algorithm in [Algorithm::Ring, Algorithm::Tree, Algorithm::Naive] {
        for world in [2, 3, 5] {
            let here = on_each(threads::group(world, algorithm, LONG), |rank| {
                (all_collectives(&rank), rank.traffic())
            });
            let there = on_each(group(world, algorithm, LONG), |(rank, _)| {
                (all_collectives(&rank), rank.traffic())
            });
            assert!(here == there, "{algorithm:?} of {world}");
        }
    }
}

#[test]
fn two_that_send_far_more_than_the_network_holds_do_not_wait_for_each_other() {
    let got = on_each(group(2, Algorithm::Ring, LONG), |(rank, _)| {
        let (me, n) = (Collective::rank(&rank), 4 << 20);
        for i in 0..3 {
            Collective::send(&rank, 1 - me, &vec![(me + i) as f32; n]).unwrap();
        }
        let mut last = vec![0.0; n];
        for i in 0..3 {
            Collective::receive(&rank, 1 - me, &mut last).unwrap();
            assert_eq!(last[n - 1], (1 - me + i) as f32);
        }
        me
    });
    assert_eq!(got, [0, 1]);
}

#[test]
fn a_rank_that_ends_is_told_with_what_it_did_last() {
    let said = on_each(group(3, Algorithm::Ring, LONG), |(rank, _)| {
        rank.doing(&format!("step {}", Collective::rank(&rank) + 7));
        match Collective::rank(&rank) {
            1 => Ok(()),
            _ => rank.all_reduce(&mut [1.0; 8]),
        }
    });
    let said: Vec<String> = said
        .into_iter()
        .filter_map(Result::err)
        .map(|e| e.to_string())
        .collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said.iter()
            .any(|e| e.contains("rank 1, which ended, after: step 8")),
        "{said:?}"
    );
}

#[test]
fn a_rank_that_stalls_is_told_at_the_deadline_and_one_that_gives_signs_is_waited_for() {
    let said = on_each(
        group(2, Algorithm::Tree, Duration::from_millis(300)),
        |(rank, _)| {
            if Collective::rank(&rank) == 0 {
                return [rank.barrier(), rank.barrier()];
            }
            for batch in 0..6 {
                rank.doing(&format!("loading batch {batch}"));
                thread::sleep(Duration::from_millis(100));
            }
            let first = rank.barrier();
            rank.doing("asleep");
            thread::sleep(Duration::from_millis(900));
            [first, Ok(())]
        },
    );
    let [first, second] = &said[0];
    assert!(first.is_ok(), "{first:?}");
    let lost = second.as_ref().unwrap_err().downcast_ref::<Lost>().unwrap();
    assert_eq!((lost.rank, lost.doing.as_str()), (1, "asleep"));
    assert!(lost.silent.is_some());
}

#[derive(Default)]
struct Heard(Mutex<Vec<(usize, Option<String>)>>);

impl Witness for Heard {
    fn says(&self, _: usize, _: &str) {}

    fn ended(&self, rank: usize, words: Option<&str>) {
        self.0.lock().unwrap().push((rank, words.map(str::to_owned)));
    }
}

#[test]
fn last_words_come_before_the_end() {
    let (all, _) = meet(2, |_| {});
    let heard = Arc::new(Heard::default());
    let mut ends: Vec<(Rank, Farewell)> = all
        .into_iter()
        .map(|mesh| {
            let ring = Algorithm::Ring.function();
            mesh.unwrap().rank(0, &ring, LONG, Some(heard.clone())).unwrap()
        })
        .collect();
    let (rank, farewell) = ends.pop().unwrap();
    farewell.say("out of luck", LONG);
    // It may still be held; what it sends goes nowhere.
    let error = Collective::receive(&ends[0].0, 1, &mut [0.0]).unwrap_err();
    assert!(error.to_string().contains("rank 1"), "{error}");
    drop(rank);
    let end = Instant::now() + LONG;
    while heard.0.lock().unwrap().is_empty() && Instant::now() < end {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(*heard.0.lock().unwrap(), [(1, Some("out of luck".to_owned()))]);
}

#[test]
fn ranks_that_do_not_agree_are_told_which_one_and_in_what() {
    let (all, _) = meet(3, |pass| {
        if pass.rank == 2 {
            pass.agreed[0].1 = "16".into();
        }
    });
    for result in all {
        let said = format!("{:#}", result.unwrap_err());
        assert!(
            said.contains("rank 2 does not do what rank 0 does: batch is 8 on rank 0, 16 on rank 2"),
            "{said}"
        );
    }
}

#[test]
fn a_stranger_and_a_rank_of_another_job_are_turned_away_and_the_job_goes_on() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut away = Vec::new();
    thread::scope(|scope| {
        let address = &address;
        let others = scope.spawn(move || {
            let mut stranger = TcpStream::connect(address).unwrap();
            stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            let _ = stranger.read_to_end(&mut Vec::new());
            let foreign = Pass {
                token: "another job".into(),
                ..pass(1, 2)
            };
            let more = pass(1, 4);
            let refused = [foreign, more].map(|pass| format!("{:#}", join(address, &pass).unwrap_err()));
            (refused, join(address, &pass(1, 2)))
        });
        let mut watch = Watch {
            going: &mut || Ok(()),
            turned_away: &mut |who| away.push(who.to_owned()),
        };
        host(&listener, &pass(0, 2), &mut watch).unwrap();
        let (refused, own) = others.join().unwrap();
        assert!(refused[0].contains("rank 1 is of another job"), "{refused:?}");
        assert!(
            refused[1].contains("rank 1 was told of 4 ranks, rank 0 of 2"),
            "{refused:?}"
        );
        own.unwrap();
    });
    assert_eq!(away.len(), 3, "{away:?}");
    assert!(away[0].contains("it is no rank of canopy"), "{away:?}");
}

#[test]
fn a_rank_that_does_not_come_is_named_and_so_is_a_rank_0_that_is_not_there() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let short = |rank| Pass {
        patience: Duration::from_millis(300),
        ..pass(rank, 3)
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| join(&address, &short(2)));
        let mut watch = Watch {
            going: &mut || Ok(()),
            turned_away: &mut |_| {},
        };
        let said = host(&listener, &short(0), &mut watch).unwrap_err().to_string();
        assert!(said.starts_with("rank 1 did not come within"), "{said}");
        let said = format!("{:#}", other.join().unwrap().unwrap_err());
        assert!(said.contains("rank 1 did not come"), "{said}");
    });
    drop(listener);
    let said = format!("{:#}", join(&address, &short(1)).unwrap_err());
    assert!(said.contains(&format!("rank 0 is not at {address}")), "{said}");
}
