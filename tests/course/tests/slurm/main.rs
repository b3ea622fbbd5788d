//! The job scripts of `cargo course slurm render` on a real Slurm: every template of `slurm/` is submitted and runs to its end, on CPUs.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cut;
mod fixture;
mod grading;
mod jobs;
mod ranks;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use fixture::{Slurm, successful};

/// The folder of the scripts whose launcher is srun.
const SRUN: &str = "jobs-srun";
/// Options of a training of seconds.
const TINY: &str = "--batch 4 --points 48 --width 16 --workers 1";

/// A Slurm with the settings of a site, the program canopy, and a tiny data set.
struct Cluster {
    slurm: Slurm,
    canopy: PathBuf,
}

/// The root of the course.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../..").canonicalize().unwrap()
}

impl Cluster {
    /// Starts Slurm, unless a program is missing, which it returns.
    fn start() -> Result<Self, String> {
        let course = Path::new(env!("CARGO_BIN_EXE_course"));
        let canopy = course.with_file_name("canopy");
        assert!(
            canopy.is_file(),
            "{} does not exist: run `cargo build`",
            canopy.display()
        );
        let cluster = Self {
            slurm: Slurm::start()?,
            canopy,
        };
        let (at, canopy) = (cluster.file("").display().to_string(), cluster.canopy.display());
        let site = format!(
            "partition = 'work'\nreservation = 'workshop'\ncores = 1\nmemory_gib = 1\ntime = '00:05:00'\nmargin = {margin}\n\
             array_tasks = 3\ngres = 'gpu:card'\ngpus_per_node = 2\nmig = 'gpu:slice'\nbuild = []\ncanopy = '{canopy}'\n\
             scratch = '{at}local'\nlogs = '{at}logs'\n",
            margin = cut::MARGIN,
        );
        for (jobs, site) in [("jobs", site.clone()), (SRUN, site + "launcher = 'srun'\n")] {
            let file = cluster.file(&format!("{jobs}.toml"));
            fs::write(&file, site).unwrap();
            let mut render = Command::new(course);
            render.args(["slurm", "render", "--site"]).arg(file);
            successful(render.arg("--out").arg(cluster.file(jobs)).current_dir(root()));
        }
        let mut grow = Command::new(&cluster.canopy);
        grow.args(["data", "grow", "--trees", "60", "--points", "96", "--out"]);
        successful(grow.arg(cluster.file("forest")));
        Ok(cluster)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.slurm.path().join(name)
    }

    /// The words of a text, in which `AT/` is the folder of this Slurm.
    fn words(&self, text: &str) -> Vec<String> {
        let at = self.file("").display().to_string();
        text.split_whitespace()
            .map(|word| word.replace("AT/", &at))
            .collect()
    }

    /// `sbatch` in the folder of the course.
    fn sbatch(&self) -> Command {
        let mut command = self.slurm.command("sbatch");
        command.current_dir(root()).env("DEVICE", "cpu");
        // With the variables of this test's package, cargo would build ring and its dependents again.
        let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_package)) {
            command.env_remove(name);
        }
        command.env("CANOPY", &self.canopy).envs([
            // Open MPI refuses to start processes as root otherwise.
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            // The two nodes have one host name, so Open MPI would use shared memory between them, with the same names of segments.
            ("OMPI_MCA_btl", "self,tcp"),
            ("OMPI_MCA_btl_tcp_if_include", "lo"),
            ("OMPI_MCA_oob_tcp_if_include", "lo"),
        ]);
        command
    }

    /// Submits a template with options of sbatch and arguments of the job; returns the number of the job.
    fn submit(&self, name: &str, options: &str, arguments: &str) -> String {
        let arguments = self.words(arguments);
        self.submitted(
            self.sbatch().args(self.words(options)),
            &format!("jobs/{name}"),
            &arguments,
        )
    }

    fn submitted(&self, sbatch: &mut Command, script: &str, arguments: &[String]) -> String {
        let script = self.file(&format!("{script}.sbatch"));
        successful(sbatch.arg("--parsable").arg(script).args(arguments))
    }

    /// The logs of a job, of all tasks of an array.
    fn log(&self, job: &str) -> String {
        let files = fs::read_dir(self.file("logs"))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let of_job = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.ends_with(&format!("-{job}.log")) || name.contains(&format!("-{job}-"))
        };
        files
            .filter(of_job)
            .map(|path| fs::read_to_string(path).unwrap())
            .collect()
    }

    /// Waits for a job that must succeed, and checks that its log contains the words of all `parts`, wherever the lines of its
    /// tables break.
    #[track_caller]
    fn completed(&self, job: &str, parts: &[&str]) -> String {
        let state = self.slurm.ended(job);
        let log = self.log(job);
        assert_eq!(state, "COMPLETED", "job {job}: {log}");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in parts {
            assert!(
                words(&log).contains(&words(part)),
                "no {part:?} in the log of job {job}: {log}"
            );
        }
        log
    }
}

/// All templates share one Slurm, because starting one takes seconds, and jobs wait while others run.
#[test]
#[ignore = "not run, because it starts a Slurm on this machine; `.ci/run` runs it"]
fn the_templates_run_on_a_real_slurm() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => return println!("not run, because {reason}"),
    };
    jobs::all_pass_the_checks(&cluster);
    // These two take longest, on node1.
    let cut = cut::Cut::begin(&cluster);
    let grading = grading::Grading::begin(&cluster);
    let (jobs, ranks) = (jobs::Jobs::begin(&cluster), ranks::begin(&cluster));
    let whole = cut.unbroken(&cluster);
    jobs.end(&cluster);
    ranks::end(&cluster, &ranks);
    grading.end(&cluster);
    cut.end(&cluster, &whole);
}
