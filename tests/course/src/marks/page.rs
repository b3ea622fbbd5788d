//! Pages: one per student, one of the class. Each is a single file that loads nothing from a network.

use std::{cmp::Reverse, collections::BTreeMap};

use anyhow::Result;
use base64::{Engine, engine::general_purpose::STANDARD};
use grader::grades::{ExerciseGrade, Grade, Status};
use minijinja::{
    Environment, UndefinedBehavior, Value, context, escape_formatter, syntax::SyntaxConfig, value::Serde,
};
use sha2::{Digest, Sha256};

use super::{Class, Entry, clean, mark, of, sheets, state, table};

/// The page of one submission, which explains the mark to the student.
pub fn student(grade: &Grade) -> Result<String> {
    let mark = mark(grade).map(clean::points);
    let (name, points, of) = (grade.name(), grade.points(), grade.of());
    let status = sheets::status(grade.status);
    let page = context! { grade => Serde(grade), name, mark, points, of, status };
    render(include_str!("student.html"), page)
}

/// The page of a class: its table, and the exercises and checks that fail most.
pub fn class(class: &Class) -> Result<String> {
    let exercises = class.exercises();
    let graded = class.entries.iter().filter(|e| e.grade.status == Status::Graded);
    let answers: Vec<&ExerciseGrade> = graded.flat_map(|e| e.grade.exercises()).collect();
    let counts = exercises.iter().map(|e| {
        let states = answers.iter().filter(|own| own.id == e.id).map(|own| state(own));
        let states: Vec<&str> = states.collect();
        let count = |word: &str| states.iter().filter(|s| **s == word).count();
        context! {
            id => &*e.id, title => &*e.title, all => states.len(), right => count("right"), wrong => count("wrong"),
            to_do => count("to do"), not_run => count("not run"),
        }
    });
    // A grade that cannot be read has no version.
    let mut versions = class.entries.iter().map(|e| &*e.grade.course.version);
    let page = context! {
        rows => class.entries.iter().map(|e| row(e, &exercises)).collect::<Vec<_>>(),
        version => versions.find(|v| !v.is_empty()).unwrap_or_default(),
        exercises => counts.collect::<Vec<_>>(),
        errors => errors(&answers),
        summary => table::summary(class),
        of => class.lessons().into_iter().map(of).sum::<u32>(),
        script => include_str!("sort.js"),
    };
    render(include_str!("class.html"), page)
}

fn row(entry: &Entry, exercises: &[&ExerciseGrade]) -> Value {
    let grade = &entry.grade;
    let own = |id: &str| Value::from(Serde(grade.exercises().find(|e| e.id == id)));
    context! {
        folder => &*entry.folder,
        name => grade.name(),
        word => table::word(grade),
        why => sheets::why(grade),
        mark => mark(grade).map(clean::points).unwrap_or_default(),
        points => mark(grade).map(|_| grade.points().to_string()).unwrap_or_default(),
        late => Serde(&grade.late),
        late_unknown => grade.origin.late_unknown.as_deref(),
        exercises => exercises.iter().map(|e| own(&e.id)).collect::<Vec<_>>(),
    }
}

/// The 40 checks that found most wrong answers, and how many answers were written: stubs do not count.
fn errors(answers: &[&ExerciseGrade]) -> Vec<Value> {
    let mut counts = BTreeMap::<(&str, &str), [usize; 2]>::new();
    for e in answers {
        for c in &e.checks {
            let [wrong, all] = counts.entry((&e.id, &c.name)).or_default();
            *wrong += usize::from(c.word == "wrong");
            *all += usize::from(c.word == "wrong" || c.word == "right");
        }
    }
    let mut counts: Vec<_> = counts.into_iter().filter(|(_, [wrong, _])| *wrong > 0).collect();
    counts.sort_by_key(|(_, [wrong, _])| Reverse(*wrong));
    let first = counts.into_iter().take(40).map(|((id, check), [wrong, all])| {
        context! { name => format!("{id} {}", check.replace('_', " ")), wrong, all }
    });
    first.collect()
}

/// Every text of `data` is made printable and escaped.
pub fn render(template: &str, data: Value) -> Result<String> {
    let mut pages = Environment::new();
    pages.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    pages.set_syntax(syntax.trim_blocks(true).lstrip_blocks(true).build()?);
    pages.set_formatter(|out, state, value| {
        let text = value.as_str().filter(|_| !value.is_safe());
        let printable = text.map(|text| Value::from(clean::text(text)));
        escape_formatter(out, state, printable.as_ref().unwrap_or(value))
    });
    pages.add_filter("cut", |text: String, width: usize| clean::cut(&text, width));
    let short = |text: &str| clean::short(text, clean::REPORT).trim_end().to_owned();
    pages.add_filter("short", short);
    pages.add_filter("points", clean::points);
    let span = |seconds: i64| format!("{:#}", jiff::SignedDuration::from_secs(seconds));
    pages.add_filter("span", span);
    pages.add_filter("state", |e: Serde<ExerciseGrade>| state(&e));
    pages.add_filter("step", clean::step);
    pages.add_filter("time", crate::late::rfc3339);
    pages.add_filter("allowed", |script: &str| {
        Value::from_safe_string(format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script))))
    });
    pages.add_template("frame.html", include_str!("frame.html"))?;
    pages.add_template("page.html", template)?;
    let page = pages.get_template("page.html")?;
    Ok(page.render(context! { css => include_str!("page.css"), ..data })? + "\n")
}
