//! Ranks that are threads, and processes of this test, meet in a folder.

use std::{env, process::Command};

use super::*;

const ID: Id = Id([7; 128]);

fn rendezvous(folder: &Path, rank: usize, milliseconds: u64) -> Rendezvous {
    Rendezvous {
        folder: folder.to_owned(),
        job: "job-1".into(),
        rank,
        world_size: 2,
        deadline: Duration::from_millis(milliseconds),
    }
}

/// Rank 0 and rank 1 meet; rank r comes `late[r]` ms late with the GPU `cards[r]`.
fn meet(folder: &Path, cards: [Option<&str>; 2], late: [u64; 2]) -> Vec<Result<Option<Id>>> {
    thread::scope(|scope| {
        let rank = |rank: usize| {
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(late[rank]));
                rendezvous(folder, rank, 20_000).meet(cards[rank], || Ok(ID))
            })
        };
        [0, 1].map(rank).map(|t| t.join().unwrap()).into()
    })
}

fn met(results: Vec<Result<Option<Id>>>) -> bool {
    results.into_iter().all(|r| r.unwrap() == Some(ID))
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

fn error(result: Result<Option<Id>>) -> String {
    format!("{:#}", result.unwrap_err())
}

#[test]
fn a_late_rank_and_a_late_folder_are_waited_for() {
    for late in [[0, 0], [150, 0], [0, 150]] {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(50));
                fs::create_dir(&run).unwrap();
            });
            assert!(met(meet(&run, [Some("a"), Some("b")], late)));
        });
        assert!(is_empty(&run), "notes are left");
    }
}

#[test]
fn notes_of_an_earlier_start_are_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    for rank in [0, 1] {
        let old = Arrival {
            job: "job-1".into(),
            world_size: 2,
            number: 3,
            card: Some(["a", "b"][rank].into()),
        };
        write(&rendezvous(folder.path(), rank, 0).arrival(rank), &old).unwrap();
    }
    let old = Answer {
        job: "job-1".into(),
        world_size: 2,
        numbers: vec![3, 3],
        id: Some(vec![1; 128]),
        refused: None,
    };
    write(&rendezvous(folder.path(), 0, 0).answer(), &old).unwrap();
    // Alone, rank 1 does not take the old answer.
    let alone = error(rendezvous(folder.path(), 1, 200).meet(Some("b"), || Ok(ID)));
    assert!(alone.contains("is of an earlier start"), "{alone}");
    // Rank 0 takes the old note of rank 1 first, and answers again when the new one comes.
    let note = rendezvous(folder.path(), 1, 0).arrival(1);
    let again = Arrival {
        job: "job-1".into(),
        world_size: 2,
        number: 3,
        card: Some("b".into()),
    };
    write(&note, &again).unwrap();
    assert!(met(meet(folder.path(), [Some("a"), Some("b")], [0, 300])));
    assert!(is_empty(folder.path()));
}

#[test]
fn a_truncated_note_is_waited_for_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = rendezvous(folder.path(), 0, 0).answer();
    fs::write(&path, r#"{"job": "job-1", "world_"#).unwrap();
    let text = error(rendezvous(folder.path(), 1, 100).meet(None, || Ok(ID)));
    let parts = ["truncated", "nccl-job-1-id", "rank 1 of 2", "0.1 s"];
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    // Complete notes of the other ranks replace it.
    fs::write(rendezvous(folder.path(), 0, 0).arrival(1), "{").unwrap();
    assert!(met(meet(folder.path(), [Some("a"), Some("b")], [0, 100])));
}

#[test]
fn a_rank_that_does_not_come_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = error(rendezvous(folder.path(), 0, 100).meet(Some("a"), || Ok(ID)));
    assert!(
        text.contains("rank 1 has not come") && text.contains("job job-1"),
        "{text}"
    );
    let text = error(rendezvous(folder.path(), 1, 100).meet(Some("a"), || Ok(ID)));
    assert!(text.contains("rank 0 has not answered"), "{text}");
    let other = Rendezvous {
        world_size: 3,
        ..rendezvous(folder.path(), 1, 100)
    };
    let _ = other.meet(None, || Ok(ID));
    assert!(is_empty(folder.path()), "notes are left");
    let old = Arrival {
        job: "job-1".into(),
        world_size: 3,
        number: 1,
        card: None,
    };
    write(&other.arrival(1), &old).unwrap();
    let text = error(rendezvous(folder.path(), 0, 100).meet(None, || Ok(ID)));
    assert!(
        text.contains("job job-1 with 3 ranks, expected job job-1 with 2"),
        "{text}"
    );
}

