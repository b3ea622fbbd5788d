//! The repository's structure: its folders, which package and module may import which, file lengths, forbidden text.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use proof::root;

/// All files below `dir` whose names end with `ending`, except build outputs.
fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Cargo's `target` is next to a manifest; a module may have this name as well.
        let built = name == "target" && dir.join("Cargo.toml").is_file();
        if path.is_dir() && !built && !name.starts_with('.') {
            found.extend(files(&path, ending));
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_root_has_no_unknown_folder() {
    let known = [
        "book",
        "data",
        "exercises",
        "lessons",
        "slurm",
        "solutions",
        "tests",
    ];
    // What git ignores may lie there too: builds and runs.
    let ignored = ["target", "runs", "slurm-logs"];
    for name in folders("").iter().filter(|name| !name.starts_with('.')) {
        assert!(
            known.contains(&&**name) || ignored.contains(&&**name),
            "the folder {name} is not listed here: should it be elsewhere?"
        );
    }
}

#[test]
fn the_tests_have_no_unknown_folder() {
    let known = [
        "answers",
        "book",
        "course",
        "gpu",
        "grader",
        "grid",
        "kit",
        "proof",
        "workspace-hack",
    ];
    assert_eq!(folders("tests"), known, "should a folder be elsewhere?");
}

#[test]
fn packages_import_only_what_they_may() {
    let mut allowed: BTreeMap<String, Vec<String>> = [
        ("data", vec![]),
        // The grid only for its tests.
        ("solutions", vec!["canopy-data", "grid"]),
        ("tests/course", vec!["grader"]),
        ("tests/grader", vec![]),
        ("tests/grid", vec![]),
        ("tests/proof", vec!["canopy", "canopy-data", "grader"]),
        ("tests/kit", vec!["canopy", "grader"]),
    ]
    .map(|(folder, may)| (folder.to_owned(), may.into_iter().map(str::to_owned).collect()))
    .into();
    let lessons = folders("lessons");
    assert_eq!(lessons, folders("exercises"), "every lesson has its exercises");
    for lesson in &lessons {
        let exercise = lesson.replace("lesson", "exercise");
        let canopy = ["canopy", "canopy-data"].map(str::to_owned).to_vec();
        allowed.insert(format!("exercises/{lesson}"), canopy.clone());
        let checking = ["grader", "kit"].map(str::to_owned).to_vec();
        let own = [canopy, checking, vec![exercise]].concat();
        allowed.insert(format!("lessons/{lesson}"), own);
        // Not the exercises: the proof must build whatever a student writes.
        allowed
            .entry("tests/proof".into())
            .or_default()
            .push(lesson.clone());
    }
    // The collected answers run on any lesson, and nothing uses them.
    let all = ["canopy", "canopy-data", "grader", "kit"].map(str::to_owned);
    allowed.insert("tests/answers".into(), [&all[..], &lessons].concat());
    let ours = ["canopy", "canopy-data", "grader", "grid", "kit"].map(str::to_owned);
    let exercises = lessons.iter().map(|l| l.replace("lesson", "exercise"));
    let ours: Vec<String> = ours
        .into_iter()
        .chain(exercises)
        .chain(lessons.iter().cloned())
        .collect();
    for (folder, may) in allowed {
        let text = fs::read_to_string(root().join(&folder).join("Cargo.toml")).unwrap();
        for package in ours.iter().filter(|package| imports(&text, package)) {
            assert!(
                may.contains(package),
                "{folder} imports {package}, and may import only {may:?}"
            );
        }
    }
}

/// Whether a manifest has a line `PACKAGE.workspace = …` or `PACKAGE = …`.
fn imports(manifest: &str, package: &str) -> bool {
    manifest.lines().any(|l| {
        l.strip_prefix(package)
            .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    })
}

/// Folders directly in `parent`, by name.
fn folders(parent: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(parent)).unwrap().map(|e| e.unwrap());
    let mut names: Vec<String> = entries
        .filter(|e| e.path().is_dir())
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The modules below `train`.
const LOWER: [&str; 11] = [
    "device",
    "kernels",
    "loader",
    "model",
    "optim",
    "parallel",
    "precision",
    "profile",
    "schedule",
    "shard",
    "target",
];

/// The modules of canopy that `module` may use, apart from itself.
fn may_use(module: &str) -> Option<Vec<&'static str>> {
    Some(match module {
        "device" | "kernels" | "schedule" => Vec::new(),
        "loader" | "optim" | "precision" | "profile" | "parallel" | "target" => vec!["kernels"],
        // Its embedding.
        "model" => vec!["kernels", "target"],
        "train" => LOWER.to_vec(),
        // It reads what a run or a recording left.
        "report" => vec!["profile", "train"],
        "shard" => vec!["parallel", "precision", "schedule"],
        "split" => vec!["optim", "parallel", "precision", "shard", "train"],
        "cli" => [&LOWER[..], &["train", "report", "split"]].concat(),
        _ => return None,
    })
}

