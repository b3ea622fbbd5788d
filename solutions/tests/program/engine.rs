//! `canopy train --engine`.

use crate::*;

const ADAM: &str = r#"{"train_batch_size": 4, "steps_per_print": 2000, "optimizer": {"type": "Adam", "params": {"lr": 0.001,
    "betas": [0.8, 0.999], "eps": 1e-8, "weight_decay": 3e-7}}, "scheduler": {"type": "WarmupLR", "params":
    {"warmup_min_lr": 0, "warmup_max_lr": 0.001, "warmup_num_steps": 1000}}, "wall_clock_breakdown": false}"#;
const ZERO: &str = r#"{"zero_optimization": {"stage": 2, "contiguous_gradients": true, "overlap_comm": true,
    "reduce_scatter": true, "reduce_bucket_size": 5e8, "allgather_bucket_size": 5e8}}"#;

/// Writes `json` to `ds.json` in `dir`, beside a data set.
fn folder(json: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    tiny_forest(dir.path(), 24);
    fs::write(dir.path().join("ds.json"), json).unwrap();
    dir
}

/// Trains two steps of an epoch of `ds.json` in `dir` into the folder `name`.
fn engine(dir: &Path, name: &str, words: &str) -> Command {
    let (data, run) = (dir.join("tiny"), dir.join(name));
    let mut command = canopy("train --epochs 1 --points 48 --width 16 --device cpu --engine");
    command.arg(dir.join("ds.json")).arg("--data").arg(data);
    command.arg("--out").arg(run).args(words.split_whitespace());
    command
}

/// What a run says on standard error, and its configuration.
fn trained(dir: &Path, name: &str, words: &str) -> (String, String) {
    let said = text(&succeeds(&mut engine(dir, name, words)).stderr);
    (
        said,
        fs::read_to_string(dir.join(name).join("config.toml")).unwrap(),
    )
}

#[test]
fn the_first_example_trains_and_the_run_records_what_it_used() {
    let dir = folder(ADAM);
    let (said, config) = trained(dir.path(), "run", "--validation 0 --test 0.5");
    assert_contains(&said, &["note: ", "ds.json: optimizer.type \"Adam\" is AdamW"]);
    // The clipping is the preset's, because the file leaves it out.
    let settings = [
        "batch = 4\n",
        "optimizer = \"adamw\"\n",
        "beta1 = 0.8\n",
        "schedule = \"warmuplr:steps=1000:rise=log:min=0\"\n",
        "steps-per-print = 2000\n",
        "clip = 1.0\n",
    ];
    assert_contains(&config, &settings);
    let row = |run: &str| -> Value {
        let metrics = fs::read_to_string(dir.path().join(run).join("metrics.jsonl")).unwrap();
        serde_json::from_str(metrics.lines().next().unwrap()).unwrap()
    };
    let step = row("run")["step"].as_u64().unwrap();
    assert!(step >= 2, "{step}");
    // The rate of the last step is that of DeepSpeed's scheduler after the step before it.
    let expected = 1e-3 * (step as f64 - 1.0).ln() / 1000f64.ln();
    let rate = row("run")["learning_rate"].as_f64().unwrap();
    assert!((rate - expected).abs() < 1e-15, "{rate} instead of {expected}");
    // The recorded configuration repeats the run without the JSON.
    let mut again = canopy("train --config");
    again.arg(dir.path().join("run/config.toml"));
    succeeds(again.arg("--out").arg(dir.path().join("again")));
    assert_eq!(row("run")["train_loss"], row("again")["train_loss"]);
}

#[test]
fn the_second_example_trains_with_batch_and_optimizer_of_the_command_line() {
    let dir = folder(ZERO);
    let words = "--batch 4 --optimizer sgd --steps-per-print 1 --wall-clock-breakdown";
    let (said, _) = trained(dir.path(), "run", words);
    let parts = [
        "without effect in canopy: zero_optimization.reduce_bucket_size",
        "stage 2 changes nothing with one rank",
        "step 1: learning rate ",
    ];
    assert_contains(&said, &parts);
    let line = said.lines().find(|line| line.starts_with("step 2: ")).unwrap();
    let parts = [", forward ", ", loss ", ", backward ", ", optimizer ", ", other "];
    assert_contains(line, &parts);
    let (said, _) = trained(dir.path(), "ranks", &format!("{words} --ranks 2"));
    assert_contains(&said, &["ZeRO 2", ", forward ", ", backward ", ", optimizer "]);
}

#[test]
fn fp16_and_steps_per_print_work_over_two_ranks() {
    let json = r#"{"train_batch_size": 8, "gradient_accumulation_steps": 2, "steps_per_print": 1,
        "fp16": {"enabled": true, "initial_scale_power": 4}, "gradient_clipping": 1.0,
        "optimizer": {"type": "SGD", "params": {"lr": 0.01, "momentum": 0.9, "nesterov": true}}}"#;
    let dir = folder(json);
    let (said, config) = trained(dir.path(), "run", "--ranks 2 --validation 0 --test 0.3");
    let parts = ["precision: fp16", "loss scale 16", "step 1: ", "step 2: "];
    assert_contains(&said, &parts);
    let settings = [
        "batch = 4\n",
        "accumulate = 2\n",
        "master-weights = true\n",
        "loss-scale = \"deepspeed:4:1000:2:1\"\n",
    ];
    assert_contains(&config, &settings);
}

/// `src/cli/settings.txt` lists the others.
#[test]
fn an_option_against_the_file_is_an_error_and_leaves_no_folder() {
    let dir = folder(ADAM);
    let said = stderr(&mut engine(dir.path(), "run", "--optimizer sgd"));
    let parts = ["--optimizer is \"sgd\"", "ds.json", "\"adamw\"", "optimizer.type"];
    assert_contains(&said, &parts);
    assert!(!dir.path().join("run").exists());
}