#[test]
fn two_jobs_meet_in_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    let ends = thread::scope(|scope| {
        let rank = |i: usize| {
            let own = Rendezvous {
                job: format!("job-{}", i / 2),
                ..rendezvous(folder.path(), i % 2, 20_000)
            };
            let id = Id([i as u8; 128]);
            scope.spawn(move || own.meet(Some(["a", "b"][i % 2]), || Ok(id)).unwrap())
        };
        [0, 1, 2, 3].map(rank).map(|t| t.join().unwrap())
    });
    assert_eq!(ends.map(|id| id.unwrap().0[0]), [0, 0, 2, 2]);
}

#[test]
fn what_rank_0_refuses_is_the_error_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    for (cards, why) in [
        ([Some("a"), Some("a")], "ranks 0 and 1 use the same GPU"),
        ([Some("a"), None], "rank 1 has no GPU"),
    ] {
        for end in meet(folder.path(), cards, [0, 0]) {
            let text = error(end);
            assert!(text.contains(why), "{text}");
        }
        assert!(is_empty(folder.path()));
    }
    assert!(
        meet(folder.path(), [None, None], [0, 0])
            .into_iter()
            .all(|r| r.unwrap().is_none())
    );
    let ends = thread::scope(|scope| {
        let rank = |rank: usize| {
            let own = rendezvous(folder.path(), rank, 20_000);
            scope.spawn(move || own.meet(Some(["a", "b"][rank]), || bail!("no id")))
        };
        [0, 1].map(rank).map(|t| error(t.join().unwrap()))
    });
    assert!(ends.iter().all(|text| text.contains("rank 0: no id")), "{ends:?}");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none");
    let text = error(rendezvous(&none, 1, 50).meet(None, || Ok(ID)));
    assert!(
        text.contains("there is no folder") && text.contains("none"),
        "{text}"
    );
    // Root may write everywhere, so a folder in the place of the note stands for a folder without permission.
    let taken = rendezvous(folder.path(), 1, 50).arrival(1);
    fs::create_dir_all(taken.join("inside")).unwrap();
    let text = error(rendezvous(folder.path(), 1, 50).meet(None, || Ok(ID)));
    assert!(
        text.contains("cannot be written") && text.contains("--out"),
        "{text}"
    );
}

/// The variables that make a process of this test a rank.
const FOLDER: &str = "CANOPY_TEST_RENDEZVOUS";
const RANK: &str = "CANOPY_TEST_RANK";

#[test]
fn processes_meet_in_a_folder() {
    if let (Ok(folder), Ok(rank)) = (env::var(FOLDER), env::var(RANK)) {
        let (folder, rank) = (Path::new(&folder), rank.parse().unwrap());
        let met = rendezvous(folder, rank, 20_000).meet(Some(["a", "b"][rank]), || Ok(ID));
        fs::write(folder.join(format!("met-{rank}")), met.unwrap().unwrap().0).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_, module) = module_path!().split_once("::").unwrap();
    let start = |rank: &str| {
        let mut test = Command::new(env::current_exe().unwrap());
        test.args(["--exact", &format!("{module}::processes_meet_in_a_folder")]);
        test.env(FOLDER, folder.path()).env(RANK, rank).spawn().unwrap()
    };
    for mut rank in ["0", "1"].map(start) {
        assert!(rank.wait().unwrap().success());
    }
    for rank in ["met-0", "met-1"] {
        assert_eq!(fs::read(folder.path().join(rank)).unwrap(), ID.0);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "notes are left");
}

#[test]
fn a_job_is_named_by_its_launcher() {
    let place = |launcher| Place {
        rank: 0,
        world_size: 2,
        local_rank: 0,
        launcher,
    };
    let of = |launcher, set: &[(&str, &str)]| {
        job_name(&place(launcher), &|name| {
            let found = set.iter().find(|(key, _)| *key == name)?;
            Some(found.1.to_owned())
        })
    };
    let slurm = [
        ("SLURM_JOB_ID", "12"),
        ("SLURM_STEP_ID", "3"),
        ("SLURM_RESTART_COUNT", "1"),
    ];
    assert_eq!(of("Slurm", &slurm).unwrap(), "12-3-1");
    assert_eq!(of("Slurm", &slurm[..2]).unwrap(), "12-3");
    let prte = [("PMIX_NAMESPACE", "prterun-node/1@1")];
    assert_eq!(of("Open MPI", &prte).unwrap(), "prterun-node-1-1");
    let own = [("PMIX_NAMESPACE", "x"), ("CANOPY_JOB", "mine")];
    assert_eq!(of("PMI", &own).unwrap(), "mine");
    let text = of("PMI", &[]).unwrap_err().to_string();
    assert!(
        text.contains("PMIX_NAMESPACE") && text.contains("CANOPY_JOB"),
        "{text}"
    );
}
