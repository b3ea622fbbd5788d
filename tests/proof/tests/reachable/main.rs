//! Every exercise is a piece of the program: another file than its own uses each answer of the key, or the lesson's experiment
//! does. No files use each other in a circle.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod sources;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use proof::root;
use sources::{Sources, Use};

/// Answers that nothing calls, by design: `neuron` defines what each number of `kernels::linear` is, and a unit test compares
/// the two. The program itself uses matrix products.
const DEFINITIONS: [&str; 1] = ["neuron"];

/// Files in circles that are still to be opened: each has a trait, or a choice of units, and calls what implements it.
const KNOWN: [&str; 3] = [
    "parallel/mpi/mod.rs",
    "parallel/nccl/communicator.rs",
    "parallel/processes.rs",
];

fn uses_of_canopy() -> Vec<Use> {
    let mut sources = Sources::default();
    sources.read("canopy", &root().join("solutions/src"));
    sources.read("canopy_data", &root().join("data/src"));
    sources.uses()
}

/// The text of all files in a folder.
fn text_of(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &text_of(&path);
        } else {
            text += &fs::read_to_string(path).unwrap();
        }
    }
    text
}

/// In an experiment, `answer.name` is the student's function, and canopy's with `--reference`.
fn calls(experiment: &str, name: &str) -> bool {
    let named = format!("answer.{name}");
    let mut found = experiment.match_indices(&named);
    found.any(|(i, _)| !experiment[i + named.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[test]
fn another_file_or_the_experiment_uses_every_answer_of_the_key() {
    let uses = uses_of_canopy();
    let (mut count, mut unused) = (0, Vec::new());
    for lesson in fs::read_dir(root().join("lessons")).unwrap() {
        let folder = lesson.unwrap().path();
        let Ok(text) = fs::read_to_string(folder.join("lesson.toml")) else {
            continue;
        };
        let experiment = text_of(&folder.join("run/src"));
        let lesson: toml::Table = text.parse().unwrap();
        for exercise in lesson["exercise"].as_array().unwrap() {
            let [id, name, file] = ["id", "answer", "solution"].map(|key| exercise[key].as_str().unwrap());
            let file = root().join(file);
            let text = fs::read_to_string(&file).unwrap();
            let is_there = text.contains(&format!("fn {name}(")) || text.contains(&format!("fn {name}<"));
            assert!(is_there, "{} has no function {name}", file.display());
            let in_canopy = uses.iter().any(|u| u.file == file && u.item == name);
            count += 1;
            if !in_canopy && !calls(&experiment, name) {
                unused.push(name.to_owned());
                eprintln!("{id} {name} ({})", file.display());
            }
        }
    }
    assert!(count >= 57, "only {count} answers were found");
    assert_eq!(
        unused, DEFINITIONS,
        "nothing but these may be unused outside their own files"
    );
}

type Edges<'a> = BTreeMap<&'a Path, BTreeSet<&'a Path>>;

/// The groups of files that use each other in a circle, sorted. The root file of a module belongs to all files of its folder:
/// they may use it, and it may use them.
fn circles(uses: &[Use]) -> BTreeSet<Vec<&Path>> {
    let mut edges = Edges::new();
    for u in uses.iter().filter(|u| !is_root_of(&u.file, &u.by)) {
        edges.entry(&u.by).or_default().insert(&u.file);
    }
    let below: Edges = edges.keys().map(|&file| (file, reached(&edges, file))).collect();
    let mut groups = BTreeSet::new();
    for (&file, files) in &below {
        let is_back = |other: &&Path| below.get(other).is_some_and(|b| b.contains(file));
        let group: Vec<&Path> = files.iter().copied().filter(is_back).collect();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups
}

/// The files that `from` reaches by one edge or more.
fn reached<'a>(edges: &Edges<'a>, from: &'a Path) -> BTreeSet<&'a Path> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(file) = open.pop() {
        let next = edges.get(file).into_iter().flatten().copied();
        open.extend(next.filter(|&file| reached.insert(file)));
    }
    reached
}

/// Whether `root` is the root file of a module that `file` is a part of: `mod.rs`, or `trace.rs` beside the folder `trace`.
fn is_root_of(root: &Path, file: &Path) -> bool {
    let in_folder = ["mod.rs", "lib.rs", "main.rs"]
        .iter()
        .any(|name| root.ends_with(name));
    let folder = match root.parent() {
        Some(parent) if in_folder => parent.to_owned(),
        _ => root.with_extension(""),
    };
    file.starts_with(folder)
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let uses = uses_of_canopy();
    assert!(uses.len() > 1000, "only {} uses were found", uses.len());
    let is_known = |file: &&Path| KNOWN.iter().any(|known| file.ends_with(known));
    let mut circles = circles(&uses);
    circles.retain(|group| !group.iter().all(is_known));
    assert!(
        circles.is_empty(),
        "these groups of files use each other in a circle; move what they share to a file below them: {circles:#?}"
    );
}

#[test]
fn a_circle_is_found_through_other_files_and_re_exports_but_not_in_tests_or_through_a_root() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "main.rs",
        "mod a; mod b; mod c; fn main() { a::one(); }\nfn root() {}",
    );
    write("a.rs", "pub fn one() { super::b::two(); }");
    // `two` is in b/inner.rs.
    write("b/mod.rs", "mod inner;\npub use inner::{two as also, two};");
    write(
        "b/inner.rs",
        "use crate::{\n    c::{three},\n};\npub fn two() { three(); }",
    );
    let tests = "\n// crate::a::one()\n#[cfg(test)]\nmod tests {\n    fn t() { crate::b::two(); }\n}\n";
    write(
        "c.rs",
        &format!("use crate::root;\npub fn three() {{ root(); }}{tests}"),
    );
    let count = || {
        let mut sources = Sources::default();
        sources.read("made", folder.path());
        let uses = sources.uses();
        circles(&uses).iter().map(Vec::len).collect::<Vec<_>>()
    };
    assert!(count().is_empty(), "{:?}", count());
    write("c.rs", "use super::a;\npub fn three() { a::one(); }");
    assert_eq!(count(), [3]);
}
