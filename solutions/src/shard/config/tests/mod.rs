//! What a file sets.

mod wrong_files;

use super::*;

/// The two example files of DeepSpeed's tutorials.
const ADAM: &str = r#"{"train_batch_size": 4, "steps_per_print": 2000, "optimizer": {"type": "Adam", "params": {"lr": 0.001,
    "betas": [0.8, 0.999], "eps": 1e-8, "weight_decay": 3e-7}}, "scheduler": {"type": "WarmupLR", "params":
    {"warmup_min_lr": 0, "warmup_max_lr": 0.001, "warmup_num_steps": 1000}}, "wall_clock_breakdown": false}"#;
const ZERO: &str = r#"{"zero_optimization": {"stage": 2, "contiguous_gradients": true, "overlap_comm": true,
    "reduce_scatter": true, "reduce_bucket_size": 5e8, "allgather_bucket_size": 5e8}}"#;

fn file(text: &str) -> EngineFile {
    EngineFile::parse(text).unwrap_or_else(|e| panic!("{text}: {e:#}"))
}

/// The settings as `OPTION=VALUE`, without quotes.
fn settings(text: &str) -> Vec<String> {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let file = file(text);
    let settings = file.settings.iter();
    settings
        .map(|s| format!("{}={}", s.option, plain(&s.value)))
        .collect()
}

/// Checks that the file sets these options, among others.
#[track_caller]
fn sets(text: &str, expected: &[&str]) {
    let settings = settings(text);
    for setting in expected {
        assert!(
            settings.iter().any(|s| s == setting),
            "{text}: no {setting} in {settings:?}"
        );
    }
}

