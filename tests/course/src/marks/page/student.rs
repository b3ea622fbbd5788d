//! The page of one submission, which explains the mark to the student.

use grader::grades::{CheckGrade, ExerciseGrade, Grade, LessonGrade, Status};

use super::super::{clean, mark, sheets, state};
use super::{badge, document, span, time};
use clean::markup;

/// Returns the page.
pub fn student(grade: &Grade) -> String {
    let mut body = head(grade);
    for l in &grade.lessons {
        body.push_str(&lesson(l));
    }
    if !grade.left_out.is_empty() {
        body.push_str("<section>\n<h2>Left out</h2>\n<p>Only <code>.rs</code> files of the exercises are graded.</p>\n<ul>\n");
        for name in grade.left_out.iter().take(200) {
            body.push_str(&format!("<li>{}</li>\n", markup(&clean::cut(name, 300))));
        }
        body.push_str("</ul>\n</section>\n");
    }
    body.push_str(&foot(grade));
    document(&format!("{}: grade", clean::cut(grade.name(), 80)), &body, "")
}

fn head(grade: &Grade) -> String {
    let name = markup(&clean::cut(grade.name(), 200));
    let submission = match grade.name() == grade.submission {
        true => String::new(),
        false => format!(" · {}", markup(&clean::cut(&grade.submission, 200))),
    };
    let mut out = format!(
        "<p class=\"kicker\">Canopy {}{submission}</p>\n<h1>{name}</h1>\n",
        markup(&clean::line(&grade.course.version))
    );
    let (class, big, lead) = match (grade.status, mark(grade)) {
        (Status::Graded, Some(mark)) => (
            if grade.of() > 0 && grade.points() == grade.of() {
                "full"
            } else {
                "part"
            },
            clean::points(mark),
            format!("{} of {} points won", grade.points(), grade.of()),
        ),
        _ => (
            "none",
            "–".into(),
            format!("No mark: {}", sheets::status(grade.status)),
        ),
    };
    out.push_str(&format!(
        "<div class=\"result {class}\">\n<p class=\"big\">{big}</p>\n<div>\n<p class=\"lead\">{lead}</p>\n"
    ));
    if let Some(late) = &grade.late {
        out.push_str(&format!(
            "<p>Handed in {} late: {} % of the points are deducted, so the mark is {big}.</p>\n",
            span(late.seconds),
            clean::points(late.percent)
        ));
    }
    if let Some(why) = &grade.origin.late_unknown {
        let why = markup(&clean::line(why));
        out.push_str(&format!(
            "<p>Lateness is unknown: {why}. Nothing was deducted.</p>\n"
        ));
    }
    if let Some(at) = grade.submitted {
        let whose = match &*grade.origin.dated {
            "" => String::new(),
            dated => format!(" (by {})", markup(&clean::line(dated))),
        };
        out.push_str(&format!("<p>Handed in {}{whose}.</p>\n", time(at)));
    }
    out.push_str("</div>\n</div>\n");
    if let Some(reason) = &grade.reason {
        out.push_str(&preformatted(reason));
    }
    out
}

fn lesson(l: &LessonGrade) -> String {
    let points: u32 = l.exercises.iter().map(|e| e.points).sum();
    let of: u32 = l.exercises.iter().map(|e| e.of).sum();
    let mut out = format!(
        "<section>\n<h2>Lesson {}: {} <span class=\"soft\">{points} of {of} points</span></h2>\n",
        markup(&clean::line(&l.lesson)),
        markup(&clean::line(&l.title))
    );
    if let Some(why) = &l.stopped {
        out.push_str("<p class=\"stopped\">The whole lesson was stopped:</p>\n");
        out.push_str(&preformatted(why));
    }
    for e in &l.exercises {
        out.push_str(&exercise(e));
    }
    out + "</section>\n"
}

fn exercise(e: &ExerciseGrade) -> String {
    let mut out = format!(
        "<article>\n<h3>{} <span class=\"name\">{} {}</span> <span class=\"soft\">{} of {}</span></h3>\n",
        badge(state(e)),
        markup(&clean::line(&e.id)),
        markup(&clean::line(&e.title)),
        e.points,
        e.of
    );
    if let Some(remark) = &e.remark {
        out.push_str(&format!("<p>Remark: {}</p>\n", markup(&clean::cut(remark, 400))));
    }
    let right = e.checks.iter().filter(|c| c.word == "right").count();
    if right == e.checks.len() && right > 0 {
        let all = if right == 1 {
            "Its check passes."
        } else {
            "All its checks pass."
        };
        return out + &format!("<p class=\"soft\">{all}</p>\n</article>\n");
    }
    if e.points < e.of && right > 0 {
        out.push_str(&format!(
            "<p class=\"soft\">{right} of {} checks pass; the points are won if all pass.</p>\n",
            e.checks.len()
        ));
    }
    for c in &e.checks {
        out.push_str(&check(c));
    }
    out + "</article>\n"
}

fn check(c: &CheckGrade) -> String {
    let name = markup(&clean::line(&c.name.replace('_', " ")));
    let head = format!("{} {name}", badge(&clean::line(&c.word)));
    if c.report.trim().is_empty() || c.word == "right" {
        return format!("<p class=\"check\">{head}</p>\n");
    }
    format!(
        "<details open>\n<summary>{head}</summary>\n{}</details>\n",
        preformatted(&c.report)
    )
}

fn preformatted(raw: &str) -> String {
    format!(
        "<pre>{}</pre>\n",
        markup(clean::short(raw, clean::REPORT).trim_end())
    )
}

fn foot(grade: &Grade) -> String {
    let mut out = String::from("<section class=\"foot\">\n<h2>How it was graded</h2>\n<dl>\n");
    let mut fact = |name: &str, value: &str| {
        if !value.is_empty() {
            let value = markup(&clean::cut(value, 1_000));
            out.push_str(&format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"));
        }
    };
    fact("sandbox", &grade.sandbox.active.join(", "));
    fact("missing in the sandbox", &grade.sandbox.missing.join(", "));
    if grade.status == Status::Graded {
        fact("took", &format!("{:.1} s", grade.seconds.max(0.0)));
    }
    fact("seed of the checks' inputs", &grade.seed.to_string());
    fact("digest of the submission", &grade.digest);
    fact("digest of the course", &grade.course.digest);
    out + "</dl>\n</section>\n"
}
