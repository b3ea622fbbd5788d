//! A process that is killed or stopped ends the run with its number, and none is left over.

use canopy::train::checkpoint;

use crate::running::*;

/// A run of three that would go on for long.
const LONG: [&str; 5] = ["--epochs", "100000", "--ranks", "3", "--processes"];

#[test]
fn a_rank_that_is_killed_is_named_with_what_it_did_and_the_checkpoint_stands() {
    let dir = tempfile::tempdir().unwrap();
    let child = train(dir.path(), "run", &LONG).spawn().unwrap();
    let run = dir.path().join("run");
    let others = ranks_of(&child, &run, 3);
    signal(others[&2], "KILL");
    let output = child.wait_with_output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: rank 2 died without a word"), "{said}");
    assert!(
        said.contains("it was last seen") && said.contains("in step "),
        "{said}"
    );
    assert!(said.contains("rank 2 ended by signal: 9"), "{said}");
    assert_eq!(said.matches("error:").count(), 1, "{said}");
    assert!(others.values().all(|&pid| !runs(pid)), "a rank is left over");
    checkpoint::load(&run.join("last.safetensors")).unwrap();
}

#[test]
fn when_rank_0_is_killed_the_others_tell_and_end() {
    let dir = tempfile::tempdir().unwrap();
    let child = train(dir.path(), "run", &LONG).spawn().unwrap();
    let others = ranks_of(&child, &dir.path().join("run"), 3);
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
    let more = [&LONG[..], &["--rank-deadline", "3"]].concat();
    let child = train(dir.path(), "run", &more).spawn().unwrap();
    let others = ranks_of(&child, &dir.path().join("run"), 3);
    signal(others[&1], "STOP");
    let output = child.wait_with_output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: rank 1 gave no sign for "), "{said}");
    assert!(
        said.contains("it was last seen") && said.contains("in step "),
        "{said}"
    );
    assert!(others.values().all(|&pid| !runs(pid)), "a rank is left over");
}

#[test]
fn a_run_that_is_stopped_as_a_whole_for_longer_than_the_deadline_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let more = [&LONG[..], &["--rank-deadline", "2"]].concat();
    let child = train(dir.path(), "run", &more).spawn().unwrap();
    let last = dir.path().join("run/last.safetensors");
    let others = ranks_of(&child, &dir.path().join("run"), 3);
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
