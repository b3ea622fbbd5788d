//! The parts of the screen other than panels: the verdict, the bottom line, the keys.

use std::time::{Duration, Instant};

use grader::{Exercise, contract, grades::CheckGrade, paths};
use ratatui::{
    style::Modifier,
    text::{Line, Span},
};

use super::{
    ansi,
    build::Location,
    draw::{Theme, ends, sign, turning},
    run::End,
    state::{Check, Panel, Watch},
};

pub type Lines = Vec<Line<'static>>;

/// The exercise, its checks, and the report of the first check that fails.
pub fn verdict(watch: &Watch, theme: Theme, width: usize, roomy: bool, now: Instant) -> Lines {
    let e = watch.exercise();
    let title = Span::styled(format!("{} {}", e.id, e.title), theme.bold());
    let points = format!("   {} point{}", e.points, if e.points == 1 { "" } else { "s" });
    let mut left = vec![title];
    if width >= 60 {
        left.push(Span::styled(points, theme.faint()));
    }
    let (end, took) = match &watch.check {
        Check::Running(_) => (watch.before.as_ref(), None),
        Check::Ended(end, took) => (Some(end), Some(*took)),
    };
    let word = end.map_or("to do", |end| word(watch, end));
    let badge = match turning(watch, now) {
        Some((sign, took)) => {
            let what = match watch.doing.as_str() {
                "" => "checking".to_owned(),
                name => format!("compiling {name}"),
            };
            Span::styled(format!("{sign} {what} {took:.1} s"), theme.accent())
        }
        None => {
            let style = theme.state(if word.len() > 7 { "wrong" } else { word });
            Span::styled(
                format!(" {} ", word.to_uppercase()),
                style.add_modifier(Modifier::REVERSED | Modifier::BOLD),
            )
        }
    };
    let took = took.map_or(String::new(), |t| format!("  {}", seconds(t)));
    let mut lines = vec![ends(left, vec![badge, Span::styled(took, theme.faint())], width)];
    if roomy {
        lines.push(Line::default());
    }
    let mut rest = match end {
        None => task(watch, theme),
        Some(_) if word == "to do" => task(watch, theme),
        Some(end) => ended(watch, theme, end, roomy),
    };
    // Results from before the last change are faint.
    if matches!(watch.check, Check::Running(_)) {
        rest = rest.into_iter().map(|l| l.patch_style(theme.faint())).collect();
    }
    lines.extend(rest);
    lines
}

fn word(watch: &Watch, end: &End) -> &'static str {
    match end {
        End::Checked { results, .. } => {
            let words: Vec<&str> = results
                .exercises
                .iter()
                .flat_map(|e| &e.checks)
                .map(|c| c.word.as_str())
                .collect();
            let worst = ["wrong", "to do", "not run"]
                .into_iter()
                .find(|w| words.contains(w));
            worst.unwrap_or("right")
        }
        End::Broken { location, .. } if other(watch, location).is_some() => "not checked",
        End::Broken { .. } => "does not compile",
        End::Failed(_) => "not checked",
    }
}

