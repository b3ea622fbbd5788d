//! mdBook's `{{#include FILE:FIRST:LAST}}` and `{{#include FILE:ANCHOR}}`, for the plain pages.

use std::{fs, path::Path};

use anyhow::{Context, Result};

const OPEN: &str = "{{#include ";

/// `text` of a page in `folder`, with every include replaced by the lines that it names.
pub fn expanded(text: &str, folder: &Path) -> Result<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (what, after) = after.split_once("}}").with_context(|| {
            format!(
                "an include without }}}}: {}",
                after.lines().next().unwrap_or_default()
            )
        })?;
        out += before;
        let (file, part) = what.split_once(':').unwrap_or((what, ""));
        let path = folder.join(file);
        let code = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        out += lines(&code, part).trim_end_matches('\n');
        rest = after;
    }
    Ok(out + rest)
}

fn lines(code: &str, part: &str) -> String {
    let all: Vec<&str> = code.lines().collect();
    let mark = |kind: &str| all.iter().position(|l| l.trim() == format!("// {kind}: {part}"));
    let numbers = part
        .split_once(':')
        .map(|(a, b)| (a.parse::<usize>(), b.parse::<usize>()));
    let (from, to) = match (numbers, mark("ANCHOR"), mark("ANCHOR_END")) {
        (Some((Ok(first), Ok(last))), ..) => (first.saturating_sub(1), last),
        (_, Some(start), Some(end)) => (start + 1, end),
        _ => (0, all.len()),
    };
    all.get(from..to.min(all.len())).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_anchors_are_included() {
        let folder = tempfile::tempdir().unwrap();
        let code = "one\n// ANCHOR: x\ntwo\nthree\n// ANCHOR_END: x\nfour\n";
        fs::write(folder.path().join("a.rs"), code).unwrap();
        let page = "```\n{{#include a.rs:x}}\n```\n{{#include a.rs:6:6}}\n";
        assert_eq!(
            expanded(page, folder.path()).unwrap(),
            "```\ntwo\nthree\n```\nfour\n"
        );
        let error = expanded("{{#include b.rs}}", folder.path())
            .unwrap_err()
            .to_string();
        assert!(error.contains("b.rs"), "{error}");
    }
}
