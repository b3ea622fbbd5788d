//! `canopy train --target`: a number of each tree in place of its species.

use crate::*;

/// A run of 2 epochs with these options on 24 clouds, and the set.
fn trained(dir: &Path, words: &str) -> (PathBuf, PathBuf) {
    let (data, run) = (tiny_forest(dir, 24), dir.join("run"));
    let mut command = train(
        &data,
        &run,
        &format!("--epochs 2 --evaluate-every 1 --json {words}"),
    );
    let output = succeeds(&mut command);
    assert_contains(&text(&output.stderr), &["validation CRPS"]);
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let written = fs::read_to_string(run.join("evaluation.json")).unwrap();
    assert_eq!(printed, serde_json::from_str::<Value>(&written).unwrap());
    (data, run)
}

#[test]
fn every_head_is_trained_evaluated_and_predicts() {
    for (head, columns) in [
        ("gaussian", 2),
        ("mixture --components 3", 9),
        ("bins --bins 4", 4),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let words = format!("--target diameter --head {head} --categories scan,site --votes 2");
        let (data, run) = trained(dir.path(), &words);
        let scores: Value =
            serde_json::from_str(&fs::read_to_string(run.join("evaluation.json")).unwrap()).unwrap();
        assert_eq!(
            (&scores["target"], &scores["unit"], &scores["part"]),
            (&"diameter".into(), &"m".into(), &"test".into())
        );
        for name in ["mae", "rmse", "crps", "guess_crps", "nll"] {
            assert!(scores[name].as_f64().unwrap().is_finite(), "{head}: {scores}");
        }
        let again = json(canopy("eval --json").arg(&run));
        for name in ["mae", "rmse", "crps", "nll"] {
            let (a, b) = (again[name].as_f64().unwrap(), scores[name].as_f64().unwrap());
            assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{head} {name}: {a}, {b}");
        }
        let weights =
            candle_core::safetensors::load(run.join("best.safetensors"), &candle_core::Device::Cpu).unwrap();
        assert_eq!(weights["classifier.weight"].dims()[0], columns, "{head}");
        assert_eq!(weights["embedding.weight"].dims(), [12, 8]);

        let predicted = json(canopy("predict --format json").arg(&run).arg(&data));
        let clouds = predicted["clouds"].as_array().unwrap();
        assert_eq!(clouds.len(), 24);
        for cloud in clouds {
            let of = |name: &str| cloud[name].as_f64().unwrap();
            assert!(
                of("lower") <= of("median") && of("median") <= of("upper"),
                "{cloud}"
            );
            assert!((0.1..0.4).contains(&of("truth")), "{cloud}");
        }
        assert_eq!(predicted["mean_absolute_error"]["of"], 24);
        let table = stdout(canopy("predict").arg(&run).arg(&data));
        assert_contains(&table, &["diameter (m)", "90 % interval", "over 24 clouds"]);
        let page = fs::read_to_string(run.join("report.html")).unwrap();
        assert_contains(&page, &["Calibration", "Predicted and true", "CRPS"]);
        assert!(!page.contains("Confusion"), "the page of a number has species");

        // A point file does not tell its categories.
        let file = dir.path().join("tree.xyz");
        write_xyz(&file, shape(1, 5));
        let error = stderr(canopy("predict").arg(&run).arg(&file));
        assert_contains(&error, &["tree.xyz", "--categories"]);
    }
}

#[test]
fn a_run_for_a_number_is_resumed_bit_identically_and_on_ranks() {
    let dir = tempfile::tempdir().unwrap();
    let words = "--target volume --head bins --bins 5 --visible 0.6 --categories season";
    let (data, whole) = trained(dir.path(), words);
    let options = format!("--epochs 2 --evaluate-every 1 --checkpoint-seconds 0 {words}");
    #[cfg(unix)]
    {
        let again = dir.path().join("again");
        let code = interrupted(&mut train(&data, &again, &options), &again, libc::SIGINT);
        if code == Some(130) {
            succeeds(canopy("train --resume").arg(&again));
        }
        let read = |run: &Path| fs::read_to_string(run.join("evaluation.json")).unwrap();
        assert_eq!(read(&whole), read(&again));
    }
    let ranks = dir.path().join("ranks");
    succeeds(&mut train(&data, &ranks, &format!("{options} --ranks 2")));
    let crps = |run: &Path| {
        let text = fs::read_to_string(run.join("evaluation.json")).unwrap();
        let scores: Value = serde_json::from_str(&text).unwrap();
        scores["crps"].as_f64().unwrap()
    };
    let (one, two) = (crps(&whole), crps(&ranks));
    assert!((one - two).abs() < 1e-3 * one, "{one} and {two}");
}

#[test]
fn what_does_not_fit_a_number_is_an_error_that_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (tiny_forest(dir.path(), 24), dir.path().join("run"));
    for (words, parts) in [
        (
            "--target height --frame sphere",
            ["--frame metric", "of one size"],
        ),
        ("--target height --scale 0.1", ["--scale 0", "label"]),
        ("--target height --class-weights", ["no classes", "height"]),
        ("--target height --bins 1", ["bins is 1", "at least 2"]),
        ("--target height --visible 0", ["visible is 0", "above 0"]),
        ("--categories site", ["categories", "--target"]),
        ("--head mixture", ["head", "--target"]),
        ("--target height --categories site,site", ["Site", "twice"]),
        ("--target height --smoothing 0.1", ["--smoothing 0", "height"]),
    ] {
        assert_contains(&stderr(&mut train(&data, &run, words)), &parts);
    }
    // A set of point files has no inventory.
    let files = dir.path().join("files");
    succeeds(canopy("data convert").arg(&data).arg(&files));
    let error = stderr(&mut train(&files, &run, "--target height"));
    assert_contains(&error, &["has no inventory", "builtin"]);
    assert!(!run.exists(), "a run's folder was left");
    let error = stderr(canopy("find-lr --target height --data").arg(&data));
    assert_contains(&error, &["find-lr", "predict the species"]);
}

#[test]
fn a_run_without_a_test_set_still_predicts_its_number() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (tiny_forest(dir.path(), 24), dir.path().join("run"));
    let words = "--target diameter --head gaussian --epochs 1 --validation 0 --test 0";
    let said = stdout(&mut train(&data, &run, words));
    assert_contains(&said, &["no test set", "predict the diameter of a cloud"]);
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert_contains(
        &page,
        &["predicts the diameter of other trees", "in the central half"],
    );
    assert!(!page.contains("accuracy, training"));
}

#[test]
fn validation_and_training_loss_are_in_the_same_unit() {
    let dir = tempfile::tempdir().unwrap();
    // In metres the density of diameters of some centimetres is far above 1, and its NLL below the loss.
    let (_, run) = trained(dir.path(), "--target diameter --head gaussian --dropout 0");
    let log = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    let of = |name: &str| last[name].as_f64().unwrap();
    assert!(of("val_loss") > 0.0 && of("train_loss") > 0.0, "{last}");
}
