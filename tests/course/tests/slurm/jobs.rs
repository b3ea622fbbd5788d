//! The templates, each submitted and run to its end.

use std::{fs, process::Command};

use crate::{Cluster, TINY, fixture::text, ranks::Ranks};

/// Bash, shellcheck and Slurm accept each script.
pub fn all_pass_the_checks(cluster: &Cluster) {
    let user = text(&Command::new("id").arg("-un").output().unwrap());
    let reserve = format!(
        "create reservation ReservationName=workshop StartTime=now Duration=30 Users={} Nodes=node2 CoreCnt=1",
        user.trim()
    );
    let reserve: Vec<&str> = reserve.split(' ').collect();
    cluster.slurm.output("scontrol", &reserve);
    let mut count = 0;
    for script in fs::read_dir(cluster.file("jobs")).unwrap() {
        let script = script.unwrap().path();
        let mut sbatch = cluster.sbatch();
        sbatch.arg("--test-only");
        for (words, mut program) in [
            (&["-n"][..], Command::new("bash")),
            (&["--shell=bash"], Command::new("shellcheck")),
            (&[], sbatch),
        ] {
            let output = program.args(words).arg(&script).output().unwrap();
            let said = text(&output) + &String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{program:?}: {said}");
        }
        count += 1;
    }
    assert!(count > 10, "{count}");
}

/// The jobs that need nothing of each other, by the name of their template.
pub struct Jobs {
    build: String,
    doctor: String,
    lesson: String,
    workshop: String,
    mig: String,
    threads: String,
    profile: String,
    sweep: String,
    wrong: String,
    ranks: Ranks,
    monitored: String,
    monitor: String,
}

impl Jobs {
    pub fn begin(cluster: &Cluster) -> Self {
        let data = cluster.file("forest").display().to_string();
        let folder = |name: &str| cluster.file(name).display().to_string();
        let train = |before: &[&str]| -> Vec<String> {
            let rest = [&TINY[..], &["--data", &data]].concat();
            before
                .iter()
                .chain(&rest)
                .map(|word| (*word).to_owned())
                .collect()
        };
        let submit = |name: &str, arguments: &[String]| {
            let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            cluster.submit(name, &[], &words)
        };
        let monitored = submit("train-gpu", &train(&[&folder("monitored"), "--epochs", "1500"]));
        let sweep = cluster.file("rates.txt");
        fs::write(
            &sweep,
            "# two runs\n--learning-rate 0.01 --epochs 1\n\n--learning-rate 0.02 --epochs 1 --seed 3\n",
        )
        .unwrap();
        cluster.slurm.wait("the job to monitor", |s| {
            s.says(&monitored, "JobState") == ["RUNNING"]
        });
        Self {
            monitor: submit("monitor", &[monitored.clone(), "1".to_owned()]),
            monitored,
            build: submit("build", &[]),
            doctor: submit("doctor", &[]),
            lesson: submit("lesson", &["01".to_owned(), "1.1".to_owned()]),
            workshop: submit("workshop", &["01".to_owned(), "1.1".to_owned()]),
            mig: submit("train-mig", &train(&[&folder("a slice; $(id)"), "--epochs", "1"])),
            threads: submit(
                "train-threads",
                &train(&["2", &folder("threads"), "--epochs", "1"]),
            ),
            profile: submit("profile", &train(&[&folder("profiled"), "--epochs", "1"])),
            sweep: submit("sweep", &train(&[&sweep.display().to_string(), &folder("sweep")])),
            wrong: submit(
                "train-gpu",
                &[folder("wrong"), "--data".to_owned(), "no/such/folder".to_owned()],
            ),
            ranks: Ranks::begin(cluster),
        }
    }

    pub fn end(self, cluster: &Cluster) {
        // Slurm has no accounting here, and the machine has no GPU.
        let cost = [
            "GPU hours",
            "core hours",
            "CPU use",
            "canopy monitor",
            "energy        not known, because no device",
        ];
        cluster.completed(&self.build, &["build --offline --package canopy", "core hours"]);
        cluster.completed(&self.doctor, &["partition work", "GPU hours"]);
        // Their state does not matter: here a student may have written the exercise.
        for job in [&self.lesson, &self.workshop] {
            cluster.slurm.ended(job);
            let log = cluster.log(job);
            assert!(
                log.contains("--package lesson01 -- 1.1") && log.contains("1.1  A neuron"),
                "{log}"
            );
        }
        assert_eq!(cluster.slurm.says(&self.workshop, "Reservation"), ["workshop"]);
        let log = cluster.completed(
            &self.mig,
            &[
                "GPU hours",
                "GPU use       not known, because the driver measures no slice",
            ],
        );
        assert!(log.contains("a\\ slice\\;\\ \\$\\(id\\)"), "{log}");
        assert!(cluster.file("a slice; $(id)/report.html").is_file());
        cluster.completed(&self.threads, &["2 ranks", "the data was copied to"]);
        cluster.completed(&self.profile, &["nsys is not in PATH"]);
        assert!(cluster.file("profiled/profile/trace.json").is_file());
        let log = cluster.completed(
            &self.sweep,
            &["--learning-rate 0.01", "--learning-rate 0.02 --epochs 1 --seed 3"],
        );
        assert_eq!(log.matches("GPU hours").count(), 3, "{log}");
        for line in ["2", "4"] {
            assert!(
                cluster.file(&format!("sweep/{line}/report.html")).is_file(),
                "{log}"
            );
        }
        assert_eq!(cluster.slurm.ended(&self.wrong), "FAILED");
        assert!(cluster.log(&self.wrong).contains("no/such/folder"));
        cluster.completed(&self.monitored, &cost);
        let log = cluster.completed(&self.monitor, &["has ended; its log"]);
        let samples: usize = ["node1", "node2"]
            .iter()
            .filter_map(|node| {
                fs::read_to_string(cluster.file(&format!("logs/monitor-{}-{node}.csv", self.monitored))).ok()
            })
            .map(|csv| csv.lines().count())
            .sum();
        assert!(samples > 2, "{log}");
        self.ranks.end(cluster);
        // The folders of the jobs on the nodes' own storage are removed.
        cluster.slurm.wait("empty local storage", |_| {
            let names = fs::read_dir(cluster.file("local"))
                .unwrap()
                .map(|e| e.unwrap().file_name());
            let names: Vec<String> = names.map(|n| n.to_string_lossy().into_owned()).collect();
            let ended = [&self.mig, &self.threads, &self.profile, &self.monitored];
            ended.iter().all(|job| !names.contains(&format!("canopy-{job}")))
        });
    }
}
