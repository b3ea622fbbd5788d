//! A process's rank, world size and device, from the environment variables that a launcher sets.

use anyhow::{Context, Result, ensure};

// ANCHOR: Place
/// The position of a process in a group of processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Rank among all processes, from 0.
    pub rank: usize,
    /// Number of processes.
    pub world_size: usize,
    /// Rank among the processes of its node, from 0; the index of its GPU.
    pub local_rank: usize,
    /// The name of the launcher that set the variables, such as `Slurm`; `alone` if there is none.
    pub launcher: &'static str,
}
// ANCHOR_END: Place

/// The variables for rank, world size and local rank of each launcher, innermost launcher first: in `mpirun` within a Slurm
/// job the variables of both are set, and those of `mpirun` count.
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

/// Reads the position of this process from the environment: `variable` returns the value of a variable
/// (`&|name| std::env::var(name).ok()`). Without a launcher this is rank 0 of 1, launcher `alone`.
///
/// # Errors
/// Returns an error, with the name of the variable, if a value is not a whole number, if one of the launcher's variables is
/// missing, or if the rank is not below the world size.
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
        // Not every PMI launcher sets a local rank.
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
            "{rank} is {}, but {world} is {}: a rank must be below the world size",
            place.rank,
            place.world_size
        );
        ensure!(
            place.local_rank <= place.rank,
            "{local} is {}, but {rank} is {}: a local rank cannot exceed the rank",
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

/// Returns the device of a rank that sees `gpus` GPUs: `cpu` if it sees none, `cuda:0` if it sees one, otherwise `cuda:N`
/// with its local rank N. A rank sees a single GPU if the launcher assigned one to each rank (`--gpus-per-task=1`), or if
/// its node has only one.
///
/// # Errors
/// Returns an error if the node has more ranks than GPUs, because NCCL needs a GPU for each rank.
pub fn device_for(place: &Place, gpus: usize) -> Result<String> {
    match gpus {
        0 => Ok("cpu".into()),
        1 => Ok("cuda:0".into()),
        _ => {
            let local = place.local_rank;
            ensure!(
                local < gpus,
                "rank {} has local rank {local}, but sees only {gpus} GPUs: start at most as many ranks per node as it has \
                 GPUs",
                place.rank
            );
            Ok(format!("cuda:{local}"))
        }
    }
}
