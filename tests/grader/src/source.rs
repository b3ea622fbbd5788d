//! Searches a student's source as text.

/// Whether `source` names canopy's own `function`, by a path or by a `use`. Comments do not count.
pub fn calls(source: &str, function: &str) -> bool {
    let code: Vec<&str> = source
        .lines()
        .map(|l| l.split("//").next().unwrap_or_default())
        .collect();
    let code = code.join("\n");
    code.match_indices("canopy").any(|(at, _)| {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            return false;
        }
        // A `use` goes on to its semicolon, a path as long as it has names and colons.
        let imported = code[..at].trim_end().ends_with("use");
        let past = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
        let end = if imported {
            code[at..].find(';')
        } else {
            code[at..].find(past)
        };
        let end = end.unwrap_or(code.len() - at);
        words(&code[at..at + end]).any(|w| w == function)
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::calls;

    #[test]
    fn a_call_of_the_answer_is_seen_by_whatever_path() {
        for source in [
            "fn f() { canopy::optim::sgd_step(a) }",
            "use canopy::optim::{AdamState, sgd_step as mine};",
            "use canopy::{\n    optim::{self,\n    sgd_step},\n};",
        ] {
            assert!(calls(source, "sgd_step"), "{source}");
        }
    }

    #[test]
    fn ones_own_function_and_comments_are_fine() {
        for source in [
            "use canopy::optim::AdamState;\npub fn sgd_step() {}",
            "// canopy::optim::sgd_step\nfn f() {}",
            "fn f(s: &mut canopy::optim::AdamState) { sgd_step(s) }",
            "use my_canopy::sgd_step;",
        ] {
            assert!(!calls(source, "sgd_step"), "{source}");
        }
    }
}
