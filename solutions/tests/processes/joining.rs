//! Who may join a job, and what is said to who may not.

use std::process::Output;

use crate::running::*;

fn ends(job: Vec<std::process::Command>) -> Vec<Output> {
    launch(job)
        .into_iter()
        .map(|c| c.wait_with_output().unwrap())
        .collect()
}

#[test]
fn ranks_with_other_settings_or_other_data_are_told_in_what() {
    let dir = tempfile::tempdir().unwrap();
    let other = dir.path().join("other");
    std::fs::create_dir(&other).unwrap();
    crate::program::tiny_forest(&other, 39);
    let one = || train(dir.path(), "run", &["--epochs", "1"]);
    let mut seed = one();
    seed.args(["--seed", "2"]);
    for (wrong, says) in [
        (seed, "seed is 1 on rank 0, 2 on rank 1"),
        (
            train(&other, "run", &["--epochs", "1"]),
            "the digest of the data is ",
        ),
    ] {
        let _ = std::fs::remove_dir_all(dir.path().join("run"));
        let ends = ends(vec![one(), wrong]);
        for (end, who) in ends.iter().zip(["error: ", "rank 1: error: "]) {
            let said = said(end);
            assert_eq!(end.status.code(), Some(1), "{said}");
            assert!(said.contains(who), "{said}");
            assert!(
                said.contains("rank 1 does not do what rank 0 does") && said.contains(says),
                "{said}"
            );
        }
    }
}

#[test]
fn a_rank_of_another_job_is_turned_away_and_the_right_one_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let one = || train(dir.path(), "run", &["--epochs", "1"]);
    let mut foreign = one();
    foreign.env("CANOPY_TOKEN", "another job");
    let mut job = launch(vec![one(), foreign]);
    let refused = job.pop().unwrap().wait_with_output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let words = said(&refused);
    assert!(
        words.contains("rank 1: error: ") && words.contains("rank 1 is of another job"),
        "{words}"
    );
    let port = words
        .split("127.0.0.1:")
        .nth(1)
        .unwrap()
        .split(':')
        .next()
        .unwrap();
    let mut right = one();
    right
        .envs([("RANK", "1"), ("LOCAL_RANK", "1"), ("WORLD_SIZE", "2")])
        .envs([("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", port)]);
    done(right.spawn().unwrap());
    let words = done(job.pop().unwrap());
    assert!(words.contains("note: turned away 127.0.0.1"), "{words}");
}

#[test]
fn numbers_of_ranks_that_contradict_each_other_are_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let three = || train(dir.path(), "run", &["--epochs", "1", "--ranks", "3"]);
    for end in ends(vec![three(), three()]) {
        let said = said(&end);
        assert_eq!(end.status.code(), Some(1), "{said}");
        assert!(
            said.contains("--ranks is 3, and torchrun started 2 processes"),
            "{said}"
        );
    }
    let mut alone = three();
    alone.args(["--rendezvous", "127.0.0.1:1"]);
    let said = crate::program::stderr(&mut alone);
    assert!(said.contains("--rendezvous") && said.contains("alone"), "{said}");
}
