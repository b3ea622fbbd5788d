//! The page of a class: its table, and the exercises and checks that fail most.

use grader::grades::Status;

use super::super::{Class, Entry, clean, mark, sheets, state, table::median};
use super::{document, span};
use clean::markup;

const SORT: &str = include_str!("sort.js");

/// Returns the page.
pub fn class(class: &Class) -> String {
    let mut body = head(class);
    body.push_str(&table(class));
    body.push_str(&exercises(class));
    body.push_str(&checks(class));
    document("Marks", &body, SORT)
}

fn head(class: &Class) -> String {
    let mut marks: Vec<f64> = class.entries.iter().filter_map(|e| mark(&e.grade)).collect();
    marks.sort_by(f64::total_cmp);
    let mut versions = class.entries.iter().map(|e| &*e.grade.course.version);
    // A grade that cannot be read has none.
    let version = versions.find(|v| !v.is_empty()).unwrap_or_default();
    let mut out = format!(
        "<p class=\"kicker\">Canopy {}</p>\n<h1>Marks</h1>\n<div class=\"result part\">\n",
        markup(version)
    );
    out.push_str(&format!(
        "<p class=\"big\">{}</p>\n<div>\n",
        clean::points(median(&marks))
    ));
    let of = class.lessons().iter().map(|l| l.2).sum::<u32>();
    out.push_str(&format!(
        "<p class=\"lead\">median of {of} points</p>\n<p>{}",
        clean::counted(class.entries.len(), "submission")
    ));
    if let (Some(least), Some(most)) = (marks.first(), marks.last()) {
        out.push_str(&format!(
            ", marks {} to {}",
            clean::points(*least),
            clean::points(*most)
        ));
    }
    let without = class.entries.len() - marks.len();
    if without > 0 {
        out.push_str(&format!(", {without} without a mark"));
    }
    out + ".</p>\n</div>\n</div>\n"
}

/// A column head that sorts the table, with a text for screen readers.
fn column(name: &str, number: bool) -> String {
    let class = if number { " class=\"number\"" } else { "" };
    format!(
        "<th scope=\"col\"{class}><button type=\"button\">{}</button></th>",
        markup(name)
    )
}

fn table(class: &Class) -> String {
    let exercises = class.exercises();
    let mut out = String::from(
        "<section>\n<h2>Submissions</h2>\n<div class=\"scroll\">\n<table class=\"sort\">\n<thead><tr>",
    );
    out.push_str(&column("student", false));
    for (id, ..) in &exercises {
        out.push_str(&column(id, true));
    }
    for name in ["points", "late %", "mark"] {
        out.push_str(&column(name, true));
    }
    out.push_str(&column("state", false));
    out.push_str("</tr></thead>\n<tbody>\n");
    for entry in &class.entries {
        out.push_str(&row(entry, &exercises));
    }
    out + "</tbody>\n</table>\n</div>\n<p class=\"soft legend\">A number: points won · ✗ wrong · ○ to do · ? not run</p>\n</section>\n"
}

fn row(entry: &Entry, exercises: &[(String, String, u32)]) -> String {
    let grade = &entry.grade;
    let name = markup(&clean::cut(grade.name(), 34));
    let mut out = format!(
        "<tr><th scope=\"row\"><a href=\"{}/grade.html\" title=\"{}\">{name}</a></th>",
        clean::step(&entry.folder),
        markup(&clean::cut(&entry.folder, 200))
    );
    for (id, ..) in exercises {
        out.push_str(&match grade.exercises().find(|e| e.id == *id) {
            Some(e) => {
                let state = state(e);
                // A sign, because not everyone can distinguish red from green.
                let shown = match state {
                    "right" => e.points.to_string(),
                    "wrong" => "✗".into(),
                    "not run" => "?".into(),
                    _ => "○".into(),
                };
                let title = markup(&format!("{}: {state}", clean::line(&e.title)));
                let class = state.replace(' ', "-");
                format!(
                    "<td class=\"number {class}\" data-sort=\"{}\" title=\"{title}\">{shown}</td>",
                    e.points
                )
            }
            None => "<td class=\"number\"></td>".into(),
        });
    }
    let (points, shown) = match mark(grade) {
        Some(mark) => (grade.points().to_string(), clean::points(mark)),
        None => Default::default(),
    };
    let late = match (&grade.late, &grade.origin.late_unknown) {
        (Some(l), _) => format!(
            "<span title=\"{} late\">{}</span>",
            span(l.seconds),
            clean::points(l.percent)
        ),
        (None, Some(why)) => format!("<span title=\"{}\">unknown</span>", markup(&clean::line(why))),
        (None, None) => String::new(),
    };
    out.push_str(&format!(
        "<td class=\"number\">{points}</td><td class=\"number\">{late}</td><td class=\"number\"><b>{shown}</b></td>"
    ));
    let stopped = grade.lessons.iter().any(|l| l.stopped.is_some());
    let word = match grade.status {
        Status::Graded if stopped => "stopped",
        Status::Graded if grade.of() > 0 && grade.points() == grade.of() => "full",
        Status::Graded => "part",
        other => sheets::status(other),
    };
    let why = markup(&sheets::why(grade));
    out + &format!("<td title=\"{why}\">{word}</td></tr>\n")
}

