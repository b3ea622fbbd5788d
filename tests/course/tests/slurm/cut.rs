//! A training that its time limit cuts.

use std::{fs, process::Command, time::Instant};

use crate::{Cluster, TINY, fixture::successful};

/// Seconds before the time limit at which a training saves. Slurm looks at the limits every 30 seconds, and signals a job if the
/// time would be over at its next look: with this margin and a limit of a minute, at its first look.
pub const MARGIN: u32 = 50;
/// Seconds that the run shall train at least, so that Slurm looks at its limit once, also if the machine has less to do by then
/// than while an epoch is measured.
const SECONDS: f64 = 50.0;

/// A run that needs more time than its job may take.
pub struct Cut {
    job: String,
    epochs: u32,
}

impl Cut {
    /// Measures an epoch, and submits a run of so many that its job is cut.
    pub fn begin(cluster: &Cluster) -> Self {
        const SHORT: u32 = 60;
        let measure = |time: i32| {
            let began = Instant::now();
            train(cluster, &format!("measured-{time}"), SHORT);
            began.elapsed().as_secs_f64()
        };
        let least = (1..=3).map(measure).fold(f64::INFINITY, f64::min);
        let epochs = (f64::from(SHORT) * SECONDS / least) as u32;
        let arguments = format!("AT/cut --epochs {epochs} --data AT/forest {TINY}");
        let job = cluster.submit("train-gpu", "--time=1 --nodelist=node1", &arguments);
        Self { job, epochs }
    }

    /// The same run without a time limit. Returns its curve.
    pub fn unbroken(&self, cluster: &Cluster) -> Vec<String> {
        train(cluster, "unbroken", self.epochs);
        curve(cluster, "unbroken")
    }

    /// The job was requeued by its template, and its run ends with the numbers of the unbroken one.
    pub fn end(self, cluster: &Cluster, unbroken: &[String]) {
        let requeued = format!("saved; requeueing job {}", self.job);
        cluster.completed(&self.job, &[&requeued, "train --resume", "GPU hours"]);
        assert_ne!(cluster.slurm.says(&self.job, "Restarts"), ["0"]);
        assert_eq!(curve(cluster, "cut"), unbroken);
        assert!(
            weights(cluster, "cut") == weights(cluster, "unbroken"),
            "the networks differ"
        );
    }
}

/// Trains on this machine, without Slurm.
fn train(cluster: &Cluster, run: &str, epochs: u32) {
    let arguments =
        format!("--threads 1 train --device cpu --epochs {epochs} {TINY} --data AT/forest --out AT/{run}");
    successful(Command::new(&cluster.canopy).args(cluster.words(&arguments)));
}

/// The numbers of a run's best network, without the file's header, which has times.
pub fn weights(cluster: &Cluster, run: &str) -> Vec<u8> {
    let file = fs::read(cluster.file(run).join("best.safetensors")).unwrap();
    let header = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    file[8 + header..].to_vec()
}

/// The rows of a run's metrics, without times.
pub fn curve(cluster: &Cluster, run: &str) -> Vec<String> {
    let text = fs::read_to_string(cluster.file(run).join("metrics.jsonl")).unwrap();
    let rows = text.lines().map(|line| {
        let mut row: serde_json::Map<_, _> = serde_json::from_str(line).unwrap();
        for time in ["seconds", "clouds_per_second"] {
            assert!(row.remove(time).is_some(), "{line}");
        }
        serde_json::to_string(&row).unwrap()
    });
    rows.collect()
}
