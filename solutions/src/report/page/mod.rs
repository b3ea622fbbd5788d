//! `report.html`: one page a run, to be shown, printed or sent as it is.

mod curves;
mod summary;
mod tables;
mod trees;

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::html::{Page, escape};
use super::types::RunReport;

/// The page of a run: one HTML file that opens from a folder, without a network.
///
/// All that it says stands in it without scripts too; the one script lets trees turn and copies the command.
pub fn run_page(run: &RunReport) -> String {
    let mut body = String::from("<main>\n");
    summary::section(&mut body, run);
    curves::section(&mut body, run);
    tables::confusion(&mut body, &run.evaluation);
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

/// Writes `report.html` into `run_dir` and gives its path; who opens it meanwhile sees the old page or the new, never half.
///
/// # Errors
/// Where the folder cannot be written; the old page then stays.
pub fn write(run_dir: &Path, run: &RunReport) -> Result<PathBuf> {
    let path = run_dir.join("report.html");
    canopy_data::atomic::write(&path, run_page(run).as_bytes())?;
    Ok(path)
}

/// How to get the same run again.
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