fn optimizer(kind: &str, params: &str) -> String {
    format!(r#"{{"optimizer": {{"type": "{kind}", "params": {{{params}}}}}}}"#)
}

fn scheduler(kind: &str, params: &str) -> String {
    format!(r#"{{"scheduler": {{"type": "{kind}", "params": {{{params}}}}}}}"#)
}

#[test]
fn the_first_example_sets_batch_optimizer_and_schedule() {
    assert_eq!(
        settings(ADAM),
        [
            "learning-rate=0.001",
            "beta1=0.8",
            "beta2=0.999",
            "eps=1e-8",
            "weight-decay=0.0000003",
            "optimizer=adamw",
            "schedule=warmuplr:steps=1000:rise=log:min=0",
            "warmup=0.0",
            "steps-per-print=2000",
            "wall-clock-breakdown=false",
        ]
    );
    let file = file(ADAM);
    assert_eq!(file.batch.train, Some(4));
    assert_eq!((file.batch.micro, file.batch.accumulation), (None, None));
    assert_eq!(file.notes.len(), 1, "{:?}", file.notes);
    assert!(file.notes[0].contains("is AdamW"), "{:?}", file.notes);
}

#[test]
fn the_second_example_sets_the_stage_and_the_rest_is_said_to_have_no_effect() {
    let file = file(ZERO);
    assert_eq!(
        file.zero,
        Zero {
            stage: 2,
            offload_optimizer: false
        }
    );
    assert_eq!(settings(ZERO), ["overlap=true"]);
    assert_eq!(settings(&format!("\u{feff}{ZERO}")), ["overlap=true"]);
    let [note] = &file.notes[..] else {
        panic!("{:?}", file.notes)
    };
    for key in [
        "contiguous_gradients",
        "reduce_scatter",
        "reduce_bucket_size",
        "allgather_bucket_size",
    ] {
        assert!(note.contains(&format!("zero_optimization.{key}")), "{note}");
    }
}

#[test]
fn optimizers_have_deepspeeds_defaults() {
    let adam = ["learning-rate=0.001", "beta1=0.9", "beta2=0.999", "eps=1e-8"];
    for (kind, params, name, decay) in [
        ("Adam", "", "adamw", "0.0"),
        (
            "adam",
            r#""adam_w_mode": false, "weight_decay": 0.5"#,
            "adam",
            "0.5",
        ),
        ("AdamW", r#""adam_w_mode": false"#, "adamw", "0.0"),
        ("AdamW", r#""torch_adam": true"#, "adamw", "0.01"),
        (
            "Adam",
            r#""torch_adam": true, "adam_w_mode": false"#,
            "adam",
            "0.0",
        ),
        ("Lamb", "", "lamb", "0.0"),
    ] {
        let text = optimizer(kind, params);
        sets(&text, &adam);
        sets(
            &text,
            &[&format!("optimizer={name}"), &format!("weight-decay={decay}")],
        );
    }
    sets(
        &optimizer("SGD", ""),
        &[
            "optimizer=sgd",
            "learning-rate=0.001",
            "momentum=0.0",
            "weight-decay=0.0",
            "nesterov=false",
        ],
    );
    sets(
        &optimizer(
            "SGD",
            r#""momentum": 0.5, "nesterov": true, "weight_decay": 0.1, "lr": 2"#,
        ),
        &[
            "momentum=0.5",
            "nesterov=true",
            "weight-decay=0.1",
            "learning-rate=2.0",
        ],
    );
    sets(
        &optimizer("Adagrad", ""),
        &["optimizer=adagrad", "learning-rate=0.01", "eps=1e-10"],
    );
    // A block without parameters, as DeepSpeed takes it.
    sets(r#"{"optimizer": {"type": "Adam"}}"#, &adam);
}

#[test]
fn schedulers_become_schedules() {
    for (kind, params, schedule) in [
        ("WarmupLR", "", "warmuplr:steps=1000:rise=log:min=0"),
        (
            "WarmupLR",
            r#""warmup_num_steps": 5, "warmup_type": "linear", "warmup_min_lr": 0.25"#,
            "warmuplr:steps=5:rise=linear:min=0.25",
        ),
        (
            "WarmupDecayLR",
            r#""total_num_steps": 2e3"#,
            "warmupdecaylr:total=2000:steps=1000:rise=log:min=0",
        ),
        (
            "WarmupCosineLR",
            r#""total_num_steps": 20, "warmup_num_steps": 3, "warmup_min_ratio": 0.5"#,
            "warmupcosinelr:total=20:steps=3:rise=log:min=0.5:end=0.0001",
        ),
        (
            "OneCycle",
            r#""cycle_min_lr": 0.01, "cycle_max_lr": 0.1, "cycle_momentum": false, "cycle_first_step_size": 7"#,
            "cycle:min=0.01:up=7:down=7:up-stairs=0:down-stairs=0:decay=0:decay-steps=0",
        ),
        (
            "LRRangeTest",
            r#""lr_range_test_staircase": true"#,
            "lrrangetest:steps=2000:growth=1:stairs=true",
        ),
    ] {
        let text = scheduler(kind, params);
        sets(&text, &[&format!("schedule={schedule}"), "warmup=0.0"]);
    }
}

#[test]
fn the_schedulers_peak_replaces_the_optimizers_learning_rate() {
    let both = |lr: &str, scheduler: &str| {
        format!(r#"{{"optimizer": {{"type": "SGD", "params": {{"lr": {lr}}}}}, "scheduler": {scheduler}}}"#)
    };
    let warmup = r#"{"type": "WarmupLR", "params": {"warmup_max_lr": 0.5}}"#;
    let other = both("0.1", warmup);
    sets(&other, &["learning-rate=0.5"]);
    let note = file(&other).notes.join("");
    assert!(
        note.contains("optimizer.params.lr is 0.1, without effect") && note.contains("warmup_max_lr is 0.5"),
        "{note}"
    );
    assert!(file(&both("0.5", warmup)).notes.is_empty());
    sets(&both("0.1", r#"{"type": "WarmupLR"}"#), &["learning-rate=0.1"]);
    let decay = r#"{"type": "WarmupDecayLR", "params": {"total_num_steps": 1000}}"#;
    sets(&both("0.1", decay), &["learning-rate=0.001"]);
    let cosine = r#"{"type": "WarmupCosineLR", "params": {"total_num_steps": 1000}}"#;
    sets(&both("0.1", cosine), &["learning-rate=0.1"]);
    let test = r#"{"type": "LRRangeTest", "params": {"lr_range_test_min_lr": 0.25}}"#;
    sets(&both("0.1", test), &["learning-rate=0.25"]);
}

#[test]
fn precision_has_master_weights_and_a_loss_scale() {
    for (fp16, scale) in [
        ("", "deepspeed:16:1000:2:1"),
        (
            r#", "loss_scale": 0, "initial_scale_power": 8, "loss_scale_window": 50, "hysteresis": 1, "min_loss_scale": 0.5"#,
            "deepspeed:8:50:1:0.5",
        ),
        (r#", "loss_scale": 128"#, "128"),
    ] {
        let text = format!(r#"{{"fp16": {{"enabled": true{fp16}}}}}"#);
        let scale = format!("loss-scale={scale}");
        assert_eq!(
            settings(&text),
            ["precision=fp16", "master-weights=true", &*scale],
            "{text}"
        );
    }
    let bf16 = r#"{"bf16": {"enabled": true}, "fp16": {"enabled": false, "loss_scale": 2}}"#;
    assert_eq!(
        settings(bf16),
        ["precision=bf16", "master-weights=true", "loss-scale=off"]
    );
    assert!(file(bf16).notes[0].contains("without effect in canopy: fp16.loss_scale"));
    assert!(settings(r#"{"bf16": {}, "fp16": {"enabled": null}}"#).is_empty());
    assert_eq!(settings(r#"{"bf16": {"enabled": false}}"#), ["precision=fp32"]);
}

#[test]
fn the_other_keys_are_read() {
    let text = r#"{"gradient_clipping": 0.5, "steps_per_print": 10, "wall_clock_breakdown": true, "dump_state": true,
        "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 3,
        "zero_optimization": {"stage": 1, "offload_optimizer": {"device": "cpu", "pin_memory": true}}}"#;
    sets(
        text,
        &["clip=0.5", "steps-per-print=10", "wall-clock-breakdown=true"],
    );
    let file = file(text);
    assert_eq!((file.batch.micro, file.batch.accumulation), (Some(8), Some(3)));
    assert_eq!(
        file.zero,
        Zero {
            stage: 1,
            offload_optimizer: true
        }
    );
    assert_eq!(file.notes, ["without effect in canopy: dump_state"]);
}
