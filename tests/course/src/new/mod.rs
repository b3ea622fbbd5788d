//! `cargo course new 14 "Title"`, for authors: the skeleton of a lesson. It passes the proof before anything is changed.

#[cfg(test)]
mod tests;

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};

/// Path and text of each file. `__NN__` is the lesson's number in two digits, `__N__` the number as in the names of
/// exercises (`8` in `8.1`).
const FILES: [(&str, &str); 13] = [
    ("lessons/lesson__NN__/Cargo.toml", LESSON_MANIFEST),
    ("lessons/lesson__NN__/lesson.toml", include_str!("lesson.toml")),
    ("lessons/lesson__NN__/src/lib.rs", include_str!("lib.rs")),
    ("lessons/lesson__NN__/src/answers.rs", include_str!("answers.rs")),
    (
        "lessons/lesson__NN__/src/iterations.rs",
        include_str!("iterations.rs"),
    ),
    ("lessons/lesson__NN__/src/right.rs", include_str!("right.rs")),
    ("lessons/lesson__NN__/src/stubs.rs", include_str!("stubs.rs")),
    ("lessons/lesson__NN__/run/Cargo.toml", RUN_MANIFEST),
    ("lessons/lesson__NN__/run/src/main.rs", include_str!("main.rs")),
    ("lessons/lesson__NN__/run/src/grade.rs", include_str!("grade.rs")),
    ("exercises/lesson__NN__/Cargo.toml", EXERCISE_MANIFEST),
    ("exercises/lesson__NN__/src/lib.rs", include_str!("stubs.rs")),
    ("book/src/__CHAPTER__", include_str!("chapter.md")),
];

const LESSON_MANIFEST: &str = include_str!("lesson.Cargo.toml");
const RUN_MANIFEST: &str = include_str!("run.Cargo.toml");
const EXERCISE_MANIFEST: &str = include_str!("exercise.Cargo.toml");

/// Where a lesson must be listed: file, what the lines of lessons begin with, and the text to add.
const LISTS: [(&str, &str, &str); 3] = [
    (
        "tests/proof/Cargo.toml",
        "lesson",
        "lesson__NN__ = { package = \"lesson__NN__-checks\", path = \"../../lessons/lesson__NN__\" }\n",
    ),
    (
        "book/src/SUMMARY.md",
        "- [",
        "- [__NN__ __TITLE__](__CHAPTER__)\n",
    ),
    (
        "solutions/README.md",
        "| ",
        "| __N__.1 | An example | `iterations` | `solutions/src/loader/order.rs` | 1 |\n",
    ),
];

/// Writes the skeleton of lesson `number`. Returns the message for the author.
///
/// # Errors
/// Returns an error if a file exists already, a list contains no lesson, or the number or the title is not allowed.
pub fn new(root: &Path, number: u32, title: &str) -> Result<String> {
    ensure!(
        (1..100).contains(&number),
        "a lesson's number is from 1 to 99, not {number}"
    );
    let plain = |c: char| c.is_alphanumeric() || " ,:'-–".contains(c);
    ensure!(
        title.chars().all(plain) && title.chars().any(char::is_alphanumeric),
        "a title consists of letters, digits, spaces and , : ' -; this one is {title:?}"
    );
    let words: Vec<String> = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
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
    for (path, start, addition) in LISTS {
        let text = fs::read_to_string(root.join(path)).with_context(|| path.to_owned())?;
        let text = listed(&without_draft(&text, number), start, number, &fill(addition))
            .with_context(|| format!("no line of {path} lists a lesson"))?;
        texts.push((path.to_owned(), text));
    }
    let mut out = String::new();
    for (path, text) in texts {
        let file = root.join(&path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        fs::write(&file, text).with_context(|| path.clone())?;
        out += &format!("written: {path}\n");
    }
    out += &format!(
        "\nThe lesson passes its proof as it is: cargo test -p proof --test lessons lesson{number:02}\n\
         Replace its example, and look at what its checks catch: cargo course matrix {number:02}\n"
    );
    Ok(out)
}

/// `text` without the entry of a lesson to come: a chapter of `SUMMARY.md` that has no file.
fn without_draft(text: &str, number: u32) -> String {
    let start = format!("- [{number:02} ");
    let draft = |line: &&str| line.starts_with(&start) && line.trim_end().ends_with("]()");
    text.split_inclusive('\n').filter(|line| !draft(line)).collect()
}

/// `text` with `addition` after the last line of a lesson before `number`. Such a line begins with `start` and the lesson's number.
fn listed(text: &str, start: &str, number: u32, addition: &str) -> Option<String> {
    let is_before = |line: &&str| -> bool {
        let rest = line.strip_prefix(start).unwrap_or_default();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().is_ok_and(|n: u32| n < number)
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (before, after) = lines.split_at(lines.iter().rposition(is_before)? + 1);
    Some([&before.concat(), addition, &after.concat()].concat())
}
