//! A sweep whose workers are killed loses no trial and trains none twice.

use std::{
    io::Write,
    process::{Child, Stdio},
    thread::sleep,
    time::Duration,
};

use serde_json::json;

use crate::{resume::assert_same, *};

/// Writes the file of a sweep of a small model on the data set `data`.
fn space(dir: &Path, data: &Path, head: &str, epochs: usize, space: &str) -> PathBuf {
    let path = dir.join("space.toml");
    let train =
        "batch = 4\npoints = 48\nwidth = 16\ndevice = \"cpu\"\nevaluate-every = 1\ncheckpoint-seconds = 0";
    let text = format!("{head}\n[train]\ndata = {data:?}\nepochs = {epochs}\n{train}\n[space]\n{space}\n");
    fs::write(&path, text).unwrap();
    path
}

fn sweep(space: &Path, out: &Path, words: &str) -> Command {
    let mut command = canopy(&format!("sweep {words}"));
    command.arg(space).arg("--out").arg(out);
    command
}

/// The results without times and paths.
fn results(command: &mut Command) -> Value {
    let mut found = json(command);
    for measured in ["device_hours", "planned_hours"] {
        found[measured] = Value::Null;
    }
    found["best"]["folder"] = Value::Null;
    found
}

/// Trial and rung of the journal's claims, or of its results, in order.
fn entries(out: &Path, is_result: bool) -> Vec<(u64, u64)> {
    let journal = fs::read_to_string(out.join("journal.jsonl")).unwrap_or_default();
    // A line that is being written is not read.
    let entries = journal
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of_kind = entries.filter(|entry| entry["result"].is_null() != is_result);
    let numbers = of_kind.map(|entry| (entry["trial"].as_u64().unwrap(), entry["rung"].as_u64().unwrap()));
    let mut found: Vec<_> = numbers.collect();
    found.sort_unstable();
    found
}

/// Kills `child` as soon as `ready`.
fn kill_when(mut child: Child, ready: impl Fn() -> bool) {
    while !ready() {
        let has_ended = child.try_wait().unwrap().is_some();
        assert!(!has_ended || ready(), "it ended before it could be killed");
        sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A sweep of 4 trials that is killed, the second time when there are `claims`, ends as one that was not.
fn kills_change_nothing(head: &str, rungs: u64, claims: usize) {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 24);
    let parameters = "optimizer = [\"adamw\", \"sgd\"]\nlearning-rate = { log = [1e-4, 1e-2] }\n\
        momentum = { uniform = [0.5, 0.9], if = { optimizer = \"sgd\" } }";
    let file = space(dir.path(), &data, head, 24, parameters);
    let (whole, broken) = (dir.path().join("whole"), dir.path().join("broken"));
    let expected = results(&mut sweep(&file, &whole, "--workers 2 --json"));

    let start = |words: &str| {
        let mut command = sweep(&file, &broken, words);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let first = broken.join("trials/0000/last.safetensors");
    kill_when(start("--worker"), || first.exists());
    // Its workers save and stop when they notice.
    kill_when(start("--workers 2"), || entries(&broken, false).len() >= claims);
    // As if a worker was killed while it wrote an entry.
    let mut journal = fs::OpenOptions::new()
        .append(true)
        .open(broken.join("journal.jsonl"))
        .unwrap();
    journal.write_all(b"\n{\"trial\":3,\"ru").unwrap();
    let found = results(&mut sweep(&file, &broken, "--workers 2 --json"));

    assert_eq!(found, expected);
    let all: Vec<_> = (0..4)
        .flat_map(|trial| (0..rungs).map(move |rung| (trial, rung)))
        .collect();
    for is_result in [false, true] {
        assert_eq!(entries(&broken, is_result), all, "{is_result}");
    }
    for trial in 0..4 {
        let [whole, broken] = [&whole, &broken].map(|of| of.join(format!("trials/000{trial}")));
        assert_same(&whole, &broken);
    }
    // Once more, the sweep is done.
    assert_eq!(results(&mut sweep(&file, &broken, "--json")), expected);
}

#[test]
fn a_random_search_whose_workers_and_parent_are_killed_ends_as_one_that_was_not() {
    let head = "method = \"random\"\ntrials = 4\nseed = 2";
    kills_change_nothing(head, 1, 3);
}

#[test]
fn a_population_whose_workers_and_parent_are_killed_ends_as_one_that_was_not() {
    let head = "method = \"population\"\ntrials = 4\nfewest = 9\neta = 4\nseed = 2";
    kills_change_nothing(head, 3, 6);
}

/// A member that diverged continues with the weights of the best one, and with numbers that are near the best one's.
#[test]
fn a_member_of_a_population_that_diverges_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 24);
    let head = "method = \"population\"\ntrials = 4\nfewest = 2\neta = 4\nseed = 1";
    let parameters =
        "optimizer = [\"sgd\"]\nlearning-rate = [0.01, 1e30]\ndropout = { uniform = [0.1, 0.2] }";
    let file = space(dir.path(), &data, head, 4, parameters);
    let out = dir.path().join("sweep");
    let found = json(&mut sweep(&file, &out, "--json"));
    assert_eq!(
        found["rungs"],
        json!([{"epochs": 2, "trials": 4}, {"epochs": 4, "trials": 4}])
    );
    let journal = fs::read_to_string(out.join("journal.jsonl")).unwrap();
    let diverged = |rung: &str| {
        journal
            .lines()
            .filter(|line| line.contains(rung) && line.contains("\"score\":null"))
            .count()
    };
    let counts = (diverged("\"rung\":0"), diverged("\"rung\":1"));
    assert!(
        counts.0 > 0 && counts.1 == counts.0 - 1,
        "choose another seed: {counts:?}"
    );
    let config = |trial: usize| {
        let text = fs::read_to_string(out.join(format!("trials/{trial:04}/config.toml"))).unwrap();
        text.parse::<toml::Table>().unwrap()["learning-rate"]
            .as_float()
            .unwrap()
    };
    assert_eq!((0..4).filter(|&trial| config(trial) > 1.0).count(), counts.1);
}

