//! Searches a student's source as text.

use std::collections::BTreeSet;

use crate::Exercise;

/// A remark if the files `sources` call canopy's own function for `exercise`, by a path or a `use`. It does not find a
/// call through a macro, or through a name that another file imports.
pub fn solution_call(sources: &[&str], exercise: &Exercise) -> Option<String> {
    let answer = &exercise.answer;
    let called = sources.iter().any(|source| calls(source, answer));
    called.then(|| {
        let id = &exercise.id;
        format!("{id} calls the solution, canopy's own `{answer}`; the exercise requires your own code.")
    })
}

/// Whether `source` names canopy's `function` by a path from `canopy`, or from a name that a `use` of canopy imports.
/// Comments do not count.
fn calls(source: &str, function: &str) -> bool {
    let code: Vec<&str> = source
        .lines()
        .map(|l| l.split("//").next().unwrap_or_default())
        .collect();
    let code = code.join("\n");
    let mut starts = BTreeSet::from(["canopy", "canopy_data"]);
    for (at, _) in code.match_indices("canopy") {
        if code[..at].trim_end().trim_end_matches("::").ends_with("use") {
            let end = code[at..].find(';').map_or(code.len(), |end| at + end);
            let imported: BTreeSet<&str> = words(&code[at..end]).collect();
            if imported.contains(function) {
                return true;
            }
            starts.extend(imported);
        }
    }
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    code.split(|c| !is_path(c)).any(|path| {
        let mut parts = path.split("::").skip_while(|part| part.is_empty());
        parts.next().is_some_and(|first| starts.contains(first)) && parts.any(|part| part == function)
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !["", "as", "self", "_"].contains(word))
}

#[cfg(test)]
mod tests {
    use super::calls;

    #[test]
    fn finds_a_call_by_any_path() {
        for source in [
            "fn f() { canopy::optim::sgd_step(a) }",
            "fn f() { ::canopy::optim::sgd_step(a) }",
            "use canopy::optim::{AdamState, sgd_step as mine};",
            "use canopy::{\n    optim::{self,\n    sgd_step},\n};",
            "use canopy::optim as o;\nfn f() { o::sgd_step(a) }",
            "use canopy::{optim};\nfn f() { let mine = optim::sgd_step; }",
        ] {
            assert!(calls(source, "sgd_step"), "{source}");
        }
    }

    #[test]
    fn ignores_own_functions_and_comments() {
        for source in [
            "use canopy::optim::AdamState;\npub fn sgd_step() {}",
            "// canopy::optim::sgd_step\nfn f() {}",
            "fn f(s: &mut canopy::optim::AdamState) { sgd_step(s) }",
            "use my_canopy::sgd_step;",
            "use canopy::optim;\nmod own;\nfn f() { own::sgd_step() }",
        ] {
            assert!(!calls(source, "sgd_step"), "{source}");
        }
    }
}
