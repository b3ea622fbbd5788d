//! The chapters of the book show the project's own code and pictures.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod commands;
mod figures;
mod glossary;
mod origins;

use std::{fs, path::PathBuf, process::Command};

use proof::root;

/// The chapters, with their text.
fn chapters() -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(root().join("book/src")).unwrap();
    let files = entries.map(|e| e.unwrap().path());
    let pages = files.filter(|p| p.extension().is_some_and(|e| e == "md"));
    pages
        .map(|p| (p.clone(), fs::read_to_string(&p).unwrap()))
        .collect()
}

/// The texts between `open` and `close`, with their lines.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let lines = text.lines().enumerate();
    lines.flat_map(move |(i, line)| {
        let parts = line.split(open).skip(1);
        parts.filter_map(move |p| Some((i + 1, p.split_once(close)?.0)))
    })
}

#[test]
fn what_a_page_includes_exists() {
    for (page, text) in chapters() {
        for (line, included) in between(&text, "{{#include ", "}}") {
            let place = format!("{}:{line}: {included}", page.display());
            let mut parts = included.split(':');
            let file = page.parent().unwrap().join(parts.next().unwrap());
            let code = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{place}: {e}"));
            match parts.collect::<Vec<_>>()[..] {
                [] => assert!(
                    included.starts_with("recorded/"),
                    "{place}: an anchor, or the first and the last line"
                ),
                [anchor] => {
                    let has = |mark: &str| code.lines().any(|l| l.trim() == format!("// {mark}: {anchor}"));
                    assert!(has("ANCHOR") && has("ANCHOR_END"), "{place}: no such anchor");
                }
                [first, last] => {
                    let [first, last]: [usize; 2] = [first, last].map(|n| n.parse().expect(&place));
                    assert!(
                        first <= last && last <= code.lines().count(),
                        "{place}: no such lines"
                    );
                }
                _ => panic!("{place}: an anchor, or the first and the last line"),
            }
        }
    }
}

// ANCHOR: relu
fn relu(x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = x.max(0.0);
    }
}
// ANCHOR_END: relu

#[test]
fn the_loop_that_the_book_shows_is_relu() {
    let mut y = [9.0; 3];
    relu(&[-1.0, 0.0, 2.5], &mut y);
    assert_eq!(y, [0.0, 0.0, 2.5]);
}

#[test]
fn rust_is_shown_only_from_files_that_are_compiled() {
    for (page, text) in chapters() {
        let mut in_rust = false;
        for (i, line) in text.lines().enumerate() {
            if line.starts_with("```") {
                in_rust = line.starts_with("```rust");
            } else if in_rust && !line.is_empty() {
                assert!(
                    line.starts_with("{{#include "),
                    "{}:{}: {line}",
                    page.display(),
                    i + 1
                );
            }
        }
    }
}

#[test]
fn every_block_names_its_language() {
    for (page, text) in chapters() {
        let lines = text.lines().enumerate();
        let fences = lines.filter(|(_, line)| line.starts_with("```"));
        for (i, fence) in fences.step_by(2) {
            let line = i + 1;
            assert!(
                fence != "```",
                "{}:{line}: sh to type, text for output",
                page.display()
            );
        }
    }
}

/// The texts of the blocks of a page in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("book/src").join(page)).unwrap();
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn canopy_reads_the_inventory_that_the_book_shows() {
    let shown: serde_json::Value = serde_json::from_str(&blocks("own-data.md", "json")[0]).unwrap();
    let inventory: canopy_data::Inventory = serde_json::from_value(shown["inventory"].clone()).unwrap();
    assert_eq!(
        (inventory.height, inventory.season),
        (21.4, canopy_data::Season::Summer)
    );
    // No other field, which canopy would ignore.
    assert_eq!(
        serde_json::to_value(inventory)
            .unwrap()
            .as_object()
            .unwrap()
            .len(),
        shown["inventory"].as_object().unwrap().len()
    );
}

#[test]
fn the_program_that_adds_measurements_runs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("shards")).unwrap();
    fs::write(
        at("shards/dataset.json"),
        r#"{"records": [{"tree": "b"}, {"tree": "a"}]}"#,
    )
    .unwrap();
    let table =
        "tree,height,diameter,volume,site,season\na,21.4,0.31,0.78,medium,summer\nb,9,0.1,0.05,poor,winter\n";
    fs::write(at("field.csv"), table).unwrap();
    fs::write(at("add.py"), &blocks("own-data.md", "python")[0]).unwrap();
    let Ok(ran) = Command::new("python3")
        .arg("add.py")
        .current_dir(&folder)
        .output()
    else {
        println!("not run, because there is no python3");
        return;
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let shards = fs::read_to_string(at("shards/dataset.json")).unwrap();
    let shards: serde_json::Value = serde_json::from_str(&shards).unwrap();
    let of = |i: usize| {
        serde_json::from_value::<canopy_data::Inventory>(shards["records"][i]["inventory"].clone())
    };
    assert_eq!((of(0).unwrap().height, of(1).unwrap().height), (9.0, 21.4));
}

#[test]
fn the_sources_of_the_chapters_are_in_the_list_of_sources() {
    let list = fs::read_to_string(root().join("book/src/sources.md")).unwrap();
    let (mut seen, mut missing) = (0, Vec::new());
    for (page, text) in chapters() {
        let further = text.split("\n## Going further").nth(1).unwrap_or_default();
        for (_, link) in between(further, "](http", ")").chain(between(further, "<http", ">")) {
            seen += 1;
            if !list.contains(link) {
                missing.push(format!("{}: http{link}", page.display()));
            }
        }
    }
    assert!(seen > 40, "only {seen} links were found");
    assert!(missing.is_empty(), "not in sources.md:\n{}", missing.join("\n"));
}

/// What `book/record` writes.
#[test]
fn a_long_output_in_a_lesson_is_a_recorded_one() {
    let is_lesson = |page: &PathBuf| {
        page.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with(|c: char| c.is_ascii_digit())
    };
    let mut recorded = 0;
    for (page, text) in chapters().into_iter().filter(|(page, _)| is_lesson(page)) {
        for block in text.split("```text\n").skip(1) {
            let (block, _) = block.split_once("```").unwrap();
            let is_recorded = block.starts_with("{{#include recorded/");
            recorded += usize::from(is_recorded);
            assert!(
                is_recorded || block.lines().count() < 10,
                "{}: {block}",
                page.display()
            );
        }
    }
    assert!(recorded >= 10, "{recorded} outputs");
}

#[test]
fn every_picture_exists_and_has_a_caption() {
    for (page, text) in chapters() {
        let picture = |line: &&str| line.starts_with("![") || line.starts_with("<img ");
        let pictures = text.lines().filter(picture).count();
        let captions = text.matches("<figcaption>").count();
        assert_eq!(
            pictures,
            captions,
            "{}: a caption for each picture",
            page.display()
        );
        let linked = between(&text, "](", ")").chain(between(&text, "src=\"", "\""));
        for (line, picture) in linked.filter(|(_, p)| p.ends_with(".svg") || p.ends_with(".png")) {
            let file = page.parent().unwrap().join(picture);
            assert!(
                file.is_file(),
                "{}:{line}: {picture} does not exist",
                page.display()
            );
        }
    }
}

/// A question is HTML, in which Markdown is shown as it is written.
#[test]
fn questions_are_without_markdown() {
    for (page, text) in chapters() {
        for (line, question) in between(&text, "<summary>", "</summary>") {
            let page = page.display();
            assert!(!question.contains(['`', '*', '[']), "{page}:{line}: {question}");
        }
    }
}
