//! What was taken for what, and how well each species fares.

use std::fmt::Write;

use crate::report::html::{escape, percent, thousands};
use crate::report::types::{Evaluation, RunReport};

/// Beyond so many species a cell has room for its count only; its share is in its tooltip.
const ROOMY: usize = 12;

/// The confusion matrix: counts, and shares of their row as colour and number.
pub(super) fn confusion(out: &mut String, e: &Evaluation) {
    let k = e.classes.len().min(e.confusion.len());
    if k == 0 {
        return;
    }
    let part = escape(&e.part);
    let dense = if k > ROOMY { " dense" } else { "" };
    let _ = write!(
        out,
        "<section aria-labelledby=\"confusion\">\n<h2 id=\"confusion\">What it took for what</h2>\n\
         <p>A row is a true species, a column the name that the model gave. Green on the diagonal is right, orange is \
         wrong; the deeper, the larger the share of the row.</p>\n{}\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Confusion matrix\">\n\
         <table class=\"confusion{dense}\"><caption class=\"hidden\">Confusion matrix of the part {part}: counts and shares of the row\
         </caption>\n<thead><tr><td class=\"corner\">is ↓ &nbsp; named →</td>",
        most_confused(e, k)
    );
    for c in &e.classes[..k] {
        let _ = write!(out, "<th scope=\"col\"><span>{}</span></th>", escape(&c.species));
    }
    out.push_str("<th scope=\"col\" class=\"sum\"><span>trees</span></th></tr></thead>\n<tbody>\n");
    for (truth, row) in e.confusion.iter().enumerate().take(k) {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th>",
            escape(&e.classes[truth].species)
        );
        let total: u64 = row.iter().sum();
        for (named, &n) in row.iter().enumerate().take(k) {
            cell(
                out,
                n,
                total,
                truth == named,
                &e.classes[truth].species,
                &e.classes[named].species,
            );
        }
        let _ = writeln!(out, "<td class=\"sum\">{}</td></tr>", thousands(total));
    }
    out.push_str("</tbody></table></div>\n</section>\n");
}

fn cell(out: &mut String, n: u64, total: u64, right: bool, truth: &str, named: &str) {
    let class = if right { "right" } else { "wrong" };
    if n == 0 {
        let _ = write!(
            out,
            "<td class=\"{class} none\">{}</td>",
            if right {
                "0"
            } else {
                "<span aria-label=\"0\">·</span>"
            }
        );
        return;
    }
    let share = n as f64 / total as f64;
    let _ = write!(
        out,
        "<td class=\"{class}\" style=\"--s:{:.0}%\" title=\"{} named {}: {n} of {total}\"><b>{n}</b><small>{:.0}\u{a0}%</small></td>",
        100.0 * share,
        escape(truth),
        escape(named),
        100.0 * share
    );
}

/// The three commonest mistakes, in words.
fn most_confused(e: &Evaluation, k: usize) -> String {
    let mut pairs: Vec<(u64, usize, usize)> = Vec::new();
    for (t, row) in e.confusion.iter().enumerate().take(k) {
        pairs.extend(
            row.iter()
                .enumerate()
                .take(k)
                .filter(|(n, c)| *n != t && **c > 0)
                .map(|(n, &c)| (c, t, n)),
        );
    }
    // Most first; among equals in the order of the species.
    pairs.sort_by_key(|&(count, t, n)| (std::cmp::Reverse(count), t, n));
    if pairs.is_empty() {
        return String::new();
    }
    let say = |&(count, t, n): &(u64, usize, usize)| {
        let of: u64 = e.confusion[t].iter().sum();
        format!(
            "{} named {} ({count} of {of})",
            escape(&e.classes[t].species),
            escape(&e.classes[n].species)
        )
    };
    let said: Vec<String> = pairs.iter().take(3).map(say).collect();
    format!("<p>Commonest mistakes: {}.</p>\n", said.join(", "))
}

/// Precision, recall and F1 of each species.
pub(super) fn classes(out: &mut String, run: &RunReport) {
    let e = &run.evaluation;
    if e.classes.is_empty() {
        return;
    }
    out.push_str(
        "<section aria-labelledby=\"species\">\n<h2 id=\"species\">Species by species</h2>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Species\">\n<table class=\"numbers bars\">\n<thead><tr>\
         <th scope=\"col\">species</th><th scope=\"col\">precision</th><th scope=\"col\">recall</th><th scope=\"col\">F1</th>\
         <th scope=\"col\">trees</th><th scope=\"col\">learned from</th></tr></thead>\n<tbody>\n",
    );
    for c in &e.classes {
        let learned = run
            .training_counts
            .get(&c.species)
            .map_or("–".into(), |&n| thousands(n));
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th>{}{}{}<td>{}</td><td>{learned}</td></tr>",
            escape(&c.species),
            bar(c.precision),
            bar(c.recall),
            bar(c.f1),
            thousands(c.support)
        );
    }
    out.push_str("</tbody></table></div>\n<p class=\"note\">Precision: of the trees named so, the share that is so. Recall: of the trees that are so, the share named so. F1: their harmonic mean.");
    if e.classes
        .iter()
        .any(|c| c.precision.is_none() || c.recall.is_none() || c.f1.is_none())
    {
        out.push_str(" –: undefined, because no tree was named so (precision) or none of the species stands in this part (recall).");
    }
    out.push_str("</p>\n</section>\n");
}

fn bar(share: Option<f64>) -> String {
    match share.filter(|s| s.is_finite()) {
        Some(s) => format!(
            "<td class=\"bar\" style=\"--s:{:.1}%\">{}</td>",
            100.0 * s.clamp(0.0, 1.0),
            percent(s)
        ),
        None => "<td>–</td>".into(),
    }
}
