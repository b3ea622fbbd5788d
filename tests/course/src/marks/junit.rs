//! JUnit XML by the schema `junit-10.xsd` of Jenkins and pytest: a suite per lesson of a submission, a case per check.

use grader::grades::{CheckGrade, Grade, LessonGrade, Status};

use super::{Class, clean, sheets};

/// All submissions.
pub fn xml(class: &Class) -> String {
    let suites: Vec<Suite> = class
        .entries
        .iter()
        .flat_map(|e| suites(&e.folder, &e.grade))
        .collect();
    let sum = |of: fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&format!(
        "<testsuites name=\"canopy\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
        sum(|s| s.tests),
        sum(|s| s.failures),
        sum(|s| s.errors)
    ));
    for suite in &suites {
        out.push_str(&suite.xml());
    }
    out + "</testsuites>\n"
}

struct Suite {
    name: String,
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
    properties: Vec<(&'static str, String)>,
    cases: String,
}

impl Suite {
    fn new(name: String) -> Self {
        Self {
            name,
            tests: 0,
            failures: 0,
            errors: 0,
            skipped: 0,
            properties: Vec::new(),
            cases: String::new(),
        }
    }

    fn case(&mut self, class: &str, name: &str, inner: &str) {
        self.tests += 1;
        let (class, name) = (
            clean::markup(&clean::line(class)),
            clean::markup(&clean::line(name)),
        );
        let head = format!("    <testcase classname=\"{class}\" name=\"{name}\"");
        self.cases.push_str(&match inner {
            "" => format!("{head}/>\n"),
            inner => format!("{head}>{inner}</testcase>\n"),
        });
    }

    fn check(&mut self, class: &str, check: &CheckGrade) {
        let report = clean::markup(&clean::short(&check.report, clean::REPORT));
        let word = clean::markup(&clean::line(&check.word));
        let inner = match &*check.word {
            "right" => String::new(),
            "not run" => {
                self.skipped += 1;
                format!("<skipped message=\"{word}\">{report}</skipped>")
            }
            _ => {
                self.failures += 1;
                format!("<failure type=\"{word}\" message=\"{word}\">{report}</failure>")
            }
        };
        self.case(class, &check.name, &inner);
    }

    fn error(&mut self, class: &str, name: &str, why: &str) {
        self.errors += 1;
        let message = clean::markup(&clean::cut(why, 200));
        let report = clean::markup(&clean::short(why, clean::REPORT));
        self.case(
            class,
            name,
            &format!("<error type=\"stopped\" message=\"{message}\">{report}</error>"),
        );
    }

    fn xml(&self) -> String {
        let mut out = format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
            clean::markup(&clean::line(&self.name)),
            self.tests,
            self.failures,
            self.errors,
            self.skipped
        );
        if !self.properties.is_empty() {
            out.push_str("    <properties>\n");
            for (name, value) in &self.properties {
                let value = clean::markup(&clean::line(value));
                out.push_str(&format!("      <property name=\"{name}\" value=\"{value}\"/>\n"));
            }
            out.push_str("    </properties>\n");
        }
        out + &self.cases + "  </testsuite>\n"
    }
}

fn suites(folder: &str, grade: &Grade) -> Vec<Suite> {
    if grade.status != Status::Graded {
        let mut suite = Suite::new(folder.into());
        let reason = grade
            .reason
            .clone()
            .unwrap_or_else(|| sheets::status(grade.status).into());
        suite.error(folder, sheets::status(grade.status), &reason);
        return vec![suite];
    }
    grade.lessons.iter().map(|l| lesson(folder, grade, l)).collect()
}

fn lesson(folder: &str, grade: &Grade, lesson: &LessonGrade) -> Suite {
    let mut suite = Suite::new(format!("{folder} lesson{}", lesson.lesson));
    let points: u32 = lesson.exercises.iter().map(|e| e.points).sum();
    let of: u32 = lesson.exercises.iter().map(|e| e.of).sum();
    suite.properties = vec![("points", points.to_string()), ("of", of.to_string())];
    if let Some(why) = &grade.origin.late_unknown {
        suite.properties.push(("late_unknown", why.clone()));
    }
    if let Some(late) = &grade.late {
        suite
            .properties
            .push(("late_percent", clean::points(late.percent)));
    }
    if let Some(why) = &lesson.stopped {
        suite.error(&format!("{folder}.lesson{}", lesson.lesson), "lesson", why);
    }
    for e in &lesson.exercises {
        for check in &e.checks {
            suite.check(&format!("{folder}.{} {}", e.id, e.title), check);
        }
    }
    suite
}
