//! A Slurm on this machine, for tests: a controller and two nodes that listen on loopback only.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread::{available_parallelism, sleep},
    time::{Duration, Instant},
};

/// Seconds after its start at which a Slurm whose jobs or daemons have not reached the expected state fails the test.
const DEADLINE: u64 = 360;

/// Dropping it kills its daemons; if the test has failed, its folder with all logs is kept.
pub struct Slurm {
    began: Instant,
    folder: Option<tempfile::TempDir>,
    daemons: Vec<(String, Child)>,
}

impl Slurm {
    /// Starts munged (authentication), the controller and two nodes, each with this machine's cores and GPUs that exist only as
    /// resources to request. Returns the reason if a program is missing.
    pub fn start() -> Result<Self, String> {
        for program in ["munged", "slurmctld", "slurmd", "sbatch", "shellcheck"] {
            let found = Command::new(program).arg("--version").output();
            found.map_err(|e| format!("{program}: {e} (apt-get install slurm-wlm munge shellcheck)"))?;
        }
        let folder = tempfile::Builder::new().prefix("slurm").tempdir().unwrap();
        // Clients of munged must be able to enter the folder of its socket.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut slurm = Self {
            began: Instant::now(),
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
        for node in NODES {
            slurm.daemon("slurmd", &["-D".to_owned(), format!("-N{node}")]);
        }
        slurm.wait("the nodes to be idle", |s| {
            s.output("sinfo", &["-h", "-N", "-o%T"]) == "idle\nidle"
        });
        Ok(slurm)
    }

    pub fn path(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    /// Writes the key of munged, `slurm.conf` and `gres.conf`.
    fn configure(&self) {
        let folder = self.path();
        let key = folder.join("key");
        fs::write(&key, [42; 128]).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [controller, first, second] = listeners.map(|l| l.local_addr().unwrap().port());
        let (host, user) = (printed("hostname", "-s"), printed("id", "-un"));
        // Some of the jobs wait for others; tasks are not bound to cores, so a node may have more than the machine.
        let cores = available_parallelism().unwrap().get().max(4);
        let gres = format!("gpu:card:{CARDS},gpu:slice:1");
        // `cred_expire` is the number of seconds that a requeued job waits (5 at least); a node that does not answer for
        // `SlurmdTimeout` seconds is down.
        let text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={controller}\n\
             CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthInfo=socket={at}/munge.socket,cred_expire=5\nStateSaveLocation={at}/state\nReturnToService=2\n\
             SlurmdSpoolDir={at}/spool-%n\nSlurmctldPidFile={at}/slurmctld.pid\nSlurmdPidFile={at}/slurmd-%n.pid\n\
             TmpFS={at}/tmp-%n\nSlurmdTimeout=9\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSlurmdParameters=config_overrides\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nGresTypes=gpu\nSchedulerParameters=sched_interval=5,bf_interval=2\n\
             NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs={cores} RealMemory=4000 Gres={gres}\n\
             NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs={cores} RealMemory=4000 Gres={gres}\n\
             PartitionName=work Nodes=ALL Default=YES\n",
            at = folder.display(),
        );
        fs::write(folder.join("slurm.conf"), text).unwrap();
        // PMIx creates a folder there whose name is the step's, so the nodes cannot share one.
        for node in NODES {
            fs::create_dir(folder.join(format!("tmp-{node}"))).unwrap();
        }
        let mut gres = String::new();
        for (kind, count) in [("card", CARDS), ("slice", 1)] {
            for i in 0..count {
                let file = folder.join(format!("{kind}{i}"));
                fs::write(&file, "").unwrap();
                gres += &format!(
                    "NodeName=node[1-2] Name=gpu Type={kind} File={}\n",
                    file.display()
                );
            }
        }
        fs::write(folder.join("gres.conf"), gres).unwrap();
    }

