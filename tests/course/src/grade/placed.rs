//! Where an entry of a submission belongs, by its path alone.

/// The course's own folders besides `exercises`.
const COURSES: [&str; 6] = ["book", "data", "lessons", "slurm", "solutions", "tests"];

pub enum Place {
    /// A lesson and a path below its `src`.
    Source(String, String),
    /// `submission.toml`.
    Paper,
}

/// Where an entry belongs, by its path: `exercises/lessonNN/src/…rs`, also without `exercises`, also under one folder.
pub fn placed(path: &str, lesson: Option<&str>) -> Result<Place, &'static str> {
    let odd = Err("its name is odd: absolute, with `..`, or with signs that no module has");
    let path = path.strip_prefix("./").unwrap_or(path);
    let parts: Vec<&str> = path.split('/').collect();
    let plain = |p: &&str| {
        let sign = |c: char| c.is_alphanumeric() || " _-.~()+,@'".contains(c);
        !p.is_empty() && *p != "." && *p != ".." && p.chars().all(sign)
    };
    if !parts.iter().all(plain) {
        return odd;
    }
    // One folder may stand around it all, but none of the course's: what lies in `lessons` is no exercise.
    let around = !COURSES.contains(&parts[0]) && parts.len() > 1;
    for skipped in 0..=usize::from(around) {
        let rest = &parts[skipped..];
        if rest == ["submission.toml"] {
            return Ok(Place::Paper);
        }
        let rest = if rest[0] == "exercises" { &rest[1..] } else { rest };
        let (lesson, rest) = match (rest.first().and_then(|n| lesson_of(n)), lesson) {
            (Some(lesson), _) => (lesson, &rest[1..]),
            (None, Some(lesson)) if rest.first() == Some(&"src") => (lesson, rest),
            _ => continue,
        };
        if rest.len() < 2 || rest[0] != "src" {
            return Err("only src/**.rs of a lesson is taken");
        }
        let module = |p: &&str| p.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        if rest.len() > 6 || !rest.iter().all(module) {
            return odd;
        }
        let file = rest[1..].join("/");
        if !file.ends_with(".rs") || file.starts_with("main.rs") || file.starts_with("bin/") {
            return Err("only src/**.rs of a lesson's library is taken");
        }
        return Ok(Place::Source(lesson.to_owned(), file));
    }
    Err("only src/**.rs of a lesson is taken")
}

/// `01` of `lesson01`.
pub fn lesson_of(name: &str) -> Option<&str> {
    let number = name.strip_prefix("lesson")?;
    (number.len() == 2 && number.bytes().all(|b| b.is_ascii_digit())).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, lesson: Option<&str>) -> Option<(String, String)> {
        match placed(path, lesson) {
            Ok(Place::Source(lesson, file)) => Some((lesson, file)),
            _ => None,
        }
    }

    #[test]
    fn sources_of_exercises_are_known_wherever_they_lie() {
        for path in [
            "exercises/lesson01/src/a/b.rs",
            "./exercises/lesson01/src/a/b.rs",
            "lesson01/src/a/b.rs",
            "Ada's hand-in (2)/exercises/lesson01/src/a/b.rs",
            "ada/lesson01/src/a/b.rs",
        ] {
            assert_eq!(source(path, None), Some(("01".into(), "a/b.rs".into())), "{path}");
        }
        assert_eq!(
            source("src/lib.rs", Some("02")),
            Some(("02".into(), "lib.rs".into()))
        );
        assert!(matches!(placed("x/submission.toml", None), Ok(Place::Paper)));
    }

    #[test]
    fn nothing_else_is() {
        for path in [
            "",
            "/",
            "..",
            "src/lib.rs",
            "lessons/lesson01/src/lib.rs",
            "tests/lesson01/src/lib.rs",
            "a/b/lesson01/src/lib.rs",
            "exercises/lesson01/../../x.rs",
            "exercises/lesson01/src/../x.rs",
            "/exercises/lesson01/src/lib.rs",
            "exercises//lesson01/src/lib.rs",
            "exercises/lesson01/src/bin/x.rs",
            "exercises/lesson01/src/main.rs",
            "exercises/lesson01/src/x.txt",
            "exercises/lesson01/build.rs",
            "exercises/lesson1/src/lib.rs",
            "exercises/lesson01/src\\lib.rs",
            "exercises/lesson01/src/li\u{0}b.rs",
            "exercises/lesson01/src/a/b/c/d/e/f.rs",
        ] {
            assert_eq!(source(path, None), None, "{path:?}");
        }
    }
}
