//! What a launcher (srun, mpirun, torchrun) says of this process, and which GPU it may take.

use std::env;

use anyhow::{Result, ensure};

use crate::parallel::{Place, device_for, place_from};

fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// This process's place among those that a launcher started. An environment that contradicts itself counts as none.
///
/// # Errors
/// Returns an error if a launcher started several processes: each would train by itself, in the same folder.
pub fn place() -> Result<Option<Place>> {
    let place = match place_from(&variable) {
        Ok(place) => place,
        Err(error) => {
            eprintln!("note: the environment of a launcher is ignored: {error:#}");
            return Ok(None);
        }
    };
    // A batch script sees the variables of the job's tasks without being one of them.
    let script = place.launcher == "Slurm" && variable("SLURM_STEP_ID").is_none();
    ensure!(
        place.world_size == 1 || script,
        "{} started {} processes, and this is rank {}: canopy trains in one process. Start one, and give it ranks as \
         threads with --ranks {}",
        place.launcher,
        place.world_size,
        place.rank,
        place.world_size
    );
    Ok((!script).then_some(place))
}

/// The device that `asked` means for the process at `place`: on a node with several GPUs, the one of its local rank.
///
/// # Errors
/// Those of [`device_for`].
pub fn device(place: Option<&Place>, asked: &str) -> Result<String> {
    match place {
        Some(place) if cfg!(feature = "cuda") && ["auto", "cuda"].contains(&asked) => {
            let name = device_for(place, gpus())?;
            Ok(if name == "cpu" { asked.to_owned() } else { name })
        }
        _ => Ok(asked.to_owned()),
    }
}

/// GPUs that this process sees.
fn gpus() -> usize {
    let count = nvml_wrapper::Nvml::init().and_then(|nvml| nvml.device_count());
    let count = count.map_or(0, |n| n as usize);
    match variable("CUDA_VISIBLE_DEVICES") {
        Some(list) => count.min(list.split(',').filter(|d| !d.trim().is_empty()).count()),
        None => count,
    }
}
