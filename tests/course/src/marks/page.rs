//! Pages: one per student, one of the class. Each is a single file that loads nothing from a network.

use std::collections::BTreeMap;

use anyhow::Result;
use base64::{Engine, engine::general_purpose::STANDARD};
use grader::grades::{ExerciseGrade, Grade};
use minijinja::{
    Environment, UndefinedBehavior, Value, context, escape_formatter, syntax::SyntaxConfig, value::Serde,
};
use sha2::{Digest, Sha256};

use super::{Class, clean, late, mark, state, status, why};

/// What the pages show of a submission: its grade, and what follows from it.
pub fn row(grade: &Grade) -> Value {
    let exercises = grade.exercises();
    let exercises = exercises.map(|e| (&*e.id, context! { points => e.points, state => state(e) }));
    context! {
        grade => Serde(grade),
        name => grade.name(),
        mark => mark(grade),
        late => late(grade),
        points => grade.points(),
        of => grade.of(),
        status => status(grade),
        why => why(grade),
        exercises => Serde(exercises.collect::<BTreeMap<_, _>>()),
    }
}

/// The page of one submission, which explains the mark to the student.
pub fn student(row: &Value) -> Result<String> {
    render(include_str!("student.html"), row.clone())
}

/// The page of a class: its table, and the exercises and checks that fail most.
pub fn class(class: &Class, rows: &[Value]) -> Result<String> {
    let graded = class.grades.iter().filter(|g| mark(g).is_some());
    let answers: Vec<&ExerciseGrade> = graded.flat_map(Grade::exercises).collect();
    let exercise = |e: &&ExerciseGrade| {
        let states = answers.iter().filter(|own| own.id == e.id).map(|own| state(own));
        context! { id => &*e.id, title => &*e.title, of => e.of, states => states.collect::<Vec<_>>() }
    };
    // For each check, how many of the written answers it found wrong: stubs do not count.
    let mut errors = BTreeMap::<String, [usize; 2]>::new();
    for e in &answers {
        for c in e.checks.iter().filter(|c| c.word == "wrong" || c.word == "right") {
            let [wrong, all] = errors.entry(format!("{} {}", e.id, c.name)).or_default();
            *wrong += usize::from(c.word == "wrong");
            *all += 1;
        }
    }
    errors.retain(|_, [wrong, _]| *wrong > 0);
    let page = context! {
        rows,
        exercises => class.exercises().iter().map(exercise).collect::<Vec<_>>(),
        errors => Serde(errors),
        script => include_str!("sort.js"),
    };
    render(include_str!("class.html"), page)
}

/// For templates of pages and of job scripts: a line with nothing but a block leaves no line, and an undefined variable is an
/// error.
pub fn environment<'a>() -> Result<Environment<'a>> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    let syntax = syntax.trim_blocks(true).lstrip_blocks(true);
    environment.set_syntax(syntax.keep_trailing_newline(true).build()?);
    Ok(environment)
}

/// Every text of `data` is made printable and escaped.
pub fn render(template: &str, data: Value) -> Result<String> {
    let mut pages = environment()?;
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
    pages.add_filter("step", clean::step);
    pages.add_filter("time", crate::late::rfc3339);
    pages.add_filter("allowed", |script: &str| {
        Value::from_safe_string(format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script))))
    });
    pages.add_template("frame.html", include_str!("frame.html"))?;
    pages.add_template("page.html", template)?;
    let page = pages.get_template("page.html")?;
    Ok(page.render(context! { css => include_str!("page.css"), ..data })?)
}
