//! The processes of a job, and what becomes of the run when one is lost, frozen or stopped.

use std::{
    process::{Child, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use super::*;

/// Every wait of these tests ends after this time.
const LIMIT: Duration = Duration::from_secs(40);

/// Settings of Open MPI for a machine with few cores, whose user may be root.
fn with_settings(command: &mut Command) -> &mut Command {
    let settings = [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_btl", "self,vader"),
        ("RAYON_NUM_THREADS", "1"),
    ];
    command.envs(settings)
}

/// A job of several ranks, which write their process numbers into `folder`.
struct Job {
    mpirun: Child,
    folder: PathBuf,
    began: Instant,
}

/// Each rank runs this, over Open MPI or MPICH: `$0` is the folder for process numbers. `$@` is the program, with `RANK` replaced.
const SCRIPT: &str = r#"r=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; echo $$ > "$0/pid.part.$r"; mv "$0/pid.part.$r" "$0/pid.$r"
    for word; do shift; case "$word" in *RANK*) word="${word%%RANK*}$r${word#*RANK}";; esac; set -- "$@" "$word"; done
    exec "$@""#;

/// Whether mpirun is Open MPI's; otherwise it is MPICH's.
fn is_open_mpi() -> bool {
    let version = Command::new("mpirun").arg("--version").output();
    version.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("Open MPI"))
}

impl Job {
    /// Starts `command` on `ranks` ranks.
    fn start(dir: &Path, ranks: usize, command: &Command) -> Self {
        let folder = tempfile::tempdir_in(dir).unwrap().keep();
        let mut mpirun = Command::new("mpirun");
        mpirun.args(["-n", &ranks.to_string(), "sh", "-c", SCRIPT]);
        mpirun
            .arg(&folder)
            .arg(command.get_program())
            .args(command.get_args());
        let settings = command.get_envs();
        mpirun.envs(settings.filter_map(|(name, value)| Some((name, value?))));
        let said = |name: &str| fs::File::create(folder.join(name)).unwrap();
        let output = mpirun.stdout(said("stdout")).stderr(said("stderr"));
        let started = with_settings(output.stdin(Stdio::null())).spawn();
        Self {
            mpirun: started.expect("mpirun starts"),
            folder,
            began: Instant::now(),
        }
    }

    /// Waits until the job has ended, and returns the exit code of mpirun and what the ranks said on standard error.
    fn end(mut self) -> (Option<i32>, String) {
        let code = loop {
            if let Some(status) = self.mpirun.try_wait().unwrap() {
                break status.code();
            }
            self.check_time("end");
        };
        println!("{:.1} s, exit code {code:?}", self.began.elapsed().as_secs_f64());
        (code, fs::read_to_string(self.folder.join("stderr")).unwrap())
    }

    fn check_time(&mut self, what: &str) {
        sleep(Duration::from_millis(10));
        if self.began.elapsed() > LIMIT {
            self.mpirun.kill().unwrap();
            panic!("the job did not {what} within {LIMIT:?}");
        }
    }

    /// Waits until `file` exists and the ranks have taken some more steps, then sends `signal` to a rank, or to mpirun.
    fn signal(&mut self, file: &Path, rank: Option<usize>, signal: i32) {
        while !file.exists() {
            assert!(self.mpirun.try_wait().unwrap().is_none(), "it ended too early");
            self.check_time("write a checkpoint");
        }
        sleep(Duration::from_millis(200));
        let of_rank = |rank| fs::read_to_string(self.folder.join(format!("pid.{rank}"))).unwrap();
        let id = rank.map_or(self.mpirun.id() as i32, |rank| {
            of_rank(rank).trim().parse().unwrap()
        });
        // SAFETY: the process is a rank of this job, or its mpirun, which has not been waited for.
        assert_eq!(unsafe { libc::kill(id, signal) }, 0);
        self.began = Instant::now();
    }
}

