//! The table of a class for a terminal of 80 columns.

use grader::{
    grades::{Grade, Status},
    tell::{Ink, WIDTH},
};

use super::{Class, clean, mark, state};

/// One line per submission: name, a sign for each exercise, points, penalty, mark.
pub fn table(class: &Class, ink: Ink) -> String {
    let signs = signs(class);
    let width: usize = signs.iter().map(|(_, ids)| ids.len().max(2) + 1).sum();
    // Points, penalty, mark and state take 34 columns, a name at least 20; signs are shown if they fit.
    let shown = width <= WIDTH - 54;
    let name = WIDTH - 34 - if shown { width } else { 0 };
    let mut title = format!("{:<name$}", "student");
    if shown {
        for (lesson, ids) in &signs {
            title.push_str(&format!("{:<1$}", clean::cut(lesson, 2), ids.len().max(2) + 1));
        }
    }
    title.push_str(&format!(" {:>9}{:>7}{:>7}  state", "points", "late", "mark"));
    let mut out = format!("{}\n", ink.bold(&title));
    for entry in &class.entries {
        let grade = &entry.grade;
        out.push_str(&clean::padded(grade.name(), name));
        for (_, ids) in signs.iter().filter(|_| shown) {
            for id in ids {
                out.push_str(&sign(grade, id, ink));
            }
            out.push_str(if ids.len() < 2 { "  " } else { " " });
        }
        out.push_str(&numbers(grade));
        let word = word(grade);
        let word = match word {
            "full" => ink.green(word),
            "part" => word.into(),
            "stopped" => ink.yellow(word),
            _ => ink.red(word),
        };
        out.push_str(&format!("  {word}\n"));
    }
    if shown && width > 0 {
        out.push_str(&ink.faint("\n+ right  x wrong  . to do  ? not run\n"));
    }
    if class
        .entries
        .iter()
        .any(|e| e.grade.origin.late_unknown.is_some())
    {
        out.push_str(
            &ink.faint("? as penalty: lateness is unknown; the roster's column `submitted` sets it\n"),
        );
    }
    out.push_str(&format!("\n{}\n", summary(class)));
    out
}

/// The exercises of each lesson, in order; their signs are below the number of the lesson.
fn signs(class: &Class) -> Vec<(String, Vec<String>)> {
    let exercises = class.exercises();
    let of = |lesson: &str, id: &str| {
        let mut all = class.entries.iter().flat_map(|e| &e.grade.lessons);
        all.any(|l| l.lesson == lesson && l.exercises.iter().any(|e| e.id == id))
    };
    let lessons = class.lessons().into_iter().map(|(lesson, ..)| {
        let ids = exercises.iter().map(|(id, ..)| id).filter(|id| of(&lesson, id));
        (lesson.clone(), ids.cloned().collect())
    });
    lessons.collect()
}

fn sign(grade: &Grade, id: &str, ink: Ink) -> String {
    let found = grade.exercises().find(|e| e.id == id);
    match found.map(state) {
        Some("right") => ink.green("+"),
        Some("wrong") => ink.red("x"),
        Some("not run") => ink.yellow("?"),
        Some(_) => ink.blue("."),
        None => " ".into(),
    }
}

fn numbers(grade: &Grade) -> String {
    let Some(mark) = mark(grade) else {
        return format!(" {:>9}{:>7}{:>7}", "–", "", "–");
    };
    let points = format!("{}/{}", grade.points(), grade.of());
    let late = match &grade.late {
        Some(late) => format!("−{} %", clean::points(late.percent)),
        None => grade.origin.late_unknown.as_ref().map_or("", |_| "?").to_owned(),
    };
    format!(" {points:>9}{late:>7}{:>7}", clean::points(mark))
}

/// The state of a submission.
pub fn word(grade: &Grade) -> &'static str {
    let stopped = grade.lessons.iter().any(|l| l.stopped.is_some());
    match grade.status {
        Status::Graded if stopped => "stopped",
        Status::Graded if grade.of() > 0 && grade.points() == grade.of() => "full",
        Status::Graded => "part",
        Status::Unreadable => "no mark",
        Status::Refused => "refused",
        Status::NotGraded => "ungraded",
    }
}

/// The marks of a class, sorted.
pub fn marks(class: &Class) -> Vec<f64> {
    let mut marks: Vec<f64> = class.entries.iter().filter_map(|e| mark(&e.grade)).collect();
    marks.sort_by(f64::total_cmp);
    marks
}

/// The number of submissions, and the range of their marks.
pub fn summary(class: &Class) -> String {
    let marks = marks(class);
    let without = class.entries.len() - marks.len();
    let mut out = clean::counted(class.entries.len(), "submission");
    if let (Some(least), Some(most)) = (marks.first(), marks.last()) {
        let [least, middle, most] = [*least, median(&marks), *most].map(clean::points);
        out.push_str(&format!("; marks {least} to {most}, median {middle}"));
    }
    if without > 0 {
        out.push_str(&format!("; {without} without a mark"));
    }
    out
}

/// Median of sorted numbers, 0 if there are none.
pub fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        n if n.is_multiple_of(2) => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
        n => sorted[n / 2],
    }
}
