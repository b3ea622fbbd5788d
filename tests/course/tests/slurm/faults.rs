//! Jobs that do not run through: cut by their time limit, and on a node that dies.

use std::{fs, path::Path, process::Command, time::Instant};

use crate::{Cluster, TINY};

/// Seconds before the time limit at which a training saves. Slurm looks at the limits every 30 seconds, and signals a job if the
/// time will come before the next look: with this margin and a limit of a minute, at its first look.
pub const MARGIN: u32 = 50;
/// Seconds that the run shall train at least, so that Slurm looks at its limit once, also if the machine has less to do by then
/// than while an epoch is measured.
const SECONDS: f64 = 50.0;

/// A run that needs more time than its job may take.
pub struct Cut {
    job: String,
    epochs: String,
}

impl Cut {
    /// Measures an epoch, and submits a run of so many that its job is cut.
    pub fn begin(cluster: &Cluster) -> Self {
        const SHORT: u32 = 60;
        let measure = |try_of_three: i32| {
            let began = Instant::now();
            train(
                cluster,
                &cluster.file(&format!("measured-{try_of_three}")),
                &SHORT.to_string(),
            );
            began.elapsed().as_secs_f64()
        };
        let least = (1..=3).map(measure).fold(f64::INFINITY, f64::min);
        let epochs = ((f64::from(SHORT) * SECONDS / least) as u32).to_string();
        let (data, run) = (cluster.file("forest"), cluster.file("cut"));
        let arguments = [
            &[
                run.to_str().unwrap(),
                "--epochs",
                &epochs,
                "--data",
                data.to_str().unwrap(),
            ],
            &TINY[..],
        ]
        .concat();
        let job = cluster.submit("train-gpu", &["--time=1", "--nodelist=node1"], &arguments);
        Self { job, epochs }
    }

    /// The same run without a time limit. Returns its curve.
    pub fn unbroken(&self, cluster: &Cluster) -> Vec<String> {
        let run = cluster.file("unbroken");
        train(cluster, &run, &self.epochs);
        curve(&run)
    }

    /// The job was requeued by its template, and its run ends with the numbers of the unbroken one.
    pub fn end(self, cluster: &Cluster, unbroken: &[String]) {
        let job = &self.job;
        cluster.completed(
            job,
            &[
                &format!("saved; requeueing job {job}"),
                "train --resume",
                "GPU hours",
            ],
        );
        assert_ne!(cluster.slurm.says(job, "Restarts"), ["0"]);
        assert_eq!(curve(&cluster.file("cut")), unbroken);
        assert!(
            weights(&cluster.file("cut")) == weights(&cluster.file("unbroken")),
            "the networks differ"
        );
        println!(
            "cut by its time limit {} times, and equal to an unbroken run",
            cluster.slurm.says(job, "Restarts")[0]
        );
    }
}

/// Trains on this machine, without Slurm.
fn train(cluster: &Cluster, run: &Path, epochs: &str) {
    let mut command = Command::new(&cluster.canopy);
    command
        .args(["--threads", "1", "train", "--device", "cpu", "--epochs", epochs])
        .args(TINY);
    let output = command
        .arg("--data")
        .arg(cluster.file("forest"))
        .arg("--out")
        .arg(run)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The numbers of a run's best network, without the file's header, which has times.
pub fn weights(run: &Path) -> Vec<u8> {
    let file = fs::read(run.join("best.safetensors")).unwrap();
    let header = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    file[8 + header..].to_vec()
}

/// The rows of a run's metrics, without times.
pub fn curve(run: &Path) -> Vec<String> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let rows = text.lines().map(|line| {
        let mut row: serde_json::Value = serde_json::from_str(line).unwrap();
        let row = row.as_object_mut().unwrap();
        for time in ["seconds", "clouds_per_second"] {
            assert!(row.remove(time).is_some(), "{line}");
        }
        serde_json::to_string(row).unwrap()
    });
    rows.collect()
}

/// The node of a training dies, on which no other job runs. Slurm puts the job back into the queue, and it resumes on the other
/// node.
pub fn node2_dies(cluster: &mut Cluster) {
    let (data, run) = (cluster.file("forest"), cluster.file("survivor"));
    let arguments = [
        run.to_str().unwrap(),
        "--epochs",
        "1000",
        "--checkpoint-seconds",
        "1",
        "--data",
        data.to_str().unwrap(),
    ];
    let arguments = [&arguments, &TINY[..]].concat();
    let job = cluster.submit("train-gpu", &["--nodelist=node2"], &arguments);
    cluster
        .slurm
        .wait("the first checkpoint", |_| run.join("last.safetensors").exists());
    // The other node may run it now.
    cluster.slurm.cut_power("node2");
    cluster
        .slurm
        .wait("the job to be requeued", |s| s.says(&job, "Restarts") == ["1"]);
    cluster
        .slurm
        .output("scontrol", &["update", &format!("JobId={job}"), "ReqNodeList="]);
    cluster.completed(&job, &["train --resume", "on node1"]);
    assert!(run.join("report.html").is_file());
}
