//! The templates that start several processes, which train over MPI with the program that `CANOPY_MPI` names.

use std::{env, process::Command};

use crate::{
    Cluster, SRUN, TINY,
    cut::{curve, weights},
};

/// A template, how many ranks it starts, and the folder of its script, whose launcher is `mpirun` or `srun`.
const JOBS: [(&str, usize, &str); 3] = [
    ("train-gpus", 2, "jobs"),
    ("train-nodes", 4, "jobs"),
    ("train-cpus", 4, SRUN),
];

/// A job with its template and the number of its ranks.
type Ranks = (String, &'static str, usize);

pub fn begin(cluster: &Cluster) -> Vec<Ranks> {
    let mut jobs = Vec::new();
    for (name, ranks, folder) in JOBS {
        match missing(cluster, folder) {
            Some(reason) => println!("{name}: not run, because {reason}"),
            None => jobs.push((submit(cluster, name, folder), name, ranks)),
        }
    }
    jobs
}

pub fn end(cluster: &Cluster, jobs: &[Ranks]) {
    for (job, name, ranks) in jobs {
        let log = cluster.completed(job, &[&format!("{ranks} ranks"), "the data was copied to"]);
        let nodes = cluster.slurm.says(job, "NumNodes");
        assert_eq!(nodes, [ranks.div_ceil(2).to_string()], "{log}");
        assert!(cluster.file(name).join("report.html").is_file(), "{log}");
        println!("{name}: {ranks} ranks trained over MPI, nodes: {}", nodes[0]);
    }
    let four: Vec<&str> = jobs.iter().filter(|job| job.2 == 4).map(|job| job.1).collect();
    if let [one, other] = four[..] {
        assert_eq!(curve(cluster, one), curve(cluster, other));
        assert!(
            weights(cluster, one) == weights(cluster, other),
            "the launchers make a difference"
        );
    }
}

/// What a launcher needs and this machine does not have.
fn missing(cluster: &Cluster, folder: &str) -> Option<String> {
    if env::var_os("CANOPY_MPI").is_none() {
        return Some("CANOPY_MPI names no canopy built with MPI".into());
    }
    if folder == SRUN {
        let list = cluster.slurm.output("srun", &["--mpi=list"]);
        return (!list.contains("pmix")).then(|| format!("this Slurm was built without PMIx: {list}"));
    }
    let mpirun = Command::new("mpirun").arg("--version").output();
    mpirun
        .err()
        .map(|error| format!("mpirun: {error} (apt-get install openmpi-bin)"))
}

fn submit(cluster: &Cluster, name: &str, folder: &str) -> String {
    let tiny = TINY.replace("--batch 4", "--batch 8");
    let arguments = cluster.words(&format!("AT/{name} --epochs 2 --data AT/forest {tiny}"));
    let mut command = cluster.sbatch();
    command.env("CANOPY", env::var_os("CANOPY_MPI").unwrap());
    if folder == SRUN {
        // The site's slurm.conf has no MpiDefault.
        command.env("SLURM_MPI_TYPE", "pmix");
    }
    cluster.submitted(&mut command, &format!("{folder}/{name}"), &arguments)
}