#[test]
fn modules_of_canopy_use_only_those_below() {
    let src = root().join("solutions/src");
    let mut seen = 0;
    for path in files(&src, ".rs") {
        let inside = path.strip_prefix(&src).unwrap();
        let first = inside
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_string_lossy()
            .into_owned();
        let module = first.trim_end_matches(".rs");
        if ["lib", "main"].contains(&module) {
            continue;
        }
        let may = may_use(module).unwrap_or_else(|| panic!("add the module {module} to `may_use`"));
        for (used, line) in modules_used(&fs::read_to_string(&path).unwrap()) {
            seen += 1;
            let fine = used == module || may.contains(&&*used);
            assert!(
                fine,
                "{}:{line}: {module} uses {used}, and may use only {may:?}",
                inside.display()
            );
        }
    }
    assert!(
        seen > 20,
        "only {seen} imports were found: `modules_used` does not find them"
    );
}

/// Names after `crate::`, also within `use crate::{…}` groups, with their lines.
fn modules_used(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let line = text[..at].matches('\n').count() + 1;
        let rest = &text[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            found.extend(group_heads(group).into_iter().map(|name| (name, line)));
        } else {
            found.push((word(rest), line));
        }
    }
    found
}

/// The first words of a `{a::b, c::{d, e}}` group, after its opening brace.
fn group_heads(group: &str) -> Vec<String> {
    let (mut depth, mut heads, mut fresh) = (0, Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if fresh && depth == 0 && c.is_alphabetic() => {
                heads.push(word(&group[at..]));
                fresh = false;
            }
            _ => {}
        }
    }
    heads
}

fn word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

#[test]
fn imports_are_found_in_groups_too() {
    let text = "use crate::kernels::Pass;\nuse crate::{\n    model::{Kind, PointNet},\n    optim,\n};";
    let found: Vec<String> = modules_used(text).into_iter().map(|(name, _)| name).collect();
    assert_eq!(found, ["kernels", "model", "optim"]);
}

#[test]
fn files_are_short() {
    for path in files(&root(), ".rs") {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(
            lines <= 400,
            "{} has {lines} lines: is it one subject?",
            path.display()
        );
    }
}

#[test]
fn no_file_contains_a_path_of_this_machine() {
    // A parent at the root, such as /tmp, is no path of a certain machine: search for the project's own folder then.
    let parent = root().parent().unwrap().to_owned();
    let above = match parent.components().count() {
        0..=2 => root(),
        _ => parent,
    };
    let above = above.display().to_string() + "/";
    for ending in [".rs", ".md", ".toml", ".py", ".sh", ".html", ".js", ".yml"] {
        for path in files(&root(), ending) {
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            if let Some(line) = text.lines().position(|l| l.contains(&above)) {
                panic!("{}:{}: a path of this machine", path.display(), line + 1);
            }
        }
    }
}
