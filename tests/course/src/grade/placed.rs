//! Decides by its path alone where an entry of a submission belongs.

/// The course's own folders besides `exercises`: what is in `lessons` is not an exercise.
const COURSES: [&str; 6] = ["book", "data", "lessons", "slurm", "solutions", "tests"];
/// How many folders may enclose the exercises.
const DEEP: usize = 8;

/// What an entry is. `root` is the path of the folders that enclose it, with a `/` at the end or empty: entries of one
/// root belong together.
#[derive(Debug, PartialEq)]
pub enum Place<'a> {
    /// A file below `src` of a lesson's exercise.
    Source {
        root: String,
        lesson: &'a str,
        file: String,
    },
    /// A Rust file that does not name its lesson: `lib.rs`, `src/lib.rs`.
    Bare { root: String, file: String },
    /// `submission.toml`.
    Paper { root: String },
}

/// Why an entry is not taken.
#[derive(Debug, PartialEq)]
pub enum Left<'a> {
    /// Written by a file manager: not reported.
    Silent,
    /// Below this folder of a build or of git, which is reported once.
    Below(&'a str),
    Because(&'static str),
}

const ONLY: Left = Left::Because("only src/**.rs of a lesson is taken");
const ODD: Left =
    Left::Because("its name is odd: absolute, with `..`, or with characters that no module's name has");

/// Where an entry belongs: `exercises/lessonNN/src/…rs`, also without `exercises` or `src`, also within other folders.
///
/// # Errors
/// Returns why it is left out.
pub fn placed(path: &str) -> Result<Place<'_>, Left<'_>> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let parts: Vec<&str> = path.split('/').collect();
    let name = parts.last().copied().unwrap_or_default();
    if parts.iter().any(|p| p.is_empty() || *p == "..") {
        return Err(ODD);
    }
    if is_litter(name) || parts.contains(&"__MACOSX") {
        return Err(Left::Silent);
    }
    if let Some(at) = parts.iter().position(|p| *p == "src" || is_build(p))
        && is_build(parts[at])
    {
        let end: usize = parts[..=at].iter().map(|p| p.len() + 1).sum();
        return Err(Left::Below(&path[..(end - 1).min(path.len())]));
    }
    let plain = |p: &&str| {
        let sign = |c: char| c.is_alphanumeric() || " _-.~()+,@'&#%=[]".contains(c);
        *p != "." && p.chars().all(sign)
    };
    if !parts.iter().all(plain) {
        return Err(ODD);
    }
    for skipped in 0..parts.len().min(DEEP) {
        let (around, rest) = parts.split_at(skipped);
        if around.iter().any(|p| COURSES.contains(p)) {
            break;
        }
        let root: String = around.iter().map(|p| format!("{p}/")).collect();
        if rest == ["submission.toml"] {
            return Ok(Place::Paper { root });
        }
        let rest = if rest[0] == "exercises" { &rest[1..] } else { rest };
        let lesson = rest.first().and_then(|n| lesson_of(n));
        match (lesson, rest) {
            (Some(lesson), [_, "src", file @ ..]) => {
                return module(file).map(|file| Place::Source { root, lesson, file });
            }
            (Some(lesson), [_, "lib.rs"]) => {
                let file = "lib.rs".into();
                return Ok(Place::Source { root, lesson, file });
            }
            (None, ["src", file @ ..] | file @ [_]) if name.ends_with(".rs") && bare(around) => {
                return module(file).map(|file| Place::Bare { root, file });
            }
            _ => {}
        }
    }
    Err(ONLY)
}

/// Whether a Rust file of no lesson may be within these folders: not within those of exercises.
fn bare(around: &[&str]) -> bool {
    !around.iter().any(|p| *p == "exercises" || lesson_of(p).is_some())
}

/// The path below `src`, if it can be a module of a library.
fn module(parts: &[&str]) -> Result<String, Left<'static>> {
    let plain = |p: &&str| p.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    let file = parts.join("/");
    if !file.ends_with(".rs") || file == "main.rs" || file.starts_with("bin/") {
        return Err(Left::Because("only src/**.rs of a lesson's library is taken"));
    }
    if parts.len() > 5 || !parts.iter().all(plain) {
        return Err(ODD);
    }
    Ok(file)
}

