//! What `cargo course grade` prints when it ends: a table of the class, and remarks below it, within 80 columns.

use std::collections::{BTreeMap, BTreeSet};

use grader::{
    grades::{Grade, Status},
    tell::{Ink, wrap},
};

use crate::marks::clean;

pub fn text(grades: &[Grade]) -> String {
    let ink = Ink::auto();
    let mut out = ink.bold(&format!("{:<40}{:>10}   state", "student", "points")) + "\n";
    let (mut reasons, mut calls, mut missing) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
    for grade in grades {
        let (points, state) = state(grade, ink);
        out += &format!("{}{points:>10}   {state}\n", clean::padded(grade.name(), 40));
        let late = grade.origin.late_unknown.as_ref();
        let late = late.map(|why| format!("lateness unknown, because {why}"));
        if let Some(why) = grade.reason.clone().or(late) {
            reasons.entry(why).or_insert_with(Vec::new).push(grade.name());
        }
        let calling = grade.exercises().filter(|e| e.remark.is_some());
        let calling: Vec<&str> = calling.map(|e| &*e.id).collect();
        if !calling.is_empty() {
            calls.push(format!(
                "{}: calls the solution in {}",
                grade.submission,
                calling.join(", ")
            ));
        }
        missing.extend(&grade.sandbox.missing);
    }
    let reasons = reasons
        .iter()
        .map(|(why, names)| format!("{}: {}", names.join("; "), clean::cut(why, 400)));
    let missing = missing
        .iter()
        .map(|part| format!("missing in the sandbox: {part}"));
    let remarks: Vec<String> = reasons.chain(calls).chain(missing).collect();
    if !remarks.is_empty() {
        out.push('\n');
    }
    for line in remarks.iter().flat_map(|remark| wrap(&clean::line(remark), 80)) {
        out += &format!("{line}\n");
    }
    out
}

/// The points, and the state in a few words.
fn state(grade: &Grade, ink: Ink) -> (String, String) {
    let points = format!("{} of {}", grade.points(), grade.of());
    let mut lessons = grade.lessons.iter();
    let stopped = lessons.find_map(|l| Some(format!("{}: {}", l.lesson, l.stopped.as_ref()?)));
    let cut = |text: &str| clean::cut(text.lines().next().unwrap_or_default().trim_end_matches(':'), 27);
    match (grade.status, stopped) {
        (Status::Graded, None) => (points, ink.green("graded")),
        (Status::Graded, Some(why)) => (points, ink.yellow(&cut(&why))),
        (Status::Unreadable, _) => (String::new(), ink.red("could not be read")),
        (Status::Refused, _) => (String::new(), ink.red("refused")),
        (Status::NotGraded, _) => (
            String::new(),
            ink.red(&cut(grade.reason.as_deref().unwrap_or("not graded"))),
        ),
    }
}
