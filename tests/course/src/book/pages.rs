//! Writes the book's Markdown as plain pages with a side bar, if mdBook is not installed.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::include::expanded;

/// A line of the book's table of contents.
#[derive(Debug, PartialEq)]
enum Entry {
    /// Heading of the chapters that follow.
    Part(String),
    /// A chapter: its depth, title and file.
    Chapter(usize, String, String),
}

/// Writes a page for each chapter of `src/SUMMARY.md`, and copies all files that are not Markdown.
pub fn write(src: &Path, out: &Path) -> Result<()> {
    let read = |file: &str| {
        let path = src.join(file);
        fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))
    };
    let summary = contents(&read("SUMMARY.md")?);
    let chapters: Vec<(&str, &str)> = summary
        .iter()
        .filter_map(|entry| match entry {
            Entry::Chapter(_, title, file) => Some((title.as_str(), file.as_str())),
            Entry::Part(_) => None,
        })
        .collect();
    copy(src, out)?;
    for (at, (title, file)) in chapters.iter().enumerate() {
        let near = |to: Option<usize>| to.and_then(|i| chapters.get(i)).copied();
        let path = src.join(file);
        let page_folder = path.parent().unwrap_or(src).to_owned();
        let text = page(&Page {
            title,
            file,
            summary: &summary,
            before: near(at.checked_sub(1)),
            after: near(Some(at + 1)),
            text: &expanded(&read(file)?, &page_folder)?,
        });
        let path = out.join(html_of(file));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, &text).with_context(|| format!("{} cannot be written", path.display()))?;
        if at == 0 {
            fs::write(out.join("index.html"), &text)?;
        }
    }
    Ok(())
}

/// Copies all files that are not Markdown: figures, tables.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("the folder {}", from.display()))? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if path.extension().is_none_or(|e| e != "md") {
            fs::copy(&path, to.join(name)).with_context(|| format!("{} cannot be copied", path.display()))?;
        }
    }
    Ok(())
}

fn contents(summary: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for line in summary.lines() {
        let deep = line.chars().take_while(|c| *c == ' ').count() / 2;
        if let Some(part) = line.strip_prefix("# ") {
            entries.push(Entry::Part(part.trim().to_owned()));
        } else if let Some((title, rest)) = line.split_once('[').and_then(|(_, l)| l.rsplit_once("](")) {
            let file = rest.trim_end().trim_end_matches(')').trim_start_matches("./");
            // A chapter that is not written yet has no file.
            if !file.is_empty() {
                entries.push(Entry::Chapter(deep, title.replace('`', ""), file.to_owned()));
            }
        }
    }
    // The first heading is the title of the file.
    if matches!(entries.first(), Some(Entry::Part(_))) {
        entries.remove(0);
    }
    entries
}

fn html_of(file: &str) -> String {
    match file.strip_suffix(".md") {
        Some(stem) => format!("{stem}.html"),
        None => file.to_owned(),
    }
}

/// The target of a link; a link to a chapter leads to its page.
fn target(link: &str) -> String {
    let (file, anchor) = link
        .split_once('#')
        .map_or((link, String::new()), |(f, a)| (f, format!("#{a}")));
    if link.contains("://") || !file.ends_with(".md") {
        return link.to_owned();
    }
    html_of(file) + &anchor
}

/// The text of a chapter as HTML, with an anchor at every heading.
fn body(text: &str) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_GFM;
    let mut events: Vec<Event> = Parser::new_ext(text, options).collect();
    for at in 0..events.len() {
        let said = match &events[at] {
            Event::Start(Tag::Heading { id: None, .. }) => slug(&events[at + 1..]),
            _ => String::new(),
        };
        match &mut events[at] {
            Event::Start(Tag::Heading { id: id @ None, .. }) => *id = Some(CowStr::from(said)),
            Event::Start(Tag::Link { dest_url, .. }) => *dest_url = CowStr::from(target(dest_url)),
            _ => {}
        }
    }
    let mut out = String::new();
    html::push_html(&mut out, events.into_iter());
    out
}

/// The anchor that mdBook gives to a heading.
fn slug(after: &[Event]) -> String {
    let words = after
        .iter()
        .take_while(|e| !matches!(e, Event::End(TagEnd::Heading(_))));
    let text: String = words
        .filter_map(|e| match e {
            Event::Text(t) | Event::Code(t) => Some(t.to_string()),
            _ => None,
        })
        .collect();
    let kept = text.to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

struct Page<'a> {
    title: &'a str,
    file: &'a str,
    summary: &'a [Entry],
    before: Option<(&'a str, &'a str)>,
    after: Option<(&'a str, &'a str)>,
    text: &'a str,
}

fn page(page: &Page) -> String {
    let root = "../".repeat(page.file.matches('/').count());
    let link = |file: &str| format!("{root}{}", escape(&html_of(file)));
    let mut bar = String::new();
    for entry in page.summary {
        bar += &match entry {
            Entry::Part(title) => format!("<p>{}</p>\n", escape(title)),
            Entry::Chapter(deep, title, file) => {
                let here = if file == page.file {
                    " aria-current=\"page\""
                } else {
                    ""
                };
                let deep = if *deep > 0 {
                    format!(" style=\"margin-left:{deep}rem\"")
                } else {
                    String::new()
                };
                format!("<a href=\"{}\"{here}{deep}>{}</a>\n", link(file), escape(title))
            }
        };
    }
    let near = |to: Option<(&str, &str)>, sign: (&str, &str)| {
        to.map_or("<span></span>".into(), |(title, file)| {
            format!(
                "<a href=\"{}\">{}{}{}</a>",
                link(file),
                sign.0,
                escape(title),
                sign.1
            )
        })
    };
    include_str!("page.html")
        .replace("{{title}}", &escape(page.title))
        .replace("{{bar}}", &bar)
        .replace("{{before}}", &near(page.before, ("← ", "")))
        .replace("{{after}}", &near(page.after, ("", " →")))
        .replace("{{body}}", &body(page.text))
}

/// Text within HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_read_with_parts_and_depth_and_without_drafts() {
        let text = "# Summary\n\n[Intro](intro.md)\n\n# One & two\n\n- [A `b`](a.md)\n  - [C](./sub/c.md)\n- [Not yet]()\n";
        let chapter = |deep, title: &str, file: &str| Entry::Chapter(deep, title.into(), file.into());
        let expected = [
            chapter(0, "Intro", "intro.md"),
            Entry::Part("One & two".into()),
            chapter(0, "A b", "a.md"),
            chapter(1, "C", "sub/c.md"),
        ];
        assert_eq!(contents(text), expected);
    }

    #[test]
    fn links_between_chapters_and_to_headings_hold() {
        let html =
            body("## The *idea*, `x`\n\n### A {#own}\n\n[b](b.md#c) [w](https://a.b/c.md) [p](p.png)\n");
        for part in [
            "<h2 id=\"the-idea-x\">",
            "<h3 id=\"own\">",
            "\"b.html#c\"",
            "\"https://a.b/c.md\"",
            "\"p.png\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