/// `canopy train` with batches for three ranks; each needs two clouds.
fn train_on_three(data: &Path, run: &Path, words: &str) -> Command {
    let mut command = canopy("train --batch 6 --points 48 --width 16 --device cpu");
    command.arg("--data").arg(data).arg("--out").arg(run);
    command.args(words.split_whitespace());
    command
}

/// Options of a run that lasts until it is interrupted.
const LONG: &str = "--epochs 100000 --evaluate-every 1000 --checkpoint-seconds 0 --rank-deadline 2";

fn errors(said: &str) -> Vec<&str> {
    said.lines().filter(|line| line.starts_with("error: ")).collect()
}

#[test]
fn two_processes_end_bit_identical_to_two_threads() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 40);
    let [mpi, threads, launched] = ["mpi", "threads", "launched"].map(|name| dir.path().join(name));
    let words = "--epochs 3 --model full";
    let job = Job::start(dir.path(), 2, &train(&data, &mpi, words));
    let (code, said) = job.end();
    assert_eq!(code, Some(0), "{said}");
    // Rank 0 alone speaks and writes.
    assert_eq!(said.matches("writing to").count(), 1, "{said}");
    assert!(mpi.join("report.html").exists());
    succeeds(&mut train(&data, &threads, &format!("{words} --ranks 2")));
    resume::assert_same(&mpi, &threads);

    let run = train(&data, &launched, words);
    let mut launch = canopy("launch --ranks 2 --");
    succeeds(with_settings(launch.args(run.get_args())));
    resume::assert_same(&mpi, &launched);
}

#[test]
fn bench_scale_measures_processes() {
    let dir = tempfile::tempdir().unwrap();
    let options = "--width 16 --points 32 --batch 2 --steps 1 --json";
    let job = Job::start(dir.path(), 2, &canopy(&format!("bench scale {options}")));
    let stdout = job.folder.join("stdout");
    let (code, said) = job.end();
    assert_eq!(code, Some(0), "{said}");
    let found = fs::read_to_string(stdout).unwrap();
    check_scaling(&serde_json::from_str(&found).unwrap(), "MPI");
}

#[test]
fn a_launcher_that_contradicts_mpi_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    if !is_open_mpi() {
        return println!("not run, because MPICH itself waits for the ranks that its variables promise");
    }
    let (data, run) = (tiny_forest(dir.path(), 12), dir.path().join("run"));
    let train = train(&data, &run, "--epochs 1");
    let mut command = Command::new("env");
    command
        .arg("OMPI_COMM_WORLD_SIZE=3")
        .arg(train.get_program())
        .args(train.get_args());
    let job = Job::start(dir.path(), 2, &command);
    let (code, said) = job.end();
    assert!(code != Some(0), "{said}");
    assert_contains(&said, &["says that this is rank 0 of 3", "MPI says rank 0 of 2"]);
    assert!(!run.exists());
}

