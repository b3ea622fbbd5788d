//! The book stays short, and without the patterns that make it hard to read.

use std::{fs, path::Path};

/// The most words of all pages, with code and tables.
const WORDS: usize = 60_000;

/// Ways to write that the pages avoid, and what to write instead.
const AVOIDED: [(&str, &str); 9] = [
    (" that of ", "repeat the noun"),
    (" those of ", "repeat the noun"),
    (" That of ", "repeat the noun"),
    (" Those of ", "repeat the noun"),
    (" - So ", "because, which means, or nothing"),
    (". So ", "because, which means, or nothing"),
    (", too.", "put the fact where it belongs"),
    (", too,", "put the fact where it belongs"),
    (" as well.", "put the fact where it belongs"),
];

#[test]
fn the_text_is_short_and_plain() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let (mut words, mut found) = (0, Vec::new());
    for entry in fs::read_dir(root.join("book/src")).unwrap() {
        let page = entry.unwrap().path();
        if page.extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        let text = fs::read_to_string(&page).unwrap();
        let all: Vec<&str> = text.split_whitespace().collect();
        words += all.len();
        let line = all.join(" ");
        for (pattern, instead) in AVOIDED {
            let count = line.matches(pattern).count();
            if count > 0 {
                found.push(format!(
                    "{}: {count} × {pattern:?}; write: {instead}",
                    page.display()
                ));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
    assert!(words > 40_000 && words <= WORDS, "{words} words; at most {WORDS}");
}
