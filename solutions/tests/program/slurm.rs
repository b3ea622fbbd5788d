//! The job templates of `slurm/` on a real Slurm: a controller and one node, started by the test on this machine.

use std::{
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    process::{Child, Stdio},
    thread::{available_parallelism, sleep},
    time::{Duration, Instant},
};

use crate::*;

/// Seconds after which a job or a daemon that has not reached the expected state fails the test.
const DEADLINE: u64 = 120;

/// A Slurm that listens on loopback only. Dropping it kills its daemons; if the test has failed, its folder is kept.
struct Slurm {
    folder: Option<tempfile::TempDir>,
    daemons: Vec<Child>,
}

impl Slurm {
    /// Starts munged (authentication), the controller and the daemon of a node with this machine's cores and one GPU that exists
    /// only as a resource to request. Returns the reason if a program is missing.
    fn start() -> Result<Self, String> {
        for program in ["munged", "slurmctld", "slurmd", "sbatch"] {
            let found = Command::new(program).arg("--version").output();
            found.map_err(|e| format!("{program}: {e} (apt-get install slurm-wlm munge)"))?;
        }
        let folder = tempfile::tempdir().unwrap();
        // Clients of munged must be able to enter the folder of its socket.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut slurm = Self {
            folder: Some(folder),
            daemons: Vec::new(),
        };
        slurm.configure();
        let at = |name: &str| format!("{}/{name}", slurm.path().display());
        let munged = [
            "--foreground".to_owned(),
            format!("--key-file={}", at("key")),
            format!("--socket={}", at("munge.socket")),
            format!("--pid-file={}", at("munged.pid")),
            format!("--log-file={}", at("munged.log")),
            format!("--seed-file={}", at("munged.seed")),
        ];
        slurm.daemon("munged", &munged);
        slurm.wait("munged to create its socket", |s| {
            s.path().join("munge.socket").exists()
        });
        slurm.daemon("slurmctld", &["-D".to_owned()]);
        slurm.daemon("slurmd", &["-D".to_owned(), "-Nnode1".to_owned()]);
        slurm.wait("the node to be idle", |s| {
            s.run("sinfo", &["-h", "-o%T"]) == "idle"
        });
        Ok(slurm)
    }

    fn path(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    /// Writes the key of munged and `slurm.conf`.
    fn configure(&self) {
        let (folder, cores) = (self.path().display(), available_parallelism().unwrap());
        let key = self.path().join("key");
        fs::write(&key, [42; 128]).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
        let [controller, node] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let port = |listener: TcpListener| listener.local_addr().unwrap().port();
        let (host, user) = (printed("hostname", "-s"), printed("id", "-un"));
        let (controller, node) = (port(controller), port(node));
        // `cred_expire` is the number of seconds that a requeued job waits (5 at least).
        let text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={controller}\n\
             CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthInfo=socket={folder}/munge.socket,cred_expire=5\nStateSaveLocation={folder}/state\n\
             SlurmdSpoolDir={folder}/spool\nSlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/slurmd.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/affinity\nTaskPluginParam=Cores\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\nGresTypes=gpu\n\
             NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node} CPUs={cores} RealMemory=2000 Gres=gpu:1\n\
             PartitionName=work Nodes=ALL Default=YES\n"
        );
        fs::write(self.path().join("slurm.conf"), text).unwrap();
        fs::write(
            self.path().join("gres.conf"),
            "NodeName=node1 Name=gpu File=/dev/null\n",
        )
        .unwrap();
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.path().join("slurm.conf"));
        command
    }

    /// Starts a daemon in the foreground, with its output in a log.
    fn daemon(&mut self, program: &str, arguments: &[String]) {
        let log = fs::File::create(self.path().join(format!("{program}.out"))).unwrap();
        let mut command = self.command(program);
        command
            .args(arguments)
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        self.daemons.push(command.stdin(Stdio::null()).spawn().unwrap());
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program).args(arguments).output().unwrap();
        text(&output.stdout).trim().to_owned()
    }

    /// Submits a template from `folder` with options of Slurm and arguments, and returns the number of the job.
    fn submit(&self, folder: &Path, options: &str, template: &str, arguments: &[&str]) -> String {
        let mut sbatch = self.command("sbatch");
        sbatch.arg("--parsable").args(options.split_whitespace());
        sbatch.arg(templates::templates().join(template)).args(arguments);
        sbatch
            .current_dir(folder)
            .env("CANOPY", env!("CARGO_BIN_EXE_canopy"));
        // The job gets the environment. With the variables of this test's package, cargo would build ring and its dependents again.
        for (name, _) in std::env::vars_os() {
            let own = ["CARGO_PKG_", "CARGO_MANIFEST_"];
            if name
                .to_str()
                .is_some_and(|name| own.iter().any(|own| name.starts_with(own)))
            {
                sbatch.env_remove(name);
            }
        }
        stdout(sbatch.env("DEVICE", "cpu")).trim().to_owned()
    }

    /// What Slurm says of a job under this name, such as `JobState`.
    fn says(&self, job: &str, name: &str) -> String {
        let text = self.run("scontrol", &["show", "job", job]);
        let mut words = text.split_whitespace().filter_map(|word| word.split_once('='));
        words
            .find(|(key, _)| *key == name)
            .unwrap_or_default()
            .1
            .to_owned()
    }

    /// Waits until the job has ended. Returns its state and its exit code.
    fn ended(&self, job: &str) -> (String, String) {
        let end = ["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL"];
        self.wait(&format!("job {job}"), |s| {
            end.contains(&&*s.says(job, "JobState"))
        });
        (self.says(job, "JobState"), self.says(job, "ExitCode"))
    }

    fn wait(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !done(self) {
            let late = start.elapsed().as_secs() > DEADLINE;
            assert!(
                !late,
                "waited {DEADLINE} s for {what}\n{}",
                self.run("scontrol", &["show", "job"])
            );
            sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // After a failure, jobs may still run: they end before the daemons that would end them.
        self.run("scancel", &["--user", &printed("id", "-un")]);
        let start = Instant::now();
        while !self.run("squeue", &["-h"]).is_empty() && start.elapsed().as_secs() < 30 {
            sleep(Duration::from_millis(100));
        }
        // In the reverse order of their start: slurmd reports to the controller, and both authenticate with munged.
        for daemon in self.daemons.iter_mut().rev() {
            // SAFETY: kill takes any process number; this child has not been waited for, so the number is its own.
            unsafe { libc::kill(daemon.id() as i32, libc::SIGTERM) };
            let _ = daemon.wait();
        }
        if std::thread::panicking() {
            let kept = self.folder.take().unwrap().keep();
            println!("the logs of Slurm are in {}", kept.display());
        }
    }
}

