//! Who am I: rank, world size and device, from the environment that a launcher leaves.

use anyhow::{Context, Result, ensure};

/// A process among others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Among all, from 0.
    pub rank: usize,
    /// How many there are.
    pub world_size: usize,
    /// Among those of its node, from 0: the GPU that it takes.
    pub local_rank: usize,
    /// Who said so: `Slurm`, `Open MPI`, `PMI`, `torchrun`, or `alone`.
    pub launcher: &'static str,
}

/// Names of rank, world size and local rank; the innermost launcher first: under `mpirun` in a Slurm job both are set,
/// and mpirun's are meant.
const LAUNCHERS: [(&str, [&str; 3]); 4] = [
    ("torchrun", ["RANK", "WORLD_SIZE", "LOCAL_RANK"]),
    (
        "Open MPI",
        [
            "OMPI_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_LOCAL_RANK",
        ],
    ),
    ("PMI", ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"]),
    ("Slurm", ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"]),
];

/// The place that `variable` tells of (`&|name| std::env::var(name).ok()`), or alone where no launcher left one.
///
/// # Errors
/// Numbers that are none, a rank beyond the world, a variable missing beside its fellows; each by name.
pub fn place_from(variable: &dyn Fn(&str) -> Option<String>) -> Result<Place> {
    for (launcher, names) in LAUNCHERS {
        let [rank, world, local] = names;
        if variable(rank).is_none() {
            continue;
        }
        let number = |name: &str| -> Result<usize> {
            let text = variable(name).with_context(|| format!("{launcher} set {rank}, but not {name}"))?;
            text.trim()
                .parse()
                .with_context(|| format!("{name} is '{text}', expected a whole number"))
        };
        // PMI alone says nothing of the node.
        let local_rank = match variable(local) {
            None if launcher == "PMI" => 0,
            _ => number(local)?,
        };
        let place = Place {
            rank: number(rank)?,
            world_size: number(world)?,
            local_rank,
            launcher,
        };
        ensure!(
            place.rank < place.world_size,
            "{rank} is {}, but {world} is {}: ranks go from 0 to one less",
            place.rank,
            place.world_size
        );
        ensure!(
            place.local_rank <= place.rank,
            "{local} is {}, more than {rank}, which is {}",
            place.local_rank,
            place.rank
        );
        return Ok(place);
    }
    Ok(Place {
        rank: 0,
        world_size: 1,
        local_rank: 0,
        launcher: "alone",
    })
}

/// The device of a rank that sees `gpus` GPUs: `cpu` where it sees none; `cuda:0` where it sees one, for then the launcher
/// gave each of its node's ranks its own (`--gpus-per-task=1`) or there is one rank a node; else `cuda:N`, N being its
/// local rank.
///
/// # Errors
/// More ranks on the node than GPUs: NCCL takes one rank a GPU.
pub fn device_for(place: &Place, gpus: usize) -> Result<String> {
    match gpus {
        0 => Ok("cpu".into()),
        1 => Ok("cuda:0".into()),
        _ => {
            let local = place.local_rank;
            ensure!(
                local < gpus,
                "rank {} is number {local} of its node, counted from 0, and sees {gpus} GPUs: start as many ranks a node \
                 as it has GPUs",
                place.rank
            );
            Ok(format!("cuda:{local}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(set: &[(&str, &str)]) -> Result<Place> {
        place_from(&|name| {
            let found = set.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    const SLURM: [(&str, &str); 3] = [
        ("SLURM_PROCID", "5"),
        ("SLURM_NTASKS", "8"),
        ("SLURM_LOCALID", "1"),
    ];

    #[test]
    fn slurm_tells_rank_world_and_device() {
        let found = place(&SLURM).expect("a place");
        assert_eq!((found.rank, found.world_size, found.local_rank), (5, 8, 1));
        assert_eq!(found.launcher, "Slurm");
    }

    #[test]
    fn mpirun_within_a_slurm_job_is_meant() {
        let mpi = [
            ("OMPI_COMM_WORLD_RANK", "2"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ];
        let found = place(&[&SLURM[..], &mpi].concat()).expect("a place");
        assert_eq!((found.rank, found.world_size, found.launcher), (2, 4, "Open MPI"));
    }

    #[test]
    fn without_a_launcher_one_is_alone() {
        let found = place(&[]).expect("a place");
        assert_eq!((found.rank, found.world_size, found.launcher), (0, 1, "alone"));
    }

    #[test]
    fn contradictions_are_told_by_name() {
        for (set, says) in [
            (
                vec![("SLURM_PROCID", "0"), ("SLURM_LOCALID", "0")],
                "SLURM_NTASKS",
            ),
            (
                vec![
                    ("SLURM_PROCID", "8"),
                    ("SLURM_NTASKS", "8"),
                    ("SLURM_LOCALID", "0"),
                ],
                "ranks go from 0",
            ),
            (
                vec![("RANK", "x"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0")],
                "'x'",
            ),
            (
                vec![("RANK", "0"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "1")],
                "more than RANK",
            ),
        ] {
            let error = place(&set).expect_err("a contradiction").to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
