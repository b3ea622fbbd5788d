//! A function out of a Rust source, with its comment and attributes, found by Rust's own tokens: a brace in a string
//! or in a comment is none.

use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A function's place in a text.
pub struct Found {
    /// Its bytes, its comment and attributes first.
    pub all: Range<usize>,
    /// The line of its `fn`, from 1.
    pub line: usize,
}

/// The function `name` of `source`: at the top, else the first within a module, an `impl` or a `trait`.
pub fn function(source: &str, name: &str) -> Option<Found> {
    let tokens: TokenStream = source.parse().ok()?;
    within(tokens, name)
}

fn within(tokens: TokenStream, name: &str) -> Option<Found> {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut begin, mut deeper) = (0, Vec::new());
    let mut at = 0;
    while at < all.len() {
        // `#![…]` and `//!` belong to what is around, not to the item below.
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

/// The line of `fn name`, if that stands here.
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
