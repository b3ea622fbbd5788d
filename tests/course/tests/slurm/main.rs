//! The job scripts of `cargo course slurm render` on a real Slurm: every template of `slurm/` is submitted and runs to its end, on CPUs.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod faults;
mod fixture;
mod grading;
mod jobs;
mod ranks;

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use fixture::{Slurm, text};

/// The folder of the scripts whose launcher is srun.
const SRUN: &str = "jobs-srun";

/// A Slurm with the settings of a site, the program canopy, and a tiny data set.
struct Cluster {
    slurm: Slurm,
    canopy: PathBuf,
}

/// The root of the course.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

impl Cluster {
    /// Starts Slurm, unless a program is missing, which it returns.
    fn start() -> Result<Self, String> {
        let cluster = Self {
            slurm: Slurm::start()?,
            canopy: canopy(),
        };
        let at = cluster.slurm.path().display();
        let (canopy, margin) = (cluster.canopy.display(), faults::MARGIN);
        let site = format!(
            "partition = 'work'\nreservation = 'workshop'\ncores = 1\nmemory_gib = 1\ntime = '00:05:00'\nmargin = {margin}\n\
             array_tasks = 3\ngres = 'gpu:card'\ngpus_per_node = 2\nmig = 'gpu:slice'\nbuild = []\ncanopy = '{canopy}'\n\
             scratch = '{at}/local'\nlogs = '{at}/logs'\n"
        );
        for (jobs, site) in [("jobs", site.clone()), (SRUN, site + "launcher = 'srun'\n")] {
            let file = cluster.file(&format!("{jobs}.toml"));
            fs::write(&file, site).unwrap();
            let mut render = Command::new(env!("CARGO_BIN_EXE_course"));
            render.args(["slurm", "render", "--site"]).arg(file).arg("--out");
            let output = render
                .arg(cluster.file(jobs))
                .current_dir(root())
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let mut grow = Command::new(&cluster.canopy);
        grow.args(["data", "grow", "--trees", "60", "--points", "96", "--out"])
            .arg(cluster.file("forest"));
        assert!(grow.output().unwrap().status.success());
        Ok(cluster)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.slurm.path().join(name)
    }

    /// `sbatch` in the folder of the course.
    fn sbatch(&self) -> Command {
        let mut command = self.slurm.command("sbatch");
        command.current_dir(root()).env("DEVICE", "cpu");
        // With the variables of this test's package, cargo would build ring and its dependents again.
        env::vars_os()
            .filter_map(|(name, _)| of_this_package(name))
            .for_each(|name| {
                command.env_remove(name);
            });
        // Open MPI refuses to start processes as root otherwise.
        command
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        // The two nodes have one host name, so Open MPI would use shared memory between them, with the same names of segments.
        command
            .env("OMPI_MCA_btl", "self,tcp")
            .env("OMPI_MCA_btl_tcp_if_include", "lo")
            .env("OMPI_MCA_oob_tcp_if_include", "lo");
        command
    }

    /// Submits a template with options of sbatch and arguments; returns the number of its job.
    fn submit(&self, name: &str, options: &[&str], arguments: &[&str]) -> String {
        let mut command = self.sbatch();
        command.env("CANOPY", &self.canopy).args(options);
        Self::submitted(
            &mut command,
            &self.file(&format!("jobs/{name}.sbatch")),
            arguments,
        )
    }

    /// Submits a script with the arguments of the job.
    fn submitted(sbatch: &mut Command, script: &Path, arguments: &[&str]) -> String {
        let output = sbatch
            .arg("--parsable")
            .arg(script)
            .args(arguments)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}: {}",
            script.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        text(&output).trim().to_owned()
    }

    /// The logs of a job, of all tasks of an array.
    fn log(&self, job: &str) -> String {
        let files = fs::read_dir(self.file("logs"))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let of_job = |path: &PathBuf| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            path.extension().is_some_and(|e| e == "log")
                && (name.ends_with(&format!("-{job}")) || name.contains(&format!("-{job}-")))
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
        let logged = words(&log);
        for part in parts {
            assert!(
                logged.contains(&words(part)),
                "no {part:?} in the log of job {job}: {log}"
            );
        }
        log
    }
}

/// The name of a variable about this test's package that cargo sets.
fn of_this_package(name: OsString) -> Option<OsString> {
    let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    name.to_str().is_some_and(of_package).then_some(name)
}

/// The program, built as `cargo build` builds it.
fn canopy() -> PathBuf {
    let mut cargo = Command::new("cargo");
    cargo.args([
        "build",
        "--quiet",
        "--offline",
        "--package",
        "canopy",
        "--message-format=json",
    ]);
    env::vars_os()
        .filter_map(|(name, _)| of_this_package(name))
        .for_each(|name| {
            cargo.env_remove(name);
        });
    let output = cargo.current_dir(root()).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let messages = text(&output);
    let programs = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    });
    programs
        .into_iter()
        .find(|path| path.ends_with("canopy"))
        .unwrap()
}

/// Options of a training of seconds.
const TINY: [&str; 8] = [
    "--batch",
    "4",
    "--points",
    "48",
    "--width",
    "16",
    "--workers",
    "1",
];

/// All templates share one Slurm, because starting one takes seconds, and jobs wait while others run.
#[test]
#[ignore = "not run, because it starts a Slurm on this machine; `.ci/run` runs it"]
fn the_templates_run_on_a_real_slurm() {
    let mut cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => return println!("not run, because {reason}"),
    };
    jobs::all_pass_the_checks(&cluster);
    // These two take longest, on node1.
    let cut = faults::Cut::begin(&cluster);
    let grading = grading::Grading::begin(&cluster);
    let jobs = jobs::Jobs::begin(&cluster);
    let whole = cut.unbroken(&cluster);
    jobs.end(&cluster);
    faults::node2_dies(&mut cluster);
    grading.end(&cluster);
    cut.end(&cluster, &whole);
}
