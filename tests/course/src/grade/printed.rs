//! What `cargo course grade` prints when it ends: a table of the class, and remarks below it.

use std::collections::{BTreeMap, BTreeSet};

use grader::{
    grades::{Grade, Status},
    tell::{Ink, wrap},
};

use super::{class::Done, submissions::Submission};
use crate::marks;

/// The table and the remarks, within 80 columns.
pub fn text(all: &[Submission], done: &BTreeMap<String, Done>) -> String {
    let lines = solution_calls(done).into_iter().chain(missing_parts(done));
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    table(all, done, Ink::auto()) + &remarks(all, done) + &lines
}

/// The exercises that call the solution, a line for each submission, within 80 columns.
fn solution_calls(done: &BTreeMap<String, Done>) -> Vec<String> {
    let line = |grade: &Grade| {
        let calls = grade.exercises().filter(|e| e.remark.is_some());
        let ids: Vec<&str> = calls.map(|e| e.id.as_str()).collect();
        wrap(
            &format!("{}: calls the solution in {}", grade.submission, ids.join(", ")),
            80,
        )
    };
    let grades = done.values().filter_map(|d| d.as_ref().ok());
    grades
        .filter(|g| g.exercises().any(|e| e.remark.is_some()))
        .flat_map(line)
        .collect()
}

/// The parts of the sandbox that were missing, within 80 columns.
fn missing_parts(done: &BTreeMap<String, Done>) -> Vec<String> {
    let grades = done.values().filter_map(|d| d.as_ref().ok());
    let missing: BTreeSet<&String> = grades.flat_map(|g| &g.sandbox.missing).collect();
    let lines = missing
        .iter()
        .flat_map(|m| wrap(&format!("missing in the sandbox: {m}"), 80));
    lines.collect()
}

/// The table of students, points and states, within 80 columns.
fn table(all: &[Submission], done: &BTreeMap<String, Done>, ink: Ink) -> String {
    let head = format!("{:<40}{:>10}   state", "student", "points");
    let mut out = format!("{}\n", ink.bold(&head));
    for one in all {
        let grade = done.get(&one.name);
        let name = match grade {
            Some(Ok(grade)) => grade.name(),
            _ => &one.name,
        };
        let (points, state) = match grade {
            Some(Ok(grade)) => state(grade, ink),
            Some(Err(why)) => (String::new(), ink.red(&cut(why, 27))),
            None => (String::new(), ink.yellow("not yet")),
        };
        out.push_str(&format!(
            "{}{points:>10}   {state}\n",
            marks::clean::padded(name, 40)
        ));
    }
    out
}

/// What does not fit into the table: why submissions have no mark, and whose lateness is unknown.
fn remarks(all: &[Submission], done: &BTreeMap<String, Done>) -> String {
    let mut whose: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for grade in all.iter().filter_map(|one| done.get(&one.name)?.as_ref().ok()) {
        let late = || {
            Some(format!(
                "lateness unknown, because {}",
                grade.origin.late_unknown.as_ref()?
            ))
        };
        let why = grade.reason.clone().or_else(late);
        whose
            .entry(why.unwrap_or_default())
            .or_default()
            .push(grade.name());
    }
    whose.remove("");
    let lines = whose.iter().flat_map(|(why, names)| {
        let line = format!("{}: {}", names.join("; "), marks::clean::cut(why, 400));
        wrap(&marks::clean::line(&line), 80)
    });
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    if text.is_empty() {
        text
    } else {
        format!("\n{text}")
    }
}

fn state(grade: &Grade, ink: Ink) -> (String, String) {
    let points = format!("{} of {}", grade.points(), grade.of());
    let mut lessons = grade.lessons.iter();
    let stopped = lessons.find_map(|l| Some(format!("{}: {}", l.lesson, l.stopped.as_ref()?)));
    match (grade.status, stopped) {
        (Status::Graded, None) => (points, ink.green("graded")),
        (Status::Graded, Some(why)) => (points, ink.yellow(&cut(&why, 27))),
        (Status::Unreadable, _) => (String::new(), ink.red("could not be read")),
        (Status::Refused, _) => (String::new(), ink.red("refused")),
        (Status::NotGraded, _) => {
            let why = grade.reason.as_deref().unwrap_or("not graded");
            (String::new(), ink.red(&cut(why, 27)))
        }
    }
}

fn cut(text: &str, width: usize) -> String {
    let line = text.lines().next().unwrap_or_default().trim_end_matches(':');
    marks::clean::cut(line, width)
}
