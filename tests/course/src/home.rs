//! The overview of `cargo course`: lessons, exercises, points, the next exercise.

use grader::{
    Exercise, asked, paths,
    progress::Progress,
    tell::{Ink, wrap},
};

use crate::{
    lessons::{self, Lesson},
    marks::clean::cut,
};

/// Lists all lessons with the state of their exercises after the last runs. Lessons that are finished or not begun take one
/// line; the others, and the lesson of the next exercise, list their exercises.
pub fn screen(lessons: &[Lesson], progress: &Progress, trouble: Option<&str>, ink: Ink) -> String {
    let mut out = String::from("\n");
    let next = lessons::next(lessons, progress).map(|(l, _)| &l.manifest.lesson);
    let (mut points, mut of) = (0, 0);
    for Lesson { manifest, .. } in lessons {
        let states = manifest.exercises.iter().map(|e| progress.state(&e.id));
        let is_begun = states.clone().any(|s| s != "to do") && states.clone().any(|s| s != "right");
        let is_open = is_begun || next == Some(&manifest.lesson);
        let right = |e: &&Exercise| progress.state(&e.id) == "right";
        let right = manifest.exercises.iter().filter(right);
        let won: u32 = right.map(|e| e.points).sum();
        (points, of) = (points + won, of + manifest.points());
        let signs: String = states.map(|state| painted(ink, state, sign(state))).collect();
        let gap = " ".repeat(9usize.saturating_sub(manifest.exercises.len()));
        let title = format!("{} {:<38}", manifest.lesson, cut(&manifest.title, 38));
        let title = if is_open { ink.bold(&title) } else { title };
        let minutes = ink.faint(&format!("{:>4} min", manifest.minutes));
        let is_done = won == manifest.points();
        let done = if is_done { ink.green("✓") } else { " ".into() };
        let won = format!("{won}/{}", manifest.points());
        out.push_str(&format!(
            "{done} {title} {signs}{gap} {won:>7} points {minutes}\n"
        ));
        if is_open {
            out.extend(manifest.exercises.iter().map(|e| line(e, progress, ink)));
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

/// A character for the state of an exercise.
fn sign(state: &str) -> &'static str {
    match state {
        "right" => "✓",
        "wrong" => "✗",
        "not run" => "–",
        _ => "·",
    }
}

/// `text` in the colour of a state.
fn painted(ink: Ink, state: &str, text: &str) -> String {
    match state {
        "right" => ink.green(text),
        "wrong" => ink.red(text),
        "not run" => ink.yellow(text),
        _ => ink.blue(text),
    }
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

fn line(e: &Exercise, progress: &Progress, ink: Ink) -> String {
    let state = progress.state(&e.id);
    let state = painted(ink, state, &format!("{state:<7}"));
    let help = match progress.hints.get(&e.id) {
        _ if progress.given_up.contains(&e.id) => "  solution seen".into(),
        Some(n) => format!("  {n} of {} hints", e.hints.len()),
        None => String::new(),
    };
    let (title, points, plural) = (cut(&e.title, 36), e.points, if e.points == 1 { " " } else { "s" });
    let help = ink.faint(&help);
    format!(
        "     {:<5}{title:<37}{state} {points:>2} point{plural}{help}\n",
        e.id
    )
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
    use grader::Manifest;

    use super::*;

    #[test]
    fn thirteen_lessons_fit_one_screen_and_the_next_exercise_is_of_the_last_lesson() {
        let lesson = |n: usize| {
            let title = "A title of some length ".repeat(n % 3 + 1);
            let mut text =
                format!("lesson = \"{n:02}\"\ntitle = \"{title}\"\nminutes = 120\nchapter = \"x.md\"\n");
            for e in 1..=8 {
                let title = "Some exercise ".repeat(e);
                text += &format!(
                    "[[exercise]]\nid = \"{n}.{e}\"\ntitle = \"{title}\"\npoints = 2\nfunction = \"f\"\n"
                );
                text += "solution = \"s\"\nanswer = \"a\"\nhints = [\"a\", \"b\", \"c\"]\n";
            }
            let (manifest, stubs) = (Manifest::parse(&text).unwrap(), String::new());
            Lesson { manifest, stubs }
        };
        let lessons: Vec<Lesson> = (1..=13).map(lesson).collect();
        let mut progress = Progress::default();
        let next = |progress: &Progress| lessons::next(&lessons, progress).map_or("", |(_, e)| &*e.id);
        assert_eq!(next(&progress), "1.1");
        let note = |progress: &mut Progress, id: String, word: &str| {
            let checks = progress.checks.entry(id).or_default();
            checks.insert("c".into(), word.into());
        };
        for (n, e) in (10..=13).flat_map(|n| (1..=8).map(move |e| (n, e))) {
            note(&mut progress, format!("{n}.{e}"), "right");
        }
        note(&mut progress, "5.1".into(), "not run");
        progress.hints.insert("5.1".into(), 3);
        progress.given_up.insert("5.2".into());
        progress.last = "5.3".into();
        assert_eq!(next(&progress), "5.1");
        let damaged = ".course/progress.toml is damaged (expected `=`)";
        let text = screen(&lessons, &progress, Some(damaged), Ink { colour: false });
        assert!(text.lines().count() <= 30, "{text}");
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        for part in ["5.2  ", "solution seen", "64 of 208 points", "check all"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("10.1  "), "{text}");
        progress.last = "13.1".into();
        assert_eq!(next(&progress), "1.1", "after the last lesson comes the first");
    }
}
