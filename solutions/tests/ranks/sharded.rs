//! ZeRO: runs whose ranks share the optimizer, against data parallelism.

use std::{path::Path, sync::atomic::AtomicBool};

use canopy::{
    precision::Precision,
    shard::{Stage, numbers_sent},
    train::{Checkpoint, Config, Outcome, checkpoint},
};

use crate::shapes::*;

/// Runs `config` without ZeRO, and with stage 1, stage 2, and stage 2 after the backward pass instead of during it. The losses of each stage differ by less than `most`.
fn compare(config: &Config, most: f64) {
    let plain = run(config.clone(), Shapes::default(), functions()).unwrap();
    for (zero, overlap) in [(1, true), (2, true), (2, false)] {
        let config = Config {
            zero,
            overlap,
            ..config.clone()
        };
        let sharded = run(config, Shapes::default(), functions()).unwrap();
        assert_eq!(plain.progress.step, sharded.progress.step);
        assert_eq!(plain.progress.left_out, sharded.progress.left_out);
        let off = losses_off(&plain, &sharded);
        println!("stage {zero}: {off}");
        assert!(off < most, "stage {zero}: {off}: {:?}", plain.config);
    }
}

#[test]
fn every_stage_has_the_losses_of_data_parallelism() {
    for (optimizer, learning_rate, eps) in [("adamw", 1e-4, "1e-3"), ("sgd", 3e-4, "auto")] {
        // The sum of two numbers does not depend on their order, so that two ranks' losses are equal for 200 steps. With four,
        // rounding sends some maximum to another point sooner or later, and from there runs drift apart: by 0.02 in 200 steps,
        // by 1e-5 in 50. With its default eps Adam also normalises gradients that are rounding errors (`equal.rs`).
        for (ranks, epochs, most) in [(2, 40, f64::MIN_POSITIVE), (4, 10, 1e-2)] {
            let config = Config {
                optimizer: optimizer.into(),
                eps: eps.parse().unwrap(),
                learning_rate,
                epochs,
                width: 32,
                ..config(ranks)
            };
            compare(&config, most);
        }
    }
}

#[test]
fn low_precision_loss_scaling_accumulation_and_clipping_work_with_every_stage() {
    for (precision, loss_scale, master_weights) in [
        (Precision::Bf16, "off", true),
        (Precision::Fp16, "1024", false),
        // Steps overflow and are skipped until the scale is low enough.
        (Precision::Fp16, "dynamic", true),
    ] {
        for sync_bn in [true, false] {
            let config = Config {
                precision,
                loss_scale: loss_scale.parse().unwrap(),
                master_weights,
                sync_bn,
                accumulate: 2,
                batch: 10,
                clip: 0.5,
                epochs: 12,
                learning_rate: 1e-4,
                ..config(2)
            };
            compare(&config, 1e-3);
        }
    }
}

#[test]
fn a_rank_sends_and_keeps_what_is_predicted() {
    // Stage 1 averages by a whole all-reduce, of which each rank needs a part.
    for (zero, stage, times) in [
        (0, Stage::Zero0, 1.0),
        (1, Stage::Zero1, 1.5),
        (2, Stage::Zero2, 1.0),
    ] {
        for (ranks, precision) in [(2, Precision::Fp32), (4, Precision::Fp32), (4, Precision::Bf16)] {
            let config = Config {
                zero,
                width: 4,
                epochs: 1,
                precision,
                master_weights: precision == Precision::Bf16,
                ..config(ranks)
            };
            let trainer = run(config, Shapes::default(), functions()).unwrap();
            let (stats, parameters) = (trainer.rank_stats, trainer.model.param_count() as u64);
            let sent = (stats.gradients.bytes + stats.parameters.bytes) / stats.steps;
            let all = times * 4.0 * numbers_sent(parameters, stage, ranks as u64) as f64;
            assert_eq!(stats.parameters.bytes > 0, zero > 0);
            assert!(
                stats.waited <= stats.communicating + 0.5 * stats.seconds,
                "{stats:?}"
            );
            let memory = stats.memory.unwrap();
            println!("{}", memory.line());
            assert!(
                memory.copies * ranks as u64 <= 4 * (parameters + ranks as u64),
                "{memory:?}"
            );
            let [weights, gradients, optimizer] = memory.counted;
            let counted = [sent, weights - memory.copies, gradients, optimizer].map(|bytes| bytes as f64);
            let [weights, gradients, optimizer] = memory.predicted.map(|bytes| bytes as f64);
            for (counted, predicted) in counted.into_iter().zip([all, weights, gradients, optimizer]) {
                // Chunks differ in length by a number.
                let off = (counted / predicted - 1.0).abs();
                assert!(off < 0.01, "{stage}, {ranks} ranks: {counted} of {predicted}");
            }
        }
    }
}

/// Stops a run after its first step, and returns what it saved.
fn stopped(dir: &Path, config: Config) -> Checkpoint {
    let mut stopped = trainer(dir, config, Shapes::default(), functions());
    assert_eq!(stopped.run(&AtomicBool::new(true)).unwrap(), Outcome::Stopped);
    checkpoint::load(&stopped.folder.last()).unwrap()
}

/// A run is stopped in the middle of an epoch with one stage and number of ranks, and resumed with others.
#[test]
fn a_checkpoint_is_that_of_one_rank_and_loads_with_another_stage_and_number_of_ranks() {
    for (precision, master_weights) in [(Precision::Fp32, false), (Precision::Bf16, true)] {
        let config = |ranks, zero| Config {
            precision,
            master_weights,
            zero,
            epochs: 3,
            learning_rate: 1e-4,
            ..config(ranks)
        };
        let whole = run(config(2, 2), Shapes::default(), functions()).unwrap();
        for (ranks, zero) in [(1, 0), (2, 1), (4, 2), (2, 2)] {
            let dir = tempfile::tempdir().unwrap();
            let checkpoint = stopped(dir.path(), config(2, 2));
            // As one rank saves it.
            let of_one = stopped(dir.path(), config(1, 0));
            assert_eq!(checkpoint.optimizer.len(), of_one.optimizer.len());
            for (name, one) in &of_one.optimizer {
                let all = &checkpoint.optimizer[name];
                assert_eq!((one.dims(), one.dtype()), (all.dims(), all.dtype()), "{name}");
            }
            let path = dir.path().join("run-2");
            let again = resumed(&path, |config| (config.ranks, config.zero) = (ranks, zero)).unwrap();
            let found = losses_off(&whole, &again);
            println!("{precision}, {ranks} ranks, stage {zero}: {found}");
            assert!(found < 1e-2, "{ranks} ranks, stage {zero}: {found}");
            if ranks == 2 {
                assert!(numbers(&whole, true) == numbers(&again, true), "the bits differ");
            }
        }
    }
}
