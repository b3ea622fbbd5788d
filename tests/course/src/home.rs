//! The overview of `cargo course`: lessons, exercises, points, the next exercise.

use grader::{
    Exercise, Manifest, asked, paths,
    progress::Progress,
    tell::{Ink, wrap},
};

use crate::lessons::{self, Lesson};

/// Lists all lessons with the state of their exercises after the last runs. Lessons that are finished or not begun take one
/// line; the others, and the lesson of the next exercise, list their exercises.
pub fn screen(lessons: &[Lesson], progress: &Progress, trouble: Option<&str>, ink: Ink) -> String {
    let mut out = String::from("\n");
    let next = lessons::next(lessons, progress).map(|(l, _)| l.manifest.lesson.as_str());
    let (mut points, mut of) = (0, 0);
    for lesson in lessons {
        let m = &lesson.manifest;
        let (won, all) = lessons::points(m, progress);
        (points, of) = (points + won, of + all);
        let right = m.exercises.iter().all(|e| progress.state(&e.id) == "right");
        let begun = m.exercises.iter().any(|e| progress.state(&e.id) != "to do");
        let open = next == Some(m.lesson.as_str()) || begun && !right;
        out.push_str(&headline(m, progress, open, ink));
        if open {
            m.exercises
                .iter()
                .for_each(|e| out.push_str(&line(e, progress, ink)));
            out.push('\n');
        }
    }
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    out.push_str(&format!("{points} of {of} points in the last runs.\n"));
    out.push_str(&up_next(lessons, progress, ink));
    if let Some(trouble) = trouble {
        let text = format!("{trouble}. `cargo course check all` writes it anew; the damaged file is kept.");
        let lines = wrap(&text, 80);
        out.push_str(&format!("\n{}\n", ink.yellow(&lines.join("\n"))));
    }
    out
}

/// The next exercise, and the commands that show it.
pub fn up_next(lessons: &[Lesson], progress: &Progress, ink: Ink) -> String {
    match lessons::next(lessons, progress) {
        Some((_, e)) => {
            let how = ink.faint("      cargo course next, or cargo course watch");
            format!("Next: {} {}\n{how}\n", e.id, e.title)
        }
        None => "All exercises are right.\n".into(),
    }
}

/// `01 Gradient descent by hand   ✓✓✗···   3/12 points   120 minutes`.
fn headline(m: &Manifest, progress: &Progress, open: bool, ink: Ink) -> String {
    let (won, of) = lessons::points(m, progress);
    let signs: String = m
        .exercises
        .iter()
        .map(|e| match progress.state(&e.id) {
            "right" => ink.green("✓"),
            "wrong" => ink.red("✗"),
            "not run" => ink.yellow("–"),
            _ => ink.faint("·"),
        })
        .collect();
    let gap = " ".repeat(9usize.saturating_sub(m.exercises.len()));
    let title: String = format!("{} {:<38}", m.lesson, cut(&m.title, 38));
    let title = if open { ink.bold(&title) } else { title };
    let minutes = ink.faint(&format!("{:>4} min", m.minutes));
    let done = if won == of { ink.green("✓") } else { " ".into() };
    format!(
        "{done} {title} {signs}{gap} {:>7} points {minutes}\n",
        format!("{won}/{of}")
    )
}

fn line(e: &Exercise, progress: &Progress, ink: Ink) -> String {
    let state = match progress.state(&e.id) {
        "right" => ink.green("right  "),
        "wrong" => ink.red("wrong  "),
        "not run" => ink.yellow("not run"),
        _ => ink.blue("to do  "),
    };
    let help = match (progress.given_up.contains(&e.id), progress.hints.get(&e.id)) {
        (true, _) => "  solution seen".into(),
        (false, Some(n)) => format!("  {n} of {} hints", e.hints.len()),
        (false, None) => String::new(),
    };
    let points = format!("{:>2} point{}", e.points, if e.points == 1 { " " } else { "s" });
    format!(
        "     {:<5}{:<37}{state} {points}{}\n",
        e.id,
        cut(&e.title, 36),
        ink.faint(&help)
    )
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}

