//! Finds calls of canopy's own functions in a student's sources.

use std::collections::BTreeSet;

use crate::{Exercise, source::tokens};

/// A remark if the files `sources` name canopy's own function for `exercise`: if a `use` of canopy's crates names it, or a path from
/// a module that is none of the student's own. What a macro puts together, `*` imports or a module of the student's own passes on
/// is not found: it is a remark, and no proof.
pub fn solution_call(sources: &[impl AsRef<str>], exercise: &Exercise) -> Option<String> {
    let Exercise { id, answer, .. } = exercise;
    let files = sources.iter().filter_map(|source| tokens(source.as_ref()).ok());
    let files: Vec<Vec<(String, usize)>> = files.collect();
    let mut own = BTreeSet::from(["crate", "self", "super"]);
    for [(word, _), (name, _)] in files.iter().flat_map(|tokens| tokens.array_windows()) {
        if word == "mod" {
            own.insert(name);
        }
    }
    // In `Type::function`, it is a function of the type.
    let is_call = |[(module, _), (one, _), (two, _), (name, _)]: &[(String, usize); 4]| {
        let is_path = one == ":" && two == ":" && name == answer;
        is_path && module.starts_with(char::is_lowercase) && !own.contains(&**module)
    };
    let is_canopy = |(token, _): &(String, usize)| token == "canopy" || token == "canopy_data";
    let is_in = |statement: &[(String, usize)]| {
        let import = statement.iter().rposition(|(token, _)| token == "use");
        let (code, import) = statement.split_at(import.unwrap_or(statement.len()));
        let mut canopys = import.iter().skip_while(|token| !is_canopy(token));
        canopys.any(|(token, _)| token == answer) || code.array_windows().any(is_call)
    };
    let is_end = |(token, _): &(String, usize)| token == ";";
    let mut statements = files.iter().flat_map(|tokens| tokens.split(is_end));
    statements.any(is_in).then(|| {
        format!("{id} calls the solution, canopy's own `{answer}`; the exercise requires your own code.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let answer = "sgd_step".into();
        let exercise = Exercise {
            answer,
            ..Exercise::default()
        };
        for (sources, expected) in [(&found[..], true), (&ignored, false)] {
            for source in sources {
                let remark = solution_call(&[source], &exercise);
                assert_eq!(remark.is_some(), expected, "{source}");
            }
        }
    }
}
