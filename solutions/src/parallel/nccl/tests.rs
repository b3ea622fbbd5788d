//! The engine over a replacement of NCCL that delays, fails and hangs.

use std::{
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use candle_core::{DType, Device, Tensor};

use super::{
    cards,
    endpoint::Endpoint,
    fake::{Fake, Faults, State, channels, endpoint, endpoints},
    library::Id,
    watch::{Common, Life},
};
use crate::parallel::{
    Algorithm, AllReduce, Bucket, Collective, Link, OnTensors, Operation, TensorReducer, chunk,
    measure::round_trips, ring_all_reduce, threads::group, tree_all_reduce,
};

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(500);

/// Runs `work` on each rank, and returns the results in their order.
fn on_ranks<T: Send>(
    ranks: Vec<(Endpoint<Fake>, Arc<State>)>,
    work: impl Fn(Endpoint<Fake>, &State) -> T + Sync,
) -> Vec<T> {
    thread::scope(|scope| {
        let run = |(links, state): (Endpoint<Fake>, Arc<State>)| {
            let work = &work;
            scope.spawn(move || work(links, &state))
        };
        let threads: Vec<_> = ranks.into_iter().map(run).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

/// Rank `rank`'s numbers; their sums are exact in f32.
fn own(rank: usize, length: usize) -> Vec<f32> {
    (0..length).map(|i| ((i * 7 + rank * 13) % 101) as f32).collect()
}

fn sum(world: usize, length: usize) -> Vec<f32> {
    (0..length)
        .map(|i| (0..world).map(|rank| own(rank, length)[i]).sum())
        .collect()
}

#[test]
fn collectives_give_what_the_trait_says() {
    for world in [1, 2, 4] {
        on_ranks(endpoints(world, LONG, |_| Faults::default()), |links, _| {
            let rank = links.rank();
            for length in [0, 1, 3, 1000] {
                let (mine, expected) = (own(rank, length), sum(world, length));
                let mut data = mine.clone();
                links.all_reduce(&mut data).unwrap();
                assert_eq!(data, expected, "all-reduce");
                let part = chunk(length, rank, world);
                let mut chunk = vec![0.0; part.len()];
                links.reduce_scatter(&mine, &mut chunk).unwrap();
                assert_eq!(chunk, expected[part], "reduce-scatter");
                let mut whole = vec![0.0; length];
                links.all_gather(&chunk, &mut whole).unwrap();
                assert_eq!(whole, expected, "all-gather");
                for root in 0..world {
                    let mut data = mine.clone();
                    links.broadcast(root, &mut data).unwrap();
                    assert_eq!(data, own(root, length), "broadcast");
                }
            }
            links.barrier().unwrap();
            let before = links.traffic();
            links.all_reduce(&mut [0.0; 5]).unwrap();
            let sent = links.traffic() - before;
            assert_eq!((sent.messages, sent.bytes), (1, 20));
            assert!(links.send(rank, &[]).is_err() && links.broadcast(world, &mut []).is_err());
            assert!(links.reduce_scatter(&[0.0; 8], &mut [0.0; 9]).is_err());
        });
    }
}

#[test]
fn messages_that_block_until_they_are_received_do_not_deadlock() {
    for world in [2, 4] {
        on_ranks(endpoints(world, LONG, |_| Faults::default()), |links, _| {
            let rank = links.rank();
            for all_reduce in [ring_all_reduce, tree_all_reduce] {
                let mut data = own(rank, 103);
                all_reduce(&links, &mut data).unwrap();
                assert_eq!(data, sum(world, 103));
            }
            let times = round_trips(&links, &[1, 100], 3).unwrap();
            assert_eq!(times.len(), if rank < 2 { 2 } else { 0 });
            // The last message leaves without a receive after it.
            if rank == 0 {
                links.send(1, &[5.0]).unwrap();
            } else if rank == 1 {
                let mut one = [0.0];
                links.receive(0, &mut one).unwrap();
                assert_eq!(one, [5.0]);
            }
        });
    }
}

#[test]
fn started_operations_run_in_order_and_finish_in_any() {
    let slow = Faults {
        delay: Duration::from_millis(200),
        ..Faults::default()
    };
    on_ranks(endpoints(2, LONG, |_| slow), |links, _| {
        let rank = links.rank();
        let of = |length| Tensor::from_vec(own(rank, length), length, &Device::Cpu).unwrap();
        let began = Instant::now();
        let started: Vec<_> = [3, 5, 8]
            .map(|length| links.start(Operation::AllReduce(&of(length))).unwrap())
            .into();
        assert!(began.elapsed() < slow.delay, "a start waits");
        assert!(!started[2].is_done().unwrap());
        for (sum_of, length) in started.into_iter().zip([3, 5, 8]).rev() {
            assert_eq!(sum_of.finish().unwrap().to_vec1::<f32>().unwrap(), sum(2, length));
        }
        assert!(began.elapsed() >= 3 * slow.delay);
    });
}

#[test]
fn tensors_of_low_precision_keep_their_dtype_and_others_are_refused() {
    on_ranks(endpoints(2, LONG, |_| Faults::default()), |links, _| {
        let ones = Tensor::ones((2, 4), DType::F32, &Device::Cpu).unwrap();
        for dtype in [DType::F32, DType::F64, DType::BF16, DType::F16] {
            let input = ones.to_dtype(dtype).unwrap();
            let started = links.start(Operation::ReduceScatter(&input)).unwrap();
            let output = started.result().unwrap();
            assert_eq!((output.dtype(), output.elem_count()), (dtype, 4));
            let output = output.to_dtype(DType::F32).unwrap();
            assert_eq!(output.to_vec1::<f32>().unwrap(), [2.0; 4]);
        }
        let before = links.traffic();
        for (input, why) in [
            (ones.to_dtype(DType::U32).unwrap(), "U32"),
            (ones.t().unwrap(), "contiguous"),
        ] {
            let error = links
                .start(Operation::AllReduce(&input))
                .err()
                .unwrap()
                .to_string();
            assert!(error.contains(why), "{error}");
        }
        let odd = Tensor::ones(3, DType::F32, &Device::Cpu).unwrap();
        assert!(links.start(Operation::ReduceScatter(&odd)).is_err());
        assert_eq!(links.traffic(), before);
    });
}

#[test]
fn an_error_of_nccl_aborts_and_names_the_rank_and_the_operation() {
    let faults = |rank| Faults {
        fails: (rank == 1).then_some(2),
        ..Faults::default()
    };
    let ends = on_ranks(endpoints(2, Duration::from_secs(1), faults), |links, state| {
        links.doing("in step 7");
        links.all_reduce(&mut [1.0; 3]).unwrap();
        let error = links.all_reduce(&mut [1.0; 4]).unwrap_err().to_string();
        // What comes after it fails at once.
        let began = Instant::now();
        assert!(links.barrier().is_err() && links.start(Operation::AllReduce(&ones(1))).is_err());
        assert!(began.elapsed() < SHORT);
        assert_eq!(state.aborts.load(Ordering::SeqCst), 1);
        // Whose links close is no cause for the others.
        (error, links)
    });
    let parts = [
        "rank 1",
        "an all-reduce of 4 numbers",
        "operation 2",
        "in step 7",
        "network error",
    ];
    assert!(parts.iter().all(|part| ends[1].0.contains(part)), "{}", ends[1].0);
    let parts = ["rank 0 has waited", "an all-reduce of 4 numbers", "operation 2"];
    assert!(parts.iter().all(|part| ends[0].0.contains(part)), "{}", ends[0].0);
}

fn ones(length: usize) -> Tensor {
    Tensor::ones(length, DType::F32, &Device::Cpu).unwrap()
}

#[test]
fn a_rank_that_hangs_ends_the_others_at_the_deadline() {
    let faults = |rank| Faults {
        hangs: (rank == 2).then_some(2),
        ..Faults::default()
    };
    let ends = on_ranks(endpoints(3, SHORT, faults), |links, state| {
        links.barrier().unwrap();
        let began = Instant::now();
        let error = links.broadcast(2, &mut [0.0; 6]).unwrap_err().to_string();
        assert!(
            began.elapsed() >= SHORT && began.elapsed() < 20 * SHORT,
            "{:?}",
            began.elapsed()
        );
        assert_eq!(state.aborts.load(Ordering::SeqCst), 1);
        (error, links)
    });
    for (rank, (error, _)) in ends.iter().enumerate() {
        let parts = [
            &format!("rank {rank} has waited"),
            "a broadcast of 6 numbers from rank 2",
            "starting",
        ];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}

#[test]
fn slow_operations_in_a_row_miss_no_deadline() {
    let slow = Faults {
        delay: SHORT / 5,
        ..Faults::default()
    };
    on_ranks(endpoints(2, SHORT, |_| slow), |links, _| {
        let started: Vec<_> = (0..8)
            .map(|_| links.start(Operation::AllReduce(&ones(1))).unwrap())
            .collect();
        for one in started {
            one.finish().unwrap();
        }
        // Nobody waits for an operation that has ended.
        thread::sleep(2 * SHORT);
        links.barrier().unwrap();
    });
}

#[test]
fn all_reduces_are_measured() {
    let slow = Faults {
        delay: Duration::from_millis(5),
        ..Faults::default()
    };
    on_ranks(endpoints(2, LONG, |_| slow), |links, _| {
        let ring: AllReduce = Arc::new(ring_all_reduce);
        let seconds = links.all_reduce_seconds(&ring, 10, 2).unwrap();
        for measured in [seconds.engine, seconds.direct, seconds.ring, seconds.tree] {
            assert!(measured >= 0.005, "{seconds:?}");
        }
    });
}

struct Known;

impl Life for Known {
    fn works(&self, _: &str) {}

    fn waits(&self, operation: &str, waited: Duration) -> Option<String> {
        (waited >= SHORT).then(|| format!("rank 1 gave no sign of life during {operation}"))
    }
}

#[test]
fn signs_of_life_say_who_is_missing_and_one_failure_ends_all_communicators() {
    let mut ranks = channels(2).into_iter().zip(channels(2));
    let common = Common::new(0, LONG, Some(Box::new(Known)));
    let (first, second) = ranks.next().unwrap();
    let (first, _) = endpoint(first, Faults::default(), common.clone());
    let (second, state) = endpoint(second, Faults::default(), common);
    let stuck = second.start(Operation::AllReduce(&ones(2))).unwrap();
    let error = first.barrier().unwrap_err().to_string();
    assert!(
        error.contains("rank 1 gave no sign of life during an all-reduce"),
        "{error}"
    );
    assert_eq!(stuck.finish().unwrap_err().to_string(), error);
    let began = Instant::now();
    while state.aborts.load(Ordering::SeqCst) == 0 && began.elapsed() < LONG {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(state.aborts.load(Ordering::SeqCst), 1);
}

#[test]
fn gradients_are_averaged_in_buckets_during_the_backward_pass() {
    for overlap in [true, false] {
        on_ranks(endpoints(2, LONG, |_| Faults::default()), |links, _| {
            let rank = links.rank();
            let params: Vec<Tensor> = [vec![2, 3], vec![4], vec![1]]
                .map(|shape| Tensor::zeros(shape, DType::F32, &Device::Cpu).unwrap())
                .into();
            let bucket = |params: &[usize]| Bucket {
                params: params.to_vec(),
                bytes: 0,
                kind: "f32",
            };
            let wrong = endpoints(1, LONG, |_| Faults::default()).remove(0).0;
            assert!(TensorReducer::new(Box::new(wrong), &params, vec![bucket(&[2, 1])], overlap).is_err());
            let buckets = vec![bucket(&[2, 1]), bucket(&[0])];
            let mut reducer = TensorReducer::new(Box::new(links), &params, buckets, overlap).unwrap();
            for _ in 0..2 {
                let gradient =
                    |value: f32, p: usize| (params[p].ones_like().unwrap() * f64::from(value)).unwrap();
                // The order of the gradients differs between the ranks; parameter 2 has none.
                for p in [rank, 1 - rank] {
                    reducer.ready(p, &gradient((rank + 2 * p) as f32, p)).unwrap();
                }
                assert!(reducer.ready(0, &params[0]).is_err());
                let (means, reduced) = reducer.finish().unwrap();
                for (p, expected) in [0.5, 2.5, 0.0].into_iter().enumerate() {
                    assert_eq!(means[p].dims(), params[p].dims());
                    let values = means[p].flatten_all().unwrap().to_vec1::<f32>().unwrap();
                    assert!(values.iter().all(|&v| v == expected), "{p}: {values:?}");
                }
                assert_eq!((reduced.traffic.messages, reduced.traffic.bytes), (2, 44));
            }
        });
    }
}

#[test]
fn each_rank_needs_a_gpu_of_its_own() {
    let cards = |names: &[&str]| -> Vec<Option<String>> {
        names
            .iter()
            .map(|n| (!n.is_empty()).then(|| (*n).to_owned()))
            .collect()
    };
    assert!(cards::agree(&cards(&["a", "b"])).unwrap());
    assert!(!cards::agree(&cards(&["", ""])).unwrap());
    let error = cards::agree(&cards(&["a", "b", "a"])).unwrap_err().to_string();
    assert!(error.contains("ranks 0 and 2 use the same GPU (a)"), "{error}");
    let error = cards::agree(&cards(&["", "b"])).unwrap_err().to_string();
    assert!(error.contains("rank 0 has no GPU, but rank 1 has one"), "{error}");
}

#[test]
fn ranks_with_links_share_the_id_over_them() {
    let id = Id(std::array::from_fn(|i| (i * 2) as u8));
    let meet = |names: [Option<&'static str>; 3]| {
        thread::scope(|scope| {
            let meet = |(link, name): (_, Option<&'static str>)| {
                scope.spawn(move || cards::meet_over(&link, name, || Ok(id)).map_err(|e| e.to_string()))
            };
            let threads: Vec<_> = group(3, Algorithm::Ring, LONG)
                .into_iter()
                .zip(names)
                .map(meet)
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>()
        })
    };
    assert_eq!(meet([Some("a"), Some("b"), Some("c")]), vec![Ok(Some(id)); 3]);
    assert_eq!(meet([None; 3]), vec![Ok(None); 3]);
    for end in meet([Some("a"), Some("b"), Some("a")]) {
        assert!(end.unwrap_err().contains("ranks 0 and 2"));
    }
}
