//! Finds the functions of a Rust source that rustfmt has formatted: a function ends at the first `}` with the indentation of
//! its first line. So a function is found even if the braces in another one do not balance.

use std::ops::Range;

/// A function of a text.
pub struct Function<'a> {
    pub name: &'a str,
    /// Its indentation: empty at the top level, not for a method.
    pub indent: &'a str,
    /// Of a method, the line of its `impl`.
    block: &'a str,
    /// Its lines with its comment and attributes, without the end of the last line.
    pub bytes: Range<usize>,
    /// Line of the keyword `fn`, counted from 1.
    pub line: usize,
}

pub fn functions(source: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = source.split_inclusive('\n').collect();
    let start = |line: usize| lines[..line].concat().len();
    let is_above = |n: &usize| {
        let line = lines[*n].trim_start();
        line.starts_with("///") || line.starts_with("#[")
    };
    let beginning_at = |i: usize| {
        let name = declared(lines[i])?;
        let (indent, _) = lines[i].split_at(lines[i].len() - lines[i].trim_start().len());
        // A trait's function without a body ends at `;`.
        let is_last = |n: &usize| match lines[*n].trim_end().strip_prefix(indent) {
            Some(head) if *n == i => head.ends_with(['}', ';']),
            Some(line) => line == "}" || (line.starts_with(") ->") && line.ends_with(';')),
            None => false,
        };
        let last = (i..lines.len()).find(is_last)?;
        let first = (0..i).rev().take_while(is_above).last().unwrap_or(i);
        let block = lines[..i].iter().rfind(|line| line.starts_with("impl"));
        let bytes = start(first)..start(last) + lines[last].trim_end().len();
        let has_body = lines[last].trim_end().ends_with('}');
        has_body.then_some(Function {
            name,
            indent,
            block: block.copied().unwrap_or_default(),
            bytes,
            line: i + 1,
        })
    };
    (0..lines.len()).filter_map(beginning_at).collect()
}

/// The function `name`, then the functions of the text that it calls, directly or indirectly.
pub fn with_callees<'a>(source: &'a str, name: &str) -> Vec<Function<'a>> {
    let (mut found, mut rest): (Vec<_>, Vec<_>) = functions(source).into_iter().partition(|f| f.name == name);
    let mut next = 0;
    while next < found.len() {
        let text = &source[found[next].bytes.clone()];
        let (called, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|f| calls(text, f));
        found.extend(called);
        rest = others;
        next += 1;
    }
    found
}

/// The name of the function that begins in this line.
fn declared(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_code = before
        .chars()
        .all(|c| c.is_ascii_lowercase() || " ()".contains(c));
    let (name, _) = after.split_once(['(', '<'])?;
    (is_code && name.chars().all(in_name)).then_some(name)
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether code calls the function: by its name alone, and a method by `.name(`, `Self::name(` or `Type::name(`.
fn calls(code: &str, function: &Function) -> bool {
    let call = format!("{}(", function.name);
    let is_call = |before: &str| match before.strip_suffix("::") {
        _ if function.indent.is_empty() => !before.ends_with(|c| in_name(c) || ".:".contains(c)),
        None => before.ends_with('.'),
        Some(path) => {
            let of = path.rsplit(|c| !in_name(c)).next();
            of == Some("Self") || function.block.split(|c| !in_name(c)).any(|word| Some(word) == of)
        }
    };
    let mut code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.any(|line| line.match_indices(&call).any(|(at, _)| is_call(&line[..at])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_with_its_comment_and_the_functions_that_it_calls() {
        let other = "/// Not this one: fn wanted() {\nfn other() -> f64 {\n    1.0.wanted() // }\n}";
        let wanted = "/// Adds.\n#[inline]\npub(crate) fn wanted<T>(a: T) -> f64\nwhere\n    T: Into<f64>,\n{\n    \
            match a.into() {\n        _ => helper(other()),\n    }\n}";
        let helper = "const fn helper(x: f64) -> f64 { Step::new(x).take() }";
        let method = "    /// A step.\n    fn take(&self) {\n        self.0\n    }";
        let of_trait = "fn unused() {}\ntrait Take {\n    fn take(&self);\n    fn take(\n        &self,\n    ) -> f64;\n}";
        let steps = format!("struct Step(f64);\nimpl Step {{\n    fn other() {{}}\n\n{method}\n}}");
        let source = format!("//! A module.\n\n{other}\n\n{wanted}\n\n{helper}\n{of_trait}\n{steps}\n");
        let found = with_callees(&source, "wanted");
        let texts: Vec<_> = found.iter().map(|f| (&source[f.bytes.clone()], f.line)).collect();
        assert_eq!(texts, [(wanted, 10), (other, 4), (helper, 19), (method, 32)]);
        assert_eq!([found[0].indent, found[3].indent], ["", "    "]);
        assert!(with_callees(&source, "want").is_empty());
    }
}
