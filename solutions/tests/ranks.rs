//! Runs of several ranks against the run of one, and how they end where a rank dies or stalls.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use anyhow::Result;
use canopy::{
    device,
    model::Kind,
    parallel::{BucketSizes, Link, ring_all_reduce},
    train::{Config, Outcome, RunFolder, Trainer, ranks::Pieces},
};
use canopy_data::{Cloud, CloudSource, Dataset, Philox, Scan, TreeRecord, split::Split};

/// Clouds that are told apart by their shape; record `.0` cannot be read, or not for a while.
#[derive(Debug, Default)]
struct Shapes {
    unreadable: Option<usize>,
    slow: Option<usize>,
}

impl CloudSource for Shapes {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        anyhow::ensure!(self.unreadable != Some(index), "it cannot be read");
        if self.slow == Some(index) {
            thread::sleep(Duration::from_secs(4));
        }
        let mut random = Philox::new(index as u64, 3);
        let wide = [1.0, 0.4, 2.5][index % 3];
        let point = |_| {
            let [x, y, z] = [0; 3].map(|_| random.uniform() - 0.5);
            [x * wide, y * wide, z]
        };
        Ok(Cloud::from_points((0..60).map(point).collect()))
    }
}

fn data(source: Shapes) -> Dataset {
    let record = |i: usize| TreeRecord {
        tree: format!("t{i}"),
        species: i % 3,
        plot: "p".into(),
        scan: Scan::Unknown,
        source: format!("cloud {i}"),
    };
    let species = ["a", "b", "c"].map(String::from).to_vec();
    let records = (0..40).map(record).collect();
    Dataset::new("shapes".into(), species, records, String::new(), Arc::new(source))
}

fn config(ranks: usize) -> Config {
    Config {
        ranks,
        model: Kind::Full,
        width: 16,
        points: 32,
        batch: 8,
        epochs: 10,
        workers: 1,
        rank_deadline: 20.0,
        ..Config::default()
    }
}

/// Many buckets, so that their order counts.
fn pieces() -> Pieces {
    Pieces {
        sizes: BucketSizes {
            first: 1 << 10,
            others: 1 << 12,
        },
        rank_0_is_stuck: |_| {},
        ..Pieces::default()
    }
}

fn trainer(dir: &Path, config: Config, source: Shapes, pieces: Pieces) -> Trainer {
    let split = Split {
        train: (0..40).collect(),
        ..Split::default()
    };
    let folder = RunFolder::create(&dir.join(format!("run-{}", config.ranks))).unwrap();
    let device = device::choose("cpu").unwrap();
    let mut trainer = Trainer::new(config, data(source), split, device, folder).unwrap();
    trainer.pieces = pieces;
    trainer
}

fn run(config: Config, source: Shapes, pieces: Pieces) -> Result<Trainer> {
    let dir = tempfile::tempdir().unwrap();
    let mut trainer = trainer(dir.path(), config, source, pieces);
    let outcome = trainer.run(&AtomicBool::new(false))?;
    assert_eq!(outcome, Outcome::Done);
    Ok(trainer)
}

fn numbers(trainer: &Trainer, buffers: bool) -> Vec<f32> {
    let mut vars = trainer.model.params();
    if buffers {
        vars.extend(trainer.model.buffers());
    }
    let flat = |(_, var): (String, candle_core::Var)| var.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    vars.into_iter().flat_map(flat).collect()
}

/// Greatest difference of any parameter between a run of one rank and one of several.
fn apart(one: &Config, several: &Config, pieces: Pieces) -> f32 {
    let one = run(one.clone(), Shapes::default(), Pieces::default()).unwrap();
    let several = run(several.clone(), Shapes::default(), pieces).unwrap();
    assert_eq!(one.progress.step, several.progress.step);
    for (a, b) in one.rows.iter().zip(&several.rows) {
        assert!((a.train_loss - b.train_loss).abs() < 5e-3, "{a:?} and {b:?}");
    }
    let worst = |buffers: bool| {
        let (a, b) = (numbers(&one, buffers), numbers(&several, buffers));
        let off = a.iter().zip(&b).map(|(a, b)| (a - b).abs() / a.abs().max(1.0));
        off.fold(0.0, f32::max)
    };
    assert!(worst(true) < 1e-4, "running statistics: {}", worst(true));
    worst(false)
}

fn sgd(ranks: usize) -> Config {
    Config {
        optimizer: "sgd".into(),
        learning_rate: 0.01,
        ..config(ranks)
    }
}

