//! Extracts a function with its comment and attributes from a Rust source. It reads Rust's own tokens, so a brace in a
//! string or a comment does not count.

use std::{collections::BTreeSet, ops::Range};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The position of a function in a text.
pub struct Found {
    /// Bytes of the function, with its comment and attributes.
    pub all: Range<usize>,
    /// Line of the keyword `fn`, counted from 1.
    pub line: usize,
}

/// Finds the function `name`: at the top level, or else the first within a module, an `impl` or a `trait`.
pub fn function(source: &str, name: &str) -> Option<Found> {
    let tokens: TokenStream = source.parse().ok()?;
    within(tokens, name)
}

/// Finds the functions of `source` that `name` calls, directly or indirectly, in the order of the text.
pub fn helpers(source: &str, name: &str) -> Vec<Found> {
    let (mut known, mut todo) = (BTreeSet::from([name.to_owned()]), vec![name.to_owned()]);
    let mut found = Vec::new();
    while let Some(one) = todo.pop() {
        let Some(text) = function(source, &one).map(|f| &source[f.all]) else {
            continue;
        };
        for called in text.parse().map(called).unwrap_or_default() {
            if let Some(helper) = function(source, &called)
                && known.insert(called.clone())
            {
                found.push(helper);
                todo.push(called);
            }
        }
    }
    found.sort_by_key(|f| f.line);
    found
}

/// Names of called functions, without methods.
fn called(tokens: TokenStream) -> Vec<String> {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let mut names = Vec::new();
    for (at, token) in all.iter().enumerate() {
        match (token, all.get(at + 1)) {
            (TokenTree::Group(group), _) => names.extend(called(group.stream())),
            (TokenTree::Ident(name), Some(TokenTree::Group(group)))
                if group.delimiter() == Delimiter::Parenthesis && !(at > 0 && is(&all, at - 1, '.')) =>
            {
                names.push(name.to_string());
            }
            _ => {}
        }
    }
    names
}

fn within(tokens: TokenStream, name: &str) -> Option<Found> {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut begin, mut deeper) = (0, Vec::new());
    let mut at = 0;
    while at < all.len() {
        // `#![…]` and `//!` belong to the enclosing item, not to the next one.
        if at == begin && is(&all, at, '#') && is(&all, at + 1, '!') {
            (at, begin) = (at + 3, at + 3);
            continue;
        }
        if let Some(line) = is_function(&all, at, name)
            && let Some(body) = all[at..].iter().find(|t| ends_item(t))
        {
            let all = all[begin].span().byte_range().start..body.span().byte_range().end;
            return Some(Found { all, line });
        }
        if ends_item(&all[at]) {
            if let TokenTree::Group(group) = &all[at] {
                deeper.push(group.stream());
            }
            begin = at + 1;
        }
        at += 1;
    }
    deeper.into_iter().find_map(|tokens| within(tokens, name))
}

fn is(all: &[TokenTree], at: usize, sign: char) -> bool {
    matches!(all.get(at), Some(TokenTree::Punct(p)) if p.as_char() == sign)
}

/// The line of `fn name`, if these are the tokens at `at`.
fn is_function(all: &[TokenTree], at: usize, name: &str) -> Option<usize> {
    match all.get(at..at + 2)? {
        [TokenTree::Ident(key), TokenTree::Ident(its)] if key == "fn" && its == name => {
            Some(key.span().start().line)
        }
        _ => None,
    }
}

fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(p) => p.as_char() == ';',
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r##"//! A module { with a brace.
#![allow(dead_code)]

use std::fmt::{self, Debug};

/// Not this one: fn wanted() {
fn other() -> &'static str {
    "fn wanted() { }" // }
}

/// Adds, and says `}`.
///
/// Twice.
#[inline]
pub fn wanted<T: Into<f64>>(a: T, b: [u8; 3]) -> f64
where
    T: Copy,
{
    let c = '{';
    let d = r#"}"#;
    match a.into() {
        x if x > 0.0 => x,
        _ => 0.0, // ü {
    }
}

mod inner {
    pub(super) fn deep() {}
}
"##;

    #[test]
    fn a_function_is_cut_out_whole_with_its_comment() {
        let found = function(SOURCE, "wanted").unwrap();
        let text = &SOURCE[found.all];
        assert!(text.starts_with("/// Adds, and says `}`.\n"), "{text}");
        assert!(text.ends_with("// ü {\n    }\n}"), "{text}");
        assert_eq!(
            SOURCE.lines().nth(found.line - 1).unwrap().find("pub fn wanted"),
            Some(0)
        );
    }

    #[test]
    fn called_functions_of_the_same_file_are_found_and_methods_are_not() {
        let source = "fn a(x: f64) { b(x).c(1); std::d() }\nfn c() {}\n/// E.\nfn e() { a(0.0) }\nfn b(x: f64) -> X { if e() { a(x) } }\n";
        let found: Vec<&str> = helpers(source, "a").into_iter().map(|f| &source[f.all]).collect();
        assert_eq!(
            found,
            [
                "/// E.\nfn e() { a(0.0) }",
                "fn b(x: f64) -> X { if e() { a(x) } }"
            ]
        );
        assert!(helpers(source, "c").is_empty());
    }

    #[test]
    fn one_within_a_module_is_found_and_a_name_in_a_string_is_not() {
        assert_eq!(
            &SOURCE[function(SOURCE, "deep").unwrap().all],
            "pub(super) fn deep() {}"
        );
        assert_eq!(
            &SOURCE[function(SOURCE, "other").unwrap().all][..12],
            "/// Not this"
        );
        for absent in ["want", "inner", "f64"] {
            assert!(function(SOURCE, absent).is_none(), "{absent}");
        }
        assert!(function("fn wanted( {", "wanted").is_none());
    }
}
