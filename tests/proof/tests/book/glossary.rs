//! A chapter links a term to the glossary where it uses the term for the first time, or defines it (in bold).

use std::{fs, ops::Range};

use proof::root;

use crate::chapters;

/// Terms with an everyday meaning, too. For these a person decides.
const EVERYDAY: [&str; 33] = [
    "Benchmark",
    "Block",
    "Bucket",
    "Cluster",
    "Container",
    "Device",
    "Diverge",
    "Efficiency",
    "Graph",
    "Grid",
    "Head",
    "Host",
    "Iteration",
    "Launch",
    "Loss",
    "Mask",
    "Module",
    "Node",
    "Overlap",
    "Partition",
    "Plot",
    "Precision",
    "Profile",
    "Ring",
    "SM",
    "Scheduler",
    "Seed",
    "Span",
    "Split",
    "Step",
    "Thread",
    "Worker",
    "Recall",
];

/// Pages that a reader learns a subject from, apart from the lessons.
const OTHER_PAGES: [&str; 4] = [
    "history-and-cost.md",
    "own-data.md",
    "planner.md",
    "what-a-gpu-is.md",
];

/// The terms of the glossary, as their headings spell them.
fn terms() -> Vec<String> {
    let text = fs::read_to_string(root().join("book/src/glossary.md")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines.windows(2).filter(|two| two[1].starts_with(": "));
    pairs.map(|two| two[0].to_owned()).collect()
}

/// The link to a term: `Adam, AdamW` is at `#adam-adamw`.
fn target(term: &str) -> String {
    let kept = term
        .to_lowercase()
        .replace(|c: char| !c.is_alphanumeric() && !"-_ ".contains(c), "");
    format!("](glossary.md#{})", kept.replace(' ', "-"))
}

/// How a text writes a term: one of several names, at the beginning of a sentence or not, as a plural or not.
fn spellings(term: &str) -> Vec<String> {
    let names = term.split(", ").flat_map(|name| {
        let small: String = name
            .chars()
            .take(1)
            .flat_map(char::to_lowercase)
            .chain(name.chars().skip(1))
            .collect();
        [name.to_owned(), small]
    });
    names.flat_map(|name| [format!("{name}s"), name]).collect()
}

/// Where a word begins in a text, not as a part of another one.
fn find(text: &str, word: &str) -> Option<usize> {
    let inside = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(word)
        .map(|(at, _)| at)
        .find(|&at| !text[..at].ends_with(inside) && !text[at + word.len()..].starts_with(inside))
}

/// The ranges from `open` to the next `close`.
fn ranges(text: &str, open: &str, close: &str) -> Vec<Range<usize>> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(start) = text[from..].find(open).map(|at| from + at) {
        let Some(end) = text[start + open.len()..].find(close) else {
            break;
        };
        from = start + open.len() + end + close.len();
        found.push(start..from);
    }
    found
}

/// The text with spaces in these places; all others stay where they are.
fn blanked(text: &str, places: &[Range<usize>]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for place in places {
        bytes[place.clone()].fill(b' ');
    }
    String::from_utf8(bytes).unwrap()
}

/// A page without blocks of code; and its sentences only, as one line: no aims, sources, headings, tables, figures.
fn without_code(text: &str) -> (String, String) {
    let (mut code, mut others) = (Vec::new(), Vec::new());
    let (mut in_code, mut in_figure, mut in_list, mut at) = (false, false, false, 0);
    for line in text.split_inclusive('\n') {
        let place = at..at + line.len();
        at = place.end;
        let fence = line.starts_with("```");
        if let Some(heading) = line.strip_prefix("## ") {
            in_list =
                ["What you will be able to do", "Going further", "Sources"].contains(&heading.trim_end());
        }
        in_figure |= line.starts_with("<figure");
        if fence || in_code {
            code.push(place.clone());
        }
        if fence || in_code || in_figure || in_list || line.starts_with(['#', '|', '<', '!']) {
            others.push(place);
        }
        in_code ^= fence;
        in_figure &= !line.contains("</figure>");
    }
    (blanked(text, &code), blanked(text, &others).replace('\n', " "))
}

/// The terms that a page uses without a link, each with the position.
fn unlinked<'a>(text: &str, terms: &'a [String]) -> Vec<(usize, &'a str)> {
    let (linked, sentences) = without_code(text);
    let sentences = blanked(&sentences, &ranges(&sentences, "`", "`"));
    let bold = ranges(&sentences, "**", "**");
    let defined: Vec<&str> = bold.iter().map(|place| &sentences[place.clone()]).collect();
    let links: Vec<_> = ranges(&sentences, "[", ")")
        .into_iter()
        .filter(|l| sentences[l.clone()].contains("]("))
        .collect();
    let plain = blanked(&sentences, &[links, bold.clone()].concat());
    let first_use = |term: &'a String| {
        let spellings = spellings(term);
        if spellings
            .iter()
            .any(|s| defined.iter().any(|text| find(text, s).is_some()))
        {
            return None;
        }
        let used = spellings.iter().filter_map(|s| find(&plain, s)).min()?;
        let link = linked.find(&target(term));
        link.is_none_or(|link| used < link)
            .then_some((used, term.as_str()))
    };
    let asked = terms.iter().filter(|t| !EVERYDAY.contains(&t.as_str()));
    asked.filter_map(first_use).collect()
}

#[test]
fn finds_first_uses_without_a_link() {
    let terms = ["Adam, AdamW", "Warp", "Epoch", "NaN"].map(str::to_owned);
    let missed = |page: &str| {
        unlinked(page, &terms)
            .into_iter()
            .map(|(_, t)| t.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        missed("Each epoch has\nwarps. [AdamW](glossary.md#adam-adamw) is Adam.\n"),
        ["Warp", "Epoch"]
    );
    assert_eq!(
        missed("```sh\nwarp\n```\n| epoch |\n`NaN`, a **warp** and a warp-up.\n"),
        [""; 0]
    );
    assert_eq!(missed("Of NaN, [NaN](glossary.md#nan).\n"), ["NaN"]);
}

#[test]
fn the_first_use_of_a_term_in_a_chapter_is_a_link() {
    let terms = terms();
    assert!(terms.len() > 140 && EVERYDAY.iter().all(|e| terms.iter().any(|t| t == e)));
    let mut missing = Vec::new();
    for (page, text) in chapters() {
        let name = page.file_name().unwrap().to_str().unwrap();
        if name.starts_with(|c: char| c.is_ascii_digit()) || OTHER_PAGES.contains(&name) {
            for (at, term) in unlinked(&text, &terms) {
                let line = text[..at].lines().count();
                missing.push(format!("{name}:{line}: [{term}{}", target(term)));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "a link to the glossary at the first use:\n{}",
        missing.join("\n")
    );
}