fn ended(watch: &Watch, theme: Theme, end: &End, roomy: bool) -> Lines {
    match end {
        End::Checked { results, printed } => {
            let checks: Vec<&CheckGrade> = results.exercises.iter().flat_map(|e| &e.checks).collect();
            let mut lines = checked(&checks, theme, roomy);
            lines.extend(details(&checks, roomy));
            match word(watch, end) {
                "right" => lines.extend(onward(watch, theme)),
                "wrong" => lines.push(Line::styled(format!("seed {}", results.seed), theme.faint())),
                _ => {}
            }
            lines.extend(printed_lines(printed, theme));
            lines
        }
        End::Broken {
            first,
            others,
            location,
        } => broken(watch, theme, first, others, location),
        End::Failed(why) => ansi::lines(why),
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

/// What the exercise requires, and where to write it.
fn task(watch: &Watch, theme: Theme) -> Lines {
    let e = watch.exercise();
    let doc = contract(&watch.lesson().stubs, &e.function);
    let mut lines: Lines = paragraphs(&doc)
        .into_iter()
        .flat_map(|p| [Line::raw(p), Line::default()])
        .collect();
    let file = paths::exercises(&watch.lesson().manifest.lesson);
    lines.push(Line::from(vec![
        Span::raw("Write "),
        Span::styled(format!("`{}`", e.function), theme.accent()),
        Span::raw(format!(" in {file}. Saving starts the check.")),
    ]));
    lines
}

/// The paragraphs of a doc comment, each as one line.
fn paragraphs(doc: &[String]) -> Vec<String> {
    let parts = doc.split(|l| l.is_empty()).filter(|p| !p.is_empty());
    parts.map(|p| p.join(" ")).collect()
}

/// The checks with their names; in a low window only their signs.
fn checked(checks: &[&CheckGrade], theme: Theme, roomy: bool) -> Lines {
    let mark = |c: &CheckGrade| Span::styled(sign(&c.word), theme.state(&c.word));
    if !roomy {
        let signs = checks.iter().flat_map(|c| [mark(c), Span::raw(" ")]);
        let right = checks.iter().filter(|c| c.word == "right").count();
        let count = Span::styled(format!(" {right} of {} checks", checks.len()), theme.faint());
        return vec![Line::from(signs.chain([count]).collect::<Vec<_>>())];
    }
    let line = |c: &&CheckGrade| {
        Line::from(vec![
            Span::raw("  "),
            mark(c),
            Span::raw(format!(" {}", c.name.replace('_', " "))),
        ])
    };
    checks.iter().map(line).chain([Line::default()]).collect()
}

/// The report of the grader without what the screen shows itself: the title, the command for a hint, and in a low window
/// the task.
fn details(checks: &[&CheckGrade], roomy: bool) -> Lines {
    let report = checks
        .iter()
        .map(|c| c.report.as_str())
        .find(|t| !t.is_empty())
        .unwrap_or_default();
    let mut label = "";
    let mut kept = Vec::new();
    for line in report.lines().skip(1) {
        if let Some(rest) = line.strip_prefix("    ").filter(|r| !r.starts_with(' ')) {
            label = rest.split(' ').next().unwrap_or_default();
        }
        if label != "hint" && (roomy || label != "asked") {
            kept.push(line);
        }
    }
    ansi::lines(&kept.join("\n"))
}

fn onward(watch: &Watch, theme: Theme) -> Lines {
    let key =
        |k: &str, what: String| Line::from(vec![Span::styled(k.to_owned(), theme.accent()), Span::raw(what)]);
    let mut lines = vec![Line::styled(
        "Right: every check passes.",
        theme.state("right").add_modifier(Modifier::BOLD),
    )];
    lines.push(Line::default());
    match watch.next_open() {
        Some((l, e)) => {
            let next = &watch.lessons[l].manifest.exercises[e];
            lines.push(key("Enter", format!("  go on to {} {}", next.id, next.title)));
        }
        None => lines.push(Line::raw("This was the last one: all exercises are right.")),
    }
    lines.push(key("o", "      show canopy's own solution".into()));
    let lesson = &watch.lesson().manifest;
    if watch.points().0 == lesson.points() {
        lines.push(Line::default());
        lines.push(Line::raw(format!(
            "Lesson {0} is done. See your code at work: cargo run -p lesson{0}",
            lesson.lesson
        )));
    }
    lines
}

fn printed_lines(printed: &str, theme: Theme) -> Lines {
    if printed.is_empty() {
        return Lines::new();
    }
    let all = ansi::lines(printed);
    let skipped = all.len().saturating_sub(200);
    let mut lines = vec![Line::default(), Line::styled("Your code printed", theme.bold())];
    if skipped > 0 {
        lines.push(Line::styled(
            format!("  … {skipped} lines before these"),
            theme.faint(),
        ));
    }
    lines.extend(all.into_iter().skip(skipped));
    lines
}

/// The exercise with the error, if it is another one.
fn other<'a>(watch: &'a Watch, location: &Location) -> Option<&'a Exercise> {
    let Location::Function(name) = location else {
        return None;
    };
    let current = watch.exercise();
    let of = |e: &&Exercise| e.function == *name || e.looks_at.values().any(|f| f == name);
    let exercise = watch.lesson().manifest.exercises.iter().find(of);
    exercise.filter(|e| e.id != current.id)
}

