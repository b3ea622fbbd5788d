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
    let entries = fs::read_dir(root().join("book/src"))
        .unwrap()
        .map(|e| e.unwrap().path());
    let pages = entries.filter(|path| path.extension().is_some_and(|e| e == "md"));
    pages
        .map(|page| (page.clone(), fs::read_to_string(page).unwrap()))
        .collect()
}

/// The texts between `open` and `close` on a line.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    let parts = text.lines().flat_map(move |line| line.split(open).skip(1));
    parts.filter_map(move |part| Some(part.split_once(close)?.0))
}

/// The language of each block of code of a page, and its text.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(language) if !inside => blocks.push((language, String::new())),
            None if inside => blocks.last_mut().unwrap().1 += &format!("{line}\n"),
            _ => {}
        }
        inside ^= line.starts_with("```");
    }
    blocks
}

#[test]
fn what_a_page_includes_exists() {
    for (page, text) in chapters() {
        for included in between(&text, "{{#include ", "}}") {
            let place = format!("{}: {included}", page.display());
            let mut parts = included.split(':');
            let file = page.with_file_name(parts.next().unwrap());
            let code = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{place}: {e}"));
            let fine = match parts.collect::<Vec<_>>()[..] {
                [] => included.starts_with("recorded/"),
                [anchor] => ["ANCHOR", "ANCHOR_END"]
                    .iter()
                    .all(|mark| code.contains(&format!("// {mark}: {anchor}\n"))),
                [first, last] => {
                    let [first, last]: [usize; 2] = [first, last].map(|n| n.parse().expect(&place));
                    first <= last && last <= code.lines().count()
                }
                _ => false,
            };
            assert!(
                fine,
                "{place}: an anchor of the file, or its first and its last line"
            );
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
fn rust_is_included_long_outputs_are_recorded_and_languages_named() {
    let mut recorded = 0;
    for (page, text) in chapters() {
        let page = page.file_name().unwrap().to_str().unwrap();
        for (language, block) in blocks(&text) {
            assert!(
                !language.is_empty(),
                "{page}: sh to type, text for output: {block}"
            );
            if language.starts_with("rust") {
                let fine = block
                    .lines()
                    .all(|line| line.is_empty() || line.starts_with("{{#include "));
                assert!(fine, "{page}: from a file that is compiled: {block}");
            }
            // `book/record` writes these.
            if language == "text" && page.starts_with(|c: char| c.is_ascii_digit()) {
                let is_recorded = block.starts_with("{{#include recorded/");
                recorded += usize::from(is_recorded);
                assert!(is_recorded || block.lines().count() < 10, "{page}: {block}");
            }
        }
    }
    assert!(recorded >= 10, "{recorded} outputs");
}

/// The first block of `own-data.md` in this language.
fn own_data(language: &str) -> String {
    let text = fs::read_to_string(root().join("book/src/own-data.md")).unwrap();
    let block = blocks(&text).into_iter().find(|(of, _)| *of == language);
    block.unwrap().1
}

#[test]
fn canopy_reads_the_inventory_that_the_book_shows() {
    let shown: serde_json::Value = serde_json::from_str(&own_data("json")).unwrap();
    let inventory: canopy_data::Inventory = serde_json::from_value(shown["inventory"].clone()).unwrap();
    assert_eq!(
        (inventory.height, inventory.season),
        (21.4, canopy_data::Season::Summer)
    );
    // No other field, which canopy would ignore.
    let known = serde_json::to_value(inventory).unwrap();
    assert_eq!(
        known.as_object().unwrap().len(),
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
    fs::write(at("add.py"), own_data("python")).unwrap();
    let Ok(ran) = Command::new("python3")
        .arg("add.py")
        .current_dir(&folder)
        .output()
    else {
        return println!("not run, because there is no python3");
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let shards: serde_json::Value =
        serde_json::from_slice(&fs::read(at("shards/dataset.json")).unwrap()).unwrap();
    let heights = [0, 1].map(|i| {
        let inventory = shards["records"][i]["inventory"].clone();
        serde_json::from_value::<canopy_data::Inventory>(inventory)
            .unwrap()
            .height
    });
    assert_eq!(heights, [9.0, 21.4]);
}

#[test]
fn the_sources_of_the_chapters_are_in_the_list_of_sources() {
    let list = fs::read_to_string(root().join("book/src/sources.md")).unwrap();
    let mut seen = 0;
    for (page, text) in chapters() {
        let further = text.split("\n## Going further").nth(1).unwrap_or_default();
        for link in between(further, "](http", ")").chain(between(further, "<http", ">")) {
            seen += 1;
            assert!(
                list.contains(link),
                "{}: http{link} is not in sources.md",
                page.display()
            );
        }
    }
    assert!(seen > 40, "only {seen} links were found");
}

#[test]
fn every_picture_exists_and_has_a_caption() {
    for (page, text) in chapters() {
        let picture = |line: &&str| line.starts_with("![") || line.starts_with("<img ");
        let captions = text.matches("<figcaption>").count();
        assert_eq!(
            text.lines().filter(picture).count(),
            captions,
            "{}: a caption for each picture",
            page.display()
        );
        let linked = between(&text, "](", ")").chain(between(&text, "src=\"", "\""));
        for picture in linked.filter(|p| p.ends_with(".svg") || p.ends_with(".png")) {
            assert!(
                page.with_file_name(picture).is_file(),
                "{}: {picture} does not exist",
                page.display()
            );
        }
        // A question is HTML, in which Markdown is shown as it is written.
        for question in between(&text, "<summary>", "</summary>") {
            assert!(
                !question.contains(['`', '*', '[']),
                "{}: {question}",
                page.display()
            );
        }
    }
}
