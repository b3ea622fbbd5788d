//! A chapter links a term to the glossary where it uses the term for the first time, or defines it (in bold).

use std::fs;

use proof::root;

use crate::{between, chapters};

/// Terms with an everyday meaning, too. For these a person decides.
const EVERYDAY: &str = "Benchmark Block Bucket Cluster Container Device Diverge Efficiency Graph Grid Head Host Iteration Launch Loss \
    Mask Module Node Overlap Partition Plot Precision Profile Ring SM Scheduler Seed Span Split Step Thread Worker Recall";

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
    let terms = lines.windows(2).filter(|two| two[1].starts_with(": "));
    let terms = terms.map(|two| two[0].to_owned());
    terms
        .filter(|term| !EVERYDAY.split(' ').any(|everyday| everyday == term))
        .collect()
}

/// The link to a term: `Adam, AdamW` is at `#adam-adamw`.
fn target(term: &str) -> String {
    let kept = term
        .to_lowercase()
        .replace(|c: char| !c.is_alphanumeric() && !"-_ ".contains(c), "");
    format!("](glossary.md#{})", kept.replace(' ', "-"))
}

/// Where a text first has a term: one of several names, at the beginning of a sentence or not, as a plural or not.
fn first_use(text: &str, term: &str) -> Option<usize> {
    let inside = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let is_whole = |&(at, name): &(usize, &str)| {
        let after = &text[at + name.len()..];
        !text[..at].ends_with(inside) && !after.strip_prefix('s').unwrap_or(after).starts_with(inside)
    };
    let found = |name: &str| Some(text.match_indices(name).find(is_whole)?.0);
    let small = |name: &str| name[..1].to_lowercase() + &name[1..];
    term.split(", ")
        .flat_map(|name| [found(name), found(&small(name))])
        .flatten()
        .min()
}

/// The sentences of a page, as one line: no aims, sources, headings, tables, figures and code.
fn sentences(text: &str) -> String {
    let (mut in_code, mut in_figure, mut in_list, mut kept) = (false, false, false, String::new());
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            in_list = ["What you will be able to do", "Going further", "Sources"].contains(&heading);
        }
        in_code ^= line.starts_with("```");
        in_figure |= line.starts_with("<figure");
        if !in_code
            && !in_figure
            && !in_list
            && !line.starts_with(['#', '|', '<', '!'])
            && !line.starts_with("```")
        {
            kept += line;
            kept.push(' ');
        }
        // The links of a table count, its words do not.
        for link in between(line, "](", ")").filter(|_| line.starts_with('|')) {
            kept += &format!("]({link}) ");
        }
        in_figure &= !line.contains("</figure>");
    }
    kept
}

/// The text with spaces from each `open` to the next `close` if `what` is between them, and what was there.
fn blanked<'a>(text: &'a str, [open, what, close]: [&str; 3]) -> (String, Vec<&'a str>) {
    let (mut plain, mut inside, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, after)) = rest.split_once(open)
        && let Some((between, behind)) = after.split_once(close)
    {
        let is_meant = between.contains(what);
        plain += before;
        let blank = if is_meant {
            rest.len() - before.len() - behind.len()
        } else {
            open.len()
        };
        plain += &" ".repeat(blank);
        inside.extend(is_meant.then_some(between));
        rest = if is_meant { behind } else { after };
    }
    (plain + rest, inside)
}

/// The terms that a page uses before it links or defines them.
fn unlinked(page: &str, terms: &[String]) -> Vec<String> {
    let text = sentences(page);
    let (text, _) = blanked(&text, ["`", "", "`"]);
    let (undefined, defined) = blanked(&text, ["**", "", "**"]);
    let (plain, _) = blanked(&undefined, ["[", "](", ")"]);
    let is_unlinked = |term: &&String| {
        let is_defined = defined.iter().any(|bold| first_use(bold, term).is_some());
        let link = text.find(&target(term)).unwrap_or(text.len());
        !is_defined && first_use(&plain, term).is_some_and(|used| used < link)
    };
    terms.iter().filter(is_unlinked).cloned().collect()
}

#[test]
fn first_uses_without_a_link_are_found() {
    let terms = ["Adam, AdamW", "Warp", "Epoch", "NaN"].map(str::to_owned);
    for (page, missing) in [
        (
            "Each epoch has\nwarps. [AdamW](glossary.md#adam-adamw) is Adam.\n",
            &["Warp", "Epoch"][..],
        ),
        (
            "```sh\nwarp\n```\n| epoch |\nIn `NaN`, a **warp** and a warp-up.\n",
            &[],
        ),
        ("Of NaN, [NaN](glossary.md#nan).\n", &["NaN"]),
    ] {
        assert_eq!(unlinked(page, &terms), missing);
    }
}

#[test]
fn the_first_use_of_a_term_in_a_chapter_is_a_link() {
    let terms = terms();
    assert!(terms.len() > 110, "only {} terms", terms.len());
    let mut missing = Vec::new();
    for (page, text) in chapters() {
        let name = page.file_name().unwrap().to_str().unwrap();
        if name.starts_with(|c: char| c.is_ascii_digit()) || OTHER_PAGES.contains(&name) {
            let unlinked = unlinked(&text, &terms).into_iter();
            missing.extend(unlinked.map(|term| format!("{name}: [{term}{}", target(&term))));
        }
    }
    assert!(missing.is_empty(), "a link at the first use: {missing:#?}");
}