/// For each exercise, how many of the graded submissions solved it.
fn exercises(class: &Class) -> String {
    let mut out = String::from(
        "<section>\n<h2>Exercises</h2>\n<div class=\"scroll\">\n<table class=\"sort bars\">\n<thead><tr>",
    );
    for (name, number) in [
        ("exercise", false),
        ("won", true),
        ("wrong", true),
        ("to do", true),
        ("not run", true),
    ] {
        out.push_str(&column(name, number));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (id, title, _) in class.exercises() {
        let states: Vec<&str> = graded(class)
            .flat_map(|e| e.grade.exercises())
            .filter(|e| e.id == id)
            .map(state)
            .collect();
        let count = |word: &str| states.iter().filter(|s| **s == word).count();
        let name = format!("{} {}", markup(&clean::line(&id)), markup(&clean::line(&title)));
        out.push_str(&format!(
            "<tr><th scope=\"row\">{name}</th>{}",
            bar(count("right"), states.len(), "right")
        ));
        for word in ["wrong", "to do", "not run"] {
            out.push_str(&format!("<td class=\"number\">{}</td>", count(word)));
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody>\n</table>\n</div>\n</section>\n"
}

fn graded(class: &Class) -> impl Iterator<Item = &Entry> {
    class.entries.iter().filter(|e| e.grade.status == Status::Graded)
}

/// A count with its percentage as a bar, by which the column is sorted.
fn bar(count: usize, all: usize, class: &str) -> String {
    let share = if all == 0 {
        0.0
    } else {
        100.0 * count as f64 / all as f64
    };
    format!(
        "<td class=\"number bar {class}\" data-sort=\"{share:.2}\" style=\"--s:{share:.0}%\">{count} of {all}</td>"
    )
}

/// Checks ordered by the number of wrong answers that they found.
fn checks(class: &Class) -> String {
    let mut counts: Vec<(String, String, usize, usize)> = Vec::new();
    for e in graded(class).flat_map(|e| e.grade.exercises()) {
        for c in &e.checks {
            let at = counts
                .iter()
                .position(|k| k.0 == e.id && k.1 == c.name)
                .unwrap_or_else(|| {
                    counts.push((e.id.clone(), c.name.clone(), 0, 0));
                    counts.len() - 1
                });
            // Only answers that were written count, not stubs.
            counts[at].2 += usize::from(c.word == "wrong");
            counts[at].3 += usize::from(c.word == "wrong" || c.word == "right");
        }
    }
    counts.retain(|c| c.2 > 0);
    counts.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| (&a.0, &a.1).cmp(&(&b.0, &b.1))));
    let mut out = String::from("<section>\n<h2>Most frequent errors</h2>\n");
    if counts.is_empty() {
        return out + "<p>No check found a wrong answer.</p>\n</section>\n";
    }
    out.push_str("<p>How many of the written answers each check found wrong.</p>\n");
    out.push_str("<div class=\"scroll\">\n<table class=\"sort bars\">\n<thead><tr>");
    out.push_str(&column("check", false));
    out.push_str(&column("found wrong", true));
    out.push_str("</tr></thead>\n<tbody>\n");
    for (id, name, wrong, all) in counts.iter().take(40) {
        let name = markup(&clean::cut(&name.replace('_', " "), 120));
        let id = markup(&clean::line(id));
        out.push_str(&format!(
            "<tr><th scope=\"row\">{id} {name}</th>{}</tr>\n",
            bar(*wrong, *all, "wrong")
        ));
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
    out + "</section>\n"
}
