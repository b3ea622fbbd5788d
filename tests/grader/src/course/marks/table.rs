//! The class in a terminal of 80 columns.

use grader::{
    grades::{Grade, Status},
    tell::{Ink, WIDTH},
};

use super::{Class, clean, mark, state};

/// One line a submission: its name, each exercise in a letter or by points, points, lateness, mark.
pub fn table(class: &Class, ink: Ink) -> String {
    let exercises = class.exercises();
    // Points, lateness, mark and the state take 34 columns; the exercises as many as fit beside a name of 20.
    let wide = exercises.len() * 2 <= 24;
    let marks = if wide { exercises.len() * 2 } else { 0 };
    let name = WIDTH - 34 - marks;
    let head: String = match wide {
        true => exercises.iter().map(|(id, ..)| last(id)).collect(),
        false => String::new(),
    };
    let title = format!(
        "{:<name$}{head:<marks$}  {:>9}{:>7}{:>7}  state",
        "submission", "points", "late", "mark"
    );
    let mut out = format!("{}\n", ink.bold(&title));
    for entry in &class.entries {
        let grade = &entry.grade;
        out.push_str(&format!("{:<name$}", clean::cut(&entry.folder, name - 2)));
        if wide {
            for (id, ..) in &exercises {
                out.push_str(&sign(grade, id, ink));
            }
        }
        out.push_str(&numbers(grade));
        out.push_str(&format!("  {}\n", word(grade, ink)));
    }
    if wide && !exercises.is_empty() {
        out.push_str(&ink.faint("\n+ right  x wrong  . to do  ? not run\n"));
    }
    out.push_str(&summary(class));
    out
}

/// What follows the dot of an exercise's name, in two columns: with one lesson, that is enough to tell them apart.
fn last(id: &str) -> String {
    let part = id.rsplit('.').next().unwrap_or(id);
    format!("{:<2}", clean::cut(part, 2))
}

fn sign(grade: &Grade, id: &str, ink: Ink) -> String {
    let found = grade.exercises().find(|e| e.id == id);
    match found.map(state) {
        Some("right") => ink.green("+ "),
        Some("wrong") => ink.red("x "),
        Some("not run") => ink.yellow("? "),
        Some(_) => ink.blue(". "),
        None => "  ".into(),
    }
}

fn numbers(grade: &Grade) -> String {
    let Some(mark) = mark(grade) else {
        return format!("  {:>9}{:>7}{:>7}", "–", "", "–");
    };
    let points = format!("{}/{}", grade.points(), grade.of());
    let late = grade
        .late
        .as_ref()
        .map_or_else(String::new, |l| format!("−{} %", clean::points(l.percent)));
    format!("  {points:>9}{late:>7}{:>7}", clean::points(mark))
}

fn word(grade: &Grade, ink: Ink) -> String {
    let stopped = grade.lessons.iter().any(|l| l.stopped.is_some());
    match grade.status {
        Status::Graded if stopped => ink.yellow("stopped"),
        Status::Graded if grade.of() > 0 && grade.points() == grade.of() => ink.green("full"),
        Status::Graded => "part".into(),
        Status::Unreadable => ink.red("unread"),
        Status::Refused => ink.red("refused"),
    }
}

fn summary(class: &Class) -> String {
    let mut marks: Vec<f64> = class.entries.iter().filter_map(|e| mark(&e.grade)).collect();
    marks.sort_by(f64::total_cmp);
    let without = class.entries.len() - marks.len();
    let mut out = format!("\n{} submissions", class.entries.len());
    if let (Some(least), Some(most)) = (marks.first(), marks.last()) {
        let [least, middle, most] = [*least, median(&marks), *most].map(clean::points);
        out.push_str(&format!("; marks {least} to {most}, median {middle}"));
    }
    if without > 0 {
        out.push_str(&format!("; {without} without a mark"));
    }
    out + "\n"
}

/// Of sorted numbers; 0 of none.
pub fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        n if n.is_multiple_of(2) => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
        n => sorted[n / 2],
    }
}
