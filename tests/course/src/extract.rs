//! Extracts a function with its comment and attributes from a Rust source that rustfmt has formatted: the function ends
//! at the first `}` with the indentation of its first line.

use std::{collections::BTreeSet, ops::Range};

/// The position of a function in a text.
#[derive(Clone)]
pub struct Found {
    /// Bytes of the function, with its comment and attributes.
    pub all: Range<usize>,
    /// Line of the keyword `fn`, counted from 1.
    pub line: usize,
}

/// Finds the function `name`: at the top level, or else the first within a module, an `impl` or a `trait`.
pub fn function(source: &str, name: &str) -> Option<Found> {
    let named = functions(source).into_iter().filter(|(n, ..)| *n == name);
    Some(named.min_by_key(|(_, depth, _)| *depth)?.2)
}

/// Finds the functions of `source` that `name` calls, directly or indirectly, in the order of the text.
pub fn helpers(source: &str, name: &str) -> Vec<Found> {
    let all = functions(source);
    let mut known = BTreeSet::from([name]);
    let mut todo = vec![name];
    while let Some(caller) = todo.pop() {
        for (_, _, found) in all.iter().filter(|(n, ..)| *n == caller) {
            let text = &source[found.all.clone()];
            let called = all.iter().map(|(n, ..)| *n).filter(|n| calls(text, n));
            todo.extend(called.filter(|n| known.insert(n)));
        }
    }
    known.remove(name);
    let mut helpers: Vec<Found> = known.iter().filter_map(|n| function(source, n)).collect();
    helpers.sort_by_key(|f| f.line);
    helpers
}

/// The names of all functions, their indentation, and their positions.
fn functions(source: &str) -> Vec<(&str, usize, Found)> {
    let mut end = 0;
    let lines = source.split_inclusive('\n').map(|line| {
        end += line.len();
        (end - line.len(), line)
    });
    let lines: Vec<(usize, &str)> = lines.collect();
    let mut found = Vec::new();
    for (i, (_, head)) in lines.iter().enumerate() {
        let Some(name) = declared(head) else { continue };
        let depth = head.len() - head.trim_start().len();
        let close = format!("{}}}", &head[..depth]);
        let ends = |line: &str| line.trim_end() == close;
        let last = match head.trim_end().ends_with(['}', ';']) {
            true => Some(i),
            false => (i..lines.len()).find(|&n| ends(lines[n].1)),
        };
        let above = |line: &str| ["///", "#["].iter().any(|s| line.trim_start().starts_with(s));
        let first = (0..i)
            .rev()
            .take_while(|&n| above(lines[n].1))
            .last()
            .unwrap_or(i);
        if let Some((start, text)) = last.map(|last| lines[last]) {
            let all = lines[first].0 + depth..start + text.trim_end().len();
            found.push((name, depth, Found { all, line: i + 1 }));
        }
    }
    found
}

/// The name of the function that begins in this line.
fn declared(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let qualifiers = before
        .chars()
        .all(|c| c.is_ascii_lowercase() || " ()".contains(c));
    let (name, _) = after.split_once(['(', '<'])?;
    (qualifiers && name.chars().all(in_name)).then_some(name)
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether code calls the function `name`, and not a method of this name.
fn calls(code: &str, name: &str) -> bool {
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.into_iter().any(|line| {
        line.match_indices(&format!("{name}("))
            .any(|(at, _)| !line[..at].ends_with(|c| in_name(c) || c == '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "//! A module.

/// Not this one: fn wanted() {
fn other() -> f64 {
    helper(\"fn wanted() { }\").wanted() // }
}

/// Adds.
#[inline]
pub fn wanted<T: Into<f64>>(a: T) -> f64
where
    T: Copy,
{
    match a.into() {
        x if x > 0.0 => other(),
        _ => 0.0,
    }
}

mod inner {
    pub(super) fn helper(text: &str) {}
}
";

    #[test]
    fn a_function_is_found_with_its_comment_and_the_functions_that_it_calls() {
        let text = |found: Found| (SOURCE[found.all].to_owned(), found.line);
        let (wanted, line) = text(function(SOURCE, "wanted").unwrap());
        assert!(wanted.starts_with("/// Adds.\n#[inline]\npub fn") && wanted.ends_with("0.0,\n    }\n}"));
        assert_eq!(line, 10);
        let helpers: Vec<_> = helpers(SOURCE, "wanted").into_iter().map(text).collect();
        assert!(helpers[0].0.starts_with("/// Not this") && helpers[0].0.ends_with("// }\n}"));
        assert_eq!(
            helpers[1..],
            [("pub(super) fn helper(text: &str) {}".to_owned(), 21)]
        );
        assert!(function(SOURCE, "want").is_none() && function(SOURCE, "inner").is_none());
    }
}
