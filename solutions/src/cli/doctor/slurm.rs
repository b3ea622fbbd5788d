//! The Slurm job that this process belongs to, and whether its share is what the process sees.

use super::Line;

pub fn line(variable: &dyn Fn(&str) -> Option<String>) -> Line {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    of_job(variable, cores)
}

fn of_job(variable: &dyn Fn(&str) -> Option<String>, cores: usize) -> Line {
    let Some(job) = variable("SLURM_JOB_ID") else {
        return Line::ok("Slurm", "not inside a job");
    };
    let mut found = format!("job {job}; this process may use {cores} cores");
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
    let line = Line::ok("Slurm", found);
    match variable("SLURM_CPUS_PER_TASK").and_then(|n| n.parse().ok()) {
        Some(asked) if cores < asked => {
            line.wrong("pass --cpus-per-task to srun as well: srun does not take it from sbatch")
        }
        // Slurm gives a task one core unless more are asked for; then a loader and a step share it.
        None if cores == 1 => line.warning("ask for more with --cpus-per-task"),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use crate::cli::doctor::State;

    #[test]
    fn a_job_that_lost_its_cores_is_wrong() {
        let job = |of_job: &str, cores| {
            let value = |name: &str| {
                of_job
                    .split(' ')
                    .find_map(|v| Some(v.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
            };
            super::of_job(&value, cores)
        };
        for (variables, cores, state, part) in [
            ("", 1, State::Ok, "not inside a job"),
            (
                "SLURM_JOB_ID=7 SLURM_CPUS_PER_TASK=8",
                1,
                State::Wrong,
                "may use 1 cores",
            ),
            ("SLURM_JOB_ID=7", 1, State::Warning, "job 7"),
            (
                "SLURM_JOB_ID=7 SLURM_CPUS_PER_TASK=8 SLURM_NTASKS=2",
                8,
                State::Ok,
                "tasks: 2",
            ),
        ] {
            let line = job(variables, cores);
            assert_eq!(line.state, state, "{line:?}");
            assert!(line.found.contains(part), "{line:?}");
        }
    }
}
