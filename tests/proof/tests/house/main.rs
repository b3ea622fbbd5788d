//! The repository's structure: which package and module may import which, no circles of files, every exercise a piece of the
//! program, short files.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod sources;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use proof::root;
use sources::{Sources, Use};

/// All files below `folder` whose names end with `ending`, except build outputs.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Cargo's `target` is next to a manifest; a module may have this name as well.
        let built = name == "target" && folder.join("Cargo.toml").is_file();
        if path.is_dir() && !built && !name.starts_with('.') {
            found.extend(files(&path, ending));
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
    found
}

/// The names of the lessons' folders.
fn lessons() -> Vec<String> {
    let entries = fs::read_dir(root().join("lessons")).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

#[test]
fn packages_import_only_what_they_may() {
    let (lessons, canopy) = (lessons(), "canopy canopy-data");
    let mut allowed: BTreeMap<String, String> = [
        ("data", ""),
        // The grid only for its tests.
        ("solutions", "canopy-data grid"),
        ("tests/course", "grader"),
        ("tests/grader", ""),
        ("tests/grid", ""),
        ("tests/kit", "canopy grader"),
    ]
    .map(|(folder, may)| (folder.to_owned(), may.to_owned()))
    .into();
    for lesson in &lessons {
        let exercise = lesson.replace("lesson", "exercise");
        allowed.insert(format!("exercises/{lesson}"), canopy.to_owned());
        allowed.insert(
            format!("lessons/{lesson}"),
            format!("{canopy} grader kit {exercise}"),
        );
    }
    // Not the exercises: the proof must build whatever a student writes.
    let all = format!("{canopy} grader kit {}", lessons.join(" "));
    allowed.insert("tests/proof".into(), all.clone());
    allowed.insert("tests/answers".into(), all.clone());
    let exercises = lessons.iter().map(|lesson| lesson.replace("lesson", "exercise"));
    let ours: Vec<String> = all
        .split(' ')
        .map(str::to_owned)
        .chain(exercises)
        .chain(["grid".into()])
        .collect();
    for (folder, may) in allowed {
        let text = fs::read_to_string(root().join(&folder).join("Cargo.toml")).unwrap();
        for package in &ours {
            let named = |line: &str| {
                line.strip_prefix(&**package)
                    .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
            };
            let fine = may.split(' ').any(|name| name == package) || !text.lines().any(named);
            assert!(fine, "{folder} imports {package}, and may import only: {may}");
        }
    }
}

/// The modules below `train`.
const LOWER: &str = "device kernels loader model optim parallel precision profile schedule shard target";

/// The modules of canopy that `module` may use, apart from itself.
fn may_use(module: &str) -> Option<String> {
    Some(match module {
        "device" | "kernels" | "schedule" => String::new(),
        "loader" | "optim" | "precision" | "profile" | "parallel" | "target" => "kernels".into(),
        // Its embedding.
        "model" => "kernels target".into(),
        "train" => LOWER.into(),
        // It reads what a run or a recording left.
        "report" => "profile train".into(),
        "shard" => "parallel precision schedule".into(),
        "split" => "optim parallel precision shard train".into(),
        "cli" | "main" => format!("{LOWER} train report split cli"),
        "lib" => return None,
        _ => panic!("add the module {module} to `may_use`"),
    })
}

/// The module directly below `src` that a file belongs to.
fn module_of(file: &Path) -> Option<&str> {
    let inside = file.strip_prefix(root().join("solutions/src")).ok()?;
    let first = file.iter().nth(file.iter().count() - inside.iter().count());
    Some(first?.to_str()?.trim_end_matches(".rs"))
}

#[test]
fn modules_of_canopy_use_only_those_below() {
    for Use { by, file, item } in uses_of_canopy() {
        let (Some(module), Some(used)) = (module_of(&by), module_of(&file)) else {
            continue;
        };
        let Some(may) = may_use(module) else { continue };
        let fine = used == module || used == "lib" || may.split(' ').any(|name| name == used);
        assert!(
            fine,
            "{}: {module} uses {used} ({item}), and may use only: {may}",
            by.display()
        );
    }
}

fn uses_of_canopy() -> Vec<Use> {
    let mut sources = Sources::default();
    sources.read("canopy", &root().join("solutions/src"));
    sources.read("canopy_data", &root().join("data/src"));
    let uses = sources.uses();
    assert!(uses.len() > 1000, "only {} uses were found", uses.len());
    uses
}

/// Answers that nothing calls, by design: `neuron` defines what each number of `kernels::linear` is, and a unit test compares
/// the two. The program itself uses matrix products.
const DEFINITIONS: [&str; 1] = ["neuron"];

/// In an experiment, `answer.name` is the student's function, and canopy's with `--reference`.
fn calls(experiment: &str, name: &str) -> bool {
    let named = format!("answer.{name}");
    let mut after = experiment.split(&named).skip(1);
    after.any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[test]
fn another_file_or_the_experiment_uses_every_answer_of_the_key() {
    let uses = uses_of_canopy();
    let (mut count, mut unused) = (0, Vec::new());
    for lesson in lessons() {
        let folder = root().join("lessons").join(lesson);
        let texts = files(&folder.join("run/src"), ".rs")
            .into_iter()
            .map(|file| fs::read_to_string(file).unwrap());
        let experiment: String = texts.collect();
        let lesson: toml::Table = fs::read_to_string(folder.join("lesson.toml"))
            .unwrap()
            .parse()
            .unwrap();
        for exercise in lesson["exercise"].as_array().unwrap() {
            let [name, file] = ["answer", "solution"].map(|key| exercise[key].as_str().unwrap());
            let file = root().join(file);
            let text = fs::read_to_string(&file).unwrap();
            let is_there = text.contains(&format!("fn {name}(")) || text.contains(&format!("fn {name}<"));
            assert!(is_there, "{} has no function {name}", file.display());
            count += 1;
            if !uses.iter().any(|u| u.file == file && u.item == name) && !calls(&experiment, name) {
                unused.push(name.to_owned());
            }
        }
    }
    assert!(count >= 57, "only {count} answers were found");
    assert_eq!(
        unused, DEFINITIONS,
        "nothing but these may be unused outside their own files"
    );
}

/// Files in circles that are still to be opened: each has a trait, or a choice of units, and calls what implements it.
const KNOWN: [&str; 2] = ["parallel/mpi/mod.rs", "parallel/processes.rs"];

type Edges<'a> = BTreeMap<&'a Path, BTreeSet<&'a Path>>;

/// The groups of files that use each other in a circle. The root file of a module belongs to all files of its folder: they may
/// use it, and it may use them.
fn circles<'a>(uses: &'a [Use]) -> BTreeSet<Vec<&'a Path>> {
    let mut edges = Edges::new();
    for u in uses.iter().filter(|u| !is_root_of(&u.file, &u.by)) {
        edges.entry(&u.by).or_default().insert(&u.file);
    }
    let below: Edges = edges.keys().map(|&file| (file, reached(&edges, file))).collect();
    let group = |(file, files): (&&'a Path, &BTreeSet<&'a Path>)| -> Vec<&'a Path> {
        let is_back = |other: &&&Path| below.get(*other).is_some_and(|back| back.contains(file));
        files.iter().filter(is_back).copied().collect()
    };
    below.iter().map(group).filter(|group| group.len() > 1).collect()
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
    let folder = if in_folder {
        root.with_file_name("")
    } else {
        root.with_extension("")
    };
    file.starts_with(folder)
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let uses = uses_of_canopy();
    let is_known = |file: &&Path| KNOWN.iter().any(|known| file.ends_with(known));
    let (known, new): (Vec<_>, Vec<_>) = circles(&uses)
        .into_iter()
        .partition(|group| group.iter().all(is_known));
    assert!(
        new.is_empty(),
        "move what these groups of files share to a file below them: {new:#?}"
    );
    assert_eq!(
        known.concat().len(),
        KNOWN.len(),
        "these are no longer in a circle, or circles are not found"
    );
}

#[test]
fn files_are_short_and_name_no_path_of_this_machine() {
    // A parent at the root, such as /tmp, is no path of a certain machine: search for the project's own folder then.
    let parent = root().parent().unwrap().to_owned();
    let above = if parent.components().count() > 2 {
        parent
    } else {
        root()
    };
    let above = above.display().to_string() + "/";
    for ending in [".rs", ".md", ".toml", ".py", ".sh", ".html", ".js", ".yml"] {
        for path in files(&root(), ending) {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let (path, lines) = (path.display(), text.lines().count());
            assert!(
                ending != ".rs" || lines <= 400,
                "{path} has {lines} lines: is it one subject?"
            );
            assert!(!text.contains(&above), "{path}: a path of this machine");
        }
    }
}
