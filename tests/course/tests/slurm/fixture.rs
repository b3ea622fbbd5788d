//! A Slurm on this machine, for tests: a controller and two nodes that listen on loopback only.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
    thread::{available_parallelism, sleep},
    time::{Duration, Instant},
};

/// Seconds after its start at which a Slurm whose jobs or daemons have not reached the expected state fails the test.
const DEADLINE: u64 = 360;
const NODES: [&str; 2] = ["node1", "node2"];
const CARDS: usize = 4;

/// Dropping it kills its daemons; if the test has failed, its folder with all logs is kept.
pub struct Slurm {
    began: Instant,
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
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
            folder,
            daemons: Vec::new(),
        };
        slurm.configure();
        let at = slurm.path().display().to_string();
        slurm.daemon(&format!(
            "munged --foreground --key-file={at}/key --socket={at}/munge.socket --pid-file={at}/munged.pid \
             --log-file={at}/munged.log --seed-file={at}/munged.seed"
        ));
        slurm.wait("munged to create its socket", |s| {
            s.path().join("munge.socket").exists()
        });
        slurm.daemon("slurmctld -D");
        for node in NODES {
            slurm.daemon(&format!("slurmd -D -N{node}"));
        }
        slurm.wait("the nodes to be idle", |s| {
            s.output("sinfo", &["-h", "-N", "-o%T"]) == "idle\nidle"
        });
        Ok(slurm)
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the key of munged, `slurm.conf` and `gres.conf`.
    fn configure(&self) {
        let folder = self.path();
        let key = folder.join("key");
        fs::write(&key, [42; 128]).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [controller, first, second] = listeners.map(|l| l.local_addr().unwrap().port());
        let host = successful(Command::new("hostname").arg("-s"));
        let user = successful(Command::new("id").arg("-un"));
        // Some of the jobs wait for others; tasks are not bound to cores, so a node may have more than the machine.
        let cores = available_parallelism().unwrap().get().max(4);
        let gres = format!("gpu:card:{CARDS},gpu:slice:1");
        // `cred_expire` is the number of seconds that a requeued job waits (5 at least).
        let text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={controller}\n\
             CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthInfo=socket={at}/munge.socket,cred_expire=5\nStateSaveLocation={at}/state\nReturnToService=2\n\
             SlurmdSpoolDir={at}/spool-%n\nSlurmctldPidFile={at}/slurmctld.pid\nSlurmdPidFile={at}/slurmd-%n.pid\n\
             TmpFS={at}/tmp-%n\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSlurmdParameters=config_overrides\n\
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
    fn daemon(&mut self, line: &str) {
        let mut words = line.split(' ');
        let mut command = self.command(words.next().unwrap());
        let log = self.path().join(format!("{}.out", self.daemons.len()));
        let log = fs::File::create(log).unwrap();
        command.args(words).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push(command.spawn().unwrap());
    }

    /// What a program of Slurm prints.
    pub fn output(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        text.trim().to_owned()
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
        self.wait(&format!("job {job}"), |slurm| {
            let states = slurm.says(job, "JobState");
            !states.is_empty() && states.iter().all(|state| end.contains(&&**state))
        });
        let mut states = self.says(job, "JobState");
        states.sort();
        states.dedup();
        states.join(" ")
    }

    pub fn wait(&self, what: &str, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            let jobs = || self.output("scontrol", &["show", "job"]);
            let is_late = self.began.elapsed().as_secs() > DEADLINE;
            assert!(!is_late, "{DEADLINE} s were too few for {what}\n{}", jobs());
            sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // After a failure, jobs may still run: they end before the daemons that would end them.
        let user = successful(Command::new("id").arg("-un"));
        self.output("scancel", &["--user", &user]);
        let start = Instant::now();
        while !self.output("squeue", &["-h"]).is_empty() && start.elapsed().as_secs() < 30 {
            sleep(Duration::from_millis(100));
        }
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            println!(
                "the logs of Slurm and of its jobs are in {}",
                self.path().display()
            );
        }
    }
}

/// What a program prints that must succeed.
#[track_caller]
pub fn successful(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}{errors}");
    text.trim().to_owned()
}
