//! The panels: hints, the list, help, a solution.

use grader::{paths, tell};
use ratatui::{
    style::Modifier,
    text::{Line, Span},
};

use super::{
    ansi,
    draw::{Theme, ends, sign},
    pages::Lines,
    state::{Panel, Watch},
};
use crate::lessons;

/// Title of the panel.
pub fn title(watch: &Watch) -> String {
    let e = watch.exercise();
    match watch.panel {
        Panel::Hint => format!(
            "{} {}: {} of {} hints",
            e.id,
            e.title,
            watch.hints(),
            e.hints.len()
        ),
        Panel::List => "Exercises".into(),
        Panel::Help => "Help".into(),
        Panel::Solution(_) => format!("{} {}: canopy's own", e.id, e.title),
        Panel::None | Panel::Reset => String::new(),
    }
}

/// Lines of the panel, and the line that must be visible, if any.
pub fn panel(watch: &Watch, theme: Theme, width: usize) -> (Lines, Option<usize>) {
    match &watch.panel {
        Panel::Hint => (hints(watch, theme, width), None),
        Panel::List => list(watch, theme, width),
        Panel::Help => (help(watch, theme), None),
        Panel::Solution(text) => (ansi::lines(text), None),
        Panel::None | Panel::Reset => (Lines::new(), None),
    }
}

fn hints(watch: &Watch, theme: Theme, width: usize) -> Lines {
    let e = watch.exercise();
    let mut lines = Lines::new();
    for (i, hint) in e.hints.iter().take(watch.hints()).enumerate() {
        let tier = ["A question", "A pointer", "Nearly the code"]
            .get(i)
            .copied()
            .unwrap_or("One more");
        lines.push(Line::styled(tier, theme.accent()));
        lines.extend(tell::paragraphs(hint, width).into_iter().map(Line::raw));
        lines.push(Line::default());
    }
    if watch.hints() >= e.hints.len() {
        lines.push(Line::raw(crate::no_more_hints(e)));
        lines.push(Line::default());
    }
    lines.push(Line::styled(
        if watch.hints() < e.hints.len() {
            "h: next hint   Esc: back"
        } else {
            "Esc: back"
        },
        theme.faint(),
    ));
    lines
}

fn list(watch: &Watch, theme: Theme, width: usize) -> (Lines, Option<usize>) {
    let (mut lines, mut follow) = (Lines::new(), None);
    for (at, (l, e)) in watch.all().into_iter().enumerate() {
        let m = &watch.lessons[l].manifest;
        if e == 0 {
            let (won, of) = lessons::points(m, &watch.progress);
            let title = Span::styled(format!("{} {}", m.lesson, m.title), theme.bold());
            lines.push(ends(
                vec![title],
                vec![Span::styled(format!("{won}/{of}"), theme.faint())],
                width,
            ));
        }
        let e = &m.exercises[e];
        let word = watch.progress.state(&e.id);
        let left = vec![
            Span::styled(format!("  {} ", sign(word)), theme.state(word)),
            Span::raw(format!("{:<5}{}", e.id, e.title)),
        ];
        let mut line = ends(left, vec![Span::styled(word, theme.state(word))], width);
        if at == watch.cursor {
            line = line.patch_style(theme.bold().add_modifier(Modifier::REVERSED));
            follow = Some(lines.len());
        }
        lines.push(line);
    }
    (lines, follow)
}

fn help(watch: &Watch, theme: Theme) -> Lines {
    let keys = [
        ("save", "save a file of the lesson to check it"),
        ("h", "show a hint; press again for the next one"),
        ("Enter", "if this one is right, go to the next one that is not"),
        ("n p", "go to the next exercise, to the previous one"),
        ("l", "list all exercises; choose with arrows and Enter"),
        ("o", "show canopy's own solution, if this one is right"),
        ("r", "restore the empty function, if you confirm it"),
        ("c", "check now, with fresh inputs"),
        ("↑ ↓", "scroll; also j k, PgUp PgDn"),
        ("Esc", "close the panel"),
        ("q", "quit; so does Ctrl-C"),
    ];
    let mut lines: Lines = keys
        .iter()
        .map(|(key, what)| {
            Line::from(vec![
                Span::styled(format!("{key:<9}"), theme.accent()),
                Span::raw(*what),
            ])
        })
        .collect();
    let m = &watch.lesson().manifest;
    lines.extend([
        Line::default(),
        Line::raw(format!("You write in {}", paths::exercises(&m.lesson))),
        Line::raw(format!(
            "The chapter: book/src/{}#{}",
            m.chapter,
            watch.exercise().anchor()
        )),
        Line::raw(format!(
            "The same without this screen: cargo course check {}",
            watch.exercise().id
        )),
    ]);
    lines
}
