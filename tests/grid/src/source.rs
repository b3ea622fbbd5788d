//! Rewrites the words of CUDA C++ for which macros do not suffice, in preprocessed text: `__shared__` variables become
//! references into the block's shared memory, and each `__global__` function gets an entry in a table.

use std::fmt::Write;

/// A kernel that the text declares, with its parameters' names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    pub name: String,
    pub parameters: Vec<String>,
    /// The first argument of `__launch_bounds__`, or empty.
    bound: String,
}

/// The text for the compiler, and the kernels in it; an error names what this library cannot rewrite.
pub fn rewrite(text: &str) -> Result<(String, Vec<Declared>), String> {
    let tokens = tokens(text);
    let mut out: Vec<String> = Vec::with_capacity(tokens.len());
    let mut kernels: Vec<Declared> = Vec::new();
    let (mut at, mut number) = (0, 0);
    while at < tokens.len() {
        match tokens[at] {
            "__global__" => {
                out.push("__attribute__((noinline))".into());
                if let Some(kernel) = kernel(&tokens, at)
                    && kernels.iter().all(|k| k.name != kernel.name)
                {
                    kernels.push(kernel);
                }
                at += 1;
            }
            "__launch_bounds__" => at = after_parentheses(&tokens, at + 1),
            "alignas" => {
                let end = after_parentheses(&tokens, at + 1);
                out.push(format!(
                    "__attribute__((aligned{}))",
                    tokens[at + 1..end].concat()
                ));
                at = end;
            }
            "__shared__" => {
                let end = at + tokens[at..].iter().position(|t| *t == ";").unwrap_or(0);
                number += 1;
                let before = out.iter().rposition(|t| !t.trim().is_empty());
                let word = before.map(|i| out[i].clone()).unwrap_or_default();
                if let (Some(i), "extern" | "static") = (before, &*word) {
                    out[i].clear();
                }
                let declaration = tokens[at + 1..end].concat();
                let shared = if word == "extern" { dynamic } else { fixed };
                out.push(shared(&tokens[at + 1..end], number).ok_or_else(|| {
                    format!("the emulated grid does not understand `__shared__{declaration};`: write `__shared__ T name[N];` or `extern __shared__ T name[];`")
                })?);
                out.push("\n".repeat(declaration.matches('\n').count()));
                at = end + 1;
            }
            other => {
                out.push(other.into());
                at += 1;
            }
        }
    }
    let mut text = out.concat();
    for Declared { name, bound, .. } in &kernels {
        let bound = if bound.is_empty() { "0" } else { bound };
        let _ = write!(
            text,
            "\nextern \"C\" __attribute__((visibility(\"default\"))) const grid::Kernel grid_kernel_{name};\n\
             const grid::Kernel grid_kernel_{name} = grid::Bind<&{name}>::kernel({bound});\n"
        );
    }
    Ok((text, kernels))
}

/// Words, literals, white space, `#` lines and single other characters; together they are the text.
fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let word = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80;
    let run =
        |from: usize, f: &dyn Fn(u8) -> bool| from + bytes[from..].iter().take_while(|c| f(**c)).count();
    let (mut at, mut tokens, mut fresh) = (0, Vec::new(), true);
    while at < bytes.len() {
        let end = match bytes[at] {
            b'#' if fresh => run(at, &|c| c != b'\n'),
            c if c.is_ascii_whitespace() => run(at, &|c| c.is_ascii_whitespace()),
            c if word(c) => run(at, &word),
            quote @ (b'"' | b'\'') => {
                let mut end = at + 1;
                while end < bytes.len() && bytes[end] != quote {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                (end + 1).min(bytes.len())
            }
            _ => at + 1,
        };
        fresh = text[at..end].contains('\n') || (fresh && text[at..end].trim().is_empty());
        tokens.push(&text[at..end]);
        at = end;
    }
    tokens
}

