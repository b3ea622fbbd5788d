//! The lines of an exercise's stubs in their file: the book includes stubs by their line numbers.

/// The first and the last line, from 1, of the functions of exercise `id` in `stubs`, with their doc comments.
pub fn stub_lines(stubs: &str, id: &str) -> Option<(usize, usize)> {
    let lines: Vec<&str> = stubs.lines().collect();
    let to_do = format!("todo!(\"{id}: ");
    let first = lines.iter().position(|l| l.contains(&to_do))?;
    let last = lines.iter().rposition(|l| l.contains(&to_do))?;
    let head = lines[..first].iter().rposition(|l| l.starts_with("pub fn "))?;
    let doc = lines[..head].iter().rev().take_while(|l| l.starts_with("///"));
    let end = lines[last..].iter().position(|l| *l == "}")?;
    Some((head - doc.count() + 1, last + end + 1))
}

#[cfg(test)]
mod tests {
    use super::stub_lines;

    #[test]
    fn an_exercise_may_have_several_functions_and_several_places_to_write() {
        let stubs = "//! Lesson.\n\n/// One.\n/// More.\npub fn a() {\n    todo!(\"1.1: a\")\n}\n\n/// Two.\npub fn b() {\n    match x {\n        \
                     1 => todo!(\"1.2: b\"),\n        _ => todo!(\"1.2: c\"),\n    }\n}\n\n/// Three.\npub fn c() {\n    todo!(\"1.2: d\")\n}\n";
        assert_eq!(stub_lines(stubs, "1.1"), Some((3, 7)));
        assert_eq!(stub_lines(stubs, "1.2"), Some((9, 20)));
        assert_eq!(stub_lines(stubs, "1.3"), None);
    }
}
