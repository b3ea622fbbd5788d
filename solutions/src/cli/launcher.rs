//! This process's rank and GPU as assigned by a launcher (srun, mpirun, torchrun).

use std::env;

use anyhow::{Result, ensure};

use crate::parallel::{Place, device_for, place_from};

fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// Returns this process's position among those that a launcher started. An inconsistent environment is ignored with a note.
///
/// # Errors
/// Returns an error if a launcher started several processes, because each would train alone in the same folder.
pub fn place() -> Result<Option<Place>> {
    let place = match place_from(&variable) {
        Ok(place) => place,
        Err(error) => {
            eprintln!("note: ignoring the launcher's environment variables: {error:#}");
            return Ok(None);
        }
    };
    // A batch script sees the variables of the job's tasks without being one of them.
    let script = place.launcher == "Slurm" && variable("SLURM_STEP_ID").is_none();
    ensure!(
        place.world_size == 1 || script,
        "{} started {} processes, and this is rank {}, but canopy trains in one process: start one process with --ranks {}, \
         whose ranks are threads",
        place.launcher,
        place.world_size,
        place.rank,
        place.world_size
    );
    Ok((!script).then_some(place))
}

/// Resolves the requested device for the process at `place`: on a node with several GPUs, the GPU of its local rank.
///
/// # Errors
/// Returns the errors of [`device_for`].
pub fn device(place: Option<&Place>, asked: &str) -> Result<String> {
    match place {
        Some(place) if cfg!(feature = "cuda") && ["auto", "cuda"].contains(&asked) => {
            let name = device_for(place, gpus())?;
            Ok(if name == "cpu" { asked.to_owned() } else { name })
        }
        _ => Ok(asked.to_owned()),
    }
}

/// Returns the number of GPUs that this process sees.
fn gpus() -> usize {
    let count = nvml_wrapper::Nvml::init().and_then(|nvml| nvml.device_count());
    let count = count.map_or(0, |n| n as usize);
    match variable("CUDA_VISIBLE_DEVICES") {
        Some(list) => count.min(list.split(',').filter(|d| !d.trim().is_empty()).count()),
        None => count,
    }
}
