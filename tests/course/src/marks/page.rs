//! Pages: one per student, one of the class. Each is a single file that loads nothing from a network.

use anyhow::Result;
use base64::{Engine, engine::general_purpose::STANDARD};
use grader::grades::{ExerciseGrade, Grade, Status};
use minijinja::{
    Environment, UndefinedBehavior, Value, context, escape_formatter, syntax::SyntaxConfig, value::Serde,
};
use sha2::{Digest, Sha256};

use super::{Class, Entry, clean, mark, sheets, state, table};

/// The page of one submission, which explains the mark to the student.
pub fn student(grade: &Grade) -> Result<String> {
    let mark = mark(grade).map(clean::points);
    let kind = match &mark {
        Some(_) if grade.of() > 0 && grade.points() == grade.of() => "full",
        Some(_) => "part",
        None => "none",
    };
    let (name, points, of) = (grade.name(), grade.points(), grade.of());
    let status = sheets::status(grade.status);
    render(
        include_str!("student.html"),
        context! { grade => Serde(grade), name, mark, kind, points, of, status },
    )
}

/// The page of a class: its table, and the exercises and checks that fail most.
pub fn class(class: &Class) -> Result<String> {
    let exercises = class.exercises();
    let rows: Vec<Value> = class.entries.iter().map(|e| row(e, &exercises)).collect();
    let graded = || class.entries.iter().filter(|e| e.grade.status == Status::Graded);
    let counts = exercises.iter().map(|(id, title, _)| {
        let all = graded().flat_map(|e| e.grade.exercises()).filter(|e| e.id == *id);
        let states: Vec<&str> = all.map(state).collect();
        let count = |word: &str| states.iter().filter(|s| **s == word).count();
        context! {
            id, title, all => states.len(), right => count("right"), wrong => count("wrong"), to_do => count("to do"),
            not_run => count("not run"),
        }
    });
    // A grade that cannot be read has no version.
    let mut versions = class.entries.iter().map(|e| &*e.grade.course.version);
    let version = versions.find(|v| !v.is_empty()).unwrap_or_default();
    let page = context! {
        rows, version,
        exercises => counts.collect::<Vec<_>>(),
        errors => errors(graded().flat_map(|e| e.grade.exercises())),
        median => clean::points(table::median(&table::marks(class))),
        summary => table::summary(class),
        of => class.lessons().iter().map(|l| l.2).sum::<u32>(),
        script => include_str!("sort.js"),
    };
    render(include_str!("class.html"), page)
}

fn row(entry: &Entry, exercises: &[(String, String, u32)]) -> Value {
    let grade = &entry.grade;
    let of = |(id, ..): &(String, String, u32)| Serde(grade.exercises().find(|e| e.id == *id));
    let mark = mark(grade);
    let points = mark.map(|_| grade.points().to_string());
    context! {
        folder => &*entry.folder,
        name => grade.name(),
        word => table::word(grade),
        why => sheets::why(grade),
        mark => mark.map(clean::points).unwrap_or_default(),
        points => points.unwrap_or_default(),
        late => Serde(&grade.late),
        late_unknown => grade.origin.late_unknown.as_deref(),
        exercises => exercises.iter().map(of).map(Value::from).collect::<Vec<_>>(),
    }
}

/// The 40 checks that found most wrong answers, and how many answers were written.
fn errors<'a>(exercises: impl Iterator<Item = &'a ExerciseGrade>) -> Vec<Value> {
    let mut counts = std::collections::BTreeMap::<(&str, &str), [usize; 2]>::new();
    for e in exercises {
        for c in &e.checks {
            let [wrong, all] = counts.entry((&e.id, &c.name)).or_default();
            // Only answers that were written count, not stubs.
            *wrong += usize::from(c.word == "wrong");
            *all += usize::from(c.word == "wrong" || c.word == "right");
        }
    }
    let mut counts: Vec<_> = counts.into_iter().filter(|(_, [wrong, _])| *wrong > 0).collect();
    counts.sort_by_key(|(_, [wrong, _])| std::cmp::Reverse(*wrong));
    let first = counts.into_iter().take(40);
    first
        .map(|((id, check), [wrong, all])| {
            context! { name => format!("{id} {}", check.replace('_', " ")), wrong, all }
        })
        .collect()
}

/// Every text of `data` is made printable and escaped.
fn render(template: &str, data: Value) -> Result<String> {
    let mut pages = Environment::new();
    pages.set_undefined_behavior(UndefinedBehavior::Strict);
    pages.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    pages.set_formatter(|out, state, value| {
        let text = value.as_str().filter(|_| !value.is_safe());
        let printable = text.map(|text| Value::from(clean::text(text)));
        escape_formatter(out, state, printable.as_ref().unwrap_or(value))
    });
    pages.add_filter("cut", |text: String, width: usize| clean::cut(&text, width));
    pages.add_filter("short", |text: &str| {
        clean::short(text, clean::REPORT).trim_end().to_owned()
    });
    pages.add_filter("points", clean::points);
    pages.add_filter("span", span);
    pages.add_filter("state", |e: Serde<ExerciseGrade>| state(&e));
    pages.add_filter("step", clean::step);
    pages.add_filter("time", |at: u64| {
        crate::late::rfc3339(at).replace('T', " ").replace('Z', " UTC")
    });
    pages.add_filter("allowed", |script: &str| {
        Value::from_safe_string(format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script))))
    });
    pages.add_template("frame.html", include_str!("frame.html"))?;
    pages.add_template("page.html", template)?;
    let css = include_str!("page.css");
    let page = pages
        .get_template("page.html")?
        .render(context! { css, ..data })?;
    Ok(page + "\n")
}

/// A duration in at most two units: `3 d 2 h`, `45 min`, `30 s`.
fn span(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let Some(first) = units.iter().position(|(unit, _)| seconds >= *unit) else {
        return "0 s".into();
    };
    let (unit, name) = units[first];
    let mut out = format!("{} {name}", seconds / unit);
    if let Some((small, name)) = units.get(first + 1) {
        let rest = seconds % unit / small;
        if rest > 0 {
            out.push_str(&format!(" {rest} {name}"));
        }
    }
    out
}
