//! The repository's structure: which package and module may import which, every exercise a piece of the program, short files.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use proof::{files, root};

/// Our packages, lessons and exercises without their numbers.
const OURS: &str = "canopy canopy-data grader grid kit course proof lesson exercise";

/// The folders of packages, and which of our packages they may depend on.
const PACKAGES: [(&str, &str); 13] = [
    ("data", ""),
    // It compiles canopy's files, without its packages.
    ("book/touch", ""),
    // The grid only for its tests.
    ("solutions", "canopy-data grid"),
    ("exercises", "canopy canopy-data"),
    // Lesson 11 runs kernels on the grid.
    ("lessons", "canopy canopy-data grader grid kit lesson exercise"),
    ("tests/course", "grader"),
    ("tests/grader", ""),
    ("tests/grid", ""),
    ("tests/kit", "canopy grader"),
    // Not the exercises: these must build whatever a student writes.
    ("tests/proof", "canopy canopy-data grader kit lesson"),
    ("tests/answers", "canopy canopy-data grader kit lesson"),
    ("tests/book", ""),
    ("tests/workspace-hack", ""),
];

#[test]
fn packages_import_only_what_they_may() {
    let mut manifests = files(&root());
    // The workspace's own is in no folder.
    manifests.retain(|file| file.ends_with("Cargo.toml") && file.parent() != Some(&root()));
    for manifest in &manifests {
        let folder = manifest.parent().unwrap().strip_prefix(root()).unwrap();
        // Of a new lesson, as if it were one.
        let folder = folder.strip_prefix("tests/course/template").unwrap_or(folder);
        let may = PACKAGES.iter().find(|(of, _)| folder.starts_with(of));
        let folder = folder.display();
        let (_, may) = may.unwrap_or_else(|| panic!("add {folder} to `PACKAGES`"));
        for line in fs::read_to_string(manifest).unwrap().lines() {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let name = name.trim_end_matches("-checks");
            let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let is_ours = OURS.split(' ').any(|of| of == name);
            let fine = !is_ours || may.split(' ').any(|of| of == name);
            assert!(fine, "{folder} imports {line}, and may import only: {may}");
        }
    }
}

/// The modules below `train`.
const LOWER: &str = "device kernels loader model optim parallel precision profile schedule shard target";

/// The modules of canopy that `module` may use, apart from itself.
fn may_use(module: &str) -> String {
    match module {
        "device" | "kernels" | "schedule" | "search" => String::new(),
        "loader" | "optim" | "precision" | "profile" | "parallel" | "target" => "kernels".into(),
        // Its embedding.
        "model" => "kernels target".into(),
        "train" => LOWER.into(),
        // It reads what a run or a recording left.
        "report" => "profile train".into(),
        "shard" => "parallel precision schedule".into(),
        "split" => "optim parallel precision shard train".into(),
        "cli" | "main" | "lib" => format!("{LOWER} train report search split cli"),
        _ => panic!("add the module {module} to `may_use`"),
    }
}

/// The code of a file, without the lines of its comments.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The sources of canopy and its data package, with their code and without tests.
fn sources() -> Vec<(PathBuf, String)> {
    let mut all = files(&root().join("solutions/src"));
    all.extend(files(&root().join("data/src")));
    all.retain(|file| file.extension().is_some_and(|ending| ending == "rs") && !file.ends_with("tests.rs"));
    all.into_iter().map(|file| (file.clone(), code(&file))).collect()
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[test]
fn modules_of_canopy_use_only_those_below() {
    let all = may_use("cli") + " cli";
    let mut count = 0;
    for (file, code) in sources() {
        let Ok(inside) = file.strip_prefix(root().join("solutions/src")) else {
            continue;
        };
        // The module directly below `src` that a file belongs to.
        let module = words(inside.to_str().unwrap()).next().unwrap();
        let (may, file) = (may_use(module), file.display());
        for path in code.split("crate::").skip(1) {
            // `crate::{a::b, c}` names several; a group ends with its statement.
            let group = path.starts_with('{').then(|| path.split(';').next());
            let named = group.unwrap_or_else(|| words(path).next()).unwrap();
            for name in named.split(['{', ',', '}']) {
                let used = words(name.trim_start()).next().unwrap();
                let is_module = all.split(' ').any(|name| name == used);
                let fine = used == module || may.split(' ').any(|name| name == used);
                assert!(
                    fine || !is_module,
                    "{file}: {module} uses {used}, and may use only: {may}"
                );
                count += usize::from(is_module);
            }
        }
        // Directly below `src`, `super` is the crate itself.
        let depth = inside.components().count();
        let is_top = depth == 1 || depth == 2 && inside.ends_with("mod.rs");
        let upwards = if is_top { "super::" } else { "super::super::" };
        let own = code.split("mod tests {").next().unwrap();
        assert!(
            !own.contains(upwards),
            "{file}: write crate:: instead of {upwards}"
        );
    }
    assert!(count > 250, "only {count} uses were found");
}

/// Answers that no other file calls: `choose`, beside it, calls `candidate`. By design, `neuron` defines what each number of
/// `kernels::linear` is, and a unit test compares the two. The program itself uses matrix products.
const DEFINITIONS: [&str; 2] = ["neuron", "candidate"];

#[test]
fn another_file_or_the_experiment_has_every_answer_of_the_key() {
    let (sources, mut count, mut unused) = (sources(), 0, Vec::new());
    let mut manifests = files(&root().join("lessons"));
    manifests.retain(|file| file.ends_with("lesson.toml"));
    for manifest in manifests {
        let experiment = files(&manifest.with_file_name("run/src"));
        let experiment: String = experiment.iter().map(|file| code(file)).collect();
        let lesson: toml::Table = fs::read_to_string(manifest).unwrap().parse().unwrap();
        for exercise in lesson["exercise"].as_array().unwrap() {
            let [name, file] = ["answer", "solution"].map(|key| exercise[key].as_str().unwrap());
            count += 1;
            let file = root().join(file);
            // The `mod.rs` above it only passes the name on.
            let is_above =
                |other: &Path| other.ends_with("mod.rs") && file.starts_with(other.parent().unwrap());
            let is_other = |other: &Path| other != file && !is_above(other);
            let mut others = sources.iter().filter(|(other, _)| is_other(other));
            // In an experiment, `answer.name` is the student's function, and canopy's with `--reference`.
            let mut answers = experiment.split("answer.").skip(1);
            let in_experiment = answers.any(|rest| words(rest).next() == Some(name));
            if !in_experiment && !others.any(|(_, code)| words(code).any(|word| word == name)) {
                unused.push(name.to_owned());
            }
        }
    }
    assert!(count >= 57, "only {count} answers were found");
    assert_eq!(unused, DEFINITIONS, "only these may be unused elsewhere");
}

#[test]
fn files_are_short_and_name_no_path_of_this_machine() {
    let here = root().display().to_string() + "/";
    // `/src/` and the like are no paths of a certain machine.
    let is_certain = here.matches('/').count() > 2;
    for file in files(&root()) {
        // Pictures are no text.
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let (file, lines) = (file.display().to_string(), text.lines().count());
        let is_short = lines <= 400 || !file.ends_with(".rs");
        assert!(is_short, "{file} has {lines} lines: is it one subject?");
        assert!(
            !is_certain || !text.contains(&here),
            "{file}: a path of this machine"
        );
    }
}
