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
    // Stage 1 sums in one all-reduce, the others otherwise (`an_unreadable_cloud_…` has them).
    for (zero, rank, named) in [
        (0, 0, ""),
        (0, 1, "rank 1 failed, in step "),
        (0, 2, "rank 2 failed, in step "),
        (1, 1, "rank 1 failed, in step "),
    ] {
        let panics = faulty(rank, |_| panic!("out of luck"));
        let config = Config { zero, ..config(3) };
        fails(config, Shapes::default(), panics, &[named, "out of luck"]);
    }
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
    let named = ["rank 2 ", "in step 2, at the all-reduce of gradients"];
    fails(short.clone(), Shapes::default(), stuck_in_sum, &named);
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "the run waited for the stalled rank"
    );
    let batches = first_epoch(&short);
    let batch = batches.iter().position(|batch| batch.contains(&4)).unwrap();
    let rank = batches[batch].iter().position(|&record| record == 4).unwrap() % 3;
    assert!(rank > 0, "record 4 belongs to rank 0: use another record");
    let named = [
        format!("rank {rank} gave no sign of life"),
        format!("in step {batch}, loading"),
    ];
    fails(short, slow, functions(), &named.each_ref().map(String::as_str));
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
    fails(short, slow, functions, &[]);
    assert!(REPORTED.load(SeqCst));
}

#[test]
fn an_unreadable_cloud_is_an_error_that_names_it_and_its_rank() {
    // The second cloud of a batch belongs to rank 1.
    let record = first_epoch(&config(3))[1][1];
    for zero in 0..3 {
        let source = Shapes {
            unreadable: Some(record),
            ..Shapes::default()
        };
        let (config, cloud) = (Config { zero, ..config(3) }, format!("cloud {record}"));
        let named = ["rank 1 failed, in step 1, loading", &cloud, "cannot be read"];
        fails(config, source, functions(), &named);
    }
}

#[test]
fn differing_parameters_are_detected_at_the_end_of_the_epoch_or_every_n_steps() {
    // An epoch has five steps, a step has seven buckets; the fault occurs in the third step.
    for (every, step) in [(0, "after 5 steps"), (1, "after 3 steps")] {
        let config = Config {
            compare_ranks_every: every,
            ..config(2)
        };
        let named = [step, "parameters of rank 1 and of rank 0 differ"];
        fails(config, Shapes::default(), faulty(1, |_| {}), &named);
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
