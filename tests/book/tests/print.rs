//! On paper, the answers to the questions of a chapter are open.
//!
//! Needs Chromium, whose path `CANOPY_CHROMIUM` may contain, and pdftotext (`apt-get install chromium poppler-utils`).

use std::{env, fs, io::ErrorKind, path::Path, process::Command};

const CHAPTER: &str = "01-gradient-descent-by-hand";

/// What a program prints; nothing if it does not exist.
fn printed(command: &mut Command) -> Option<String> {
    let out = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("not run, because there is no {}", command.get_program().display());
            return None;
        }
        out => out.unwrap(),
    };
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(String::from_utf8(out.stdout).unwrap())
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn answers_are_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    book::build(root, &at("book")).unwrap();
    let browser = env::var_os("CANOPY_CHROMIUM").unwrap_or("chromium".into());
    let pdf = printed(
        Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-sync"])
            .arg(format!("--user-data-dir={}", at("profile").display()))
            .arg(format!("--print-to-pdf={}", at("chapter.pdf").display()))
            .arg(format!(
                "file://{}",
                at("book").join(format!("{CHAPTER}.html")).display()
            )),
    );
    let text =
        pdf.and_then(|_| printed(Command::new("pdftotext").args([&at("chapter.pdf"), Path::new("-")])));
    let Some(text) = text else { return };
    let text = words(&text);

    let chapter = fs::read_to_string(root.join(format!("book/src/{CHAPTER}.md"))).unwrap();
    let answers = chapter.split("</summary>").skip(1);
    // The first words of an answer, which have no Markdown in them.
    let answers: Vec<String> = answers
        .map(|a| words(a).split(' ').take(4).collect::<Vec<_>>().join(" "))
        .collect();
    assert!(answers.len() >= 5, "{answers:?}");
    for answer in answers {
        assert!(text.contains(&answer), "not on paper: {answer} …");
    }
}
