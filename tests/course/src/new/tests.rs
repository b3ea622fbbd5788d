use std::fs;

use super::*;
use crate::lessons;

fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap()
}

#[test]
fn manifests_of_all_lessons_follow_the_templates() {
    for lesson in lessons::all(root()).unwrap() {
        let (number, title) = (lesson.manifest.lesson, lesson.manifest.title);
        for (path, template) in [
            ("lessons/lesson__NN__/Cargo.toml", LESSON_MANIFEST),
            ("lessons/lesson__NN__/run/Cargo.toml", RUN_MANIFEST),
            ("exercises/lesson__NN__/Cargo.toml", EXERCISE_MANIFEST),
        ] {
            let path = path.replace("__NN__", &number);
            let text = fs::read_to_string(root().join(&path)).unwrap();
            let template = template.replace("__NN__", &number).replace("__TITLE__", &title);
            let mut expected = template.lines().peekable();
            for line in text.lines() {
                // A lesson may have dependencies of its own.
                if expected.next_if_eq(&line).is_none() {
                    assert!(line.ends_with(".workspace = true"), "{path}: {line}");
                }
            }
            assert_eq!(expected.next(), None, "{path}: a line of the template is missing");
        }
    }
}

#[test]
fn a_lesson_is_listed_in_order() {
    let list = "a\n- [08 X](x)\n- [10 Y](y)\n\n- [z](z)\n";
    let with = |number| listed(list, "- [", number, "NEW\n").unwrap();
    assert_eq!(with(14), "a\n- [08 X](x)\n- [10 Y](y)\nNEW\n\n- [z](z)\n");
    assert_eq!(with(9), "a\n- [08 X](x)\nNEW\n- [10 Y](y)\n\n- [z](z)\n");
    let drafts = "- [08 X](x)\n- [09 Y: to come]()\n- [10 Z: to come]()\n";
    assert_eq!(without_draft(drafts, 9), "- [08 X](x)\n- [10 Z: to come]()\n");
    assert_eq!(without_draft(drafts, 8), drafts);
}

#[test]
fn what_exists_is_not_overwritten_and_odd_titles_are_refused() {
    let refused = |number, title: &str| new(root(), number, title).unwrap_err().to_string();
    assert!(refused(1, "Again").contains("exists already"));
    assert!(refused(0, "Zero").contains("from 1 to 99"));
    assert!(refused(99, "a \"quote\"").contains("a title consists of"));
    assert!(!root().join("lessons/lesson99").exists());
}

/// A copy of the course whose packages are links: cargo finds all of them built.
#[cfg(unix)]
fn copy(to: &Path) {
    use std::os::unix::fs::symlink;
    let link = |path: &str| symlink(root().join(path), to.join(path)).unwrap();
    let links = |folder: &str, but: &[&str]| {
        fs::create_dir_all(to.join(folder)).unwrap();
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if !but.contains(&&*name) {
                link(&format!("{folder}/{name}"));
            }
        }
    };
    let copied = |path: &str| {
        fs::copy(root().join(path), to.join(path)).unwrap();
    };
    ["data", "rust-toolchain.toml", ".cargo"]
        .into_iter()
        .for_each(link);
    ["Cargo.toml", "Cargo.lock"].into_iter().for_each(copied);
    links("exercises", &[]);
    links("lessons", &[]);
    links("solutions", &["README.md"]);
    links("tests", &["proof"]);
    links("tests/proof", &["Cargo.toml"]);
    links("book/src", &["SUMMARY.md"]);
    for (list, ..) in LISTS {
        copied(list);
    }
    // The same package with another lesson: under its own name, so that neither makes cargo build the other again.
    let manifest = to.join("tests/proof/Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let text = text.replace("name = \"proof\"", "name = \"proof-of-new\"");
    fs::write(manifest, text + "\n[lib]\nname = \"proof\"\n").unwrap();
}

#[test]
#[cfg(unix)]
fn an_untouched_skeleton_passes_the_proof_and_is_to_do() {
    let tree = tempfile::tempdir().unwrap();
    copy(tree.path());
    let said = new(tree.path(), 97, "A new lesson").unwrap();
    assert!(said.contains("lessons/lesson97/lesson.toml"), "{said}");
    let target = std::env::current_exe().unwrap();
    let target = target.ancestors().nth(3).unwrap().to_owned();
    let cargo = |folder: &Path, arguments: &[&str]| {
        let output = crate::cargo::command()
            .args(arguments)
            .arg("--offline")
            .current_dir(folder)
            .env("CARGO_TARGET_DIR", &target)
            .env("CANOPY_HANDED_OUT", "1")
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].map(|t| String::from_utf8_lossy(&t).into_owned());
        (output.status.success(), text.concat())
    };
    // What the proofs of all lessons share, so that below only the skeleton is built.
    let (built, said) = cargo(root(), &["test", "-p", "proof", "--test", "lessons", "--no-run"]);
    assert!(built, "{said}");
    let proof = ["test", "-p", "proof-of-new", "--test", "lessons", "lesson97"];
    let (passed, said) = cargo(tree.path(), &proof);
    assert!(passed && said.contains("6 passed"), "{said}");
    for package in ["canopy", "canopy-data", "grader", "candle-core", "lesson01"] {
        assert!(!said.contains(&format!("Compiling {package} v")), "{said}");
    }
    let (passed, said) = cargo(tree.path(), &["test", "-p", "lesson97"]);
    assert!(!passed && said.contains("0 of 1 exercises right"), "{said}");
    let (passed, said) = cargo(tree.path(), &["run", "-p", "lesson97"]);
    assert!(passed && said.contains("steps of 691 records"), "{said}");
}
