//! What runs score and predict that learn a number of each tree in place of its species.

use crate::*;

fn evaluation(run: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(run.join("evaluation.json")).unwrap()).unwrap()
}

#[test]
fn every_head_is_trained_evaluated_and_predicts() {
    for (head, columns) in [
        ("gaussian", 2),
        ("mixture --components 3", 9),
        ("bins --bins 4", 4),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (data, run) = (tiny_forest(dir.path(), 24), dir.path().join("run"));
        let words = format!("--target diameter --head {head} --categories scan,site --votes 2");
        let words = format!("--epochs 2 --evaluate-every 1 --json {words}");
        let output = succeeds(&mut train(&data, &run, &words));
        assert_contains(&text(&output.stderr), &["validation CRPS"]);
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(printed, evaluation(&run));
        // Both losses are in the same unit. In metres the density of diameters of some centimetres is far above 1, and its negative
        // log-likelihood below 0.
        let log = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
        let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
        let of = |name: &str| last[name].as_f64().unwrap();
        assert!(of("val_loss") > 0.0 && of("train_loss") > 0.0, "{last}");
        let (scores, again) = (evaluation(&run), json(canopy("eval --json").arg(&run)));
        let named = (&scores["target"], &scores["unit"], &scores["part"]);
        assert_eq!(named, (&"diameter".into(), &"m".into(), &"test".into()));
        assert!(scores["guess_crps"].as_f64().unwrap().is_finite(), "{scores}");
        for name in ["mae", "rmse", "crps", "nll"] {
            let [a, b] = [&again, &scores].map(|of| of[name].as_f64().unwrap());
            assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{head} {name}: {a}, {b}");
        }
        let weights = run.join("best.safetensors");
        let weights = candle_core::safetensors::load(weights, &candle_core::Device::Cpu).unwrap();
        assert_eq!(weights["classifier.weight"].dims()[0], columns, "{head}");
        assert_eq!(weights["embedding.weight"].dims(), [12, 8]);

        let predicted = json(canopy("predict --format json").arg(&run).arg(&data));
        let clouds = predicted["clouds"].as_array().unwrap();
        assert_eq!(
            (clouds.len(), &predicted["mean_absolute_error"]["of"]),
            (24, &24.into())
        );
        for cloud in clouds {
            let of = |name: &str| cloud[name].as_f64().unwrap();
            let ordered = of("lower") <= of("median") && of("median") <= of("upper");
            assert!(ordered && (0.1..0.4).contains(&of("truth")), "{cloud}");
        }
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
