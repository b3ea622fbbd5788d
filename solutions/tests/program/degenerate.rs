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

/// `command` with a cache in `dir`.
fn within(dir: &Path, mut command: Command) -> Command {
    command.env("CANOPY_CACHE", dir.join("cache"));
    command
}

fn with_path(words: &str, path: &Path) -> Command {
    let mut command = canopy(words);
    command.arg(path);
    command
}

#[test]
fn import_and_info_name_them() {
    let dir = tempfile::tempdir().unwrap();
    let (wood, set) = (wood(dir.path()), dir.path().join("set"));
    let mut import = with_path("data import folder", &wood);
    let output = succeeds(import.arg("--out").arg(&set));
    assert_contains(
        &text(&output.stderr),
        &[FLAT, ONE, REASONS[0], REASONS[1], "remove the file"],
    );
    for (words, path) in [("data info --check", &wood), ("data info", &set)] {
        let said = stdout(&mut with_path(words, path));
        assert_contains(&said, &[FLAT, ONE, REASONS[0], REASONS[1], "remove the file"]);
        let value = &json(&mut with_path(&format!("{words} --json"), path))[0];
        assert_eq!(value["degenerate"].as_array().unwrap().len(), 2, "{value}");
    }
    let said = stdout(&mut with_path("data info", &wood.join(FLAT)));
    assert_contains(&said, &["extent      0 m"]);
    let split = within(dir.path(), with_path("data split", &wood))
        .output()
        .unwrap();
    assert_contains(&text(&split.stderr), &[FLAT, ONE]);
}

#[test]
fn training_and_evaluation_leave_them_out_and_predict_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (wood, run) = (wood(dir.path()), dir.path().join("run"));
    // By cross-validation, every cloud is in a part: each is trained on or tested.
    let words = "--folds 3 --epochs 1 --target species";
    let output = succeeds(&mut within(dir.path(), train(&wood, &run, words)));
    let said = text(&output.stderr);
    let left_out = [FLAT, ONE, REASONS[0], REASONS[1], "is left out"];
    assert_contains(&said, &left_out);
    assert_contains(&said, &["wood: 42 scans of 3 species"]);
    for part in ["test", "train", "all"] {
        let eval = with_path(&format!("eval --part {part}"), &run);
        let output = succeeds(&mut within(dir.path(), eval));
        assert_contains(&text(&output.stderr), &left_out);
    }
    let mut predict = with_path("predict --format json", &run);
    predict.arg(&wood);
    let output = within(dir.path(), predict).output().unwrap();
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
    let said = stderr(&mut within(dir.path(), train(&wood, &run, "--epochs 1")));
    assert_contains(&said, &["'cone' have no extent", "--species"]);
    assert!(!run.exists());
}

#[cfg(unix)]
#[test]
fn a_run_whose_data_lost_only_these_resumes_and_ends_bit_identical() {
    let dir = tempfile::tempdir().unwrap();
    let wood = wood(dir.path());
    let (whole, broken) = (dir.path().join("whole"), dir.path().join("broken"));
    let words = "--epochs 40 --model full --evaluate-every 2 --checkpoint-seconds 0";
    succeeds(&mut within(dir.path(), train(&wood, &whole, words)));
    interrupted(
        &mut within(dir.path(), train(&wood, &broken, words)),
        &broken,
        libc::SIGTERM,
    );
    let resume = || within(dir.path(), with_path("train --resume", &broken));

    for lost in [FLAT, ONE] {
        fs::remove_file(wood.join(lost)).unwrap();
    }
    let other = wood.join("box/p0/t0.xyz");
    let points = fs::read(&other).unwrap();
    fs::remove_file(&other).unwrap();
    assert_contains(&stderr(&mut resume()), &["two data sets"]);
    fs::write(&other, points).unwrap();

    let output = succeeds(&mut resume());
    let said = text(&output.stderr);
    assert_contains(&said, &["warning", "lost trees without extent", FLAT, ONE]);
    crate::resume::assert_same(&whole, &broken);
    // The parts are those of the run, though the data would now be split in another way.
    let scores = |run: &Path| {
        stdout(&mut within(
            dir.path(),
            with_path("eval --part validation --json", run),
        ))
    };
    assert_eq!(scores(&broken), scores(&whole));
}
