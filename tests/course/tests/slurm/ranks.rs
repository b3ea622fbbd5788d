//! The templates that start several processes.
//!
//! They train with the program that `CANOPY_MPI` names, which is built with MPI. Without it, a script takes its place, which
//! prints what the launcher tells it: this tests the launch over two nodes, not the training.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Cluster, SRUN, TINY,
    faults::{curve, weights},
    fixture::text,
};

/// A template, how many ranks it starts, and the folder of its script, whose launcher is `mpirun` or `srun`.
const JOBS: [(&str, usize, &str); 3] = [
    ("train-gpus", 2, "jobs"),
    ("train-nodes", 4, "jobs"),
    ("train-cpus", 4, SRUN),
];

pub struct Ranks {
    /// Each job with its template and the number of its ranks.
    jobs: Vec<(String, &'static str, usize)>,
    trains: bool,
}

impl Ranks {
    pub fn begin(cluster: &Cluster) -> Self {
        let with_mpi = env::var_os("CANOPY_MPI").map(PathBuf::from);
        let trains = with_mpi.is_some();
        let program = with_mpi.unwrap_or_else(|| {
            println!("the templates with several processes: their launch alone, because CANOPY_MPI names no canopy built with MPI");
            rank_printer(cluster)
        });
        let mut jobs = Vec::new();
        for (name, ranks, folder) in JOBS {
            match missing(cluster, folder) {
                Some(reason) => println!("{name}: not run, because {reason}"),
                None => jobs.push((submit(cluster, name, folder, &program), name, ranks)),
            }
        }
        Self { jobs, trains }
    }

    pub fn end(&self, cluster: &Cluster) {
        for (job, name, ranks) in &self.jobs {
            let log = cluster.completed(job, &[&format!("{ranks} ranks"), "the data was copied to"]);
            let nodes = cluster.slurm.says(job, "NumNodes");
            assert_eq!(nodes, [ranks.div_ceil(2).to_string()], "{log}");
            if self.trains {
                assert!(cluster.file(name).join("report.html").is_file(), "{log}");
                println!("{name}: {ranks} ranks trained over MPI, nodes: {}", nodes[0]);
            } else {
                for rank in 0..*ranks {
                    assert!(log.contains(&format!("this is {rank} on node")), "{log}");
                }
            }
        }
        let four: Vec<_> = self.jobs.iter().filter(|(.., ranks)| *ranks == 4).collect();
        if let ([(_, one, _), (_, other, _)], true) = (&four[..], self.trains) {
            let [one, other] = [one, other].map(|name| cluster.file(name));
            assert_eq!(curve(&one), curve(&other));
            assert!(
                weights(&one) == weights(&other),
                "the launchers make a difference"
            );
        }
    }
}

/// What a launcher needs and this machine does not have.
fn missing(cluster: &Cluster, folder: &str) -> Option<String> {
    if folder == SRUN {
        // Slurm prints the list to standard error.
        let list = cluster.slurm.command("srun").arg("--mpi=list").output().unwrap();
        let list = text(&list) + &String::from_utf8_lossy(&list.stderr);
        return (!list.contains("pmix")).then(|| format!("this Slurm was built without PMIx: {list}"));
    }
    let mpirun = Command::new("mpirun").arg("--version").output();
    mpirun
        .err()
        .map(|error| format!("mpirun: {error} (apt-get install openmpi-bin)"))
}

fn submit(cluster: &Cluster, name: &str, folder: &str, program: &Path) -> String {
    let (run, data) = (cluster.file(name), cluster.file("forest"));
    let own = ["--epochs", "2", "--batch", "8", "--data", data.to_str().unwrap()];
    let words = [&[run.to_str().unwrap()][..], &own, &TINY[2..]].concat();
    let mut command = cluster.sbatch();
    if folder == SRUN {
        // The site's slurm.conf has no MpiDefault.
        command.env("SLURM_MPI_TYPE", "pmix");
    }
    let script = cluster.file(&format!("{folder}/{name}.sbatch"));
    Cluster::submitted(command.env("CANOPY", program), &script, &words)
}

fn rank_printer(cluster: &Cluster) -> PathBuf {
    let program = cluster.file("rank");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = monitor ] && exec '{}' \"$@\"\n\
         echo \"${{OMPI_COMM_WORLD_SIZE:-$SLURM_NTASKS}} ranks, and this is ${{OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}} on \
         $SLURMD_NODENAME: $*\"\n",
        cluster.canopy.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}
