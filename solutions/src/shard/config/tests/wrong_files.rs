//! Files that are refused, and what the errors say.

use super::*;

#[track_caller]
fn error(text: &str) -> String {
    format!("{:#}", EngineFile::parse(text).expect_err(text))
}

#[test]
fn an_unknown_key_is_named() {
    for (text, key) in [
        (r#"{"train_batchsize": 4}"#.to_owned(), "train_batchsize"),
        (r#"{"ZeRO_optimization": {}}"#.into(), "ZeRO_optimization"),
        (optimizer("Adam", r#""learning_rate": 1"#), "learning_rate"),
        (optimizer("SGD", r#""betas": [0, 0]"#), "betas"),
        (scheduler("WarmupLR", r#""warmup_steps": 4"#), "warmup_steps"),
        (
            r#"{"zero_optimization": {"offload_optimizer": {"devise": "cpu"}}}"#.into(),
            "devise",
        ),
        (r#"{"fp16": {"enable": true}}"#.into(), "enable"),
        (r#"{"optimizer": {"typ": "Adam"}}"#.into(), "typ"),
    ] {
        let said = error(&text);
        let part = format!("unknown field `{key}`, expected");
        assert!(said.contains(&part), "{text}: {said}");
    }
    let said = error(r#"{"flops_profiler": {"enabled": true}}"#);
    assert!(
        said.contains("flops_profiler") && said.contains("remove it"),
        "{said}"
    );
    let off = file(r#"{"flops_profiler": {"enabled": false}}"#);
    assert_eq!(off.notes, ["without effect in canopy: flops_profiler"]);
}

#[test]
fn a_wrong_value_is_named_with_its_key_and_what_was_expected() {
    let long = format!(r#"{{"optimizer": {{"type": "{}"}}}}"#, "x".repeat(100_000));
    for (text, parts) in [
        ("[]".to_owned(), ["not an object", "train_batch_size"]),
        ("4".into(), ["not an object", "train_batch_size"]),
        (
            r#"{"train_batch_size": "4"}"#.into(),
            ["train_batch_size: ", "string \"4\", expected"],
        ),
        (
            r#"{"train_batch_size": "auto"}"#.into(),
            ["train_batch_size: ", "remove the key"],
        ),
        (
            r#"{"train_batch_size": 0}"#.into(),
            ["train_batch_size: ", "integer `0`"],
        ),
        (
            r#"{"train_batch_size": 1e300}"#.into(),
            ["train_batch_size: ", "1e+300"],
        ),
        (
            r#"{"wall_clock_breakdown": 1}"#.into(),
            ["wall_clock_breakdown: ", "a boolean"],
        ),
        (
            r#"{"optimizer": {"params": {}}}"#.into(),
            ["optimizer", "missing field `type`"],
        ),
        (
            r#"{"optimizer": {"type": "Muon"}}"#.into(),
            ["optimizer.type is \"Muon\"", "\"Adagrad\""],
        ),
        (long, ["optimizer.type is \"xxx", "\"Adam\""]),
        (
            optimizer("Adam", r#""lr": "fast""#),
            ["optimizer.params.lr: ", "string \"fast\", expected f64"],
        ),
        (
            optimizer("Adam", r#""betas": [0.9]"#),
            ["optimizer.params.betas", "array of length 2"],
        ),
        (
            optimizer("Adam", r#""amsgrad": true"#),
            ["amsgrad is true", "only with false"],
        ),
        (
            optimizer("Adam", r#""max_grad_norm": 1"#),
            ["max_grad_norm", "gradient_clipping"],
        ),
        (
            optimizer("SGD", r#""dampening": 0.1"#),
            ["dampening is 0.1", "only with 0"],
        ),
        (
            optimizer("Lamb", r#""max_coeff": 5"#),
            ["max_coeff", "remove the key"],
        ),
        (
            optimizer("Adagrad", r#""weight_decay": 0.1"#),
            ["weight_decay is 0.1", "has none"],
        ),
        (
            scheduler("Cosine", ""),
            ["scheduler.type is \"Cosine\"", "\"WarmupLR\""],
        ),
        (
            scheduler("WarmupLR", r#""warmup_type": "cubic""#),
            ["scheduler.params", "`cubic`, expected `log` or `linear`"],
        ),
        (
            scheduler("WarmupDecayLR", ""),
            ["scheduler.params", "missing field `total`"],
        ),
        (
            scheduler("WarmupCosineLR", r#""total_num_steps": 9"#),
            ["scheduler.params", "1000 steps, more than the whole schedule"],
        ),
        (
            scheduler("OneCycle", r#""cycle_min_lr": 1"#),
            ["cycle_max_lr is missing", "a learning rate"],
        ),
        (
            scheduler("OneCycle", r#""cycle_min_lr": 1, "cycle_max_lr": 0.5"#),
            ["cycle_min_lr is 1", "more than cycle_max_lr"],
        ),
        (
            scheduler(
                "OneCycle",
                r#""cycle_min_lr": 0, "cycle_max_lr": 0.5, "cycle_momentum": true"#,
            ),
            ["cycle_momentum is true", "expected false"],
        ),
        (
            r#"{"fp16": {"enabled": true}, "bf16": {"enabled": true}}"#.into(),
            ["fp16.enabled", "both true"],
        ),
        (
            r#"{"fp16": {"enabled": true, "initial_scale_power": 200}}"#.into(),
            ["2^200", "at most 127"],
        ),
        (
            r#"{"fp16": {"enabled": true, "min_loss_scale": 1e9}}"#.into(),
            ["minimum is 1000000000", "65536"],
        ),
        (
            r#"{"zero_optimization": {"stage": 4}}"#.into(),
            ["stage is 4", "0, 1, 2 or 3"],
        ),
        (
            r#"{"zero_optimization": {"overlap_comm": 1}}"#.into(),
            ["zero_optimization.overlap_comm: ", "a boolean"],
        ),
        (
            r#"{"zero_optimization": {"offload_optimizer": {"device": "nvme"}}}"#.into(),
            ["zero_optimization.offload_optimizer.device", "`none` or `cpu`"],
        ),
        (
            r#"{"zero_optimization": {"offload_optimizer": {"device": "cpu"}}}"#.into(),
            ["offload_optimizer", "the stage is 0"],
        ),
        (
            r#"{"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}"#.into(),
            ["offload_param", "remove the key"],
        ),
    ] {
        let said = error(&text);
        assert!(parts.iter().all(|part| said.contains(part)), "{text}: {said}");
        assert!(said.len() < 600, "{said}");
    }
}

#[test]
fn what_is_not_json_is_named_with_its_line() {
    let deep = "[".repeat(100_000);
    for (text, parts) in [
        ("", ["not valid JSON", "line 1"]),
        ("{\n\"train_batch_size\": 4", ["EOF", "line 2"]),
        ("{\n\"gradient_clipping\": NaN}", ["expected value", "line 2"]),
        ("{\n\n\"gradient_clipping\": 1e400}", ["out of range", "line 3"]),
        ("{} {}", ["trailing", "line 1"]),
        (
            "{\"fp16\": {\n\"enabled\": true,\n\"enabled\": false}}",
            ["\"enabled\" appears twice", "line 3"],
        ),
        (&deep, ["recursion limit", "line 1"]),
    ] {
        let said = error(text);
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("ds.json");
    let binary = dir.path().join("binary.json");
    fs::write(&binary, [0xff, 0xfe, 0]).unwrap();
    for path in [dir.path(), &missing, &binary] {
        let said = format!("{:#}", EngineFile::read(path).unwrap_err());
        assert!(
            said.contains(&path.display().to_string()) && said.contains("cannot be read"),
            "{said}"
        );
    }
    fs::write(&missing, "{\"optimizer\": 4}").unwrap();
    let said = format!("{:#}", EngineFile::read(&missing).unwrap_err());
    assert!(
        said.contains("ds.json: optimizer: invalid type: integer `4`"),
        "{said}"
    );
}