/// What the next exercise requires.
pub fn next(lessons: &[Lesson], progress: &Progress, ink: Ink) -> String {
    match lessons::next(lessons, progress) {
        Some((lesson, exercise)) => about(lesson, exercise, ink),
        None => "All exercises are right.\n".into(),
    }
}

/// What an exercise requires, and where to write, check and read.
pub fn about(lesson: &Lesson, e: &Exercise, ink: Ink) -> String {
    let m = &lesson.manifest;
    let mut out = format!("{}\n\n", ink.bold(&format!("{} {}", e.id, e.title)));
    for line in wrap(&asked(&lesson.stubs, &e.function), 76) {
        out.push_str(&format!("  {line}\n"));
    }
    let file = paths::exercises(&m.lesson);
    out.push_str(&format!("\n  write  `{}` in {file}\n", e.function));
    out.push_str(&format!("  check  cargo test -p lesson{} {}\n", m.lesson, e.id));
    out.push_str("  watch  cargo course watch   (checks whenever you save)\n");
    out.push_str(&format!("  hint   cargo course hint {}\n", e.id));
    out.push_str(&format!("  read   book/src/{}#{}\n", m.chapter, e.anchor()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(count: usize) -> Vec<Lesson> {
        (1..=count)
            .map(|n| {
                let mut text = format!("lesson = \"{n:02}\"\ntitle = \"{}\"\nminutes = 120\nchapter = \"x.md\"\n", "A title of some length ".repeat(n % 3 + 1));
                for e in 1..=8 {
                    text += &format!("[[exercise]]\nid = \"{n}.{e}\"\ntitle = \"{}\"\npoints = 2\nfunction = \"f\"\nsolution = \"s\"\nanswer = \"a\"\nhints = [\"a\", \"b\", \"c\"]\n", "Some exercise ".repeat(e));
                }
                let manifest = Manifest::parse(&text).unwrap();
                Lesson { manifest, stubs: String::new() }
            })
            .collect()
    }

    #[test]
    fn thirteen_lessons_fit_one_screen() {
        let lessons = course(13);
        let mut progress = Progress::default();
        let right = |progress: &mut Progress, id: String, word: &str| {
            progress
                .checks
                .entry(id)
                .or_default()
                .insert("c".into(), word.into());
        };
        for n in 1..=4 {
            (1..=8).for_each(|e| right(&mut progress, format!("{n}.{e}"), "right"));
        }
        right(&mut progress, "5.1".into(), "not run");
        progress.hints.insert("5.1".into(), 3);
        progress.given_up.insert("5.2".into());
        let text = screen(&lessons, &progress, None, Ink { colour: false });
        assert!(text.lines().count() <= 28, "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(
            text.contains("5.2  ") && text.contains("solution seen") && !text.contains("4.1  "),
            "{text}"
        );
        assert!(text.contains("64 of 208 points"), "{text}");
    }

    #[test]
    fn the_next_exercise_is_of_the_lesson_that_was_checked_last() {
        let lessons = course(3);
        let next = |progress: &Progress| lessons::next(&lessons, progress).map(|(_, e)| e.id.clone());
        let mut progress = Progress::default();
        assert_eq!(next(&progress).as_deref(), Some("1.1"));
        progress.last = "2.3".into();
        assert_eq!(next(&progress).as_deref(), Some("2.1"));
        for lesson in 2..=3 {
            for e in 1..=8 {
                let of = progress.checks.entry(format!("{lesson}.{e}")).or_default();
                of.insert("c".into(), "right".into());
            }
        }
        assert_eq!(
            next(&progress).as_deref(),
            Some("1.1"),
            "after the last lesson comes the first"
        );
    }

    #[test]
    fn a_damaged_file_is_reported_with_what_to_do() {
        let trouble = ".course/progress.toml is damaged (expected `=`)";
        let text = screen(
            &course(1),
            &Progress::default(),
            Some(trouble),
            Ink { colour: false },
        );
        assert!(
            text.contains("is damaged") && text.contains("check all"),
            "{text}"
        );
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }
}