#[test]
fn a_lost_or_frozen_rank_ends_the_job_on_all_ranks_and_the_run_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 40);
    for (rank, signal) in [(2, libc::SIGKILL), (2, libc::SIGSTOP), (0, libc::SIGSTOP)] {
        let run = dir.path().join(format!("run-{rank}-{signal}"));
        // If a rank is killed, mpirun ends the others long before the usual deadline. It leaves them so many seconds after
        // SIGTERM: one, its default, is short on a busy machine.
        let words = match signal {
            libc::SIGKILL => LONG.replace("--rank-deadline 2", "--rank-deadline 60"),
            _ => LONG.to_owned(),
        };
        let mut train = train_on_three(&data, &run, &words);
        if signal == libc::SIGKILL {
            train.env("OMPI_MCA_odls_base_sigkill_timeout", "2");
        }
        let mut job = Job::start(dir.path(), 3, &train);
        job.signal(&run.join("last.safetensors"), Some(rank), signal);
        let began = job.began;
        let (code, said) = job.end();
        assert!(code != Some(0), "{said}");
        assert!(began.elapsed() < Duration::from_secs(10), "the deadline is 2 s");
        let errors = errors(&said);
        if signal == libc::SIGKILL {
            // mpirun ends the job before the deadline. MPICH's says so on standard output, and kills the ranks at once.
            let killed = format!("process rank {rank} ");
            let named = format!("rank {rank} has given no sign of life since");
            let parts = [&*killed, "Killed", &*named, "its last activity: "];
            let noticed = parts.iter().all(|part| said.contains(part));
            assert!((noticed || !is_open_mpi()) && errors.len() <= 1, "{said}");
        } else {
            assert_eq!(errors.len(), 1, "one cause: {said}");
            assert_contains(errors[0], &[&format!("rank {rank} gave no sign of life")]);
        }
        // Resumed with another number of ranks, until it is stopped.
        let mut again = canopy("train --resume");
        again.arg(&run);
        let step = saved_step(&run);
        let mut job = Job::start(dir.path(), 2, &again);
        while saved_step(&run) == step {
            job.check_time("take more steps");
        }
        job.signal(&run.join("last.safetensors"), None, libc::SIGUSR1);
        let (code, said) = job.end();
        // MPICH's mpirun may lose the code of the ranks.
        assert!(code == Some(75) || !is_open_mpi(), "{code:?}: {said}");
        assert_contains(&said, &["2 ranks", "stopped; a checkpoint is saved"]);
    }
}

fn saved_step(run: &Path) -> u64 {
    let saved = canopy::train::checkpoint::load(&run.join("last.safetensors"));
    saved.unwrap().progress.step
}

#[test]
fn a_run_that_is_stopped_on_one_rank_resumes_bit_identical() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 40);
    let [whole, broken] = ["whole", "broken"].map(|name| dir.path().join(name));
    let words = "--epochs 60 --evaluate-every 10 --checkpoint-seconds 0 --ranks 2";
    succeeds(&mut train(&data, &whole, words));
    let mut job = Job::start(dir.path(), 2, &train(&data, &broken, words));
    // All ranks stop if one of them receives the signal.
    job.signal(&broken.join("last.safetensors"), Some(1), libc::SIGTERM);
    let (code, said) = job.end();
    if code == Some(130) {
        let mut again = canopy("train --resume");
        again.arg(&broken);
        assert_eq!(Job::start(dir.path(), 2, &again).end().0, Some(0));
    } else {
        assert_eq!(code, Some(0), "the signal came after the last step: {said}");
    }
    resume::assert_same(&whole, &broken);
}

#[test]
fn ranks_that_are_started_differently_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 40);
    fs::rename(&data, dir.path().join("data-0")).unwrap();
    let same = tiny_forest(dir.path(), 40);
    fs::rename(&same, dir.path().join("data-1")).unwrap();
    let other = tiny_forest(dir.path(), 44);
    fs::rename(&other, dir.path().join("data-2")).unwrap();
    let of_rank = dir.path().join("data-RANK");
    let run = dir.path().join("run");
    // Ranks 0 and 1 have equal data at different places; rank 2 has other data.
    let other_data = train_on_three(&of_rank, &run, "--epochs 1");
    let other_seed = train(&dir.path().join("data-0"), &run, "--epochs 1 --seed RANK");
    let other_number = train(&dir.path().join("data-0"), &run, "--ranks 3");
    for (ranks, command, expected) in [
        (
            3,
            other_data,
            ["rank 2 was started differently", "data with digest"],
        ),
        (2, other_seed, ["rank 1 was started differently", "seed = 1"]),
        (2, other_number, ["started 2 processes", "ask for 3 ranks"]),
    ] {
        let job = Job::start(dir.path(), ranks, &command);
        let (code, said) = job.end();
        assert_eq!((code, errors(&said).len()), (Some(1), 1), "{said}");
        assert_contains(errors(&said)[0], &expected);
    }
}
