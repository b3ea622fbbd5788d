//! The Slurm job that this process belongs to, and whether its share is what the process sees.

use super::{Line, State};

/// The line of a process that may use `cores` cores, with these environment variables.
pub fn line(variable: &dyn Fn(&str) -> Option<String>, cores: usize) -> Line {
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
        Some(asked) if cores < asked => line.but(
            State::Wrong,
            "pass --cpus-per-task to srun as well: srun does not take it from sbatch",
        ),
        // Slurm gives a task one core unless more are asked for; then a loader and a step share it.
        None if cores == 1 => line.but(State::Warning, "ask for more with --cpus-per-task"),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::State;

    #[test]
    fn a_job_that_lost_its_cores_is_wrong() {
        for (variables, cores, state, part) in [
            ("", 1, State::Ok, "not inside a job"),
            ("JOB_ID=7 CPUS_PER_TASK=8", 1, State::Wrong, "may use 1 cores"),
            ("JOB_ID=7", 1, State::Warning, "job 7"),
            ("JOB_ID=7 CPUS_PER_TASK=8 NTASKS=2", 8, State::Ok, "tasks: 2"),
        ] {
            let value = |name: &str| {
                let pairs = variables.split(' ').filter_map(|pair| pair.split_once('='));
                let mut pairs = pairs.filter(|(key, _)| Some(*key) == name.strip_prefix("SLURM_"));
                pairs.next().map(|(_, value)| value.to_owned())
            };
            let line = super::line(&value, cores);
            assert!(line.state == state && line.found.contains(part), "{line:?}");
        }
    }
}
