//! `report.html`: the page of a run, to show, print or send.

mod curves;
mod number;
mod summary;
mod tables;
mod trees;

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::html::{Page, escape};
use crate::train::RunReport;

/// The page of a run: one HTML file that needs no network.
///
/// It is complete without scripts; its one script rotates trees and copies the command.
pub fn run_page(run: &RunReport) -> String {
    let mut body = String::from("<main>\n");
    summary::section(&mut body, run);
    curves::section(&mut body, run);
    if let Some(number) = &run.number {
        number::section(&mut body, number);
    }
    if let Some(evaluation) = &run.evaluation {
        tables::confusion(&mut body, evaluation);
    }
    tables::classes(&mut body, run);
    trees::wrong(&mut body, run);
    trees::critical(&mut body, run);
    repeat(&mut body, run);
    body.push_str("</main>\n");
    let title = if run.title.is_empty() {
        "A run of canopy"
    } else {
        &run.title
    };
    let page = Page {
        title: &format!("{title} · canopy"),
        css: include_str!("page.css"),
        body: &body,
        scripts: &[include_str!("page.js")],
        notice: "",
    };
    page.html()
}

/// Writes `report.html` into `run_dir` atomically, and returns its path.
///
/// # Errors
/// Names the file; an older page is unchanged then.
pub fn write(run_dir: &Path, run: &RunReport) -> Result<PathBuf> {
    let path = run_dir.join("report.html");
    canopy_data::atomic::write(&path, run_page(run).as_bytes())?;
    Ok(path)
}

/// The command that repeats the run.
fn repeat(body: &mut String, run: &RunReport) {
    body.push_str("<section aria-labelledby=\"repeat\">\n<h2 id=\"repeat\">Repeat it</h2>\n");
    if !run.command.is_empty() {
        body.push_str(&format!(
            "<div class=\"command\"><pre id=\"command\" tabindex=\"0\"><code>{}</code></pre>\
             <button type=\"button\" id=\"copy\" hidden>Copy</button></div>\n",
            escape(&run.command)
        ));
    }
    if !run.config.is_empty() {
        body.push_str(&format!(
            "<details><summary>Configuration, as TOML</summary>\n<pre tabindex=\"0\"><code>{}</code></pre></details>\n",
            escape(&run.config)
        ));
    }
    body.push_str("</section>\n");
}
