//! The Slurm job that this process belongs to, and whether its share is what the process sees.

use super::Line;

pub fn line(variable: &dyn Fn(&str) -> Option<String>) -> Line {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    of_job(variable, cores)
}

fn of_job(variable: &dyn Fn(&str) -> Option<String>, cores: usize) -> Line {
    const NAME: &str = "Slurm";
    let Some(job) = variable("SLURM_JOB_ID") else {
        return Line::ok(NAME, "not inside a job");
    };
    let mut found = format!("job {job}");
    for (name, words) in [
        ("SLURM_JOB_PARTITION", "partition"),
        ("SLURM_JOB_NUM_NODES", "nodes:"),
        ("SLURM_JOB_NODELIST", "which are"),
        ("SLURM_NTASKS", "tasks:"),
        ("SLURM_CPUS_PER_TASK", "cores for each task:"),
        ("SLURM_JOB_GPUS", "GPUs:"),
        ("SLURM_MEM_PER_NODE", "MiB of memory on each node:"),
    ] {
        if let Some(value) = variable(name) {
            found += &format!(", {words} {value}");
        }
    }
    let asked = variable("SLURM_CPUS_PER_TASK").and_then(|n| n.parse::<usize>().ok());
    match asked {
        Some(asked) if asked > cores => Line::wrong(
            NAME,
            format!("{found}; this process may use {cores} of the {asked} cores"),
            "pass --cpus-per-task to srun as well: srun does not take it from sbatch",
        ),
        // Slurm gives a task one core unless more are asked for; then a loader and a step share it.
        None if cores == 1 => Line::warning(
            NAME,
            format!("{found}; this process may use one core"),
            "ask for more with --cpus-per-task",
        ),
        _ => Line::ok(NAME, found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::State;

    fn job(set: &[(&str, &str)], cores: usize) -> Line {
        let value = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        of_job(&value, cores)
    }

    #[test]
    fn a_job_that_lost_its_cores_is_wrong() {
        assert_eq!(job(&[], 1).state, State::Ok);
        let lost = job(&[("SLURM_JOB_ID", "7"), ("SLURM_CPUS_PER_TASK", "8")], 1);
        assert_eq!(lost.state, State::Wrong);
        assert!(lost.found.contains("1 of the 8 cores"), "{lost:?}");
        assert_eq!(job(&[("SLURM_JOB_ID", "7")], 1).state, State::Warning);
        let well = job(
            &[
                ("SLURM_JOB_ID", "7"),
                ("SLURM_CPUS_PER_TASK", "8"),
                ("SLURM_NTASKS", "2"),
            ],
            8,
        );
        assert_eq!(well.state, State::Ok);
        assert!(well.found.contains("tasks: 2"), "{well:?}");
    }
}
