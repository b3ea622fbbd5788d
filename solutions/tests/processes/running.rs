//! Runs of several processes, their signals and their states.

use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use candle_core::{DType, Tensor};
use canopy::train::checkpoint;

use crate::program;

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(60);

const LAUNCHERS: [&str; 6] = ["SLURM_", "OMPI_", "PMI", "TORCHELASTIC_", "MASTER_", "CANOPY_"];

/// The program, as at home: no variable of a launcher is set.
pub fn canopy() -> Command {
    let mut command = program::canopy();
    for (name, _) in std::env::vars() {
        let of_launcher = LAUNCHERS.iter().any(|start| name.starts_with(start));
        if of_launcher || ["RANK", "WORLD_SIZE", "LOCAL_RANK"].contains(&&name[..]) {
            command.env_remove(name);
        }
    }
    command
}

/// `canopy train` on a tiny forest in `dir`, into `dir/out`.
pub fn train(dir: &Path, out: &str, more: &[&str]) -> Command {
    let data = dir.join("tiny");
    if !data.exists() {
        program::tiny_forest(dir, 40);
    }
    let mut command = canopy();
    command
        .args(["--threads", "1", "train", "--data"])
        .arg(data)
        .arg("--out");
    command.arg(dir.join(out)).args([
        "--batch",
        "8",
        "--points",
        "48",
        "--width",
        "16",
        "--checkpoint-seconds",
        "0.1",
    ]);
    command
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// `commands` as the ranks of one job that a launcher like torchrun starts.
pub fn launch(commands: Vec<Command>) -> Vec<Child> {
    let world = commands.len().to_string();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let all = commands.into_iter().enumerate().map(|(rank, mut command)| {
        let rank = rank.to_string();
        command
            .envs([("RANK", &rank), ("LOCAL_RANK", &rank), ("WORLD_SIZE", &world)])
            .envs([("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", &port.to_string())])
            .spawn()
            .unwrap()
    });
    all.collect()
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Output of a run that must come to its end.
pub fn done(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The processes that `child` started, by rank, once the run has saved.
pub fn ranks_of(child: &Child, run: &Path, ranks: usize) -> BTreeMap<usize, u32> {
    until("a checkpoint", || run.join("last.safetensors").exists());
    let found = children(child.id());
    assert_eq!(found.len(), ranks - 1, "{found:?}");
    found
}

fn children(parent: u32) -> BTreeMap<usize, u32> {
    let pids = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let rank_of = |pid: u32| -> Option<(usize, u32)> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut after_name = stat.rsplit(')').next()?.split_whitespace();
        let (_state, ppid) = (after_name.next()?, after_name.next()?);
        let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let rank = environ
            .split(|b| *b == 0)
            .find_map(|v| v.strip_prefix(b"RANK="))?;
        let rank = std::str::from_utf8(rank).ok()?.parse().ok()?;
        (ppid.parse::<u32>().ok()? == parent).then_some((rank, pid))
    };
    pids.filter_map(rank_of).collect()
}

/// Whether a process is there and has not ended.
pub fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

pub fn signal(pid: u32, name: &str) {
    let kill = format!("kill -s {name} {pid}");
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// All that a run has learnt, bit for bit, and its losses.
#[derive(Debug, PartialEq)]
pub struct State {
    step: u64,
    best: Option<(u64, usize)>,
    tensors: BTreeMap<String, Vec<u64>>,
    losses: Vec<String>,
}

pub fn state(run: &Path) -> State {
    let checkpoint::Checkpoint {
        progress,
        model,
        optimizer,
    } = checkpoint::load(&run.join("last.safetensors")).unwrap();
    let bits = |t: &Tensor| -> Vec<u64> {
        let flat = t.to_dtype(DType::F64).unwrap().flatten_all().unwrap();
        flat.to_vec1::<f64>()
            .unwrap()
            .iter()
            .map(|v| v.to_bits())
            .collect()
    };
    let model = model.iter().map(|(name, t)| (name.clone(), bits(t)));
    let optimizer = optimizer
        .iter()
        .map(|(name, t)| (format!("optimizer {name}"), bits(t)));
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let loss = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        format!("{} {} {}", row["epoch"], row["train_loss"], row["train_accuracy"])
    };
    State {
        step: progress.step,
        best: progress.best,
        tensors: model.chain(optimizer).collect(),
        losses: metrics.lines().map(loss).collect(),
    }
}
