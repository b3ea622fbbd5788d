//! The table of a class for a terminal of 80 columns.

use grader::{
    grades::{Grade, Status},
    table::{Cell, Table, count, left},
    tell::WIDTH,
};

use super::{Class, clean, mark, won};

/// One line per submission: name, points by lesson, all points, penalty, mark.
pub fn table(class: &Class) -> String {
    let lessons = class.lessons();
    let head = lessons.iter().map(|l| count(clean::cut(&l.lesson, 2)));
    let rest = [count("points"), count("late"), count("mark"), left("state")];
    let mut table = Table::new([left("student")].into_iter().chain(head).chain(rest));
    // The other columns take at most 4 for a lesson, and 36.
    let width = (WIDTH - 36).saturating_sub(4 * lessons.len()).max(12);
    for entry in &class.entries {
        let grade = &entry.grade;
        let mut row: Vec<Cell> = vec![clean::cut(grade.name(), width).into()];
        row.extend(lessons.iter().map(|lesson| {
            let mut own = grade.lessons.iter().filter(|l| l.lesson == lesson.lesson);
            Cell::from(own.next().map(won))
        }));
        let late = grade.late.as_ref().map(|late| late.percent);
        let late = late.map(|percent| format!("−{} %", clean::points(percent)));
        let unknown = grade.origin.late_unknown.as_ref().map(|_| "?".to_owned());
        let points = mark(grade).map(|_| format!("{}/{}", grade.points(), grade.of()));
        row.extend([points.into(), Cell::from(late.or(unknown).unwrap_or_default())]);
        row.extend([mark(grade).map(clean::points).into(), word(grade).into()]);
        table.row(row);
    }
    let mut origins = class.entries.iter().map(|e| &e.grade.origin);
    let unknown = origins.any(|origin| origin.late_unknown.is_some());
    let note = "\n?: lateness is unknown; the column `submitted` of a roster for grading sets it\n";
    let note = if unknown { note } else { "" };
    format!("{}{note}\n{}\n", table.text(), summary(class))
}

/// The state of a submission.
pub fn word(grade: &Grade) -> &'static str {
    match grade.status {
        Status::Graded if grade.lessons.iter().any(|l| l.stopped.is_some()) => "stopped",
        Status::Graded if grade.of() > 0 && grade.points() == grade.of() => "full",
        Status::Graded => "part",
        Status::Unreadable => "no mark",
        Status::Refused => "refused",
        Status::NotGraded => "ungraded",
    }
}

/// The number of submissions, and the range of their marks.
pub fn summary(class: &Class) -> String {
    let mut marks: Vec<f64> = class.entries.iter().filter_map(|e| mark(&e.grade)).collect();
    marks.sort_by(f64::total_cmp);
    let plural = if class.entries.len() == 1 { "" } else { "s" };
    let mut out = format!("{} submission{plural}", class.entries.len());
    if let (Some(least), Some(most)) = (marks.first(), marks.last()) {
        let median = (marks[(marks.len() - 1) / 2] + marks[marks.len() / 2]) / 2.0;
        let [least, median, most] = [*least, median, *most].map(clean::points);
        out.push_str(&format!("; marks {least} to {most}, median {median}"));
    }
    match class.entries.len() - marks.len() {
        0 => out,
        without => format!("{out}; {without} without a mark"),
    }
}
