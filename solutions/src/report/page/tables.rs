//! The confusion matrix, and the scores of each species.

use std::fmt::Write;

use indicatif::HumanCount;

use crate::report::html::{escape, percent, whole_percents};
use crate::train::{Evaluation, RunReport, metrics::wilson};

/// With more species than this a cell has space for the count only; its share is in the tooltip.
const ROOMY: usize = 12;

/// The confusion matrix: counts, and shares of the row as colour and number.
pub(super) fn confusion(out: &mut String, e: &Evaluation) {
    let k = e.classes.len().min(e.confusion.len());
    if k == 0 {
        return;
    }
    let part = escape(&e.part);
    let dense = if k > ROOMY { " dense" } else { "" };
    let _ = write!(
        out,
        "<section aria-labelledby=\"confusion\">\n<h2 id=\"confusion\">Confusion matrix</h2>\n\
         <p>A row is a true species, a column a predicted one. Green, on the diagonal, is correct, orange is wrong; the \
         darker, the larger the share of the row.</p>\n{}\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Confusion matrix\">\n\
         <table class=\"confusion{dense}\"><caption class=\"hidden\">Confusion matrix of the part {part}: counts and shares of the row\
         </caption>\n<thead><tr><td class=\"corner\">true ↓ &nbsp; predicted →</td>",
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
        for (predicted, &n) in row.iter().enumerate().take(k) {
            cell(
                out,
                n,
                total,
                truth == predicted,
                &e.classes[truth].species,
                &e.classes[predicted].species,
            );
        }
        let _ = writeln!(out, "<td class=\"sum\">{}</td></tr>", HumanCount(total));
    }
    out.push_str("</tbody></table></div>\n</section>\n");
}

fn cell(out: &mut String, n: u64, total: u64, correct: bool, truth: &str, predicted: &str) {
    let class = if correct { "right" } else { "wrong" };
    if n == 0 {
        let _ = write!(
            out,
            "<td class=\"{class} none\">{}</td>",
            if correct {
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
        "<td class=\"{class}\" style=\"--s:{:.0}%\" title=\"{} classified as {}: {n} of {total}\"><b>{n}</b><small>{:.0}\u{a0}%</small></td>",
        100.0 * share,
        escape(truth),
        escape(predicted),
        100.0 * share
    );
}

/// The three most frequent confusions.
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
    // The most frequent first, equals in the order of the species.
    pairs.sort_by_key(|&(count, t, n)| (std::cmp::Reverse(count), t, n));
    if pairs.is_empty() {
        return String::new();
    }
    let say = |&(count, t, n): &(u64, usize, usize)| {
        let of: u64 = e.confusion[t].iter().sum();
        format!(
            "{} classified as {} ({count} of {of})",
            escape(&e.classes[t].species),
            escape(&e.classes[n].species)
        )
    };
    let said: Vec<String> = pairs.iter().take(3).map(say).collect();
    format!("<p>Most frequent mistakes: {}.</p>\n", said.join(", "))
}

/// Precision, recall and F1 of each species.
pub(super) fn classes(out: &mut String, run: &RunReport) {
    let Some(e) = run.evaluation.as_ref().filter(|e| !e.classes.is_empty()) else {
        return;
    };
    out.push_str(
        "<section aria-labelledby=\"species\">\n<h2 id=\"species\">Scores by species</h2>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Species\">\n<table class=\"numbers bars\">\n<thead><tr>\
         <th scope=\"col\">species</th><th scope=\"col\">precision</th><th scope=\"col\">recall</th><th scope=\"col\">recall, 95\u{a0}% interval</th>\
         <th scope=\"col\">F1</th><th scope=\"col\">trees</th><th scope=\"col\">trained on</th></tr></thead>\n<tbody>\n",
    );
    for (i, c) in e.classes.iter().enumerate() {
        let correct = e.confusion.get(i).and_then(|row| row.get(i)).copied();
        let interval = wilson(correct.unwrap_or(0).min(c.support), c.support);
        let trained = run.training_counts.get(&c.species);
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th>{}{}<td>{}</td>{}<td>{}</td><td>{}</td></tr>",
            escape(&c.species),
            bar(c.precision),
            bar(c.recall),
            interval.map_or("–".into(), whole_percents),
            bar(c.f1),
            HumanCount(c.support),
            trained.map_or("–".into(), |&n| HumanCount(n).to_string())
        );
    }
    out.push_str(
        "</tbody></table></div>\n<p class=\"note\">Precision: of the trees predicted to be of the species, the share that is. Recall: of the trees of the \
         species, the share that is classified correctly, with its Wilson score interval: few trees say little. F1: the harmonic mean of precision and recall.",
    );
    if e.classes
        .iter()
        .any(|c| c.precision.is_none() || c.recall.is_none() || c.f1.is_none())
    {
        out.push_str(" –: undefined, because the species was never predicted (precision) or has no tree in this set (recall).");
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
