//! Processes do what threads do.

use std::fs;

use crate::running::*;

#[test]
fn processes_take_the_steps_of_threads_to_the_last_bit_whoever_starts_them() {
    let dir = tempfile::tempdir().unwrap();
    let run = |out: &str, more: &[&str]| {
        let more = [&["--epochs", "3", "--ranks", "3"], more].concat();
        done(train(dir.path(), out, &more).spawn().unwrap());
        state(&dir.path().join(out))
    };
    let threads = run("threads", &[]);
    assert!(threads == run("processes", &["--processes"]), "the bits differ");
    // Without --ranks: the launcher has said how many.
    let job = launch(
        (0..3)
            .map(|_| train(dir.path(), "launched", &["--epochs", "3"]))
            .collect(),
    );
    let words: Vec<String> = job.into_iter().map(done).collect();
    assert!(threads == state(&dir.path().join("launched")), "the bits differ");
    assert!(
        words[0].contains("3 ranks") && words[1].is_empty() && words[2].is_empty(),
        "{words:?}"
    );
    // Nobody but rank 0 makes a folder.
    let mut made: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    made.sort();
    assert_eq!(made, ["launched", "processes", "threads", "tiny"]);
}

#[test]
fn tasks_of_slurm_find_each_other_by_the_number_of_their_job() {
    let dir = tempfile::tempdir().unwrap();
    let job = std::process::id().to_string();
    let task = |rank: &str| {
        let mut command = train(dir.path(), "run", &["--epochs", "2"]);
        command.envs([
            ("SLURM_PROCID", rank),
            ("SLURM_LOCALID", rank),
            ("SLURM_NTASKS", "2"),
        ]);
        command.envs([
            ("SLURM_JOB_ID", &job[..]),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_NNODES", "1"),
        ]);
        command.env("SLURM_STEP_TASKS_PER_NODE", "2").spawn().unwrap()
    };
    let both = [task("1"), task("0")].map(done);
    assert!(both[0].is_empty() && both[1].contains("2 ranks"), "{both:?}");
    done(
        train(dir.path(), "threads", &["--epochs", "2", "--ranks", "2"])
            .spawn()
            .unwrap(),
    );
    let [found, threads] = ["run", "threads"].map(|out| state(&dir.path().join(out)));
    assert!(found == threads, "the bits differ");
}

#[test]
fn one_rank_needs_no_other_process() {
    let dir = tempfile::tempdir().unwrap();
    let run = |out: &str, more: &[&str]| {
        let said = done(
            train(dir.path(), out, &[&["--epochs", "1"], more].concat())
                .spawn()
                .unwrap(),
        );
        assert!(!said.contains("ranks"), "{said}");
        state(&dir.path().join(out))
    };
    let alone = run("alone", &[]);
    assert!(alone == run("processes", &["--processes"]));
    // A job of one task, and the script of a job with eight.
    for (out, tasks) in [("task", "1"), ("script", "8")] {
        let mut command = train(dir.path(), out, &["--epochs", "1"]);
        command.envs([
            ("SLURM_JOB_ID", "17"),
            ("SLURM_PROCID", "0"),
            ("SLURM_LOCALID", "0"),
            ("SLURM_NTASKS", tasks),
        ]);
        let said = done(command.spawn().unwrap());
        assert_eq!(
            said.contains("srun did not start this one"),
            tasks == "8",
            "{said}"
        );
        assert!(alone == state(&dir.path().join(out)));
    }
}

#[test]
fn a_signal_to_any_rank_saves_and_the_run_goes_on_with_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let long = ["--epochs", "300", "--ranks", "2"];
    done(train(dir.path(), "whole", &long).spawn().unwrap());
    let run = dir.path().join("stopped");
    let mut command = train(dir.path(), "stopped", &[&long[..], &["--processes"]].concat());
    for (name, to, code) in [("USR1", 0, 75), ("TERM", 1, 130)] {
        let child = command.spawn().unwrap();
        let others = match to {
            0 => ranks_of(&child, &run, 2),
            _ => {
                // The checkpoint is there from the start; both ranks are when the next one is.
                let before = fs::metadata(run.join("last.safetensors"))
                    .unwrap()
                    .modified()
                    .unwrap();
                until("the next checkpoint", || {
                    fs::metadata(run.join("last.safetensors")).is_ok_and(|m| m.modified().unwrap() != before)
                });
                ranks_of(&child, &run, 2)
            }
        };
        signal(if to == 0 { child.id() } else { others[&1] }, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains("everything is saved"), "{}", said(&output));
        assert!(others.values().all(|&pid| !runs(pid)), "a rank is left over");
        command = canopy();
        command
            .args(["--threads", "1", "train", "--processes", "--resume"])
            .arg(&run);
        command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped());
    }
    done(command.spawn().unwrap());
    assert!(state(&run) == state(&dir.path().join("whole")), "the bits differ");
}