fn broken(watch: &Watch, theme: Theme, first: &str, others: &[String], location: &Location) -> Lines {
    let mut lines = Lines::new();
    if let Some(other) = other(watch, location) {
        lines.push(Line::raw(format!(
            "{} {} does not compile. Until it does, no exercise of this lesson can be checked.",
            other.id, other.title
        )));
        lines.push(Line::default());
    }
    if *location == Location::Elsewhere {
        let function = &watch.exercise().function;
        let file = paths::exercises(&watch.lesson().manifest.lesson);
        lines.push(Line::raw(format!(
            "The error is outside {file}: the name, the arguments and the result of a function must not change. Perhaps \
             those of `{function}` were changed; r restores it."
        )));
        lines.push(Line::default());
    }
    lines.extend(ansi::lines(first.trim_end()));
    if !others.is_empty() {
        lines.push(Line::default());
        lines.push(Line::styled(format!("and {} more:", others.len()), theme.bold()));
        lines.extend(others.iter().take(9).map(|o| Line::raw(format!("  {o}"))));
    }
    lines
}

/// The bottom line: a question, a message, or the file that is watched.
pub fn foot(watch: &Watch, theme: Theme, width: usize) -> Line<'static> {
    let (text, style) = if watch.panel == Panel::Reset {
        let question = format!(
            " Restore the empty `{}`? A copy of yours is kept.  y / n",
            watch.exercise().function
        );
        (question, theme.state("not run").add_modifier(Modifier::BOLD))
    } else if !watch.note.is_empty() {
        (format!(" {}", watch.note), theme.state("not run"))
    } else {
        (
            format!(" watching {}", paths::exercises(&watch.lesson().manifest.lesson)),
            theme.faint(),
        )
    };
    ends(vec![Span::styled(text, style)], Vec::new(), width)
}

/// The keys that have an effect now, as many as fit.
pub fn keys(watch: &Watch, theme: Theme, width: usize) -> Line<'static> {
    let right = watch.is_right();
    let hint = match (&watch.panel, watch.hints()) {
        (Panel::Hint, _) => "one more",
        (_, 0) => "hint",
        _ => "hints",
    };
    let mut all = match watch.panel {
        Panel::Reset => vec![("y", "yes"), ("n", "no")],
        Panel::List => vec![("↑↓", "move"), ("Enter", "choose"), ("Esc", "back")],
        Panel::None => Vec::new(),
        _ => vec![("Esc", "back")],
    };
    if !matches!(watch.panel, Panel::Reset | Panel::List) {
        all.extend([
            ("h", hint),
            ("n", "next"),
            ("l", "list"),
            ("?", "help"),
            ("q", "quit"),
        ]);
        all.extend([("c", "check"), ("p", "previous"), ("r", "reset")]);
        if right || watch.progress.given_up.contains(&watch.exercise().id) {
            all.insert(all.len() - 5, ("o", "solution"));
        }
    }
    let (mut spans, mut used) = (Vec::new(), 0);
    for (key, what) in all {
        let wide = key.chars().count() + what.len() + 4;
        if used + wide > width {
            continue;
        }
        used += wide;
        spans.push(Span::styled(
            format!(" {key} "),
            theme.accent().add_modifier(Modifier::BOLD),
        ));
        spans.push(Span::raw(format!("{what}  ")));
    }
    Line::from(spans)
}
