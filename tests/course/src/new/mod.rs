//! `cargo course new 14 "Title"`, for authors: the skeleton of a lesson. It passes the proof before anything is changed.

#[cfg(test)]
mod tests;

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};

/// Path and text of each file. `__NN__` is the lesson's number in two digits, `__N__` the number as in the names of
/// exercises (`8` in `8.1`). The first three are the manifests.
const FILES: [(&str, &str); 13] = [
    (
        "lessons/lesson__NN__/Cargo.toml",
        include_str!("lesson.Cargo.toml"),
    ),
    (
        "lessons/lesson__NN__/run/Cargo.toml",
        include_str!("run.Cargo.toml"),
    ),
    (
        "exercises/lesson__NN__/Cargo.toml",
        include_str!("exercise.Cargo.toml"),
    ),
    ("lessons/lesson__NN__/lesson.toml", include_str!("lesson.toml")),
    ("lessons/lesson__NN__/src/lib.rs", include_str!("lib.rs")),
    ("lessons/lesson__NN__/src/answers.rs", include_str!("answers.rs")),
    (
        "lessons/lesson__NN__/src/iterations.rs",
        include_str!("iterations.rs"),
    ),
    ("lessons/lesson__NN__/src/right.rs", include_str!("right.rs")),
    ("lessons/lesson__NN__/src/stubs.rs", include_str!("stubs.rs")),
    ("lessons/lesson__NN__/run/src/main.rs", include_str!("main.rs")),
    ("lessons/lesson__NN__/run/src/grade.rs", include_str!("grade.rs")),
    ("exercises/lesson__NN__/src/lib.rs", include_str!("stubs.rs")),
    ("book/src/__CHAPTER__", include_str!("chapter.md")),
];

/// Where a lesson must be listed: file, what the lines of lessons begin with, and the line to add.
const LISTS: [(&str, &str, &str); 3] = [
    (
        "tests/proof/Cargo.toml",
        "lesson",
        "lesson__NN__ = { package = \"lesson__NN__-checks\", path = \"../../lessons/lesson__NN__\" }",
    ),
    ("book/src/SUMMARY.md", "- [", "- [__NN__ __TITLE__](__CHAPTER__)"),
    (
        "solutions/README.md",
        "| ",
        "| __N__.1 | An example | `iterations` | `solutions/src/loader/order.rs` | 1 |",
    ),
];

/// Writes the skeleton of lesson `number`. Returns the message for the author.
///
/// # Errors
/// Returns an error if a file exists already, a list contains no lesson, or the title is not allowed.
pub fn new(root: &Path, number: u32, title: &str) -> Result<String> {
    let is_plain = |c: char| c.is_alphanumeric() || " ,:'-–".contains(c);
    ensure!(
        title.chars().all(is_plain) && title.chars().any(char::is_alphanumeric),
        "a title consists of letters, digits, spaces and , : ' -; this one is {title:?}"
    );
    let words = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let chapter = format!("{number:02}-{}.md", words.join("-"));
    let fill = |text: &str| {
        text.replace("__NN__", &format!("{number:02}"))
            .replace("__N__", &number.to_string())
            .replace("__TITLE__", title)
            .replace("__CHAPTER__", &chapter)
    };
    let mut texts = Vec::new();
    for (path, text) in FILES {
        let path = fill(path);
        ensure!(!root.join(&path).exists(), "{path} exists already");
        texts.push((path, fill(text)));
    }
    for (path, start, line) in LISTS {
        let text = fs::read_to_string(root.join(path)).with_context(|| path.to_owned())?;
        let text = listed(&text, start, number, &fill(line));
        let text = text.with_context(|| format!("no line of {path} lists a lesson"))?;
        texts.push((path.to_owned(), text));
    }
    let mut out = String::new();
    for (path, text) in texts {
        let file = root.join(&path);
        fs::create_dir_all(file.parent().unwrap_or(root)).with_context(|| path.clone())?;
        fs::write(&file, text).with_context(|| path.clone())?;
        out += &format!("written: {path}\n");
    }
    out += &format!(
        "\nThe lesson passes its proof as it is: cargo test -p proof --test lessons lesson{number:02}\n\
         Replace its example, and look at what its checks catch: cargo course matrix {number:02}\n"
    );
    Ok(out)
}

/// `text` with `line` after the last line of a lesson before `number`. Such a line begins with `start` and the lesson's
/// number.
fn listed(text: &str, start: &str, number: u32, line: &str) -> Option<String> {
    let is_before = |line: &&str| {
        let rest = line.strip_prefix(start).unwrap_or_default();
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
        digits.is_some_and(|d| d.parse::<u32>().is_ok_and(|n| n < number))
    };
    // A chapter to come is listed without a file.
    let draft = format!("- [{number:02} ");
    let is_draft = |line: &&str| line.starts_with(&draft) && line.ends_with("]()");
    let mut lines: Vec<&str> = text.lines().filter(|line| !is_draft(line)).collect();
    let last = lines.iter().rposition(is_before)?;
    lines.insert(last + 1, line);
    Some(lines.join("\n") + "\n")
}
