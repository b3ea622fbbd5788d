//! The templates, each submitted and run to its end.

use std::{fs, process::Command};

use crate::{Cluster, TINY, fixture::successful};

/// Bash, shellcheck and Slurm accept each script.
pub fn all_pass_the_checks(cluster: &Cluster) {
    let user = successful(Command::new("id").arg("-un"));
    let reserve = format!(
        "create reservation ReservationName=workshop StartTime=now Duration=30 Users={user} Nodes=node2 CoreCnt=1"
    );
    cluster
        .slurm
        .output("scontrol", &reserve.split(' ').collect::<Vec<_>>());
    let scripts = fs::read_dir(cluster.file("jobs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let scripts: Vec<_> = scripts.collect();
    assert!(scripts.len() > 10, "{scripts:?}");
    for script in scripts {
        successful(Command::new("bash").arg("-n").arg(&script));
        successful(Command::new("shellcheck").arg("--shell=bash").arg(&script));
        successful(cluster.sbatch().arg("--test-only").arg(&script));
    }
}

/// A template, its arguments, and what the log of its job contains. Slurm has no accounting here, and the machine has no GPU.
const JOBS: [(&str, &str, &[&str]); 6] = [
    ("build", "", &["build --offline --package canopy", "core hours"]),
    ("doctor", "", &["partition work", "GPU hours"]),
    (
        "train-mig",
        "AT/a'slice;$(id) --epochs 1",
        &[
            "GPU hours",
            "GPU use       not known, because the driver measures no slice",
        ],
    ),
    (
        "train-threads",
        "2 AT/threads --epochs 1",
        &["2 ranks", "the data was copied to"],
    ),
    ("profile", "AT/profiled --epochs 1", &["nsys is not in PATH"]),
    (
        "sweep",
        "AT/rates.txt AT/sweep",
        &["--learning-rate 0.01", "--learning-rate 0.02 --epochs 1 --seed 3"],
    ),
];

/// The jobs that need nothing of each other.
pub struct Jobs {
    table: Vec<String>,
    lessons: [String; 2],
    wrong: String,
    monitored: String,
    monitor: String,
}

impl Jobs {
    pub fn begin(cluster: &Cluster) -> Self {
        let train = format!("{TINY} --data AT/forest");
        let monitored = cluster.submit("train-gpu", "", &format!("AT/monitored --epochs 1500 {train}"));
        let rates =
            "# two runs\n--learning-rate 0.01 --epochs 1\n\n--learning-rate 0.02 --epochs 1 --seed 3\n";
        fs::write(cluster.file("rates.txt"), rates).unwrap();
        cluster.slurm.wait("the job to monitor", |slurm| {
            slurm.says(&monitored, "JobState") == ["RUNNING"]
        });
        let monitor = cluster.submit("monitor", "", &format!("{monitored} 1"));
        let submit = |(name, arguments, _): &(&str, &str, _)| {
            let own = if arguments.is_empty() { "" } else { &*train };
            cluster.submit(name, "", &format!("{arguments} {own}"))
        };
        Self {
            table: JOBS.iter().map(submit).collect(),
            lessons: ["lesson", "workshop"].map(|name| cluster.submit(name, "", "01 1.1")),
            wrong: cluster.submit("train-gpu", "", "AT/wrong --data no/such/folder"),
            monitored,
            monitor,
        }
    }

    pub fn end(self, cluster: &Cluster) {
        let logs = self
            .table
            .iter()
            .zip(JOBS)
            .map(|(job, (.., parts))| cluster.completed(job, parts));
        let logs: Vec<String> = logs.collect();
        assert!(logs[2].contains(r"a\'slice\;\$\(id\)"), "{}", logs[2]);
        assert_eq!(logs[5].matches("GPU hours").count(), 3, "{}", logs[5]);
        for file in [
            "a'slice;$(id)/report.html",
            "profiled/profile/trace.json",
            "sweep/2/report.html",
            "sweep/4/report.html",
        ] {
            assert!(cluster.file(file).is_file(), "{file}");
        }
        // Their state does not matter: here a student may have written the exercise.
        for job in &self.lessons {
            cluster.slurm.ended(job);
            let log = cluster.log(job);
            assert!(
                log.contains("--package lesson01 -- 1.1") && log.contains("1.1  A neuron"),
                "{log}"
            );
        }
        assert_eq!(cluster.slurm.says(&self.lessons[1], "Reservation"), ["workshop"]);
        assert_eq!(cluster.slurm.ended(&self.wrong), "FAILED");
        assert!(cluster.log(&self.wrong).contains("no/such/folder"));
        let cost = [
            "GPU hours",
            "core hours",
            "CPU use",
            "canopy monitor",
            "energy not known, because no device",
        ];
        cluster.completed(&self.monitored, &cost);
        let log = cluster.completed(&self.monitor, &["has ended; its log"]);
        let csv =
            |node| fs::read_to_string(cluster.file(&format!("logs/monitor-{}-{node}.csv", self.monitored)));
        let samples: usize = ["node1", "node2"]
            .iter()
            .flat_map(csv)
            .map(|csv| csv.lines().count())
            .sum();
        assert!(samples > 2, "{log}");
        // The folders of the jobs on the nodes' own storage are removed.
        cluster.slurm.wait("empty local storage", |_| {
            let ended = self.table.iter().chain([&self.monitored]);
            ended
                .into_iter()
                .all(|job| !cluster.file(&format!("local/canopy-{job}")).exists())
        });
    }
}
