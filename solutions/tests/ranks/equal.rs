//! A run of several ranks against a run of one.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
};

use canopy::{
    model::Kind,
    parallel::{Link, ring_all_reduce},
    precision::Precision,
    train::{Config, Outcome, Trainer},
};

use crate::shapes::*;

/// The median over three seeds of `apart`, a difference between a run of one rank and one of several with the settings
/// `several`. If two points of a cloud attain a maximum within rounding, the max may select the other one, and the runs differ
/// from there on. This is rare with a small network, but depends on the CPU.
fn median_apart(several: &Config, apart: fn(&Trainer, &Trainer) -> f64) -> f64 {
    let of_seed = |seed| {
        let runs = [1, several.ranks].map(|ranks| {
            let config = Config {
                seed,
                ranks,
                ..several.clone()
            };
            run(config, Shapes::default(), functions()).unwrap()
        });
        let [one, several] = &runs;
        assert_eq!(one.progress.step, several.progress.step);
        apart(one, several)
    };
    let mut found = [1, 2, 3].map(of_seed);
    println!("{found:?}");
    found.sort_by(f64::total_cmp);
    found[1]
}

fn sgd(ranks: usize) -> Config {
    Config {
        optimizer: "sgd".into(),
        learning_rate: 0.003,
        ..config(ranks)
    }
}

/// Settings with class weights and accumulation.
fn weighted(overlap: bool, ranks: usize) -> Config {
    Config {
        class_weights: true,
        accumulate: 2,
        batch: 10,
        overlap,
        ..sgd(ranks)
    }
}

#[test]
fn fifty_steps_of_several_ranks_match_those_of_one() {
    // 8 clouds on 3 ranks: 3, 3 and 2. Dropout and augmentation are on: both depend on the cloud's position in the batch.
    let models = [Kind::Full, Kind::Vanilla].map(|model| [2, 3].map(|ranks| Config { model, ..sgd(ranks) }));
    let plain = Config {
        plain: true,
        epochs: 2,
        ..sgd(2)
    };
    let others = [weighted(true, 4), weighted(false, 4), plain];
    for several in models.into_iter().flatten().chain(others) {
        let found = median_apart(&several, |one, several| {
            assert!(losses_off(one, several) < 0.05);
            parameters_off(one, several).into()
        });
        assert!(found < 1e-5, "{found}: {several:?}");
    }
}

#[test]
fn without_overlap_all_gradients_are_averaged_at_once() {
    for overlap in [true, false] {
        let run = run(weighted(overlap, 2), Shapes::default(), functions()).unwrap();
        let all_at_once = run.rank_stats.waited == run.rank_stats.communicating;
        assert_eq!(all_at_once, !overlap, "{:?}", run.rank_stats);
    }
}

/// Adam normalises a gradient by its magnitude, even if the gradient is only rounding error, as that of a weight after a
/// constant channel. Parameters without effect on the loss differ then, but the losses agree.
#[test]
fn with_adam_the_losses_match_those_of_one() {
    let found = median_apart(&config(2), losses_off);
    assert!(found < 5e-3, "{found}");
}

/// Low precision, loss scaling, accumulation, ranks and overlap combine. Gradients are averaged while they are scaled, and
/// all ranks detect the same overflow and compute the same norm.
#[test]
fn ranks_in_low_precision_with_accumulation_match_one_rank() {
    // One step of 40 clouds, because low-precision rounding alone makes longer runs differ.
    for (precision, loss_scale) in [
        (Precision::Bf16, "off"),
        (Precision::Fp16, "1024"),
        (Precision::Fp16, "dynamic"),
    ] {
        for overlap in [true, false] {
            let all = |ranks| Config {
                precision,
                // One of the seeds with which no maximum is attained twice within rounding.
                seed: 2,
                loss_scale: loss_scale.parse().unwrap(),
                accumulate: 2,
                batch: 20,
                clip: 0.5,
                epochs: 1,
                overlap,
                ..sgd(ranks)
            };
            let one = run(all(1), Shapes::default(), functions()).unwrap();
            let two = run(all(2), Shapes::default(), functions()).unwrap();
            let dir = tempfile::tempdir().unwrap();
            let start = trainer(dir.path(), all(1), Shapes::default(), functions());
            let (found, moved) = (parameters_off(&one, &two), parameters_off(&one, &start));
            println!("{precision} {loss_scale} overlap {overlap}: {found} of {moved}");
            assert_eq!(one.progress.left_out, two.progress.left_out);
            assert!(found <= 0.01 * moved, "{found} of {moved}");
        }
    }
}

/// Master weights: the model's weights have eight significant bits after each step, on one rank and on two.
#[test]
fn master_weights_keep_the_weights_in_bf16_on_one_and_two_ranks() {
    let config = |ranks| Config {
        precision: Precision::Bf16,
        master_weights: true,
        epochs: 2,
        ..sgd(ranks)
    };
    for ranks in [1, 2] {
        let trained = run(config(ranks), Shapes::default(), functions()).unwrap();
        let all = numbers(&trained, false);
        assert!(all.iter().all(|v| v.to_bits() & 0xffff == 0), "{ranks} ranks");
        assert!(trained.rows.last().unwrap().train_loss < trained.rows[0].train_loss);
    }
}

#[test]
fn without_synchronised_batch_norm_ranks_agree_with_each_other_but_not_with_one() {
    let alone = |ranks| Config {
        sync_bn: false,
        epochs: 2,
        ..config(ranks)
    };
    let one = run(alone(1), Shapes::default(), functions()).unwrap();
    let two = run(alone(2), Shapes::default(), functions()).unwrap();
    let found = parameters_off(&one, &two);
    assert!(found > 1e-3, "{found}");
}

#[test]
fn a_run_that_is_stopped_resumes_bit_identically() {
    let dir = tempfile::tempdir().unwrap();
    let whole = run(config(2), Shapes::default(), functions()).unwrap();
    // A signal in the middle of the fourth step.
    static STOP: AtomicBool = AtomicBool::new(false);
    let mut stopping = functions();
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
    let again = resumed(&dir.path().join("run-2"), |_| {}).unwrap();
    assert!(numbers(&whole, true) == numbers(&again, true), "the bits differ");
    let figures = |t: &Trainer| {
        t.rows
            .iter()
            .map(|r| (r.train_loss, r.train_accuracy))
            .collect::<Vec<_>>()
    };
    assert_eq!(figures(&whole), figures(&again));
    // Since the resume the first epoch has seen the 8 clouds of its last step, not all 40.
    let first = &again.rows[0];
    let seen = first.clouds_per_second * first.seconds;
    assert!(
        seen < 20.0,
        "{seen} clouds at {} clouds/s",
        first.clouds_per_second
    );
}