/// One word that a program prints.
fn printed(program: &str, argument: &str) -> String {
    stdout(Command::new(program).arg(argument)).trim().to_owned()
}

/// The job of `gpu.sbatch` gets the signal that Slurm sends before the time limit, is requeued by its template, and resumes. As in
/// the job of `ranks.sbatch`, the training gets all cores that the job requested, although Slurm binds a task to those that it
/// requested itself. The job of `lesson.sbatch` runs the checks of an exercise.
#[test]
#[ignore = "not run, because it starts a Slurm on this machine; `.ci/run` runs it"]
fn the_templates_run_on_a_real_slurm() {
    let slurm = match Slurm::start() {
        Ok(slurm) => slurm,
        Err(reason) => return println!("not run, because {reason}"),
    };
    let folder = tempfile::tempdir().unwrap();
    let data = tiny_forest(folder.path(), 40);
    let arguments = |first: &[&'static str], epochs: &'static str| {
        let rest = "--batch 4 --points 48 --width 16 --checkpoint-seconds 0 --data";
        let rest = rest.split(' ').chain([data.to_str().unwrap()]);
        [first, &["--epochs", epochs], &rest.collect::<Vec<_>>()].concat()
    };
    let small = format!(
        "--mem=1G --time=5 --cpus-per-task=2 --output={}/%j.log",
        folder.path().display()
    );
    let log = |job: &str| fs::read_to_string(folder.path().join(format!("{job}.log"))).unwrap();
    let completed = ("COMPLETED".to_owned(), "0:0".to_owned());

    let gpu = slurm.submit(
        folder.path(),
        &small,
        "gpu.sbatch",
        &arguments(&["the run"], "200"),
    );
    slurm.wait("the first checkpoint", |_| {
        folder.path().join("the run/last.safetensors").exists()
    });
    slurm.run("scancel", &["--batch", "--signal=USR1", &gpu]);
    let ranks = slurm.submit(
        folder.path(),
        &small,
        "ranks.sbatch",
        &arguments(&["2", "ranks"], "2"),
    );
    assert_eq!(slurm.ended(&ranks), completed, "{}", log(&ranks));
    assert_contains(&log(&ranks), &["cpu, 2 threads"]);
    assert_eq!(slurm.ended(&gpu), completed, "{}", log(&gpu));
    assert_eq!(slurm.says(&gpu, "Restarts"), "1");
    let requeued = format!("saved; requeueing job {gpu}");
    assert_contains(
        &log(&gpu),
        &["cpu, 2 threads", &requeued, "train --resume the\\ run"],
    );
    assert!(
        folder.path().join("the run/report.html").exists(),
        "{}",
        log(&gpu)
    );

    // Its state does not matter: here a student may have written the exercise.
    let lesson = slurm.submit(
        &templates::templates().join(".."),
        &small,
        "lesson.sbatch",
        &["01", "1.1"],
    );
    slurm.ended(&lesson);
    assert_contains(&log(&lesson), &["--package lesson01 -- 1.1", "1.1  A neuron"]);
}
