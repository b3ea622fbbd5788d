//! A chapter links a term to the glossary where it uses the term for the first time, or defines it (in bold).

use std::fs;

use proof::root;
use pulldown_cmark::{Event, Tag};

use crate::{events, pages};

/// Terms with an everyday meaning, too. For these a person decides.
const EVERYDAY: &str = "Benchmark Block Bucket Channel Cluster Container Device Diverge Efficiency Graph Grid Head Host \
    Iteration Latency Launch Loss Mask Module Node Norm Offload Overlap Partition Plot Precision Profile \
    Ring SM Scheduler Seed Span Split Stage Step Stream Thread Worker Recall";

/// Pages that a reader learns a subject from, apart from the lessons.
const OTHER_PAGES: &str = "history-and-cost.md own-data.md planner.md what-a-gpu-is.md";

/// Sections that name terms and teach none.
const LISTS: [&str; 3] = ["What you will be able to do", "Going further", "Sources"];

/// The terms of the glossary, as their headings spell them.
fn terms() -> Vec<String> {
    let text = fs::read_to_string(root().join("book/src/glossary.md")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let defined = lines.array_windows().filter(|[_, next]| next.starts_with(": "));
    let is_everyday = |term: &str| EVERYDAY.split(' ').any(|everyday| everyday == term);
    let terms = defined.map(|[term, _]| *term).filter(|term| !is_everyday(term));
    terms.map(str::to_owned).collect()
}

/// The link to a term: `Adam, AdamW` is at `#adam-adamw`.
fn target(term: &str) -> String {
    let is_dropped = |c: char| !c.is_alphanumeric() && !"-_ ".contains(c);
    let kept = term.to_lowercase().replace(is_dropped, "");
    format!("glossary.md#{}", kept.replace(' ', "-"))
}

/// The words of a text with a space around each, as in the middle of a sentence and without a plural's s.
fn words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
    let words = words.filter(|word| !word.is_empty()).map(|word| {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        let rest = rest.strip_suffix('s').unwrap_or(rest);
        format!(" {}{rest} ", first.to_lowercase())
    });
    words.collect()
}

/// Where words first have a term, which may have several names.
fn first_use(of: &str, term: &str) -> Option<usize> {
    term.split(", ").filter_map(|name| of.find(&words(name))).min()
}

/// The terms that a page uses before it links or defines them. Headings, tables, figures and code do not count as a use.
fn unlinked(page: &str, terms: &[String]) -> Vec<String> {
    let (mut used, mut defined, mut links) = (String::new(), String::new(), Vec::new());
    let (mut open, mut in_figure, mut in_list) = (Vec::new(), false, false);
    for event in events(page) {
        match event {
            Event::Start(tag) => {
                if let Tag::Link { dest_url, .. } = &tag
                    && !in_list
                    && !in_figure
                {
                    links.push((used.len(), dest_url.to_string()));
                }
                open.push(tag);
                used += "|";
            }
            Event::End(_) => drop(open.pop()),
            Event::Html(html) => {
                in_figure = html.contains("<figure") || in_figure && !html.contains("</figure>")
            }
            Event::Text(text) => {
                if open.iter().any(|tag| matches!(tag, Tag::Heading { .. })) {
                    in_list = LISTS.contains(&&*text);
                } else if open.iter().any(|tag| matches!(tag, Tag::Strong)) {
                    defined += &words(&text);
                } else if !in_list && !in_figure && !open.iter().any(is_aside) {
                    used += &words(&text);
                }
            }
            Event::Code(_) => used += "|",
            _ => {}
        }
    }
    let is_unlinked = |term: &&String| {
        let link = links.iter().find(|(_, to)| *to == target(term));
        let link = link.map_or(used.len(), |(at, _)| *at);
        first_use(&defined, term).is_none() && first_use(&used, term).is_some_and(|at| at < link)
    };
    terms.iter().filter(is_unlinked).cloned().collect()
}

fn is_aside(tag: &Tag) -> bool {
    use Tag::{CodeBlock, Image, Link, Table};
    matches!(tag, CodeBlock(_) | Table(_) | Image { .. } | Link { .. })
}

#[test]
fn the_first_use_of_a_term_in_a_chapter_is_a_link() {
    let page = "Each epoch has\nwarps, Amdahl's\nlaw. [AdamW](glossary.md#adam-adamw) is Adam.\n```sh\nmask\n```\n\
        | epoch |\n|---|\n\nIn `mask`, a **rank** and a mask-up. Ranks and NaN, [NaN](glossary.md#nan).\n";
    let made = "Adam, AdamW|Warp|Amdahl's law|Epoch|NaN|Mask|Rank".split('|');
    let made: Vec<String> = made.map(str::to_owned).collect();
    assert_eq!(unlinked(page, &made), ["Warp", "Amdahl's law", "Epoch", "NaN"]);
    let terms = terms();
    assert!(terms.len() > 110, "only {} terms", terms.len());
    let mut missing = Vec::new();
    for page in pages() {
        let is_lesson = page.name.starts_with(|c: char| c.is_ascii_digit());
        if is_lesson || OTHER_PAGES.split(' ').any(|other| other == page.name) {
            let unlinked = unlinked(&page.text, &terms).into_iter();
            missing.extend(unlinked.map(|term| format!("{}: [{term}]({})", page.name, target(&term))));
        }
    }
    assert!(missing.is_empty(), "a link at the first use: {missing:#?}");
}
