//! What `cargo course grade` prints when it ends: a table of the class, and remarks below it, within 80 columns.

use std::collections::BTreeSet;

use grader::{
    grades::Grade,
    tell::{heading, wrap},
};

use crate::marks::{clean, mark, status, why};

pub fn text(grades: &[Grade]) -> String {
    let mut out = heading(&format!("{:<40}{:>10}   state", "student", "points"));
    let mut remarks = BTreeSet::new();
    for grade in grades {
        let points = mark(grade).map(|_| format!("{} of {}", grade.points(), grade.of()));
        let (name, points) = (clean::cut(grade.name(), 38), points.unwrap_or_default());
        out += &format!("{name:<40}{points:>10}   {}\n", status(grade));
        let calls = grade.exercises().filter_map(|e| e.remark.clone());
        let whys = calls.chain([why(grade)]).filter(|why| !why.is_empty());
        remarks.extend(whys.map(|why| format!("{}: {why}", grade.name())));
        let missing = grade.sandbox.missing.iter();
        remarks.extend(missing.map(|part| format!("missing in the sandbox: {part}")));
    }
    out.push('\n');
    let lines = remarks.iter().flat_map(|remark| wrap(&clean::line(remark), 80));
    out.extend(lines.map(|line| line + "\n"));
    out
}
