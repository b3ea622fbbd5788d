//! The budget race: hostile submissions are trained in the real sandbox, with a budget of seconds. `race.txt` has for each its
//! name, further settings, how its training must end, and its augmentation. If something forbidden succeeds, the augmentation
//! destroys the training, so that the score is not the honest one.

use std::{fs, path::PathBuf, process::Command};

use proof::{program, root};
use serde_json::Value;

use crate::archives::put;

/// The seed of the hidden site.
const SEED: &str = "6220917341";

/// The library, without the body of its augmentation.
const LIBRARY: &str = "use canopy_data::Philox;\npub fn settings() -> &'static str { include_str!(\"config.toml\") }\n\
    pub fn augment(points: &mut [[f32; 3]], random: &mut Philox) ";

/// A small network that is trained within seconds.
const SETTINGS: &str =
    "width = 8\npoints = 64\nbatch = 8\nlearning-rate = 0.003\nwarmup = 0.0\nevaluate-every = 1\n";

#[test]
fn a_race_cannot_be_won_by_cheating() {
    let base = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("race");
    let _ = fs::remove_dir_all(&base);
    let (class, out) = (base.join("class"), base.join("board"));
    let work = out.join(".work").display().to_string();
    let (mut deeds, texts) = (Vec::new(), include_str!("race.txt"));
    for text in texts.trim_start_matches("== ").split("\n== ") {
        let (first, code) = text.split_once('\n').unwrap_or((text, ""));
        let [name, settings, how] = first.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{first}")
        };
        let code = code.replace("WORK", &work).replace("SEED", SEED);
        let settings = format!("{SETTINGS}{}\n", settings.replace(';', "\n"));
        let (folder, library) = (class.join(name), format!("{LIBRARY}{{\n{code}\n}}\n"));
        put(&folder, "exercises/capstone/src/lib.rs", library);
        put(&folder, "exercises/capstone/src/config.toml", settings);
        deeds.push((name, how));
    }
    let mut score = Command::new(program("course"));
    score.args("capstone score --forest 112 --trees 70 --minutes 0.1 --seed".split(' '));
    score.args([SEED, "--out"]).args([&out, &class]);
    score.env("CANOPY_TOKEN", SEED).current_dir(root());
    let scored = score.output().unwrap();
    let errors = String::from_utf8_lossy(&scored.stderr);
    if errors.contains("no untrusted program") {
        return println!("not run, because bubblewrap is not installed, or may not be used here");
    }
    let text = fs::read_to_string(out.join("board.json")).expect(&errors);
    let board: Value = serde_json::from_str(&text).unwrap();
    let rows = board["rows"].as_array().unwrap();
    let row_of = |name: &str| rows.iter().find(|row| row["submission"] == name).unwrap();
    for (name, how) in &deeds {
        let row = row_of(name);
        assert!(row["how"].as_str().unwrap().contains(how), "{row:#}\n{errors}");
        // The same training: what was tried had no effect.
        if *how == "it did all its epochs" {
            assert_eq!(row["score"], row_of("honest")["score"], "{row:#}");
        }
        assert_eq!(row["score"].is_null(), !how.starts_with("it"), "{row:#}");
    }
    assert_eq!(scored.status.code(), Some(1), "some have no score: {errors}");
    let page = fs::read_to_string(out.join("board.html")).unwrap();
    assert!(deeds.iter().all(|(name, _)| page.contains(name)) && !page.contains(SEED));
    assert!(!out.join(".work").exists(), "the hidden site is removed");
}
