//! The chapters of the book show the project's own code and pictures.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod commands;
mod figures;
mod glossary;
mod origins;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use canopy_data::{Inventory, Season};
use proof::{files, root};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};
use serde_json::Value;

/// A page of the book.
struct Page {
    path: PathBuf,
    name: String,
    text: String,
    /// The language of each block of code, and its text.
    blocks: Vec<(String, String)>,
    /// The code between backticks in the text.
    spans: Vec<String>,
}

fn events(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_HEADING_ATTRIBUTES)
}

impl Page {
    fn new(path: &Path, text: String) -> Self {
        let (mut blocks, mut spans, mut in_block) = (Vec::new(), Vec::new(), false);
        for event in events(&text) {
            in_block &= matches!(event, Event::Text(_));
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                    blocks.push((language.into_string(), String::new()));
                    in_block = true;
                }
                Event::Text(code) if in_block => blocks.last_mut().unwrap().1 += &code,
                Event::Code(code) => spans.push(code.into_string()),
                _ => {}
            }
        }
        Self {
            path: path.to_owned(),
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            text,
            blocks,
            spans,
        }
    }
}

/// The pages of the book.
fn pages() -> Vec<Page> {
    let folder = root().join("book/src");
    let mut paths = files(&folder);
    paths.retain(|path| {
        path.extension().is_some_and(|ending| ending == "md") && path.parent() == Some(&folder)
    });
    let page = |path: &PathBuf| Page::new(path, fs::read_to_string(path).unwrap());
    paths.iter().map(page).collect()
}

/// The texts between `open` and `close` on a line.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    let parts = text.lines().flat_map(move |line| line.split(open).skip(1));
    parts.filter_map(move |part| Some(part.split_once(close)?.0))
}

/// Which lines of its stubs a chapter includes is tested with each lesson.
#[test]
fn what_a_page_includes_exists() {
    for page in pages() {
        for included in between(&page.text, "{{#include ", "}}") {
            let (file, part) = included.split_once(':').unwrap_or((included, ""));
            let code = fs::read_to_string(page.path.with_file_name(file)).unwrap_or_default();
            let last = part.rsplit(':').next().and_then(|last| last.parse().ok());
            let has = |mark: &&str| code.contains(&format!("// {mark}: {part}\n"));
            let fine = match last {
                _ if part.is_empty() => file.starts_with("recorded/") && !code.is_empty(),
                Some(last) => (1..=code.lines().count()).contains(&last),
                None => ["ANCHOR", "ANCHOR_END"].iter().all(has),
            };
            assert!(fine, "{}: {included} does not exist", page.name);
        }
    }
}

/// The first block of `own-data.md` in this language.
fn own_data(language: &str) -> String {
    let page = pages().into_iter().find(|page| page.name == "own-data.md");
    let mut blocks = page.unwrap().blocks.into_iter();
    blocks.find(|(of, _)| of == language).unwrap().1
}

/// The inventory of a record. A field that canopy would ignore is an error.
fn inventory(record: &Value) -> Inventory {
    let inventory: Inventory = serde_json::from_value(record["inventory"].clone()).unwrap();
    let known = serde_json::to_value(inventory).unwrap();
    let fields = |value: &Value| value.as_object().unwrap().len();
    assert_eq!(fields(&known), fields(&record["inventory"]));
    inventory
}

#[test]
fn canopy_reads_the_inventory_that_the_book_shows_and_that_its_program_adds() {
    let shown = inventory(&serde_json::from_str(&own_data("json")).unwrap());
    assert_eq!((shown.height, shown.season), (21.4, Season::Summer));
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("shards")).unwrap();
    let records = r#"{"records": [{"tree": "b"}, {"tree": "a"}]}"#;
    fs::write(at("shards/dataset.json"), records).unwrap();
    let head = "tree,height,diameter,volume,site,season";
    let rows = format!("{head}\na,21.4,0.31,0.78,medium,summer\nb,9,0.1,0.05,poor,winter\n");
    fs::write(at("field.csv"), rows).unwrap();
    fs::write(at("add.py"), own_data("python")).unwrap();
    let mut python = Command::new("python3");
    let Ok(ran) = python.arg("add.py").current_dir(&folder).output() else {
        return println!("not run, because there is no python3");
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let shards: Value = serde_json::from_slice(&fs::read(at("shards/dataset.json")).unwrap()).unwrap();
    let heights = [0, 1].map(|i| inventory(&shards["records"][i]).height);
    assert_eq!(heights, [9.0, 21.4]);
}

#[test]
fn the_sources_of_the_chapters_are_in_the_list_of_sources() {
    let list = fs::read_to_string(root().join("book/src/sources.md")).unwrap();
    let mut seen = 0;
    for page in pages() {
        let further = page.text.split("\n## Going further").nth(1).unwrap_or_default();
        for link in between(further, "](http", ")").chain(between(further, "<http", ">")) {
            seen += 1;
            let listed = list.contains(link);
            assert!(listed, "{}: http{link} is not in sources.md", page.name);
        }
    }
    assert!(seen > 40, "only {seen} links were found");
}