#[test]
fn promoted_trials_continue_bit_identical_and_those_that_diverge_are_the_worst() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 24);
    let head = "method = \"halving\"\ntrials = 6\nfewest = 1\neta = 2\nseed = 4";
    let file = space(
        dir.path(),
        &data,
        head,
        4,
        "optimizer = [\"sgd\"]\nlearning-rate = [0.01, 0.02, 1e30]\nweight-decay = [0.0]\n\
         momentum = [0.9]\nnesterov = [\"true\"]",
    );
    let out = dir.path().join("sweep");
    let found = json(&mut sweep(&file, &out, "--workers 2 --json"));
    let rungs = json!([{"epochs": 1, "trials": 6}, {"epochs": 2, "trials": 3}, {"epochs": 4, "trials": 1}]);
    assert_eq!(found["rungs"], rungs);
    let trials = found["trials"].as_array().unwrap();
    let (diverged, others): (Vec<&Value>, Vec<_>) =
        trials.iter().partition(|trial| trial["learning-rate"] == 1e30);
    assert!(
        (1..=3).contains(&diverged.len()),
        "choose another seed: {diverged:?}"
    );
    assert!(
        diverged
            .iter()
            .all(|trial| trial["score"] == "diverged" && trial["epochs"] == 0)
    );
    assert!(others.iter().all(|trial| trial["score"].as_f64().unwrap() > 0.0));
    assert!(found["test_balanced_accuracy"].as_f64().unwrap() <= 1.0);
    assert!(found["corrected_accuracy"].as_f64().unwrap() <= 1.0);

    let last = trials.iter().find(|trial| trial["epochs"] == 4).unwrap();
    let folder = out.join(format!("trials/{:04}", last["trial"].as_u64().unwrap()));
    let alone = dir.path().join("alone");
    let mut train = canopy("train --config");
    train.arg(folder.join("config.toml")).arg("--out").arg(&alone);
    succeeds(&mut train);
    assert_same(&alone, &folder);
    let text = stdout(&mut sweep(&file, &out, "--page --watts 50"));
    assert_contains(
        &text,
        &[
            "learning-",
            "diverged",
            "best ",
            "balanced accuracy",
            "estimated kWh",
        ],
    );
    // Not the line with the folder of the best trial.
    let short = |line: &str| line.chars().count() <= 80 || line.starts_with("best ");
    assert!(text.lines().all(short), "{text}");
    let page = fs::read_to_string(out.join("page.html")).unwrap();
    let drawn = [
        "stopped at a rung",
        "other trials",
        "learning-rate 10³⁰",
        "report.html",
        "Energy, estimated",
    ];
    assert_contains(&page, &drawn);
    // A line for each trial, of which those that diverged are dashed.
    let lines = |class: &str| page.matches(&format!("<path class=\"{class}\" style=")).count();
    assert_eq!((lines("l"), lines("l d")), (6 - diverged.len(), diverged.len()));
}

/// Ctrl-C saves the trials, and the same command continues the sweep.
#[cfg(unix)]
#[test]
fn a_sweep_that_is_interrupted_saves_and_continues() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 24);
    let head = "method = \"asha\"\ntrials = 3\nfewest = 20\neta = 3\nseed = 1";
    let file = space(
        dir.path(),
        &data,
        head,
        40,
        "learning-rate = { log = [1e-4, 1e-2] }",
    );
    let [whole, broken] = ["whole", "broken"].map(|name| dir.path().join(name));
    let expected = results(&mut sweep(&file, &whole, "--json"));
    let code = interrupted(
        &mut sweep(&file, &broken, ""),
        &broken.join("trials/0000"),
        libc::SIGTERM,
    );
    assert_eq!(code, Some(130));
    assert_eq!(results(&mut sweep(&file, &broken, "--json")), expected);
    let rungs = json!([{"epochs": 20, "trials": 3}, {"epochs": 40, "trials": 1}]);
    assert_eq!(expected["rungs"], rungs);
    assert_eq!(entries(&broken, false).len(), 4);
}

/// A Bayesian search draws its first trials at random, the others from their scores, and the same ones each time.
#[test]
fn a_bayesian_search_leaves_random_draws_after_ten_trials_and_repeats_itself() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 24);
    let rates = |method: &str, out: &str| {
        let head = format!("method = {method:?}\ntrials = 14\nfewest = 1\neta = 2\nseed = 3");
        let parameters = "optimizer = [\"adamw\", \"sgd\"]\nlearning-rate = { log = [1e-5, 1e-1] }";
        let file = space(dir.path(), &data, &head, 1, parameters);
        let found = json(&mut sweep(&file, &dir.path().join(out), "--json"));
        let mut trials = found["trials"].as_array().unwrap().clone();
        trials.sort_by_key(|trial| trial["trial"].as_u64());
        Vec::from_iter(
            trials
                .into_iter()
                .map(|trial| trial["learning-rate"].as_f64().unwrap()),
        )
    };
    let [random, first, again] =
        [("random", "a"), ("tpe", "b"), ("tpe", "c")].map(|(method, out)| rates(method, out));
    assert_eq!(first, again);
    assert_eq!(first[..10], random[..10]);
    assert!(first[10..].iter().zip(&random[10..]).all(|(a, b)| a != b));
    assert!(first.iter().all(|rate| (1e-5..=1e-1).contains(rate)));
}
