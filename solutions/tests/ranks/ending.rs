//! A rank that dies or stalls ends the run, with its number and what it was doing.

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
    train::{Config, ranks::Pieces},
};

use crate::shapes::*;

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
        lengths: &[],
    };
    let all = plan.steps(0, 0).unwrap().concat().concat();
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
        lengths: &[],
    };
    let slow = Shapes {
        slow: Some(plan.steps(0, 0).unwrap()[2][0][0]),
        ..Shapes::default()
    };
    error(short, slow, pieces);
    assert!(TOLD.load(SeqCst));
}

#[test]
fn a_cloud_that_cannot_be_read_is_named_with_its_rank() {
    let (record, source) = Shapes::one_unreadable();
    let said = error(config(3), source, pieces());
    assert!(said.contains("rank 1 failed, in step 1, loading"), "{said}");
    assert!(
        said.contains(&format!("cloud {record}")) && said.contains("cannot be read"),
        "{said}"
    );
}

#[test]
fn ranks_whose_parameters_differ_are_named_at_the_end_of_the_epoch_or_at_once_if_asked() {
    // Five steps an epoch; the fault comes in the third, among seven buckets a step.
    for (every, step) in [(0, "after 5 steps"), (1, "after 3 steps")] {
        let config = Config {
            compare_ranks_every: every,
            ..config(2)
        };
        let said = error(config, Shapes::default(), faulty(1, |_| {}));
        assert!(
            said.contains(step) && said.contains("parameters of rank 1 and of rank 0 differ"),
            "{said}"
        );
    }
}

#[test]
fn an_evaluation_ends_by_an_error_of_who_is_told_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let trainer = trainer(dir.path(), config(1), Shapes::default(), pieces());
    let records: Vec<usize> = (0..40).collect();
    let mut batches = 0;
    let ended = trainer.predict(&records, 1, &mut |_| {
        batches += 1;
        anyhow::ensure!(batches < 2, "a rank has died");
        Ok(())
    });
    assert_eq!(ended.unwrap_err().to_string(), "a rank has died");
    assert_eq!(batches, 2, "of 5");
}
