//! The overview of `cargo course`: lessons, exercises, points, the next exercise.

use console::style;
use grader::{
    Exercise, paths,
    progress::Progress,
    promise,
    tell::{WIDTH, coloured, wrap},
};

use crate::{
    lessons::{self, Lesson},
    marks::clean::cut,
};

/// Lists all lessons with the state of their exercises after the last runs. Lessons that are finished or not begun take one
/// line; the others, and the lesson of the next exercise, list their exercises.
pub fn screen(lessons: &[Lesson], progress: &Progress) -> String {
    let mut out = String::from("\n");
    let next = lessons::next(lessons, progress).map(|(l, _)| &l.manifest.lesson);
    let (mut points, mut of) = (0, 0);
    for Lesson { manifest: m, .. } in lessons {
        let (mut signs, mut won, mut is_begun) = (String::new(), 0, false);
        for e in &m.exercises {
            let state = progress.state(&e.id);
            signs += &coloured(state, sign(state)).to_string();
            won += if state == "right" { e.points } else { 0 };
            is_begun |= state != "to do";
        }
        (points, of) = (points + won, of + m.points());
        let is_done = won == m.points();
        let is_open = (is_begun && !is_done) || next == Some(&m.lesson);
        let gap = " ".repeat(9usize.saturating_sub(m.exercises.len()));
        let title = format!("{} {:<38}", m.lesson, cut(&m.title, 38));
        let title = if is_open {
            style(title).bold()
        } else {
            style(title)
        };
        let done = coloured("right", if is_done { "✓" } else { " " });
        let won = format!("{won}/{}", m.points());
        let minutes = style(format!("{:>4} min", m.minutes)).dim();
        out += &format!("{done} {title} {signs}{gap} {won:>7} points {minutes}\n");
        if is_open {
            out.extend(m.exercises.iter().map(|e| line(e, progress)));
            out.push('\n');
        }
    }
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    out += &format!("{points} of {of} points in the last runs.\n");
    out += &up_next(lessons, progress);
    if let Some(trouble) = &progress.damaged {
        let text = format!("{trouble}. `cargo course check all` writes it anew; the damaged file is kept.");
        out += &format!("\n{}\n", style(wrap(&text, WIDTH).join("\n")).yellow());
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

/// The next exercise, and the commands that show it.
pub fn up_next(lessons: &[Lesson], progress: &Progress) -> String {
    let Some((_, e)) = lessons::next(lessons, progress) else {
        return "All exercises are right.\n".into();
    };
    let how = style("      cargo course next, or cargo course watch").dim();
    format!("Next: {} {}\n{how}\n", e.id, e.title)
}

fn line(e: &Exercise, progress: &Progress) -> String {
    let state = progress.state(&e.id);
    let state = coloured(state, state);
    let help = match progress.hints.get(&e.id) {
        _ if progress.given_up.contains(&e.id) => "  solution seen".into(),
        Some(n) => format!("  {n} of {} hints", e.hints.len()),
        None => String::new(),
    };
    let points = format!("{:>2} point{}", e.points, if e.points == 1 { " " } else { "s" });
    let (id, title, help) = (&e.id, cut(&e.title, 36), style(help).dim());
    format!("     {id:<5}{title:<37}{state:<7} {points}{help}\n")
}

/// What an exercise requires, and where to write, check and read.
pub fn about(lesson: &Lesson, e: &Exercise) -> String {
    let (id, function) = (&e.id, &e.function);
    let (number, chapter, anchor) = (&lesson.manifest.lesson, &lesson.manifest.chapter, e.anchor());
    let asked = wrap(&promise(lesson.stub(e), function, ""), WIDTH - 4).join("\n  ");
    let file = paths::exercises(number, &e.file);
    format!(
        "{}\n\n  {asked}\n\n  write  `{function}` in {file}\n  check  cargo test -p lesson{number} {id}\n  \
         watch  cargo course watch   (checks whenever you save)\n  hint   cargo course hint {id}\n  \
         read   book/src/{chapter}#{anchor}\n",
        style(e.name()).bold()
    )
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
            let (manifest, stubs) = (Manifest::parse(&text).unwrap(), [].into());
            Lesson { manifest, stubs }
        };
        let lessons: Vec<Lesson> = (1..=13).map(lesson).collect();
        let mut progress = Progress::default();
        let next = |progress: &Progress| lessons::next(&lessons, progress).map_or("", |(_, e)| &*e.id);
        assert_eq!(next(&progress), "1.1");
        let mut note = |id: String, word: &str| {
            let checks = [("c".into(), word.into())].into();
            progress.checks.insert(id, checks);
        };
        for (n, e) in (10..=13).flat_map(|n| (1..=8).map(move |e| (n, e))) {
            note(format!("{n}.{e}"), "right");
        }
        note("5.1".into(), "not run");
        progress.hints.insert("5.1".into(), 3);
        progress.given_up.insert("5.2".into());
        progress.last = "5.3".into();
        assert_eq!(next(&progress), "5.1");
        progress.damaged = Some(".course/progress.toml is damaged (expected `=`)".into());
        let text = screen(&lessons, &progress);
        assert!(text.lines().count() <= 30, "{text}");
        let mut widths = text.lines().map(console::measure_text_width);
        assert!(widths.all(|width| width <= WIDTH), "{text}");
        for part in ["5.2  ", "solution seen", "64 of 208 points", "check all"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("10.1  "), "{text}");
        progress.last = "13.1".into();
        assert_eq!(next(&progress), "1.1", "after the last lesson comes the first");
    }
}
