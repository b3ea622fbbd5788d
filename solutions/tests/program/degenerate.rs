//! Clouds without extent cost a data set these trees, and nothing else.

use crate::*;

/// A folder of point files, 42 of usual trees, one of 40 points at the same place and one of a single point.
fn wood(dir: &Path) -> PathBuf {
    let root = dir.join("wood");
    for (kind, species) in ["ball", "cone", "box"].iter().enumerate() {
        for i in 0..14 {
            let plot = root.join(format!("{species}/p{}", i % 7));
            fs::create_dir_all(&plot).unwrap();
            write_xyz(&plot.join(format!("t{i}.xyz")), shape(kind, i));
        }
    }
    write_xyz(&root.join(FLAT), [[3.5, 2.5, 1.5]; 40]);
    write_xyz(&root.join(ONE), [[3.5, 2.5, 1.5]]);
    root
}

const FLAT: &str = "ball/p3/flat.xyz";
const ONE: &str = "cone/p5/one.xyz";
const REASONS: [&str; 2] = [
    "all of the cloud's 40 points are at the same place, an extent of 0 m",
    "the cloud has only one point",
];

/// A command on `path`, with a cache in `dir`.
fn within(dir: &Path, words: &str, path: &Path) -> Command {
    let mut command = canopy(words);
    command.arg(path).env("CANOPY_CACHE", dir.join("cache"));
    command
}

/// `canopy train` on the wood in `dir`.
fn train(dir: &Path, run: &Path, words: &str) -> Command {
    let mut command = crate::train(&dir.join("wood"), run, words);
    command.env("CANOPY_CACHE", dir.join("cache"));
    command
}

#[track_caller]
fn assert_named(text: &str) {
    assert_contains(text, &[FLAT, ONE, REASONS[0], REASONS[1]]);
}

#[test]
fn import_info_and_split_name_them() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let (wood, set) = (wood(d), d.join("set"));
    let mut import = within(d, "data import folder", &wood);
    let said = text(&succeeds(import.arg("--out").arg(&set)).stderr);
    assert_named(&said);
    assert_contains(&said, &["remove the file"]);
    for (words, path) in [("data info --check", &wood), ("data info", &set)] {
        assert_named(&stdout(&mut within(d, words, path)));
        let value = &json(&mut within(d, &format!("{words} --json"), path))[0];
        assert_eq!(value["degenerate"].as_array().unwrap().len(), 2, "{value}");
    }
    let said = stdout(&mut within(d, "data info", &wood.join(FLAT)));
    assert_contains(&said, &["an extent of 0 m"]);
    assert_named(&text(&succeeds(&mut within(d, "data split", &wood)).stderr));
}

#[test]
fn training_and_evaluation_leave_them_out_and_predict_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let (wood, run) = (wood(d), d.join("run"));
    // By cross-validation, every cloud is in a part: each is trained on or tested.
    let said = text(&succeeds(&mut train(d, &run, "--folds 3 --epochs 1 --target species")).stderr);
    assert_named(&said);
    assert_contains(&said, &["is left out", "wood: 42 scans of 3 species"]);
    for part in ["test", "train", "all"] {
        let output = succeeds(&mut within(d, &format!("eval --part {part}"), &run));
        assert_named(&text(&output.stderr));
    }
    let output = within(d, "predict --format json", &run)
        .arg(&wood)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&text(&output.stderr), &[FLAT, ONE, "2 of 44 clouds"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["clouds"].as_array().unwrap().len(), 42);
}

#[test]
fn a_species_without_any_other_tree_is_an_error_before_the_training() {
    let dir = tempfile::tempdir().unwrap();
    let (wood, run) = (wood(dir.path()), dir.path().join("run"));
    fs::remove_dir_all(wood.join("cone")).unwrap();
    fs::create_dir_all(wood.join(ONE).parent().unwrap()).unwrap();
    write_xyz(&wood.join(ONE), [[3.5, 2.5, 1.5]]);
    let said = stderr(&mut train(dir.path(), &run, "--epochs 1"));
    assert_contains(&said, &["'cone' have no extent", "--species"]);
    assert!(!run.exists());
}

#[cfg(unix)]
#[test]
fn a_run_whose_data_lost_only_these_resumes_and_ends_bit_identical() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let (wood, whole, broken) = (wood(d), d.join("whole"), d.join("broken"));
    let words = "--epochs 40 --model full --evaluate-every 2 --checkpoint-seconds 0";
    succeeds(&mut train(d, &whole, words));
    interrupted(&mut train(d, &broken, words), &broken, libc::SIGTERM);
    let resume = || within(d, "train --resume", &broken);

    for lost in [FLAT, ONE] {
        fs::remove_file(wood.join(lost)).unwrap();
    }
    let other = wood.join("box/p0/t0.xyz");
    let points = fs::read(&other).unwrap();
    fs::remove_file(&other).unwrap();
    assert_contains(&stderr(&mut resume()), &["two data sets"]);
    fs::write(&other, points).unwrap();

    let said = text(&succeeds(&mut resume()).stderr);
    assert_contains(&said, &["warning", "lost trees without extent", FLAT, ONE]);
    crate::resume::assert_same(&whole, &broken);
    // The parts are those of the run, though the data would now be split in another way.
    let scores = |run: &Path| stdout(&mut within(d, "eval --part validation --json", run));
    assert_eq!(scores(&broken), scores(&whole));
}
