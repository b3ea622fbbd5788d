use super::*;
use crate::lessons;

fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap()
}

#[test]
fn manifests_of_all_lessons_follow_the_templates() {
    for lesson in lessons::all(root()).unwrap() {
        for (path, template) in &FILES[..3] {
            let fill = |text: &str| {
                let text = text.replace("__NN__", &lesson.manifest.lesson);
                text.replace("__TITLE__", &lesson.manifest.title)
            };
            let (path, template) = (fill(path), fill(template));
            let text = fs::read_to_string(root().join(&path)).unwrap();
            let mut expected = template.lines().peekable();
            for line in text.lines() {
                // A lesson may have dependencies of its own.
                let is_known = expected.next_if_eq(&line).is_some() || line.ends_with(".workspace = true");
                assert!(is_known, "{path}: {line}");
            }
            assert_eq!(expected.next(), None, "{path}: a line of the template is missing");
        }
    }
}

#[test]
fn a_lesson_is_listed_in_order_and_what_exists_is_not_overwritten() {
    let list = "a\n- [08 X](x)\n- [10 Y](y)\n\n- [z](z)\n";
    let with = |number| listed(list, "- [", number, "NEW").unwrap();
    assert_eq!(with(14), "a\n- [08 X](x)\n- [10 Y](y)\nNEW\n\n- [z](z)\n");
    assert_eq!(with(9), "a\n- [08 X](x)\nNEW\n- [10 Y](y)\n\n- [z](z)\n");
    let drafts = "- [08 X](x)\n- [09 Y: to come]()\n- [10 Z: to come]()\n";
    let with_9 = "- [08 X](x)\nNEW\n- [10 Z: to come]()\n";
    assert_eq!(listed(drafts, "- [", 9, "NEW").unwrap(), with_9);
    for (number, title, expected) in [
        (1, "Again", "exists already"),
        (99, "a \"quote\"", "a title consists of"),
    ] {
        let error = new(root(), number, title).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(!root().join("lessons/lesson99").exists());
}

/// In a copy of the course that consists of links, so that cargo finds its packages built.
#[test]
#[cfg(target_os = "linux")]
fn an_untouched_skeleton_passes_the_proof_and_is_to_do() {
    let tree = tempfile::tempdir().unwrap();
    let parts =
        "Cargo.toml Cargo.lock rust-toolchain.toml .cargo book data exercises lessons solutions tests";
    let parts = parts.split(' ').map(|part| root().join(part));
    let copied = std::process::Command::new("cp")
        .arg("-as")
        .args(parts)
        .arg(tree.path())
        .status();
    assert!(copied.unwrap().success());
    let lists = LISTS.map(|(path, ..)| path);
    for path in lists.into_iter().chain(["Cargo.lock"]) {
        fs::remove_file(tree.path().join(path)).unwrap();
        fs::copy(root().join(path), tree.path().join(path)).unwrap();
    }
    // The same package with another lesson: under its own name, so that neither makes cargo build the other again.
    let manifest = tree.path().join(lists[0]);
    let text = fs::read_to_string(&manifest).unwrap();
    let text = text.replace("name = \"proof\"", "name = \"proof-of-new\"");
    fs::write(manifest, text + "\n[lib]\nname = \"proof\"\n").unwrap();
    new(tree.path(), 97, "A new lesson").unwrap();
    let target = std::env::current_exe().unwrap();
    let target = target.ancestors().nth(3).unwrap();
    let cargo = |folder: &Path, arguments: &str| {
        let mut cargo = crate::cargo::command();
        cargo
            .args(arguments.split(' '))
            .arg("--offline")
            .current_dir(folder);
        cargo
            .env("CARGO_TARGET_DIR", target)
            .env("CANOPY_HANDED_OUT", "1");
        let output = cargo.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    };
    // What the proofs of all lessons share, so that below only the skeleton is built.
    let (built, output) = cargo(root(), "test -p proof --test lessons --no-run");
    assert!(built, "{output}");
    let (passed, output) = cargo(tree.path(), "test -p proof-of-new --test lessons lesson97");
    assert!(passed && output.contains("6 passed"), "{output}");
    for package in ["canopy", "canopy-data", "grader", "candle-core", "lesson01"] {
        assert!(!output.contains(&format!("Compiling {package} v")), "{output}");
    }
    let (passed, output) = cargo(tree.path(), "test -p lesson97");
    assert!(!passed && output.contains("0 of 1 exercises right"), "{output}");
    let (passed, output) = cargo(tree.path(), "run -p lesson97");
    assert!(passed && output.contains("steps of 691 records"), "{output}");
}
