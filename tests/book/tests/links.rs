//! Every link of the book leads to a page, an anchor or a file that exists, and every exercise has its anchor.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The values of an attribute in a page.
fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    let parts = html.split(start.as_str()).skip(1);
    parts.filter_map(|part| part.split('"').next()).collect()
}

/// The chapter itself, without the bars and the table of contents.
fn chapter(html: &str) -> &str {
    let start = html.find("<main").unwrap_or(0);
    let end = html.find("</main>").unwrap_or(html.len());
    &html[start..end]
}

#[test]
fn every_link_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    book::build(root, out).unwrap();

    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(out).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // The page for printing has all chapters, with links of its own.
        if name.ends_with(".html") && !["print.html", "toc.html", "404.html"].contains(&&*name) {
            pages.insert(name, fs::read_to_string(path).unwrap());
        }
    }
    let anchors: BTreeMap<&str, BTreeSet<&str>> = pages
        .iter()
        .map(|(name, html)| (name.as_str(), values(chapter(html), "id").into_iter().collect()))
        .collect();
    let mut broken = Vec::new();
    let mut seen = 0;
    for (name, html) in &pages {
        let html = chapter(html);
        for link in [values(html, "href"), values(html, "src")].concat() {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { name } else { file };
            let there = match anchors.get(file) {
                Some(anchors) => anchor.is_empty() || anchors.contains(anchor),
                None => out.join(file).is_file(),
            };
            if !there {
                broken.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
    assert!(
        seen > 500,
        "only {seen} links were found: the search for them is broken"
    );

    for lesson in fs::read_dir(root.join("lessons")).unwrap() {
        let manifest = lesson.unwrap().path().join("lesson.toml");
        let Ok(text) = fs::read_to_string(&manifest) else {
            continue;
        };
        let value = |line: &str| line.split('"').nth(1).unwrap_or_default().to_owned();
        let line = text.lines().find(|line| line.starts_with("chapter = "));
        let page = value(line.expect("a chapter")).replace(".md", ".html");
        for id in text.lines().filter(|line| line.starts_with("id = ")).map(value) {
            let anchor = format!("exercise-{}", id.replace('.', "-"));
            assert!(
                anchors[page.as_str()].contains(anchor.as_str()),
                "{page} has no heading for exercise {id}: ### {id} … {{#{anchor}}}"
            );
        }
    }
}