    /// A program that speaks to this Slurm.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("SLURM_CONF", self.path().join("slurm.conf"))
            .stdin(Stdio::null());
        command
    }

    /// Starts a daemon in the foreground, with its output in a log.
    fn daemon(&mut self, program: &str, arguments: &[String]) {
        let name = format!(
            "{program}{}",
            arguments
                .last()
                .filter(|a| a.starts_with("-N"))
                .map_or("", |a| &a[2..])
        );
        let log = fs::File::create(self.path().join(format!("{name}.out"))).unwrap();
        let mut command = self.command(program);
        command
            .args(arguments)
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        self.daemons.push((name, command.spawn().unwrap()));
    }

    /// What a program of Slurm prints.
    pub fn output(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program).args(arguments).output().unwrap();
        text(&output).trim().to_owned()
    }

    /// What Slurm says of a job, of each task of an array, under this name, such as `JobState`.
    pub fn says(&self, job: &str, name: &str) -> Vec<String> {
        let text = self.output("scontrol", &["show", "job", job]);
        let words = text.split_whitespace().filter_map(|word| word.split_once('='));
        words
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned())
            .collect()
    }

    /// Waits until the job, or each task of the array, has ended. Returns the states, each once.
    pub fn ended(&self, job: &str) -> String {
        let end = ["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL"];
        self.wait(&format!("job {job}"), |s| {
            let states = s.says(job, "JobState");
            !states.is_empty() && states.iter().all(|state| end.contains(&&**state))
        });
        let mut states = self.says(job, "JobState");
        states.sort();
        states.dedup();
        states.join(" ")
    }

    pub fn wait(&self, what: &str, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            let late = self.began.elapsed().as_secs() > DEADLINE;
            assert!(
                !late,
                "{DEADLINE} s were too few for {what}\n{}",
                self.output("scontrol", &["show", "job"])
            );
            sleep(Duration::from_millis(200));
        }
    }

    /// Ends a node as a power cut does: its daemon, and all processes of its jobs.
    pub fn cut_power(&mut self, node: &str) {
        let daemon = self
            .daemons
            .iter_mut()
            .find(|(name, _)| *name == format!("slurmd{node}"))
            .unwrap();
        daemon.1.kill().unwrap();
        daemon.1.wait().unwrap();
        let own = format!("SLURM_CONF={}\0", self.path().join("slurm.conf").display());
        let of_node = format!("SLURMD_NODENAME={node}\0");
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids: Vec<i32> = pids
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        let mut tasks: Vec<i32> = pids
            .into_iter()
            .filter(|pid| {
                let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                let environment = String::from_utf8_lossy(&environment).into_owned();
                environment.contains(&own) && environment.contains(&of_node)
            })
            .collect();
        // The daemons of the steps first: they would report the end of their tasks.
        let mut steps: Vec<i32> = tasks.iter().filter_map(|pid| step_of(*pid)).collect();
        steps.append(&mut tasks);
        for pid in steps {
            // SAFETY: kill takes any process number; a process that has ended meanwhile is an error that does not matter.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
}

/// The daemon of Slurm that started a process or one of its parents.
fn step_of(pid: i32) -> Option<i32> {
    let read = |name| fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
    if read("cmdline")?.starts_with("slurmstepd") {
        return Some(pid);
    }
    let status = read("status")?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    step_of(parent.trim().parse().ok().filter(|parent| *parent > 1)?)
}

pub const NODES: [&str; 2] = ["node1", "node2"];
const CARDS: usize = 4;

impl Drop for Slurm {
    fn drop(&mut self) {
        // After a failure, jobs may still run: they end before the daemons that would end them.
        self.output("scancel", &["--user", &printed("id", "-un")]);
        let start = Instant::now();
        while !self.output("squeue", &["-h"]).is_empty() && start.elapsed().as_secs() < 30 {
            sleep(Duration::from_millis(100));
        }
        // In the reverse order of their start: slurmd reports to the controller, and both authenticate with munged.
        for (_, daemon) in self.daemons.iter_mut().rev() {
            if daemon.try_wait().is_ok_and(|ended| ended.is_none()) {
                // SAFETY: kill takes any process number; this child has not been waited for, so the number is its own.
                unsafe { libc::kill(daemon.id() as i32, libc::SIGTERM) };
                let _ = daemon.wait();
            }
        }
        if std::thread::panicking() {
            let kept: PathBuf = self.folder.take().unwrap().keep();
            println!("the logs of Slurm and of its jobs are in {}", kept.display());
        }
    }
}

/// One word that a program prints.
fn printed(program: &str, argument: &str) -> String {
    text(&Command::new(program).arg(argument).output().unwrap())
        .trim()
        .to_owned()
}

/// Standard output.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
