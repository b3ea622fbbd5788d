use anyhow::Result;
use canopy::parallel::Place;
use grader::{Verdict, draw, given};

use super::{ok, refused};
use crate::Lesson08;
use kit::said;

/// Launcher, and its variables for rank, world size and local rank.
const LAUNCHERS: [(&str, [&str; 3]); 3] = [
    ("Slurm", ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"]),
    (
        "Open MPI",
        [
            "OMPI_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_LOCAL_RANK",
        ],
    ),
    ("torchrun", ["RANK", "WORLD_SIZE", "LOCAL_RANK"]),
];

type Set = Vec<(&'static str, String)>;

/// The variables of a launcher.
fn set(launcher: usize, rank: usize, world: usize, local: usize) -> Set {
    let names = LAUNCHERS[launcher].1;
    names
        .into_iter()
        .zip([rank, world, local].map(|n| n.to_string()))
        .collect()
}

fn found(answer: &Lesson08, set: &Set) -> Result<Place> {
    (answer.place_from)(&|name| {
        let own = set.iter().find(|(n, _)| *n == name);
        own.map(|(_, text)| text.clone())
    })
}

fn shown(set: &Set) -> String {
    let all: Vec<String> = set.iter().map(|(n, v)| format!("{n}={v:?}")).collect();
    if all.is_empty() {
        "no variable set".into()
    } else {
        all.join(" ")
    }
}

/// Tests that the variables `set` give this place.
fn check(answer: &Lesson08, set: &Set, numbers: [usize; 3], launcher: &str) -> Verdict {
    let input = shown(set);
    let case = given(&input);
    let place = ok(&input, "place", found(answer, set))?;
    let got = vec![place.rank, place.world_size, place.local_rank];
    case.close("rank, world_size, local_rank", &got, &numbers.to_vec())?;
    if place.launcher != launcher {
        let said = format!("{:?}, expected {launcher:?}", place.launcher);
        refused(&input, "launcher", &said)?;
    }
    Ok(())
}

/// Tests that the variables `set` are rejected, with an error that contains `name`.
fn rejected(answer: &Lesson08, set: &Set, name: Option<&str>) -> Verdict {
    let input = shown(set);
    let case = given(&input);
    match (found(answer, set), name) {
        (Ok(place), _) => {
            let (rank, world) = (place.rank, place.world_size);
            case.require(
                "result",
                false,
                format!("Ok: rank {rank} of {world}, launcher {}", place.launcher),
            )
        }
        (Err(error), Some(name)) if !names(&said(&error), name) => {
            let said = format!("{:?}, without {name}", said(&error));
            refused(&input, "the error names the variable", &said)
        }
        _ => Ok(()),
    }
}

/// Whether the text has this variable: LOCAL_RANK is not RANK.
fn names(text: &str, variable: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| word == variable)
}

/// Open MPI comes first, because Slurm alone has further variables that an answer may look at.
const IN_TURN: [usize; 3] = [1, 2, 0];

pub fn reads_each_launcher(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    for i in IN_TURN {
        let launcher = LAUNCHERS[i].0;
        // 5 is not the rest of 6 by any number of GPUs.
        check(answer, &set(i, 6, 8, 5), [6, 8, 5], launcher)?;
        let (world, local) = (draw.whole(9, 999), draw.whole(0, 2));
        let rank = draw.whole(3, 8);
        check(
            answer,
            &set(i, rank, world, local),
            [rank, world, local],
            launcher,
        )?;
        check(answer, &set(i, 0, 1, 0), [0, 1, 0], launcher)?;
    }
    Ok(())
}

pub fn ignores_white_space(answer: &Lesson08) -> Verdict {
    for launcher in IN_TURN {
        for (at, text) in [(1, " 8"), (0, "5\n"), (2, "\t1 ")] {
            let mut blank = set(launcher, 5, 8, 1);
            blank[at].1 = text.into();
            check(answer, &blank, [5, 8, 1], LAUNCHERS[launcher].0)?;
        }
    }
    Ok(())
}

pub fn prefers_the_inner_launcher(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    let rank = draw.whole(2, 7);
    // In a batch script of one task, mpirun or torchrun starts eight.
    for inner in [1, 2] {
        let both = [set(0, 0, 1, 0), set(inner, rank, 8, 1)].concat();
        check(answer, &both, [rank, 8, 1], LAUNCHERS[inner].0)?;
    }
    let all = [set(0, 0, 1, 0), set(1, 0, 2, 0), set(2, rank, 8, 0)].concat();
    check(answer, &all, [rank, 8, 0], "torchrun")?;
    // The size and local rank of a launcher without a rank do not count.
    for (outer, inner) in [(0, 1), (0, 2), (1, 2)] {
        let both = [set(outer, rank, 8, 1), set(inner, 0, 2, 0)[1..].to_vec()].concat();
        check(answer, &both, [rank, 8, 1], LAUNCHERS[outer].0)?;
    }
    Ok(())
}

pub fn is_a_single_rank_without_launcher(answer: &Lesson08) -> Verdict {
    check(answer, &Vec::new(), [0, 1, 0], "alone")?;
    // The variables of a job do not come from a launcher.
    let tasks = draw().whole(2, 9).to_string();
    check(
        answer,
        &vec![
            ("SLURM_NTASKS", tasks.clone()),
            ("SLURM_LOCALID", "0".into()),
            ("WORLD_SIZE", tasks),
            ("PATH", "/usr/bin".into()),
        ],
        [0, 1, 0],
        "alone",
    )
}

pub fn reports_the_missing_variable(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    for launcher in 0..3 {
        for gone in [1, 2] {
            for rank in [0, draw.whole(1, 3)] {
                let mut some = set(launcher, rank, 4, 0);
                let (name, _) = some.remove(gone);
                rejected(answer, &some, Some(name))?;
            }
        }
    }
    // Another launcher is complete, but an inner one counts.
    for (inner, outer) in [(1, 0), (2, 0), (2, 1)] {
        let mut both = [set(inner, 1, 4, 1), set(outer, 0, 1, 0)].concat();
        let (name, _) = both.remove(1);
        rejected(answer, &both, Some(name))?;
    }
    Ok(())
}

pub fn rejects_a_value_that_is_not_a_number(answer: &Lesson08) -> Verdict {
    for launcher in IN_TURN {
        for at in 0..3 {
            for text in ["first", "", "  ", "-1", "2.5", "1.0", "4(x2)", "1 0", "0x1"] {
                let mut odd = set(launcher, 1, 4, 1);
                odd[at].1 = text.into();
                rejected(answer, &odd, Some(odd[at].0))?;
            }
        }
    }
    // Another launcher is complete, but the rank of an inner one is set.
    for (inner, outer) in [(1, 0), (2, 0), (2, 1)] {
        for text in ["", "x"] {
            let mut both = [set(inner, 1, 4, 1), set(outer, 0, 1, 0)].concat();
            both[0].1 = text.into();
            rejected(answer, &both, Some(both[0].0))?;
        }
    }
    Ok(())
}

pub fn rejects_a_rank_beyond_world_size(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    for launcher in 0..3 {
        let world = draw.whole(2, 8);
        for rank in [world + draw.whole(1, 5), world] {
            rejected(answer, &set(launcher, rank, world, 0), None)?;
        }
        rejected(answer, &set(launcher, 0, 0, 0), None)?;
        check(
            answer,
            &set(launcher, world - 1, world, 0),
            [world - 1, world, 0],
            LAUNCHERS[launcher].0,
        )?;
    }
    Ok(())
}

fn place(rank: usize, local_rank: usize) -> Place {
    Place {
        rank,
        world_size: 64,
        local_rank,
        launcher: "Slurm",
    }
}

fn sees(rank: usize, local: usize, gpus: usize) -> String {
    format!("rank {rank}, local rank {local}; {gpus} GPUs are seen")
}

fn check_device(answer: &Lesson08, place: &Place, gpus: usize, expected: &str) -> Verdict {
    let input = sees(place.rank, place.local_rank, gpus);
    let case = given(&input);
    let got = ok(&input, "device", (answer.device_for)(place, gpus))?;
    case.require(
        "device",
        got == expected,
        format!("{got:?}, expected {expected:?}"),
    )
}

pub fn chooses_the_gpu_by_local_rank(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    let (local, node) = (draw.whole(1, 3), draw.whole(2, 9));
    let rank = 4 * node + local;
    check_device(answer, &place(rank, local), 4, &format!("cuda:{local}"))?;
    check_device(answer, &place(rank, 0), 4, "cuda:0")?;
    for gpus in 2..=9 {
        for local in 0..gpus {
            let place = place(10 * node + local, local);
            check_device(answer, &place, gpus, &format!("cuda:{local}"))?;
        }
    }
    Ok(())
}

pub fn uses_the_only_gpu_or_the_cpu(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    let (local, node) = (draw.whole(1, 3), draw.whole(1, 9));
    for local in [local, 0] {
        check_device(answer, &place(4 * node + local, local), 0, "cpu")?;
        check_device(answer, &place(4 * node + local, local), 1, "cuda:0")?;
    }
    Ok(())
}

pub fn rejects_more_ranks_than_gpus(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    for gpus in [draw.whole(2, 4), draw.whole(5, 9)] {
        for local in [gpus + draw.whole(1, 3), gpus, 2 * gpus] {
            // A rank that is below the number of GPUs does not help.
            for rank in [1, local] {
                let case = given(sees(rank, local, gpus));
                if let Ok(device) = (answer.device_for)(&place(rank, local), gpus) {
                    case.require("result", false, format!("Ok: {device:?}, expected an error"))?;
                }
            }
        }
    }
    Ok(())
}
