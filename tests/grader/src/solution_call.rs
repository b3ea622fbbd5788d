//! Finds calls of canopy's own functions in a student's sources.

use std::collections::BTreeSet;

use crate::{Exercise, source::tokens};

/// A remark if the files `sources` name canopy's own function for `exercise`. What a macro puts together, `*` imports or a module
/// of the student's own passes on is not found: it is a remark, and no proof.
pub fn solution_call(sources: &[&str], exercise: &Exercise) -> Option<String> {
    let Exercise { id, answer, .. } = exercise;
    names_function(sources, answer).then(|| {
        format!("{id} calls the solution, canopy's own `{answer}`; the exercise requires your own code.")
    })
}

/// Whether a `use` of canopy's crates names `function`, or a path from a module that is none of the student's own.
fn names_function(sources: &[&str], function: &str) -> bool {
    let files = sources.iter().filter_map(|source| tokens(source).ok());
    let files: Vec<Vec<String>> = files
        .map(|tokens| tokens.into_iter().map(|(token, _)| token).collect())
        .collect();
    let mut own: BTreeSet<&str> = ["crate", "self", "super"].into();
    for pair in files.iter().flat_map(|tokens| tokens.windows(2)) {
        if pair[0] == "mod" {
            own.insert(&pair[1]);
        }
    }
    // In `Type::function`, it is a function of the type.
    let is_call = |[module, one, two, name]: [&String; 4]| {
        let is_path = one == ":" && two == ":" && name == function;
        is_path && module.starts_with(char::is_lowercase) && !own.contains(&**module)
    };
    let is_in = |statement: &[String]| {
        let import = statement.iter().rposition(|token| token == "use");
        let (code, import) = statement.split_at(import.unwrap_or(statement.len()));
        let mut canopys = import
            .iter()
            .skip_while(|token| *token != "canopy" && *token != "canopy_data");
        canopys.any(|token| token == function)
            || code.array_windows().any(|tokens| is_call(tokens.each_ref()))
    };
    let mut statements = files.iter().flat_map(|tokens| tokens.split(|token| token == ";"));
    statements.any(is_in)
}

#[cfg(test)]
mod tests {
    use super::names_function;

    #[test]
    fn finds_calls_and_imports_of_canopys_function_alone() {
        let found = [
            "fn f() { canopy /* here */ :: optim :: // there\n r#sgd_step(a) }",
            "use canopy::{\n    optim::{self,\n    sgd_step as mine},\n};",
            "use canopy::optim as o;\nfn f() { let mine = o::sgd_step; }",
            "extern crate canopy as c;\nmod own { fn f() { super::c::optim::sgd_step(a) } }",
            "macro_rules! m { () => { canopy::optim::sgd_step } }",
        ];
        let ignored = [
            "use canopy::optim::AdamState;\npub fn sgd_step() {}",
            "// canopy::optim::sgd_step\nfn f() { \"canopy::optim::sgd_step\"; }",
            "fn f(s: &mut canopy::optim::AdamState) { sgd_step(s) }",
            "use my_canopy::sgd_step;",
            "use canopy::optim;\nmod own;\nfn f() { own::sgd_step(); super::sgd_step() }",
            "use canopy::optim::*;\nfn f(x: X) { x.sgd_step(); X::sgd_step(); X { sgd_step: 1 } }",
            "fn f( {",
        ];
        for (sources, expected) in [(&found[..], true), (&ignored, false)] {
            for source in sources {
                assert_eq!(names_function(&[source], "sgd_step"), expected, "{source}");
            }
        }
    }
}
