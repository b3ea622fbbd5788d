//! The top of the page: the main result, and facts about the run.

use std::fmt::Write;

use indicatif::HumanCount;

use super::number;
use crate::report::html::{duration, escape, percent, whole_percents};
use crate::train::{Evaluation, RunReport, Target, metrics::balanced_interval};

/// With fewer trees than this the headline is a count, because a percentage would look more precise than it is.
const FEW_TREES: u64 = 30;

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
    match (run.evaluation.as_ref().filter(|e| e.clouds() > 0), &run.number) {
        (Some(evaluation), _) => headline(out, evaluation),
        (None, Some(number)) => number::headline(out, number),
        (None, None) => {
            let what = match run.target {
                Target::Species => "classifies other trees".to_owned(),
                target => format!("predicts the {target} of other trees"),
            };
            let _ = write!(
                out,
                "<div class=\"result\"><div><p class=\"lead\">There is no test set, so this run has no scores.</p>\n\
                 <p>All clouds were used for training. To estimate how well such a model {what}, train once more \
                 with the same settings and a test set.</p></div></div>\n",
            );
        }
    }
    out.push_str("</header>\n");
    facts(out, run);
}

fn headline(out: &mut String, e: &Evaluation) {
    let trees = e.clouds();
    let species = e.classes.iter().filter(|c| c.support > 0).count();
    let (place, caution) = match e.part.as_str() {
        "test" => ("on plots that the model never saw", ""),
        "validation" => (
            "on plots that the model was not trained on",
            " There is no test set: these plots also chose the epoch that was kept, so other trees may score a little lower.",
        ),
        _ => ("in this part of the data", ""),
    };
    let (big, lead) = if trees < FEW_TREES {
        let big = format!("{} of {trees}", e.correct());
        (big, format!("trees classified correctly, {place}."))
    } else {
        let lead = format!("of each species’ trees classified correctly, on average, {place}.");
        (percent(e.balanced_accuracy), lead)
    };
    let few = if trees < FEW_TREES {
        " Too few trees for more than a rough estimate."
    } else {
        ""
    };
    let interval = balanced_interval(&e.classes).map_or(String::new(), |interval| {
        format!(" (95\u{a0}% interval {})", whole_percents(interval))
    });
    let _ = write!(
        out,
        "<div class=\"result\"><p class=\"big\">{big}</p>\n<div><p class=\"lead\">{lead}</p>\n\
         <p>Balanced accuracy {}{interval} over {} trees of {species} species, {} set; guessing would reach {}.{few}{caution}</p></div></div>\n",
        percent(e.balanced_accuracy),
        HumanCount(trees),
        escape(&e.part),
        percent(1.0 / species as f64),
    );
}

fn facts(out: &mut String, run: &RunReport) {
    let mut rows: Vec<(String, String)> = Vec::new();
    if let Some(e) = run.evaluation.as_ref().filter(|e| e.clouds() > 0) {
        rows.push(("Overall accuracy".into(), percent(e.accuracy)));
        rows.push(("Macro F1".into(), format!("{:.3}", e.macro_f1)));
        let loss = if e.loss.is_finite() {
            format!("{:.3}\u{a0}nats", e.loss)
        } else {
            "not finite".into()
        };
        rows.push(("Cross-entropy".into(), loss));
    }
    if let Some(number) = &run.number {
        rows.extend(number::facts(&number.scores));
    }
    rows.push(("Wall time".into(), duration(run.seconds)));
    rows.push(("Epochs".into(), run.epochs.len().to_string()));
    if let Some(best) = run.best_epoch {
        let validated = run.epochs.iter().any(|r| r.val_balanced.or(r.val_crps).is_some());
        let why = if validated { "" } else { ", the last one" };
        rows.push(("Best epoch".into(), format!("{best}{why}")));
    }
    if let Some(last) = run.epochs.last() {
        let rates = run.epochs.iter().map(|r| r.clouds_per_second);
        let mut rates: Vec<f64> = rates.filter(|r| r.is_finite()).collect();
        rates.sort_by(f64::total_cmp);
        if let Some(&median) = rates.get(rates.len() / 2) {
            let median = HumanCount(median.round() as u64).to_string();
            rows.push(("Clouds/s, median".into(), median));
        }
        rows.push(("Optimizer steps".into(), HumanCount(last.step).to_string()));
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
