//! The top of the page: the one number that counts, in plain words, and the facts.

use std::fmt::Write;

use crate::report::html::{duration, escape, percent, thousands};
use crate::report::types::{Evaluation, RunReport};

pub(super) fn section(out: &mut String, run: &RunReport) {
    let title = if run.title.is_empty() {
        "A run of canopy"
    } else {
        &run.title
    };
    let said = [("canopy ", &run.version), ("", &run.started)];
    let kicker: Vec<String> = said
        .iter()
        .filter(|(_, v)| !v.is_empty())
        .map(|(k, v)| format!("{k}{}", escape(v)))
        .collect();
    let _ = write!(
        out,
        "<header>\n<p class=\"kicker\">{}</p>\n<h1>{}</h1>\n",
        kicker.join(" · "),
        escape(title)
    );
    headline(out, &run.evaluation);
    out.push_str("</header>\n");
    facts(out, run);
}

/// Trees that the evaluation counted.
pub(super) fn evaluated(evaluation: &Evaluation) -> u64 {
    evaluation.classes.iter().map(|c| c.support).sum()
}

fn headline(out: &mut String, e: &Evaluation) {
    let trees = evaluated(e);
    if trees == 0 {
        out.push_str("<p class=\"lead\">This run has not been evaluated on held-out plots yet.</p>\n");
        return;
    }
    let species = e.classes.iter().filter(|c| c.support > 0).count();
    let plots = match e.part.as_str() {
        "test" => "on plots the model never saw",
        "validation" => "on plots the model did not learn from",
        _ => "in this part of the data",
    };
    let _ = write!(
        out,
        "<div class=\"result\"><p class=\"big\">{}</p>\n<div><p class=\"lead\">of each species’ trees named rightly, \
         on average, {plots}.</p>\n<p>Balanced accuracy over {} trees of {species} species (part: {}). \
         Guessing would reach {}.{}{}</p></div></div>\n",
        percent(e.balanced_accuracy),
        thousands(trees),
        escape(&e.part),
        percent(1.0 / species as f64),
        standard_error(e)
            .map(|s| format!(" Standard error {:.1} points.", 100.0 * s))
            .unwrap_or_default(),
        if e.part == "validation" {
            " These plots also chose which epoch was kept, so trees elsewhere may fare a little worse."
        } else {
            ""
        }
    );
}

/// Of the mean recall, each species' trees taken as independent draws: √(Σ r(1−r)/n) / species.
fn standard_error(e: &Evaluation) -> Option<f64> {
    let occurring: Vec<(f64, f64)> = e
        .classes
        .iter()
        .filter(|c| c.support > 0)
        .filter_map(|c| c.recall.map(|r| (r, c.support as f64)))
        .collect();
    let variance: f64 = occurring.iter().map(|(r, n)| r * (1.0 - r) / n).sum();
    let error = variance.max(0.0).sqrt() / occurring.len().max(1) as f64;
    (error > 0.0).then_some(error)
}

fn facts(out: &mut String, run: &RunReport) {
    let e = &run.evaluation;
    let mut rows: Vec<(String, String)> = Vec::new();
    if evaluated(e) > 0 {
        rows.push(("Overall accuracy".into(), percent(e.accuracy)));
        rows.push(("Macro F1".into(), format!("{:.3}", e.macro_f1)));
        rows.push((
            "Cross-entropy".into(),
            if e.loss.is_finite() {
                format!("{:.3}\u{a0}nats", e.loss)
            } else {
                "not finite".into()
            },
        ));
    }
    rows.push(("Wall time".into(), duration(run.seconds)));
    rows.push(("Epochs".into(), thousands(run.epochs.len() as u64)));
    if let Some(last) = run.epochs.last() {
        let mut rates: Vec<f64> = run
            .epochs
            .iter()
            .map(|r| r.clouds_per_second)
            .filter(|r| r.is_finite())
            .collect();
        rates.sort_by(f64::total_cmp);
        if let Some(&median) = rates.get(rates.len() / 2) {
            rows.push((
                "Clouds a second".into(),
                format!("{}, median", thousands(median.round() as u64)),
            ));
        }
        rows.push(("Optimizer steps".into(), thousands(last.step)));
    }
    rows.extend(run.facts.iter().cloned());
    out.push_str("<section aria-labelledby=\"facts\">\n<h2 id=\"facts\" class=\"quiet\">Facts</h2>\n<dl class=\"facts\">\n");
    for (name, value) in rows {
        let _ = writeln!(
            out,
            "<div><dt>{}</dt><dd>{}</dd></div>",
            escape(&name),
            escape(&value)
        );
    }
    out.push_str("</dl>\n</section>\n");
}
