//! `cargo course doctor`: lists what this machine provides, with what `canopy doctor` says of it. Only what `cargo test`
//! requires is reported as wrong.

mod look;

use std::path::Path;

use anyhow::Result;
use grader::tell::{Ink, wrap};
use serde::Serialize;

/// One thing that the course can use.
#[derive(Debug, PartialEq, Serialize)]
pub struct Item {
    /// `Rust`.
    pub name: String,
    /// Whether it was found.
    pub ok: bool,
    /// Whether `cargo test` requires it.
    pub needed: bool,
    /// What was found, or why it was not found.
    pub found: String,
    /// What the course uses it for.
    pub purpose: &'static str,
    /// How to install it.
    pub install: String,
}

/// Returns the list as text or as JSON, and whether `cargo test` can run.
pub fn report(root: &Path, json: bool, ink: Ink) -> Result<(String, bool)> {
    let items = look::all(root);
    let well = items.iter().all(|i| i.ok || !i.needed);
    let text = if json {
        serde_json::to_string_pretty(&items)? + "\n"
    } else {
        table(&items, well, ink)
    };
    Ok((text, well))
}

fn table(items: &[Item], well: bool, ink: Ink) -> String {
    let mut out = String::new();
    for item in items {
        let word = match (item.ok, item.needed) {
            (true, _) => ink.green("ok     "),
            (false, true) => ink.red("wrong  "),
            (false, false) => ink.yellow("warning"),
        };
        for (i, line) in wrap(&item.found, 52).iter().enumerate() {
            let head = if i == 0 {
                format!("{word} {:<16}", item.name)
            } else {
                " ".repeat(24)
            };
            out.push_str(&format!("  {head} {line}\n"));
        }
        if !item.ok {
            let purpose = match item.purpose {
                "" => Vec::new(),
                purpose => wrap(&format!("for {purpose}"), 52),
            };
            for line in purpose.iter().chain(&wrap(&item.install, 52)) {
                out.push_str(&format!("{:27}{}\n", "", ink.faint(line)));
            }
        }
    }
    let verdict = if well {
        "All that `cargo test` needs is here; warnings are about what is optional."
    } else {
        "`cargo test` cannot run here. Follow the instructions of each line marked wrong."
    };
    format!("\n{out}\n{verdict}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(ok: bool, needed: bool) -> Item {
        Item {
            name: "Something".into(),
            ok,
            needed,
            found: "1.2.3 ".repeat(30),
            purpose: "a purpose with more words than fit on one line of the table, so that it is wrapped",
            install: "apt-get install something, or see the page of its authors".into(),
        }
    }

    #[test]
    fn only_missing_items_show_how_to_install_them_and_lines_fit() {
        let text = table(
            &[item(true, true), item(false, false)],
            true,
            Ink { colour: false },
        );
        assert_eq!(text.matches("apt-get").count(), 1, "{text}");
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        assert!(
            text.contains("warning Something") && text.contains("ok      Something"),
            "{text}"
        );
    }

    #[test]
    fn this_very_workspace_can_be_tested() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let items = look::all(root);
        for name in ["Rust", "Exercises", "Disk"] {
            assert!(
                items.iter().any(|i| i.name == name && i.needed),
                "{name}: {items:?}"
            );
        }
        let elsewhere = look::all(&std::env::temp_dir());
        let wrong: Vec<&str> = elsewhere
            .iter()
            .filter(|i| i.needed && !i.ok)
            .map(|i| i.name.as_str())
            .collect();
        assert!(wrong.contains(&"Exercises"), "{wrong:?}");
    }
}
