//! A process that is killed or stopped ends the run with its number, and none is left over.

use std::{collections::BTreeMap, path::Path, process::Child};

use canopy::train::checkpoint;

use crate::running::*;

/// A run of three in `dir`/run that would go on for long, and the processes of ranks 1 and 2.
fn long_run(dir: &Path, more: &[&str]) -> (Child, BTreeMap<usize, u32>) {
    let long = ["--epochs", "100000", "--ranks", "3", "--processes"];
    let child = train(dir, "run", &[&long[..], more].concat()).spawn().unwrap();
    let others = ranks_of(&child, &dir.join("run"), 3);
    (child, others)
}

/// That the run failed, told so by `words` and what the rank was last seen at, and left no process; gives what it said.
fn failed_by(child: Child, others: &BTreeMap<usize, u32>, words: &str) -> String {
    let output = child.wait_with_output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(words), "{said}");
    assert!(
        said.contains("it was last seen") && said.contains("in step "),
        "{said}"
    );
    assert!(others.values().all(|&pid| !runs(pid)), "a rank is left over");
    said
}

#[test]
fn a_rank_that_is_killed_is_named_with_what_it_did_and_the_checkpoint_stands() {
    let dir = tempfile::tempdir().unwrap();
    let (child, others) = long_run(dir.path(), &[]);
    signal(others[&2], "KILL");
    let said = failed_by(child, &others, "error: rank 2 died without a word");
    assert!(said.contains("rank 2 ended by signal: 9"), "{said}");
    assert_eq!(said.matches("error:").count(), 1, "{said}");
    checkpoint::load(&dir.path().join("run/last.safetensors")).unwrap();
}

#[test]
fn when_rank_0_is_killed_the_others_tell_and_end() {
    let dir = tempfile::tempdir().unwrap();
    let (child, others) = long_run(dir.path(), &[]);
    signal(child.id(), "KILL");
    // Ends when the last process that could write there has ended.
    let output = child.wait_with_output().unwrap();
    let said = said(&output);
    for rank in [1, 2] {
        let words = format!("rank {rank}: error: rank 0 died without a word");
        assert!(said.contains(&words), "{said}");
        until("its end", || !runs(others[&rank]));
    }
    checkpoint::load(&dir.path().join("run/last.safetensors")).unwrap();
}

#[test]
fn a_rank_that_is_stopped_is_named_at_the_deadline_and_is_not_left_over() {
    let dir = tempfile::tempdir().unwrap();
    let (child, others) = long_run(dir.path(), &["--rank-deadline", "3"]);
    signal(others[&1], "STOP");
    failed_by(child, &others, "error: rank 1 gave no sign for ");
}

#[test]
fn a_run_that_is_stopped_as_a_whole_for_longer_than_the_deadline_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (child, others) = long_run(dir.path(), &["--rank-deadline", "2"]);
    let last = dir.path().join("run/last.safetensors");
    let all = |name: &str| {
        signal(child.id(), name);
        others.values().for_each(|&pid| signal(pid, name));
    };
    all("STOP");
    std::thread::sleep(std::time::Duration::from_secs(4));
    let before = std::fs::metadata(&last).unwrap().modified().unwrap();
    all("CONT");
    until("a checkpoint after that", || {
        std::fs::metadata(&last).is_ok_and(|m| m.modified().unwrap() > before)
    });
    signal(child.id(), "TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
}
