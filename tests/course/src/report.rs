//! `cargo course report`: progress as one self-contained page.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use grader::{Exercise, progress::Progress};

use crate::{
    book,
    lessons::{self, Lesson},
    marks::clean,
};

/// Writes the page to `out`, or to `target/course/report.html`, and returns its address.
pub fn report(root: &Path, lessons: &[Lesson], name: &str, out: Option<&Path>) -> Result<String> {
    let path = out.map_or_else(|| root.join("target/course/report.html"), Path::to_owned);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be created", folder.display()))?;
    }
    let text = page(lessons, &Progress::load(), name);
    fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(format!("{}\n", book::address(&std::path::absolute(&path)?)))
}

fn page(lessons: &[Lesson], progress: &Progress, name: &str) -> String {
    let all = || lessons.iter().flat_map(|l| &l.manifest.exercises);
    let right = all().filter(|e| progress.state(&e.id) == "right").count();
    let sums = lessons.iter().map(|l| lessons::points(&l.manifest, progress));
    let (points, of) = sums.fold((0, 0), |(a, b), (p, o)| (a + p, b + o));
    let own = all().filter(|e| progress.state(&e.id) == "right" && !progress.given_up.contains(&e.id));
    let unaided = own.filter(|e| !progress.hints.contains_key(&e.id)).count();
    let cards: String = lessons.iter().map(|l| card(l, progress)).collect();
    let whose = if name.is_empty() {
        String::new()
    } else {
        format!("<p class=\"who\">{}</p>", escape(name))
    };
    let share = if of == 0 {
        0.0
    } else {
        f64::from(points) / f64::from(of)
    };
    include_str!("report/page.html")
        .replace("{{ring}}", &ring(share))
        .replace("{{points}}", &points.to_string())
        .replace("{{of}}", &of.to_string())
        .replace("{{right}}", &right.to_string())
        .replace("{{exercises}}", &all().count().to_string())
        .replace("{{unaided}}", &unaided.to_string())
        .replace(
            "{{tiles}}",
            &lessons.iter().map(|l| tiles(l, progress)).collect::<String>(),
        )
        .replace("{{lessons}}", &cards)
        .replace("{{who}}", &whose)
}

/// A ring chart of the points won.
fn ring(share: f64) -> String {
    let round = 2.0 * std::f64::consts::PI * 52.0;
    format!(
        "<svg viewBox=\"0 0 120 120\" role=\"img\" aria-label=\"{0:.0} per cent of all points\">\
         <circle class=\"track\" cx=\"60\" cy=\"60\" r=\"52\"/>\
         <circle class=\"won\" cx=\"60\" cy=\"60\" r=\"52\" stroke-dasharray=\"{1:.1} {round:.1}\" \
         transform=\"rotate(-90 60 60)\"/><text x=\"60\" y=\"68\">{0:.0} %</text></svg>",
        share * 100.0,
        share * round
    )
}

fn class(e: &Exercise, progress: &Progress) -> &'static str {
    match (progress.state(&e.id), progress.given_up.contains(&e.id)) {
        ("right", true) => "shown",
        ("right", false) => "right",
        ("wrong", _) => "wrong",
        ("not run", _) => "notrun",
        _ => "todo",
    }
}

/// A lesson as a row of squares.
fn tiles(lesson: &Lesson, progress: &Progress) -> String {
    let m = &lesson.manifest;
    let squares: String = m
        .exercises
        .iter()
        .map(|e| {
            let title = escape(&format!("{} {}: {}", e.id, e.title, progress.state(&e.id)));
            format!("<i class=\"{}\" title=\"{title}\"></i>", class(e, progress))
        })
        .collect();
    format!(
        "<a href=\"#lesson-{0}\"><b>{0}</b>{squares}</a>\n",
        escape(&m.lesson)
    )
}

fn card(lesson: &Lesson, progress: &Progress) -> String {
    let m = &lesson.manifest;
    let (won, of) = lessons::points(m, progress);
    let rows: String = m.exercises.iter().map(|e| row(e, progress)).collect();
    format!(
        "<section id=\"lesson-{0}\"><h2><span>{0}</span> {1}<em>{won} of {of} points</em></h2>\
         <progress max=\"{of}\" value=\"{won}\">{won} of {of}</progress>\n<table>\n{rows}</table></section>\n",
        escape(&m.lesson),
        escape(&m.title)
    )
}

fn row(e: &Exercise, progress: &Progress) -> String {
    let seen = progress.hints.get(&e.id).copied().unwrap_or(0).min(e.hints.len());
    let mut help = Vec::new();
    match seen {
        0 => {}
        1 => help.push("1 hint".to_owned()),
        n => help.push(format!("{n} hints")),
    }
    if progress.given_up.contains(&e.id) {
        help.push("solution seen".to_owned());
    }
    let state = progress.state(&e.id);
    let won = if state == "right" { e.points } else { 0 };
    format!(
        "<tr><td>{}</td><td>{}</td><td><span class=\"state {}\">{state}</span></td><td>{}</td><td>{won}/{}</td></tr>\n",
        escape(&e.id),
        escape(&e.title),
        class(e, progress),
        help.join(", "),
        e.points
    )
}

/// Escapes text for HTML elements and attributes, and the braces that mark placeholders of the page.
fn escape(text: &str) -> String {
    clean::markup(text).replace('{', "&#123;")
}

#[cfg(test)]
mod tests {
    use grader::Manifest;

    use super::*;

    fn lesson(title: &str) -> Lesson {
        let exercise = |id: &str| {
            format!(
                "[[exercise]]\nid = \"{id}\"\ntitle = '''{title}'''\npoints = 3\nfunction = \"f\"\nsolution = \"s\"\nanswer = \"a\"\nhints = [\"a\", \"b\", \"c\"]\n"
            )
        };
        let head = format!("lesson = \"01\"\ntitle = '''{title}'''\nminutes = 9\nchapter = \"c.md\"\n");
        let text = head + &exercise("1.1") + &exercise("1.2") + &exercise("1.3");
        Lesson {
            manifest: Manifest::parse(&text).unwrap(),
            stubs: String::new(),
        }
    }

    #[test]
    fn names_are_escaped() {
        let hostile = "<script>alert(1)</script>\" onload=\"x {{lessons}} &amp;";
        let html = page(&[lesson(hostile)], &Progress::default(), hostile);
        assert!(!html.contains("<script") && !html.contains("\" onload"), "{html}");
        assert!(!html.contains("{{"), "{html}");
        assert!(html.contains("&lt;script&gt;") && html.contains("&amp;amp;"));
        assert_eq!(html.matches("<section").count(), 1);
    }

    #[test]
    fn points_hints_and_solutions_seen_are_shown() {
        let mut progress = Progress::default();
        for id in ["1.1", "1.2"] {
            progress
                .checks
                .entry(id.into())
                .or_default()
                .insert("c".into(), "right".into());
        }
        progress.hints.insert("1.1".into(), 2);
        progress.given_up.insert("1.2".into());
        let html = page(&[lesson("Title")], &progress, "");
        for part in [
            "6 of 9 points",
            "2 hints",
            "solution seen",
            "67 %",
            "state right",
            "state shown",
            "state todo",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(html.contains("<b>0</b> without help"), "{html}");
        // The page loads nothing from a network.
        assert!(!html.contains("http") && !html.contains("src="), "{html}");
    }
}
