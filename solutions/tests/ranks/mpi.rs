//! Ranks that are processes, started by mpirun, against ranks that are threads.

use std::{env, process::Command, sync::atomic::AtomicBool};

use anyhow::Result;
use canopy::{
    model::Kind,
    parallel::{Collective, Processes, connect, place_from, ring_all_reduce, tree_all_reduce},
    precision::Precision,
    train::{Config, Outcome},
};

use crate::{
    collectives::{collectives, sum, whole},
    shapes::*,
};

/// Runs [`one_rank`] in `ranks` processes.
fn under_mpirun(ranks: usize) {
    let mut mpirun = Command::new("mpirun");
    mpirun.arg("-n").arg(ranks.to_string());
    mpirun.arg(env::current_exe().unwrap());
    mpirun.args(["--exact", "mpi::one_rank", "--ignored", "--nocapture"]);
    mpirun.envs([
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_btl", "self,vader"),
        ("RAYON_NUM_THREADS", "1"),
        // After so many seconds mpirun ends the ranks.
        ("MPIEXEC_TIMEOUT", "600"),
    ]);
    let output = mpirun.output().expect("mpirun starts");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    println!("{text}");
    assert!(output.status.success(), "{}", output.status);
    assert_eq!(text.matches(DONE).count(), ranks, "every rank ran");
}

const DONE: &str = "all compared on this rank";

#[test]
fn two_processes_train_bit_identical_to_two_threads() {
    under_mpirun(2);
}

#[test]
fn four_processes_train_as_four_threads_except_for_rounding() {
    under_mpirun(4);
}

#[test]
#[ignore = "a rank of the tests above, which start it with mpirun"]
fn one_rank() {
    let place = place_from(&|name| env::var(name).ok()).unwrap();
    if place.world_size == 1 {
        return println!("not run, because mpirun did not start it");
    }
    let processes = connect(&place).unwrap();
    let links = processes.links().unwrap();
    assert_eq!((links.rank(), links.world_size()), (place.rank, place.world_size));
    collectives(&*links).unwrap();
    // A call counts as one message.
    let before = links.traffic();
    links.all_reduce(&mut [0.0; 5]).unwrap();
    let sent = links.traffic();
    assert_eq!(
        (sent.messages - before.messages, sent.bytes - before.bytes),
        (1, 20)
    );
    algorithms(&*links).unwrap();
    trainings(&*processes, place.rank, place.world_size);
    processes.finish(None);
    println!("{DONE}");
}

/// The algorithms of lesson 08 over MPI's messages.
fn algorithms(links: &dyn Collective) -> Result<()> {
    for all_reduce in [ring_all_reduce, tree_all_reduce] {
        // The longest messages wait for their receiver, while every rank sends first.
        for length in [1, 5, 1000, 1_000_000] {
            let mut data = whole(links.rank(), length);
            all_reduce(links, &mut data)?;
            assert!(data == sum(links.world_size(), length), "{length} numbers");
        }
    }
    Ok(())
}

/// Trains over processes, and on rank 0 also over threads, and compares.
fn trainings(processes: &dyn Processes, rank: usize, world: usize) {
    type Change<'a> = &'a dyn Fn(&mut Config);
    let low = |config: &mut Config, precision, loss_scale: &str| {
        (config.precision, config.loss_scale) = (precision, loss_scale.parse().unwrap());
        (config.accumulate, config.batch, config.clip) = (2, 20, 0.5);
    };
    let fp16 = |config: &mut Config, zero| {
        low(config, Precision::Fp16, "1024");
        config.zero = zero;
    };
    let runs: [(&str, Change); 8] = [
        ("ZeRO 1, fp16", &|config| fp16(config, 1)),
        ("ZeRO 2, fp16", &|config| fp16(config, 2)),
        ("fp32", &|_| {}),
        ("vanilla, weighted", &|config| {
            (config.model, config.class_weights) = (Kind::Vanilla, true);
        }),
        ("batch norm of each rank", &|config| config.sync_bn = false),
        ("bf16", &|config| low(config, Precision::Bf16, "off")),
        ("fp16", &|config| fp16(config, 0)),
        // Steps overflow and are skipped until the scale is low enough.
        ("fp16, dynamic scale", &|config| {
            low(config, Precision::Fp16, "dynamic");
            config.epochs = 12;
        }),
    ];
    for (name, change) in runs {
        let mut config = Config {
            optimizer: "sgd".into(),
            learning_rate: 0.003,
            epochs: 1,
            seed: 2,
            ..config(world)
        };
        change(&mut config);
        for overlap in [true, false] {
            config.overlap = overlap;
            let dir = tempfile::tempdir().unwrap();
            let mut trained = trainer(dir.path(), config.clone(), Shapes::default(), functions());
            // The running statistics move much farther than the parameters, so only bits are compared in them.
            let numbers = |trainer: &_| numbers(trainer, world == 2);
            let start = numbers(&trained);
            trained.join(processes).unwrap();
            assert_eq!(trained.run(&AtomicBool::new(false)).unwrap(), Outcome::Done);
            if rank > 0 {
                continue;
            }
            let threads = run(config.clone(), Shapes::default(), functions()).unwrap();
            assert_eq!(trained.progress.left_out, threads.progress.left_out);
            let (mpi, threads) = (numbers(&trained), numbers(&threads));
            let (off, moved) = (largest(&mpi, &threads), largest(&mpi, &start));
            println!("{world} ranks, {name}, overlap {overlap}: {off} of {moved}");
            // Two numbers have one sum; the sum of four depends on the order.
            let allowed = if world == 2 { 0.0 } else { 0.01 * moved };
            let skipped = trained.progress.left_out.1 > 0;
            assert!(moved > 0.0 || skipped, "{name}: nothing happened");
            assert!(off <= allowed, "{name}: {off} of {moved}");
        }
    }
}
