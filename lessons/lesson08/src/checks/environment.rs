use anyhow::Result;
use canopy::parallel::Place;
use grader::{Verdict, draw, given};

use super::ok;
use crate::Lesson08;

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
    let case = given(shown(set));
    let place = ok(&case, "place", found(answer, set))?;
    let got = vec![place.rank, place.world_size, place.local_rank];
    case.close("rank, world_size, local_rank", &got, &numbers.to_vec())?;
    case.require(
        "launcher",
        place.launcher == launcher,
        format!("{:?}, expected {launcher:?}", place.launcher),
    )
}

/// Tests that the variables `set` are rejected with an error that contains `name`.
fn refused(answer: &Lesson08, set: &Set, name: &str) -> Verdict {
    let case = given(shown(set));
    match found(answer, set) {
        Ok(place) => case.require(
            "result",
            false,
            format!("Ok: rank {} of {}", place.rank, place.world_size),
        ),
        Err(error) => {
            let said = format!("{error:#}");
            case.require(
                "the error names the variable",
                said.contains(name),
                format!("{said:?}, without {name}"),
            )
        }
    }
}

pub fn reads_each_launcher(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    for (i, (launcher, _)) in LAUNCHERS.iter().enumerate() {
        let (world, local) = (draw.whole(9, 16), draw.whole(0, 1));
        let rank = draw.whole(3, 8);
        check(
            answer,
            &set(i, rank, world, local),
            [rank, world, local],
            launcher,
        )?;
    }
    Ok(())
}

pub fn ignores_white_space(answer: &Lesson08) -> Verdict {
    let mut blank = set(0, 5, 8, 1);
    blank[1].1 = " 8\n".into();
    check(answer, &blank, [5, 8, 1], "Slurm")
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
    check(answer, &all, [rank, 8, 0], "torchrun")
}

pub fn is_a_single_rank_without_launcher(answer: &Lesson08) -> Verdict {
    check(answer, &Vec::new(), [0, 1, 0], "alone")?;
    // The variables of a job do not come from a launcher.
    let tasks = draw().whole(2, 9).to_string();
    check(
        answer,
        &vec![("SLURM_NTASKS", tasks), ("PATH", "/usr/bin".into())],
        [0, 1, 0],
        "alone",
    )
}

pub fn reports_the_missing_variable(answer: &Lesson08) -> Verdict {
    for launcher in 0..3 {
        for gone in [1, 2] {
            let mut some = set(launcher, draw().whole(0, 3), 4, 0);
            let (name, _) = some.remove(gone);
            refused(answer, &some, name)?;
        }
    }
    Ok(())
}

pub fn rejects_a_value_that_is_not_a_number(answer: &Lesson08) -> Verdict {
    for launcher in 0..3 {
        for (at, text) in [(0, "first"), (1, "4(x2)"), (2, ""), (0, "-1"), (1, "2.5")] {
            let mut odd = set(launcher, 1, 4, 1);
            odd[at].1 = text.into();
            refused(answer, &odd, odd[at].0)?;
        }
    }
    Ok(())
}

pub fn rejects_a_rank_beyond_world_size(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    for launcher in 0..3 {
        let world = draw.whole(2, 8);
        for rank in [world + draw.whole(1, 5), world] {
            let set = set(launcher, rank, world, 0);
            refused(answer, &set, set[0].0)?;
        }
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

fn check_device(answer: &Lesson08, place: &Place, gpus: usize, expected: &str) -> Verdict {
    let (rank, local) = (place.rank, place.local_rank);
    let case = given(format!("rank {rank}, local rank {local}; {gpus} GPUs are seen"));
    let got = ok(&case, "device", (answer.device_for)(place, gpus))?;
    case.require(
        "device",
        got == expected,
        format!("{got:?}, expected {expected:?}"),
    )
}

pub fn chooses_the_gpu_by_local_rank(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    let (local, node) = (draw.whole(1, 3), draw.whole(1, 9));
    let rank = 4 * node + local;
    check_device(answer, &place(rank, local), 4, &format!("cuda:{local}"))?;
    check_device(answer, &place(rank, 0), 4, "cuda:0")?;
    check_device(answer, &place(rank, local), 0, "cpu")?;
    check_device(answer, &place(rank, local), 1, "cuda:0")
}

pub fn rejects_more_ranks_than_gpus(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    let gpus = draw.whole(2, 4);
    for local in [gpus, gpus + draw.whole(1, 3)] {
        let place = place(local, local);
        let case = given(format!("rank {local}, local rank {local}; {gpus} GPUs are seen"));
        if let Ok(device) = (answer.device_for)(&place, gpus) {
            case.require("result", false, format!("Ok: {device:?}"))?;
        }
    }
    check_device(
        answer,
        &place(gpus - 1, gpus - 1),
        gpus,
        &format!("cuda:{}", gpus - 1),
    )
}