#[test]
fn fifty_steps_of_several_ranks_are_those_of_one() {
    // 8 clouds on 3 ranks: 3, 3 and 2. Dropout and augmentation are on: both are drawn by the cloud's place.
    for model in [Kind::Full, Kind::Vanilla] {
        for ranks in [2, 3] {
            let of = |ranks| Config { model, ..sgd(ranks) };
            let found = apart(&of(1), &of(ranks), pieces());
            println!("{model}, {ranks} ranks: {found:e}");
            assert!(found < 1e-5, "{model}, {ranks} ranks: {found}");
        }
    }
}

/// Adam divides a gradient by its own size, also where it is nothing but rounding: of a weight behind a channel that is
/// always the same. So parameters that change nothing differ, and losses do not.
#[test]
fn with_adam_the_losses_are_those_of_one() {
    let one = run(config(1), Shapes::default(), Pieces::default()).unwrap();
    let two = run(config(2), Shapes::default(), pieces()).unwrap();
    for (a, b) in one.rows.iter().zip(&two.rows) {
        println!("{} {}", a.train_loss, b.train_loss);
        assert!((a.train_loss - b.train_loss).abs() < 5e-3, "{a:?} and {b:?}");
    }
}

#[test]
fn neither_species_weights_nor_accumulation_nor_the_way_of_sending_changes_the_steps() {
    let all = |ranks| Config {
        class_weights: true,
        accumulate: 2,
        batch: 10,
        ..sgd(ranks)
    };
    let at_once = Pieces {
        overlap: false,
        ..pieces()
    };
    for pieces in [pieces(), at_once] {
        let found = apart(&all(1), &all(4), pieces);
        println!("{found:e}");
        assert!(found < 1e-5, "{found}");
    }
}

#[test]
fn plain_operators_synchronise_batch_norm_too() {
    let plain = |ranks| Config {
        plain: true,
        epochs: 2,
        ..sgd(ranks)
    };
    let found = apart(&plain(1), &plain(2), pieces());
    println!("{found:e}");
    assert!(found < 1e-5, "{found}");
}

#[test]
fn without_synchronised_batch_norm_ranks_agree_with_each_other_but_not_with_one() {
    let alone = |ranks| Config {
        sync_bn: false,
        epochs: 2,
        ..config(ranks)
    };
    let one = run(alone(1), Shapes::default(), Pieces::default()).unwrap();
    let two = run(alone(2), Shapes::default(), pieces()).unwrap();
    let pairs = numbers(&one, false).into_iter().zip(numbers(&two, false));
    let found = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(found > 1e-3, "{found}");
}

#[test]
fn gradients_go_through_the_ring_and_no_further() {
    let trainer = run(config(4), Shapes::default(), pieces()).unwrap();
    let stats = trainer.rank_stats;
    let bytes = trainer.model.param_count() as f64 * 4.0;
    let sent = stats.gradients.bytes as f64 / stats.steps as f64;
    // 2(p − 1)/p of the gradients, but for chunks that do not divide.
    assert!((sent / (1.5 * bytes) - 1.0).abs() < 0.01, "{sent} of {bytes}");
    assert!(
        stats.waited <= stats.communicating + 0.5 * stats.seconds,
        "{stats:?}"
    );
}

fn error(config: Config, source: Shapes, pieces: Pieces) -> String {
    match run(config, source, pieces) {
        Ok(_) => panic!("expected an error"),
        Err(error) => format!("{error:#}"),
    }
}

/// An all-reduce that does `fault` on rank `rank` when it is called for the 20th time there.
fn faulty(rank: usize, fault: fn(&mut [f32])) -> Pieces {
    let calls = AtomicU32::new(0);
    Pieces {
        all_reduce: Arc::new(move |link: &dyn Link, data: &mut [f32]| {
            let here = link.rank() == rank && calls.fetch_add(1, SeqCst) == 20;
            if here {
                fault(data);
            }
            ring_all_reduce(link, data)?;
            if here && data.len() > 3 {
                data[3] += 1e-3;
            }
            Ok(())
        }),
        ..pieces()
    }
}

#[test]
fn a_rank_that_dies_ends_the_run_with_its_number_and_its_work() {
    for rank in [1, 2] {
        let said = error(
            config(3),
            Shapes::default(),
            faulty(rank, |_| panic!("out of luck")),
        );
        assert!(said.contains(&format!("rank {rank} failed, in step ")), "{said}");
        assert!(said.contains("out of luck"), "{said}");
    }
    let said = error(config(3), Shapes::default(), faulty(0, |_| panic!("out of luck")));
    assert!(said.contains("out of luck"), "{said}");
}

