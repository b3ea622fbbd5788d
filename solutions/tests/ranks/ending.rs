//! A rank that fails or stalls ends the run with an error that names the rank and its activity.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use canopy::{
    parallel::{Link, ring_all_reduce},
    train::{Config, ranks::RankFunctions, species::Species},
};

use crate::shapes::*;

fn error(config: Config, source: Shapes, functions: RankFunctions) -> String {
    match run(config, source, functions) {
        Ok(_) => panic!("expected an error"),
        Err(error) => format!("{error:#}"),
    }
}

/// An all-reduce that does `fault` on rank `rank` when it is called for the 20th time there.
fn faulty(rank: usize, fault: fn(&mut [f32])) -> RankFunctions {
    let calls = AtomicU32::new(0);
    RankFunctions {
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
        ..functions()
    }
}

#[test]
fn a_panic_on_a_rank_ends_the_run_with_an_error_that_names_it() {
    for rank in [1, 2] {
        let message = error(
            config(3),
            Shapes::default(),
            faulty(rank, |_| panic!("out of luck")),
        );
        assert!(
            message.contains(&format!("rank {rank} failed, in step ")),
            "{message}"
        );
        assert!(message.contains("out of luck"), "{message}");
    }
    let message = error(config(3), Shapes::default(), faulty(0, |_| panic!("out of luck")));
    assert!(message.contains("out of luck"), "{message}");
}

#[test]
fn a_stalled_rank_ends_the_run_at_the_deadline() {
    let short = Config {
        rank_deadline: 0.5,
        ..config(3)
    };
    // The rank that loads record 4 in the first epoch stalls.
    let slow = Shapes {
        slow: Some(4),
        ..Shapes::default()
    };
    let began = std::time::Instant::now();
    let stuck_in_sum = faulty(2, |_| thread::sleep(Duration::from_secs(4)));
    let message = error(short.clone(), Shapes::default(), stuck_in_sum);
    assert!(
        message.contains("rank 2 ") && message.contains("in step 2, at the all-reduce of gradients"),
        "{message}"
    );
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "the run waited for the stalled rank"
    );
    let batches = first_epoch(&short);
    let batch = batches.iter().position(|batch| batch.contains(&4)).unwrap();
    let rank = batches[batch].iter().position(|&record| record == 4).unwrap() % 3;
    assert!(rank > 0, "record 4 belongs to rank 0: use another record");
    let message = error(short, slow, functions());
    assert!(
        message.contains(&format!("rank {rank} gave no sign of life"))
            && message.contains(&format!("in step {batch}, loading")),
        "{message}"
    );
}

#[test]
fn a_stall_of_rank_0_is_reported_by_another_rank() {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    let short = Config {
        rank_deadline: 0.3,
        ..config(2)
    };
    let functions = RankFunctions {
        rank_0_has_stalled: |why| {
            assert!(why.contains("rank 0 gave no sign"), "{why}");
            REPORTED.store(true, SeqCst);
        },
        ..functions()
    };
    let slow = Shapes {
        slow: Some(first_epoch(&short)[2][0]),
        ..Shapes::default()
    };
    error(short, slow, functions);
    assert!(REPORTED.load(SeqCst));
}

#[test]
fn an_unreadable_cloud_is_an_error_that_names_it_and_its_rank() {
    let (record, source) = Shapes::one_unreadable();
    let message = error(config(3), source, functions());
    assert!(message.contains("rank 1 failed, in step 1, loading"), "{message}");
    assert!(
        message.contains(&format!("cloud {record}")) && message.contains("cannot be read"),
        "{message}"
    );
}

#[test]
fn differing_parameters_are_detected_at_the_end_of_the_epoch_or_every_n_steps() {
    // An epoch has five steps, a step has seven buckets; the fault occurs in the third step.
    for (every, step) in [(0, "after 5 steps"), (1, "after 3 steps")] {
        let config = Config {
            compare_ranks_every: every,
            ..config(2)
        };
        let message = error(config, Shapes::default(), faulty(1, |_| {}));
        assert!(
            message.contains(step) && message.contains("parameters of rank 1 and of rank 0 differ"),
            "{message}"
        );
    }
}

#[test]
fn an_error_of_the_callback_ends_an_evaluation() {
    let dir = tempfile::tempdir().unwrap();
    let trainer = trainer(dir.path(), config(1), Shapes::default(), functions());
    let records: Vec<usize> = (0..40).collect();
    let mut batches = 0;
    let (task, part) = (Species(&trainer.data.species), trainer.part("all", &records));
    let ended = trainer.predict(&task, &part, 1, &mut |_| {
        batches += 1;
        anyhow::ensure!(batches < 2, "a rank has died");
        Ok(())
    });
    assert_eq!(ended.unwrap_err().to_string(), "a rank has died");
    assert_eq!(batches, 2, "of 5");
}
