//! This process's rank, cores and GPU as assigned by a launcher (srun, mpirun, torchrun).

use std::{env, thread, time::Duration};

use anyhow::{Context, Result, ensure};

use crate::parallel::{Place, Processes, connect, device_for, place_from};

fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// Returns this process's position among those that a launcher started; `None` without a launcher.
///
/// # Errors
/// Returns an error if the launcher's variables contradict each other.
pub fn place() -> Result<Option<Place>> {
    let place = place_from(&of_a_launcher);
    let place = place.context("the launcher's environment variables contradict each other")?;
    Ok((place.launcher != "alone").then_some(place))
}

/// A variable of the environment. Those that say nothing of this process are hidden: those that Slurm sets in a batch script,
/// which is not one of the job's tasks, and a stray RANK.
fn of_a_launcher(name: &str) -> Option<String> {
    let script = name.starts_with("SLURM_") && variable("SLURM_STEP_ID").is_none();
    let stray = name == "RANK" && variable("WORLD_SIZE").is_none();
    if script || stray { None } else { variable(name) }
}

/// Connects the processes that a launcher started, one rank each; `None` if this is the only process.
///
/// # Errors
/// Returns the errors of [`place`] and [`connect`]: every process of the job has the same one.
pub fn connected() -> Result<Option<(Place, Box<dyn Processes>)>> {
    let Some(place) = place()?.filter(|place| place.world_size > 1) else {
        return Ok(None);
    };
    match connect(&place) {
        Ok(processes) => Ok(Some((place, processes))),
        Err(error) => {
            // Rank 0 reports it first. The launcher ends the others then.
            thread::sleep(Duration::from_millis(100) * place.rank.min(20) as u32);
            Err(error)
        }
    }
}

/// Returns the number of ranks of a run: one for each process, or as many threads as are `asked` for.
///
/// # Errors
/// Returns an error if another number is asked for than there are processes.
pub fn ranks(place: Option<&Place>, asked: Option<usize>, otherwise: usize) -> Result<usize> {
    let Some(place) = place.filter(|place| place.world_size > 1) else {
        return Ok(asked.unwrap_or(otherwise));
    };
    let (launcher, started) = (place.launcher, place.world_size);
    ensure!(
        asked.is_none_or(|asked| asked == started),
        "{launcher} started {started} processes, one for each rank, but the options ask for {} ranks: remove --ranks, or \
         start as many processes",
        asked.unwrap_or(otherwise)
    );
    Ok(started)
}

/// Returns the CPU threads of this process if the user does not choose: all `cores` that it may use, or its share of the
/// node's if a launcher started several processes there without binding them to cores.
pub fn cores(cores: usize) -> usize {
    let Ok(Some(_)) = place() else {
        return cores;
    };
    let number = |name: &str| -> Option<usize> {
        let text = variable(name)?;
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|&n| n > 0)
    };
    // Slurm writes "2(x3)": two tasks on each of three nodes.
    let names = [
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        "MPI_LOCALNRANKS",
        "LOCAL_WORLD_SIZE",
        "SLURM_STEP_TASKS_PER_NODE",
    ];
    let local = names.iter().find_map(|name| number(name)).unwrap_or(1);
    let share = (online_cores().unwrap_or(cores) / local).max(1);
    let of_task = number("SLURM_CPUS_PER_TASK").unwrap_or(cores);
    cores.min(share).min(of_task)
}

/// Returns the cores of this node, also those that this process may not use.
#[cfg(unix)]
fn online_cores() -> Option<usize> {
    // SAFETY: reads a number of the system.
    let cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(cores).ok()
}

#[cfg(not(unix))]
fn online_cores() -> Option<usize> {
    None
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