/// The index behind the parentheses that begin at or behind `at`.
fn after_parentheses(tokens: &[&str], at: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(at) {
        match *token {
            "(" => depth += 1,
            ")" if depth == 1 => return i + 1,
            ")" => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The kernel whose `__global__` is at `at`; none if it is a template, which has no one address.
fn kernel(tokens: &[&str], at: usize) -> Option<Declared> {
    let before = tokens[..at]
        .iter()
        .rev()
        .take_while(|t| !matches!(**t, ";" | "}" | "{"));
    if before.clone().any(|t| *t == "template") {
        return None;
    }
    let (mut i, mut bound, mut name) = (at + 1, String::new(), "");
    while i < tokens.len() {
        match tokens[i] {
            word @ ("__launch_bounds__" | "__attribute__" | "alignas") => {
                let end = after_parentheses(tokens, i + 1);
                if word == "__launch_bounds__" {
                    let open = i + 1 + tokens[i + 1..].iter().position(|t| *t == "(")?;
                    bound = split(tokens.get(open + 1..end - 1)?).first()?.concat();
                }
                i = end;
                continue;
            }
            "(" => break,
            token if token.trim().is_empty() => {}
            token => name = token,
        }
        i += 1;
    }
    let end = after_parentheses(tokens, i);
    let parameters = split(tokens.get(i + 1..end - 1)?);
    let parameters = parameters.iter().filter(|p| !p.concat().trim().is_empty());
    let parameters = parameters.map(|p| declarator(p).map_or(String::new(), |at| p[at].to_owned()));
    Some(Declared {
        name: name.to_owned(),
        parameters: parameters.collect(),
        bound,
    })
}

/// Splits at commas outside of brackets.
fn split<'a>(tokens: &[&'a str]) -> Vec<Vec<&'a str>> {
    let (mut depth, mut parts) = (0, vec![Vec::new()]);
    for token in tokens {
        match *token {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth -= 1,
            _ => {}
        }
        match parts.last_mut() {
            Some(part) if !(*token == "," && depth == 0) => part.push(*token),
            _ => parts.push(Vec::new()),
        }
    }
    parts
}

/// Where in `T name[N]` the name is: the last word outside of brackets.
fn declarator(tokens: &[&str]) -> Option<usize> {
    let (mut depth, mut found) = (0, None);
    for (i, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth -= 1,
            "=" if depth == 0 => break,
            _ if depth == 0 && token.starts_with(|c: char| c.is_alphabetic() || c == '_') => found = Some(i),
            _ => {}
        }
    }
    found
}

/// `T name[];` as a pointer to dynamic shared memory.
fn dynamic(tokens: &[&str], _: usize) -> Option<String> {
    let at = declarator(tokens)?;
    let brackets = tokens[at + 1..].concat();
    let empty = brackets.split_whitespace().collect::<String>() == "[]";
    let (kind, name) = (tokens[..at].concat(), tokens[at]);
    empty.then(|| format!("{kind}* const {name} = GridDynamic();"))
}

/// `T a[N], b;` as references to shared memory that the runtime allocates for each block.
fn fixed(tokens: &[&str], number: usize) -> Option<String> {
    let parts = split(tokens);
    let kind = parts[0][..declarator(&parts[0])?].concat();
    if kind.trim().is_empty() || (parts.len() > 1 && kind.contains('*')) {
        return None;
    }
    let mut text = String::new();
    for (i, part) in parts.iter().enumerate() {
        let at = declarator(part)?;
        let (name, extent, id) = (part[at], part[at + 1..].concat(), format!("{number}_{i}"));
        // The typedef comes first, because attributes before `__shared__` belong to it; the key differs in each instance of
        // a template.
        let _ = write!(
            text,
            "typedef {kind} grid_type_{id} {extent}; static char grid_key_{id}; \
             grid_type_{id}& {name} = *(grid_type_{id}*)grid_shared(&grid_key_{id}, sizeof(grid_type_{id}), \
             alignof(grid_type_{id}), grid::Granule<grid_type_{id}>::value, \"{name}\"); "
        );
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_with_their_parameters() {
        let text = "extern \"C\" __global__ void __launch_bounds__((8 * 32), 2)\nk(const float* x, float* __restrict__ y, int n) {}\n\
                    template <class T> __global__ void t(T* x) {}\nextern \"C\" __global__ void none() {}";
        let (out, kernels) = rewrite(text).unwrap();
        let names: Vec<_> = kernels
            .iter()
            .map(|k| (&*k.name, k.parameters.join(" ")))
            .collect();
        assert_eq!(names, [("k", "x y n".to_owned()), ("none", String::new())]);
        assert!(out.contains("Bind<&k>::kernel((8 * 32))"), "{out}");
        assert!(!out.contains("__launch_bounds__"), "{out}");
    }

    #[test]
    fn shared_memory_becomes_references() {
        let (out, _) = rewrite("extern __shared__ float s[];\n__shared__ int a[2][N], b;\n").unwrap();
        assert!(out.contains("float * const s = GridDynamic();"), "{out}");
        assert!(out.contains("typedef  int  grid_type_2_0 [2][N];"), "{out}");
        assert!(out.contains("grid_type_2_1& b ="), "{out}");
        assert_eq!(out.matches('\n').count(), 2, "lines keep their numbers: {out}");
    }

    #[test]
    fn strings_and_directives_stay() {
        let text = "# 1 \"__global__ void x(\"\nconst char* s = \"__shared__ \\\" ;\";\n";
        assert_eq!(rewrite(text).unwrap(), (text.to_owned(), Vec::new()));
    }
}