/// Files that file managers leave behind.
pub fn is_litter(name: &str) -> bool {
    name.starts_with("._") || [".DS_Store", "__MACOSX", "Thumbs.db", "desktop.ini"].contains(&name)
}

/// Folders that may be large and contain nothing to take.
pub fn is_build(name: &str) -> bool {
    ["target", ".git", "node_modules"].contains(&name)
}

/// `01` of `lesson01`.
pub fn lesson_of(name: &str) -> Option<&str> {
    let number = name.strip_prefix("lesson")?;
    (number.len() == 2 && number.bytes().all(|b| b.is_ascii_digit())).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_exercises_are_found_in_any_folder() {
        for (path, around) in [
            ("exercises/lesson01/src/a/b.rs", ""),
            ("./exercises/lesson01/src/a/b.rs", ""),
            ("lesson01/src/a/b.rs", ""),
            (
                "Ada's hand-in (2)/exercises/lesson01/src/a/b.rs",
                "Ada's hand-in (2)/",
            ),
            ("ada/lesson01/src/a/b.rs", "ada/"),
            (
                "a/b/canopy-main/exercises/lesson01/src/a/b.rs",
                "a/b/canopy-main/",
            ),
            ("lesson01/exercises/lesson01/src/a/b.rs", "lesson01/"),
        ] {
            let (root, lesson, file) = (around.to_owned(), "01", "a/b.rs".to_owned());
            assert_eq!(placed(path), Ok(Place::Source { root, lesson, file }), "{path}");
        }
        for (path, around) in [
            ("src/lib.rs", ""),
            ("lib.rs", ""),
            ("ada/lib.rs", "ada/"),
            ("a/b/src/lib.rs", "a/b/"),
        ] {
            let (root, file) = (around.to_owned(), "lib.rs".to_owned());
            assert_eq!(placed(path), Ok(Place::Bare { root, file }), "{path}");
        }
        assert!(matches!(
            placed("lesson02/lib.rs"),
            Ok(Place::Source { lesson: "02", .. })
        ));
        let root = "x/y/".into();
        assert_eq!(placed("x/y/submission.toml"), Ok(Place::Paper { root }));
    }

    #[test]
    fn builds_are_reported_once_and_litter_never() {
        let below = |path, folder| assert_eq!(placed(path), Err(Left::Below(folder)), "{path}");
        below("ada/target/debug/deps/x.rs", "ada/target");
        below(".git/config", ".git");
        below("exercises/lesson01/target", "exercises/lesson01/target");
        assert_eq!(placed("/etc/target/x.rs"), Err(ODD));
        // A module may have this name.
        assert!(placed("exercises/lesson01/src/target/mod.rs").is_ok());
        for path in [
            "__MACOSX/exercises/lesson01/src/._lib.rs",
            "a/.DS_Store",
            "exercises/lesson01/src/._lib.rs",
        ] {
            assert_eq!(placed(path), Err(Left::Silent), "{path}");
        }
    }

    #[test]
    fn nothing_else_is_taken() {
        for path in [
            "",
            "/",
            "..",
            "lessons/lesson01/src/lib.rs",
            "tests/lesson01/src/lib.rs",
            "ada/solutions/src/lib.rs",
            "exercises/lesson01/../../x.rs",
            "exercises/lesson01/src/../x.rs",
            "/exercises/lesson01/src/lib.rs",
            "exercises//lesson01/src/lib.rs",
            "exercises/lesson01/src/bin/x.rs",
            "exercises/lesson01/src/main.rs",
            "exercises/lesson01/src/x.txt",
            "exercises/lesson01/build.rs",
            "exercises/lesson1/src/x.txt",
            "exercises/lesson01/src/li\u{0}b.rs",
            "exercises/lesson01/src/a/b/c/d/e/f.rs",
            "a/b/c/d/e/f/g/h/i/exercises/lesson01/src/lib.rs",
        ] {
            assert!(placed(path).is_err(), "{path:?}: {:?}", placed(path));
        }
    }
}