#[test]
fn a_rank_that_stalls_ends_the_run_at_the_deadline() {
    let short = Config {
        rank_deadline: 0.5,
        ..config(3)
    };
    // Record 4 is some rank's in the first epoch; whoever loads it says so.
    let slow = Shapes {
        slow: Some(4),
        ..Shapes::default()
    };
    let began = std::time::Instant::now();
    let stuck_in_sum = faulty(2, |_| thread::sleep(Duration::from_secs(4)));
    let said = error(short.clone(), Shapes::default(), stuck_in_sum);
    assert!(
        said.contains("rank 2 ") && said.contains("in step 2, at the sums of gradients"),
        "{said}"
    );
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "it waited for the sleeper"
    );
    let plan = canopy::train::Plan {
        config: &short,
        train: &(0..40).collect::<Vec<_>>(),
    };
    let all = plan.steps(0, 0).concat().concat();
    let place = all.iter().position(|&r| r == 4).unwrap();
    let (batch, rank) = (place / 8, place % 8 % 3);
    if rank > 0 {
        let said = error(short, slow, pieces());
        let expected = format!("in step {batch}, loading");
        assert!(
            said.contains(&format!("rank {rank} gave no sign")) && said.contains(&expected),
            "{said}"
        );
    } else {
        panic!("take another record: this one is rank 0's");
    }
}

#[test]
fn a_stall_of_rank_0_is_told_by_another_rank() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    let short = Config {
        rank_deadline: 0.3,
        ..config(2)
    };
    let pieces = Pieces {
        rank_0_is_stuck: |why| {
            assert!(why.contains("rank 0 gave no sign"), "{why}");
            TOLD.store(true, SeqCst);
        },
        ..pieces()
    };
    let plan = canopy::train::Plan {
        config: &short,
        train: &(0..40).collect::<Vec<_>>(),
    };
    let slow = Shapes {
        slow: Some(plan.steps(0, 0)[2][0][0]),
        ..Shapes::default()
    };
    error(short, slow, pieces);
    assert!(TOLD.load(SeqCst));
}

#[test]
fn a_cloud_that_cannot_be_read_is_named_with_its_rank() {
    let plan = canopy::train::Plan {
        config: &config(3),
        train: &(0..40).collect::<Vec<_>>(),
    };
    // The second cloud of a batch is rank 1's.
    let record = plan.steps(0, 0)[1][0][1];
    let source = Shapes {
        unreadable: Some(record),
        ..Shapes::default()
    };
    let said = error(config(3), source, pieces());
    assert!(said.contains("rank 1 failed, in step 1, loading"), "{said}");
    assert!(
        said.contains(&format!("cloud {record}")) && said.contains("cannot be read"),
        "{said}"
    );
}

#[test]
fn ranks_that_come_apart_are_found_out_at_once() {
    let said = error(config(2), Shapes::default(), faulty(1, |_| {}));
    assert!(
        said.contains("parameters of rank 1 and of rank 0 differ"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let few = Config {
        batch: 3,
        sync_bn: false,
        ..config(2)
    };
    assert!(few.validate().unwrap_err().to_string().contains("at least 4"));
    for wrong in [
        Config {
            ranks: 0,
            ..config(1)
        },
        Config {
            rank_deadline: f64::NAN,
            ..config(2)
        },
        Config {
            batch: 8,
            ..config(9)
        },
    ] {
        assert!(wrong.validate().is_err());
    }
}

#[test]
fn a_run_that_is_stopped_goes_on_with_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let whole = run(config(2), Shapes::default(), pieces()).unwrap();
    // A signal in the middle of the fourth step.
    static STOP: AtomicBool = AtomicBool::new(false);
    let mut stopping = pieces();
    let calls = AtomicU32::new(0);
    let buckets = 7;
    stopping.all_reduce = Arc::new(move |link: &dyn Link, data: &mut [f32]| {
        if link.rank() == 0 && calls.fetch_add(1, SeqCst) == 3 * buckets {
            STOP.store(true, SeqCst);
        }
        ring_all_reduce(link, data)
    });
    let mut broken = trainer(dir.path(), config(2), Shapes::default(), stopping);
    assert_eq!(broken.run(&STOP).unwrap(), Outcome::Stopped);
    assert!(broken.progress.step < whole.progress.step);
    drop(broken);
    let folder = RunFolder::open(&dir.path().join("run-2")).unwrap();
    let checkpoint = canopy::train::checkpoint::load(&folder.last()).unwrap();
    let split = Split {
        train: (0..40).collect(),
        ..Split::default()
    };
    let device = device::choose("cpu").unwrap();
    let mut again = Trainer::resume(checkpoint, data(Shapes::default()), split, device, folder).unwrap();
    again.pieces = pieces();
    assert_eq!(again.run(&AtomicBool::new(false)).unwrap(), Outcome::Done);
    assert!(numbers(&whole, true) == numbers(&again, true), "the bits differ");
    let figures = |t: &Trainer| {
        t.rows
            .iter()
            .map(|r| (r.train_loss, r.train_accuracy))
            .collect::<Vec<_>>()
    };
    assert_eq!(figures(&whole), figures(&again));
}
