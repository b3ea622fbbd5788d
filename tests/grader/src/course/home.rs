//! Where am I: lessons, exercises, points, what is next.

use grader::{
    asked, place,
    progress::Progress,
    tell::{Ink, wrap},
};

use crate::lessons::{self, Lesson};

/// All lessons with the state of their exercises, as the last runs showed it.
pub fn screen(lessons: &[Lesson], progress: &Progress, ink: Ink) -> String {
    let mut out = String::new();
    let (mut points, mut of) = (0, 0);
    for lesson in lessons {
        let m = &lesson.manifest;
        let won: u32 = m
            .exercises
            .iter()
            .filter(|e| progress.state(&e.id) == "right")
            .map(|e| e.points)
            .sum();
        (points, of) = (points + won, of + m.points());
        let head = format!("Lesson {} · {}", m.lesson, m.title);
        out.push_str(&format!("\n{}   {} minutes\n\n", ink.bold(&head), m.minutes));
        for e in &m.exercises {
            let state = match progress.state(&e.id) {
                "right" => ink.green("right  "),
                "wrong" => ink.red("wrong  "),
                "not run" => ink.yellow("not run"),
                _ => ink.blue("to do  "),
            };
            let hints = match progress.hints.get(&e.id) {
                Some(n) => format!("  {n} of {} hints seen", e.hints.len()),
                None => String::new(),
            };
            out.push_str(&format!(
                "  {:<5}{:<36}{state}  {} point{}{hints}\n",
                e.id,
                e.title,
                e.points,
                if e.points == 1 { " " } else { "s" }
            ));
        }
    }
    out.push_str(&format!("\n{points} of {of} points, as the last runs showed.\n"));
    match lessons::next(lessons, progress) {
        Some((_, e)) => out.push_str(&format!("Next: {} {}   (cargo course next)\n", e.id, e.title)),
        None => out.push_str("All exercises are right.\n"),
    }
    out
}

/// The next exercise: what is asked, and where it is written, checked and explained.
pub fn next(lessons: &[Lesson], progress: &Progress, ink: Ink) -> String {
    let Some((lesson, e)) = lessons::next(lessons, progress) else {
        return "All exercises are right.\n".into();
    };
    let m = &lesson.manifest;
    let mut out = format!("{}\n\n", ink.bold(&format!("{} {}", e.id, e.title)));
    for line in wrap(&asked(&lesson.stubs, &e.function), 76) {
        out.push_str(&format!("  {line}\n"));
    }
    let file = place::exercises(&m.lesson);
    out.push_str(&format!("\n  write  `{}` in {file}\n", e.function));
    out.push_str(&format!("  check  cargo test -p lesson{} {}\n", m.lesson, e.id));
    out.push_str(&format!("  hint   cargo course hint {}\n", e.id));
    out.push_str(&format!("  read   book/src/{}#{}\n", m.chapter, e.anchor()));
    out
}
